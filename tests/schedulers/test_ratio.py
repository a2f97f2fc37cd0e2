# SPDX-License-Identifier: Apache-2.0
"""The green ratio against hand-reckoned cases, and its limit against every distribution of a small case."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp import UserError
from grasp.schedulers.ratio import green_ratio, green_ratio_limit
from grasp.schedulers.registry import scheduler


def test_hand_reckoned() -> None:
    # Hour 1: 3 of 4 jobs and 2 of 2 are powered; hour 2: none of 4, 1.5 of 2: 6.5 of 12.
    ratio = green_ratio([[4, 2], [4, 2]], [[30, 99], [0, 15]], 10)
    assert float(ratio) == pytest.approx(6.5 / 12)
    # Hour 1: min(6, 12.9); hour 2: min(6, 1.5).
    assert float(green_ratio_limit([[30, 99], [0, 15]], 10, 6)) == pytest.approx(7.5 / 12)


def test_sweeps_broadcast() -> None:
    energy = np.array([[30.0, 99.0], [0.0, 15.0]])
    counts = np.array([[4, 2], [4, 2]])
    jobs = np.array([10.0, 5.0])
    assert green_ratio(counts, energy, jobs).tolist() == [
        float(green_ratio(counts, energy, job)) for job in jobs
    ]
    assert green_ratio_limit(energy, jobs, 6).tolist() == [
        float(green_ratio_limit(energy, job, 6)) for job in jobs
    ]


@given(
    energy=st.lists(st.lists(st.integers(0, 6), min_size=2, max_size=2), min_size=2, max_size=2),
    jobs=st.integers(1, 4),
)
def test_green_is_best_and_never_above_the_limit(energy: list[list[int]], jobs: int) -> None:
    best = max(
        float(green_ratio([[a, jobs - a], [b, jobs - b]], energy, 2))
        for a, b in product(range(jobs + 1), repeat=2)
    )
    green = float(green_ratio(scheduler("green").allocate(energy, 2, jobs), energy, 2))
    assert green == pytest.approx(best)
    assert green <= float(green_ratio_limit(energy, 2, jobs)) + 1e-12


def test_negative_energy_serves_nothing() -> None:
    assert float(green_ratio([[1, 1]], [[-5, 1]], 1)) == 0.5


def test_no_jobs_is_refused() -> None:
    with pytest.raises(UserError, match="no jobs"):
        green_ratio([[0, 0]], [[1, 1]], 1)
