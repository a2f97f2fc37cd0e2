# SPDX-License-Identifier: Apache-2.0
"""What ``grasp bench studies`` times of the replica study: every policy over the study's loads and seeds."""

import heapq
import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from grasp.schedulers.base import FloatArray
from grasp.schedulers.replicas.events import Jobs
from grasp.schedulers.replicas.inputs import Inputs
from grasp.schedulers.replicas.queues import Case as Met
from grasp.schedulers.replicas.queues import LeastWork, Policy, Replicas, ShortestQueue, simulate
from grasp.topo.studies.benchmark import Case
from grasp.topo.studies.replicas.measure import Settings, all_jobs

_SERVERS = 100
_STUDY = Settings()


def cases(size: int) -> Iterator[Case]:
    """Yield the policies over all loads and seeds at once, beside the same jobs one after another.

    Answers are waits, in mean service times.
    """
    columns = len(_STUDY.loads) * _STUDY.seeds
    jobs = max(size // columns, 1)
    met = [Met(load) for load in _STUDY.loads]
    policies: tuple[tuple[str, Callable[[], Policy], str, Callable[[Jobs], FloatArray]], ...] = (
        ("2 replicas", lambda: Replicas(2), "job by job", first_to_start),
        ("5 replicas", lambda: Replicas(5), "job by job", first_to_start),
        ("least work", LeastWork, "job by job, with a heap", least_work),
        ("shortest queue", ShortestQueue, "job by job, with a heap of ends", shortest_of_all),
        ("shorter of two queues", lambda: ShortestQueue(2), "job by job", shortest_of_chosen),
    )
    for name, make, way, told in policies:
        inputs = Inputs(_SERVERS, jobs, range(_STUDY.seeds))

        def work(make: Callable[[], Policy] = make, inputs: Inputs = inputs) -> FloatArray:
            return simulate(make(), inputs, met).waits.astype(np.float64)

        def plain(choices: int = make().choices, told: Callable[[Jobs], FloatArray] = told) -> FloatArray:
            waits = np.empty((jobs, len(met), _STUDY.seeds))
            for seed in range(_STUDY.seeds):
                drawn = all_jobs(Inputs(_SERVERS, jobs, (seed,)), choices, 1.0)
                for index, load in enumerate(_STUDY.loads):
                    waits[:, index, seed] = told(replace(drawn, arrivals=drawn.arrivals / load))
            return waits

        yield Case(
            "replicas",
            f"{name}, {columns} runs at once",
            columns * jobs,
            work,
            way,
            plain,
        )


def first_to_start(jobs: Jobs) -> FloatArray:
    """Send each job to all servers chosen for it; the first that comes to it takes it. No signal is late.

    Returns the waits, of shape (jobs,), as all that follow.
    """
    free = [0.0] * _SERVERS
    waits = []
    for now, length, servers in _rows(jobs):
        winner, start = -1, math.inf
        for server in servers:
            reached = free[server]
            if reached < now:
                reached = now
            if reached < start:  # of idle servers, the one chosen first
                winner, start = server, reached
        free[winner] = start + length
        waits.append(start - now)
    return np.array(waits)


def least_work(jobs: Jobs) -> FloatArray:
    """Send each job to the server that is free first, which stands at the top of a heap."""
    free = [0.0] * _SERVERS
    waits = []
    for now, length, _ in _rows(jobs):
        start = max(now, free[0])
        heapq.heapreplace(free, start + length)
        waits.append(start - now)
    return np.array(waits)


def shortest_of_all(jobs: Jobs) -> FloatArray:
    """Send each job to the shortest queue, and of idle servers to the one that has been so for longest."""
    free, lengths = [0.0] * _SERVERS, [0] * _SERVERS
    ends: list[tuple[float, int]] = []  # of all jobs that are still there, with their servers
    waits = []
    for now, length, _ in _rows(jobs):
        while ends and ends[0][0] <= now:
            lengths[heapq.heappop(ends)[1]] -= 1
        server = free.index(start) if (start := min(free)) <= now else lengths.index(min(lengths))
        start = max(now, free[server])
        free[server] = start + length
        lengths[server] += 1
        heapq.heappush(ends, (free[server], server))
        waits.append(start - now)
    return np.array(waits)


def shortest_of_chosen(jobs: Jobs) -> FloatArray:
    """Send each job to the shortest of the queues chosen for it."""
    ends: list[deque[float]] = [deque() for _ in range(_SERVERS)]  # of the jobs that are still there
    waits = []
    for now, length, servers in _rows(jobs):
        for server in servers:
            queue = ends[server]
            while queue and queue[0] <= now:
                queue.popleft()
        best = min((ends[server] for server in servers), key=len)
        start = best[-1] if best else now
        best.append(start + length)
        waits.append(start - now)
    return np.array(waits)


def _rows(jobs: Jobs) -> Iterator[tuple[float, float, list[int]]]:
    """Each job's arrival, length and servers to choose from, as plain numbers."""
    return zip(jobs.arrivals.tolist(), jobs.lengths.tolist(), jobs.choices.tolist(), strict=True)
