# SPDX-License-Identifier: Apache-2.0
"""The two faces of a scheduler agree, and agree with a plain job-after-job reading of the paper."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp import UserError
from grasp.schedulers.base import MWH_LIMIT, IntArray, Scheduler
from grasp.schedulers.registry import SCHEDULERS, scheduler

# Small ranges make ties frequent; large ones exercise the reckoning.
energies = st.one_of(
    st.lists(st.integers(-3, 12), min_size=1, max_size=9),
    st.lists(st.integers(-(10**6), 10**8), min_size=1, max_size=9),
)


def one_by_one(rule: Scheduler, forecast: list[float], job: float, jobs: int) -> list[int]:
    """Counts after `jobs` calls of choose."""
    counts = [0] * len(forecast)
    for _ in range(jobs):
        site = rule.choose(forecast, np.array(counts) * job)
        assert site is not None
        counts[site] += 1
    return counts


def algorithm_2(forecast: list[int], job: int, jobs: int) -> list[int]:
    """The paper's text in integers of one unit: largest E/k - n, that is E - k n; the first of equals."""
    counts = [0] * len(forecast)
    for _ in range(jobs):
        left = [energy - job * count for energy, count in zip(forecast, counts, strict=True)]
        counts[left.index(max(left))] += 1
    return counts


@pytest.mark.parametrize("name", SCHEDULERS)
@given(forecast=energies, job=st.integers(1, 50_000), jobs=st.integers(0, 120))
def test_allocate_is_choose_repeated(name: str, forecast: list[int], job: int, jobs: int) -> None:
    wh = [energy / 1000 for energy in forecast]
    allocated = scheduler(name).allocate(wh, job / 1000, jobs)
    assert allocated.tolist() == one_by_one(scheduler(name), wh, job / 1000, jobs)


@given(forecast=energies, job=st.integers(1, 50_000), jobs=st.integers(0, 300))
def test_green_is_algorithm_2(forecast: list[int], job: int, jobs: int) -> None:
    wh = [energy / 1000 for energy in forecast]
    assert scheduler("green").allocate(wh, job / 1000, jobs).tolist() == algorithm_2(forecast, job, jobs)


@given(sites=st.integers(1, 40), jobs=st.integers(0, 1000), job=st.floats(0.001, 1e6))
def test_round_robin_deals_in_turn(sites: int, jobs: int, job: float) -> None:
    counts = scheduler("round-robin").allocate(np.linspace(5, 1e5, sites), job, jobs)
    assert counts.tolist() == np.bincount(np.arange(jobs) % sites, minlength=sites).tolist()


def test_extremes_are_exact() -> None:
    most = MWH_LIMIT - 1
    counts = scheduler("green").allocate(np.array([most, most - 1, -most]) / 1000, 0.001, 2 * most)
    # The first site takes one job to draw level, then they alternate, and the first also takes the last.
    assert counts.tolist() == [most + 1, most - 1, 0]


@pytest.mark.parametrize("name", SCHEDULERS)
def test_array_of_hours_is_hour_after_hour(name: str) -> None:
    rng = np.random.default_rng(1)
    energy = rng.integers(0, 40, (3, 24, 9)) * 1.5
    job = np.array([0.5, 1.5, 20.0])[:, np.newaxis]
    jobs = rng.integers(0, 60, 24)
    whole: IntArray = scheduler(name).allocate(energy, job, jobs)
    for sweep in range(3):
        for hour in range(24):
            expected = one_by_one(scheduler(name), energy[sweep, hour], job[sweep, 0], jobs[hour])
            assert whole[sweep, hour].tolist() == expected


def test_night_is_round_robin_from_the_lowest() -> None:
    assert scheduler("green").allocate(np.zeros(9), 20, 103).tolist() == [12, 12, 12, 12, 11, 11, 11, 11, 11]


def test_choose_passes_over_sites_that_are_not_ready() -> None:
    green = scheduler("green")
    assert green.choose([5, 9, 7], [0, 0, 0], np.array([True, False, True])) == 2
    assert green.choose([-5, 9], [1e9, 0], np.array([True, False])) == 0
    assert green.choose([5, 9], [0, 0], np.array([False, False])) is None


@pytest.mark.parametrize(
    ("forecast", "job", "jobs", "what"),
    [
        ([1, float("nan")], 1, 1, "budget"),
        ([1, float("inf")], 1, 1, "budget"),
        ([1, 2**46 / 1000], 1, 1, "budget"),
        ([1, 2], 0.0004, 1, "job energy"),
        ([1, 2], -1, 1, "job energy"),
        ([1, 2], 1, -1, "jobs"),
        ([1, 2], 1, 1.5, "jobs"),
        ([1, 2], 7e10, 2**40, "jobs"),
        ([], 1, 1, "site"),
    ],
)
def test_nonsense_is_refused_by_name(forecast: list[float], job: float, jobs: float, what: str) -> None:
    with pytest.raises(UserError, match=what):
        scheduler("green").allocate(forecast, job, jobs)


def test_unknown_scheduler_lists_the_known() -> None:
    with pytest.raises(UserError, match=r"'red'.*green.*round-robin"):
        scheduler("red")
