# SPDX-License-Identifier: Apache-2.0
"""Replicas: the fast simulation against one told event by event, other policies and queueing theory."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from grasp import UserError
from grasp.schedulers.base import FloatArray
from grasp.schedulers.replicas.events import Jobs, tell
from grasp.schedulers.replicas.inputs import SERVICE_TIMES, Inputs, distinct, service_time
from grasp.schedulers.replicas.queues import Case, LeastWork, Replicas, ShortestQueue, simulate
from grasp.schedulers.replicas.theory import wait_of_least_loaded, wait_of_many, wait_of_one
from grasp.schedulers.replicas.work import join_least_work


def jobs_of(inputs: Inputs, d: int, load: float) -> Jobs:
    """The first seed's jobs as the event simulation takes them."""
    blocks = list(inputs.blocks(d))
    gaps = np.concatenate([block.gaps[:, 0] for block in blocks])
    return Jobs(
        np.cumsum(gaps / (load * inputs.servers)),
        np.concatenate([block.lengths[:, 0] for block in blocks]),
        np.concatenate([block.choices[:, :, 0] for block in blocks]),
    )


def half_width(means: FloatArray) -> float:
    """Half the 99 % confidence interval of the mean over the seeds."""
    return float(stats.t.ppf(0.995, len(means) - 1) * means.std(ddof=1) / len(means) ** 0.5)


def test_every_job_as_told_event_by_event() -> None:
    """Waits and duplicates, for all service times, few and many replicas, short and long delays."""
    for service in SERVICE_TIMES:
        for d, delay in ((1, 0.0), (2, 0.0), (2, 1.5), (3, 0.1), (7, 0.0), (7, 0.4)):
            inputs = Inputs(7, 1500, (11,), service)
            fast = simulate(Replicas(d), inputs, [Case(0.7, delay)])
            told = tell(jobs_of(inputs, d, 0.7), 7, delay)
            np.testing.assert_allclose(fast.waits[:, 0, 0], told.waits, rtol=1e-5, atol=1e-5)
            assert fast.duplicates[0, 0] == told.duplicates.sum()


@settings(max_examples=60, deadline=None)
@given(
    servers=st.integers(2, 5),
    delay=st.sampled_from([0.0, 0.05, 0.6, 3.0]),
    seed=st.integers(0, 2**32 - 1),
    load=st.floats(0.05, 1.5),
    data=st.data(),
)
def test_any_small_system_as_told(
    servers: int, delay: float, seed: int, load: float, data: st.DataObject
) -> None:
    d = data.draw(st.integers(1, servers))
    inputs = Inputs(servers, 60, (seed,))
    fast = simulate(Replicas(d), inputs, [Case(load, delay)])
    told = tell(jobs_of(inputs, d, load), servers, delay)
    np.testing.assert_allclose(fast.waits[:, 0, 0], told.waits, rtol=1e-5, atol=1e-5)
    assert fast.duplicates[0, 0] == told.duplicates.sum()


def test_signals_cross_by_hand() -> None:
    """Two idle servers and a signal that takes 1: both run both jobs."""
    jobs = Jobs(np.array([0.0, 0.5]), np.array([2.0, 3.0]), np.array([[0, 1], [1, 0]]))
    told = tell(jobs, 2, delay=1.0)
    assert told.waits.tolist() == [0.0, 1.5]
    assert told.duplicates.tolist() == [1, 1]  # both servers come free at 2, before a signal can cross
    told = tell(jobs, 2, delay=0.0)
    assert told.waits.tolist() == [0.0, 0.0]
    assert told.duplicates.tolist() == [0, 0]
    assert told.servers.tolist() == [0, 1]


def test_time_is_wasted_at_each_server_that_runs_in_vain() -> None:
    """Three idle servers and a signal that takes 1: two of them run a job of 2 in vain."""
    policy = Replicas(3)
    policy.begin(3, np.array([1.0, 0.0]))
    waits = policy.place(np.zeros(2), np.full(2, 2.0), np.array([[0, 3], [1, 4], [2, 5]]))
    assert waits.tolist() == [0.0, 0.0]
    assert policy.duplicates.tolist() == [2, 0]
    assert policy.wasted.tolist() == [4.0, 0.0]


@pytest.mark.parametrize("load", [0.5, 0.8, 0.9])
def test_no_delay_is_the_least_loaded_of_the_chosen(load: float) -> None:
    """Against a plain simulation with random numbers of its own: within the confidence interval."""
    d, servers, jobs = 2, 10, 3000
    seen = simulate(Replicas(d), Inputs(servers, jobs, range(12)), [Case(load)]).waits[500:, 0]
    plain = np.array([least_work_of_two(load, servers, jobs, seed)[500:].mean() for seed in range(12)])
    mine = seen.mean(axis=0, dtype=np.float64)
    assert abs(mine.mean() - plain.mean()) < np.hypot(half_width(mine), half_width(plain))


def least_work_of_two(load: float, servers: int, jobs: int, seed: int) -> FloatArray:
    """Join the server with less work left of two random ones; work runs down as time passes."""
    draw = random.Random(f"plain {seed}")
    work = [0.0] * servers
    waits = []
    for _ in range(jobs):
        gap = draw.expovariate(load * servers)
        work = [max(left - gap, 0) for left in work]
        best = min(draw.sample(range(servers), 2), key=work.__getitem__)
        waits.append(work[best])
        work[best] += draw.expovariate(1)
    return np.array(waits)


