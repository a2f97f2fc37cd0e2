# SPDX-License-Identifier: Apache-2.0
"""Forecast methods on energies that can be looked through."""

import numpy as np
import pytest

from grasp import UserError
from grasp.telemetry.forecast import forecast

ENERGY = np.arange(12.0).reshape(6, 2)


def test_perfect_is_the_energy_itself() -> None:
    assert np.array_equal(forecast(ENERGY), ENERGY)


def test_persistence_is_the_hour_before() -> None:
    believed = forecast(ENERGY, "persistence")
    assert np.array_equal(believed[1:], ENERGY[:-1])
    assert np.array_equal(believed[0], ENERGY[-1])


def test_error_is_seeded_unbiased_and_of_its_size() -> None:
    energy = np.full((20_000, 2), 100.0)
    energy[0] = 0
    believed = forecast(energy, error=0.2, seed=7)
    assert np.array_equal(believed, forecast(energy, error=0.2, seed=7))
    assert not np.array_equal(believed, forecast(energy, error=0.2, seed=8))
    assert (believed[0] == 0).all()
    assert believed.mean() == pytest.approx(100, rel=0.01)
    assert np.log(believed[1:]).std() == pytest.approx(0.2, rel=0.03)


@pytest.mark.parametrize(("method", "error"), [("oracle", 0), ("perfect", -0.1), ("perfect", float("nan"))])
def test_nonsense_is_refused(method: str, error: float) -> None:
    with pytest.raises(UserError, match="forecast"):
        forecast(ENERGY, method, error)


def test_negative_seed_is_refused() -> None:
    with pytest.raises(UserError, match="seed -1"):
        forecast(ENERGY, seed=-1)
