# SPDX-License-Identifier: Apache-2.0
"""Energy moved in time: the optimum against every schedule of small cases, the policy against the optimum."""

from collections import deque
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grasp import UserError
from grasp.schedulers.base import FloatArray
from grasp.schedulers.ratio import green_ratio_limit
from grasp.schedulers.shifting import Battery, Waiting, shift
from grasp.topo.year.optimum import optimum

small = st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=2), min_size=2, max_size=4)
NO_WAIT, NO_BATTERY = Waiting(), Battery()


def every_schedule(energy: list[int], fixed: int, deferrable: int, wait: int) -> int:
    """Most green jobs: tries every hour for every deferrable job."""
    hours = len(energy)
    jobs = [range(hour, min(hour + wait, hours - 1) + 1) for hour in range(hours) for _ in range(deferrable)]
    return max(
        sum(min(energy[hour], fixed + chosen.count(hour)) for hour in range(hours))
        for chosen in product(*jobs)
    )


def every_charge(energy: list[list[int]], jobs: int, capacity: int, power: int) -> int:
    """Most green jobs with whole jobs in lossless batteries: tries every charge and discharge."""

    @cache
    def best(hour: int, held: tuple[int, ...]) -> int:
        if hour == len(energy):
            return 0
        # A change below nothing gives; one above takes from the site's energy of the hour.
        options = [
            range(-min(power, have), min(power, capacity - have, energy[hour][site]) + 1)
            for site, have in enumerate(held)
        ]
        return max(
            min(jobs, sum(energy[hour]) - sum(change))
            + best(hour + 1, tuple(have + more for have, more in zip(held, change, strict=True)))
            for change in product(*options)
        )

    return best(0, (0,) * len(energy[0]))


def table(energy: list[list[int]]) -> FloatArray:
    return np.array(energy, dtype=np.float64)


