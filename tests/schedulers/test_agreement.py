# SPDX-License-Identifier: Apache-2.0
"""The two faces of a scheduler agree, and agree with a plain job-after-job reading of the paper."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp import UserError
from grasp.schedulers.base import MWH_LIMIT, IntArray, Scheduler, Setting
from grasp.schedulers.filling import fill
from grasp.schedulers.registry import SCHEDULERS, scheduler

# Small ranges make ties frequent; large ones exercise the reckoning.
energies = st.one_of(
    st.lists(st.integers(-3, 12), min_size=1, max_size=9),
    st.lists(st.integers(-(10**6), 10**8), min_size=1, max_size=9),
)


def rule_of(name: str, sites: int) -> Scheduler:
    """A scheduler that has all it may need: five origins of jobs, in a row with the sites."""
    at = np.arange(sites)
    return scheduler(name, Setting(distance_km=np.abs(at * 10 - np.array([[0], [14], [15], [15], [99]]))))


def one_by_one(rule: Scheduler, forecast: list[float], job: float, jobs: int) -> list[int]:
    """Counts after `jobs` calls of choose."""
    counts = [0] * len(forecast)
    for number in range(jobs):
        site = rule.choose(forecast, np.array(counts) * job, origin=number % rule.origins)
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
    rule = rule_of(name, len(wh))
    allocated = rule.allocate(wh, job / 1000, jobs)
    assert allocated.tolist() == one_by_one(rule, wh, job / 1000, jobs)


@pytest.mark.parametrize("name", SCHEDULERS)
@given(forecast=energies, job=st.integers(1, 50_000), jobs=st.integers(0, 120))
def test_divisible_jobs_are_less_than_one_job_away(
    name: str, forecast: list[int], job: int, jobs: int
) -> None:
    """What divisible jobs do is not another rule: no site gets a whole job more or less."""
    wh = [energy / 1000 for energy in forecast]
    rule = rule_of(name, len(wh))
    parts = rule.divide(wh, job / 1000, jobs)
    assert parts.sum() == pytest.approx(jobs, abs=1e-6)
    # `nearest` rounds at each of its five origins.
    allowed = 5 if name == "nearest" else 1
    assert np.abs(parts - rule.allocate(wh, job / 1000, jobs)).max() < allowed + 1e-6


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
    rule = rule_of(name, 9)
    whole: IntArray = rule.allocate(energy, job, jobs)
    parts = rule.divide(energy, job, jobs)
    assert parts.shape == whole.shape == energy.shape
    for sweep in range(3):
        for hour in range(24):
            expected = one_by_one(rule, energy[sweep, hour], job[sweep, 0], jobs[hour])
            assert whole[sweep, hour].tolist() == expected
            alone = rule.divide(energy[sweep, hour], job[sweep, 0], jobs[hour])
            assert parts[sweep, hour].tolist() == alone.tolist()


@given(
    base=st.integers(-(2**45), 2**45),
    steps=st.lists(st.integers(-3, 3), min_size=1, max_size=6),
    job=st.integers(1, 4),
    jobs=st.integers(0, 40),
)
def test_near_ties_of_large_energies_are_exact(base: int, steps: list[int], job: int, jobs: int) -> None:
    forecast = [base + step for step in steps]
    assert fill(np.array(forecast), np.array(job), jobs).tolist() == algorithm_2(forecast, job, jobs)


def test_many_sites() -> None:
    forecast = np.random.default_rng(5).integers(0, 900, 256)
    assert fill(forecast, np.array(7), 5000).tolist() == algorithm_2(forecast.tolist(), 7, 5000)


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