def test_least_work_by_formulas() -> None:
    """Of one is M/M/1, of all is M/M/c; both loads at once."""
    for d, wait in ((1, wait_of_one), (4, lambda load: wait_of_many(load, 4))):
        seen = join_least_work(4, d, (0.5, 0.8), 20_000, 20)[5000:]
        for index, load in enumerate((0.5, 0.8)):
            means = seen[:, index].mean(axis=0, dtype=np.float64)
            assert abs(means.mean() - wait(load)) < half_width(means)


def test_random_assignment_is_one_queue_each() -> None:
    seen = simulate(Replicas(1), Inputs(5, 20_000, range(20)), [Case(0.5), Case(0.7)]).waits[2000:]
    for index, load in enumerate((0.5, 0.7)):
        means = seen[:, index].mean(axis=0, dtype=np.float64)
        assert abs(means.mean() - wait_of_one(load)) < half_width(means)


def test_replicas_everywhere_and_least_work_are_one_queue_for_all() -> None:
    for policy in (Replicas(4), LeastWork()):
        seen = simulate(policy, Inputs(4, 20_000, range(20)), [Case(0.8)]).waits[2000:, 0]
        means = seen.mean(axis=0, dtype=np.float64)
        assert abs(means.mean() - wait_of_many(0.8, 4)) < half_width(means)


def test_many_servers_come_near_their_limit() -> None:
    seen = simulate(Replicas(2), Inputs(500, 40_000, range(20)), [Case(0.8)]).waits[10_000:, 0]
    assert seen.mean(dtype=np.float64) == pytest.approx(wait_of_least_loaded(0.8, 2), rel=0.03)


def test_formulas() -> None:
    assert wait_of_many(0.6, 1) == pytest.approx(wait_of_one(0.6))
    assert wait_of_many(0.75, 2) == pytest.approx(0.75**2 / (1 - 0.75**2))  # known for M/M/2
    assert wait_of_least_loaded(0.9, 2) == pytest.approx(-np.log(1 - 0.9**2) / 0.9**2 - 1)  # the integral
    assert wait_of_least_loaded(0.5, 1) == 1


@pytest.mark.parametrize("choices", [None, 2])
def test_shortest_queue_against_a_plain_one(choices: int | None) -> None:
    inputs = Inputs(6, 3000, (5,))
    fast = simulate(ShortestQueue(choices), inputs, [Case(0.9)]).waits[:, 0, 0]
    jobs = jobs_of(inputs, choices or 1, 0.9)
    ends: list[list[float]] = [[] for _ in range(6)]
    idle_since = [0.0] * 6
    for number, now in enumerate(jobs.arrivals.tolist()):
        ends = [[end for end in queue if end > now] for queue in ends]
        among = range(6) if choices is None else jobs.choices[number].tolist()
        server = min(among, key=lambda one: len(ends[one]))
        if choices is None and not ends[server]:
            server = min((one for one in among if not ends[one]), key=idle_since.__getitem__)
        start = max([now, *ends[server][-1:]])
        ends[server].append(start + float(jobs.lengths[number]))
        idle_since[server] = ends[server][-1]
        assert fast[number] == pytest.approx(start - now, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", SERVICE_TIMES)
def test_service_times_have_mean_one(name: str) -> None:
    drawn = service_time(name)(np.random.default_rng(1), 400_000)
    assert drawn.min() >= 0
    assert drawn.mean() == pytest.approx(1, rel=0.01)
    if name == "hyperexponential":
        assert drawn.var() == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize(("choices", "of"), [(2, 100), (5, 6), (7, 7)])
def test_choices_are_distinct_and_fair(choices: int, of: int) -> None:
    drawn = distinct(np.random.default_rng(2), 20_000, choices, of)
    assert drawn.shape == (20_000, choices)
    assert all(len(set(row)) == choices for row in drawn.tolist())
    for column in drawn.T:  # each place by itself
        seen = np.bincount(column, minlength=of)
        assert stats.chisquare(seen).pvalue > 1e-6


def test_columns_do_not_disturb_each_other() -> None:
    together = simulate(Replicas(2), Inputs(9, 500, (1, 2, 3)), [Case(0.5), Case(0.9, 0.3)])
    alone = simulate(Replicas(2), Inputs(9, 500, (2,)), [Case(0.9, 0.3)])
    np.testing.assert_array_equal(together.waits[:, 1, 1], alone.waits[:, 0, 0])
    assert together.duplicates[1, 1] == alone.duplicates[0, 0]
    prompt = simulate(Replicas(2), Inputs(9, 500, (2,)), [Case(0.5)])
    np.testing.assert_array_equal(together.waits[:, 0, 1], prompt.waits[:, 0, 0])
    assert not together.duplicates[0].any()
    assert not together.wasted[0].any()


def test_mistakes_are_named() -> None:
    with pytest.raises(UserError, match=r"'normal'.*exponential"):
        service_time("normal")
    with pytest.raises(UserError, match="3 replicas: there are 2 servers"):
        simulate(Replicas(3), Inputs(2, 10, (0,)), [Case(0.5)])