@given(energy=small, fixed=st.integers(0, 2), deferrable=st.integers(0, 2), wait=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_optimum_of_waiting_jobs_is_the_best_of_all_schedules(
    energy: list[list[int]], fixed: int, deferrable: int, wait: int
) -> None:
    jobs = fixed + deferrable
    if jobs == 0:
        return
    most = every_schedule([sum(hour) for hour in energy], fixed, deferrable, wait)
    found = optimum(table(energy), 1, jobs, Waiting(deferrable / jobs, wait), NO_BATTERY)
    assert found * jobs * len(energy) == pytest.approx(most, abs=1e-6)


@given(energy=small, jobs=st.integers(1, 4), capacity=st.integers(1, 3), power=st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_optimum_of_batteries_is_the_best_of_all_charges(
    energy: list[list[int]], jobs: int, capacity: int, power: int
) -> None:
    most = every_charge(energy, jobs, capacity, power)
    found = optimum(table(energy), 1, jobs, NO_WAIT, Battery(capacity, power))
    assert found * jobs * len(energy) == pytest.approx(most, abs=1e-6)


@given(energy=small, jobs=st.integers(1, 4), share=st.sampled_from([0, 0.5, 1]), wait=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_knowing_the_hours_the_policy_of_waiting_reaches_the_optimum(
    energy: list[list[int]], jobs: int, share: float, wait: int
) -> None:
    found = shift(table(energy), table(energy), 1, jobs, Waiting(share, wait), NO_BATTERY)
    best = optimum(table(energy), 1, jobs, Waiting(share, wait), NO_BATTERY)
    assert found.green_ratio[0] == pytest.approx(best, abs=1e-6)


@given(
    energy=small,
    believed=small,
    jobs=st.integers(1, 4),
    share=st.floats(0, 1),
    wait=st.integers(0, 3),
    capacity=st.floats(0, 5),
    power=st.floats(0, 3),
    efficiency=st.floats(0.3, 1),
)
@settings(max_examples=80, deadline=None)
def test_no_forecast_takes_the_policy_above_the_optimum_or_below_the_limit(
    energy: list[list[int]],
    believed: list[list[int]],
    jobs: int,
    share: float,
    wait: int,
    capacity: float,
    power: float,
    efficiency: float,
) -> None:
    waiting, battery = Waiting(share, wait), Battery(capacity, power, efficiency)
    guess = np.resize(table(believed), (len(energy), 2))
    found = shift(table(energy), guess, 1, jobs, waiting, battery)
    assert found.green_ratio[0] <= optimum(table(energy), 1, jobs, waiting, battery) + 1e-6
    assert found.green_ratio[0] <= 1 + 1e-9
    assert 0 <= found.mean_wait_h[0] <= share * wait + 1e-9
    # Batteries alone lose nothing: what they take was left over.
    alone = shift(table(energy), guess, 1, jobs, NO_WAIT, battery)
    assert alone.green_ratio[0] >= float(green_ratio_limit(table(energy), 1, jobs)) - 1e-9


def first_come(energy: list[float], jobs: int, wait: int) -> tuple[float, float]:
    """Green jobs and hours waited, for whole jobs that may all wait, knowing that energy comes in the end."""
    queue: deque[int] = deque()
    green = waited = 0
    for hour, left in enumerate(energy):
        queue.extend([hour] * jobs)
        while queue and left >= 1:
            waited += hour - queue.popleft()
            left -= 1
            green += 1
        while queue and queue[0] + wait <= hour:
            waited += hour - queue.popleft()
    return green, waited


def test_waits_are_counted() -> None:
    energy = [0.0, 0.0, 6.0, 1.0, 0.0, 9.0]
    found = shift(np.array(energy)[:, np.newaxis], np.full((6, 1), 99.0), 1, 2, Waiting(1, 2), NO_BATTERY)
    green, waited = first_come(energy, 2, 2)
    assert found.green_ratio[0] * 12 == pytest.approx(green)
    assert found.mean_wait_h[0] * 12 == pytest.approx(waited)


def test_jobs_without_hope_do_not_wait() -> None:
    night = np.zeros((5, 1))
    assert shift(night, night, 1, 3, Waiting(1, 3), NO_BATTERY).mean_wait_h[0] == 0
    # One of three jobs an hour finds energy in the last hour, and only those of the last hours reach it.
    dawn = np.array([[0.0], [0], [0], [0], [3]])
    found = shift(dawn, dawn, 1, 3, Waiting(1, 2), NO_BATTERY)
    assert found.green_ratio[0] * 15 == pytest.approx(3)


@pytest.mark.parametrize(
    ("capacity", "power", "stored"),
    [(100, 4, 2.0), (100, 1.5, 0.75), (1, 4, 1.0)],
    ids=["efficiency", "power", "capacity"],
)
def test_battery_by_hand(capacity: float, power: float, stored: float) -> None:
    """10 Wh are left over in the first hour; a half of what goes in comes out, in the hours after it."""
    energy = np.array([[14.0], [0], [0], [0]])
    battery = Battery(capacity, power, 0.5)
    found = shift(energy, energy, 1, 4, NO_WAIT, battery)
    assert found.green_ratio[0] * 16 == pytest.approx(4 + stored)
    assert optimum(energy, 1, 4, NO_WAIT, battery) * 16 == pytest.approx(4 + stored)


def test_cases_are_apart() -> None:
    energy = np.random.default_rng(2).random((48, 3)) * 100
    waiting, battery = Waiting(0.4, 3), Battery(60, 20, 0.9)
    together = shift(energy, energy, [1.0, 7.0], [30, 20], waiting, battery)
    for case, (k, n) in enumerate(((1.0, 30), (7.0, 20))):
        alone = shift(energy, energy, k, n, waiting, battery)
        assert together.green_ratio[case] == alone.green_ratio[0]
        assert together.mean_wait_h[case] == alone.mean_wait_h[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Waiting(1.5, 2), "share 1.5"),
        (lambda: Waiting(float("nan"), 2), "share nan"),
        (lambda: Waiting(0.5, 25), "wait 25"),
        (lambda: Battery(-1), "battery capacity -1"),
        (lambda: Battery(1, float("inf")), "battery power inf"),
        (lambda: Battery(1, 1, 0), "battery efficiency 0"),
    ],
)
def test_what_cannot_be_is_refused(make: "type[Waiting]", message: str) -> None:
    with pytest.raises(UserError, match=message):
        make()
