# SPDX-License-Identifier: Apache-2.0
"""What ``grasp bench studies`` times of the replica study: every policy over the study's loads and seeds."""

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from grasp.schedulers.base import FloatArray
from grasp.schedulers.replicas.events import Jobs, tell
from grasp.schedulers.replicas.inputs import Inputs
from grasp.schedulers.replicas.queues import Case as Met
from grasp.schedulers.replicas.queues import LeastWork, Policy, Replicas, ShortestQueue, simulate
from grasp.topo.studies.benchmark import Case
from grasp.topo.studies.replicas.measure import Settings, all_jobs

_SERVERS = 100
_STUDY = Settings()


def cases(size: int) -> Iterator[Case]:
    """Yield the policies over all loads and seeds at once, beside the first seed's jobs one after another.

    Answers are waits, in mean service times.
    """
    columns = len(_STUDY.loads) * _STUDY.seeds
    jobs = max(size // columns, 1)
    met = [Met(load) for load in _STUDY.loads]
    policies: tuple[tuple[str, Callable[[], Policy], str, Callable[[Jobs], FloatArray]], ...] = (
        ("2 replicas", lambda: Replicas(2), "event by event", by_events),
        ("5 replicas", lambda: Replicas(5), "event by event", by_events),
        ("least work", LeastWork, "job by job, with a heap", least_work),
        ("shortest queue", ShortestQueue, "job by job, every queue", shortest_of_all),
        ("shorter of two queues", lambda: ShortestQueue(2), "job by job", shortest_of_chosen),
    )
    for name, make, way, told in policies:
        inputs = Inputs(_SERVERS, jobs, range(_STUDY.seeds))

        def work(make: Callable[[], Policy] = make, inputs: Inputs = inputs) -> FloatArray:
            return simulate(make(), inputs, met).waits.astype(np.float64)

        def plain(choices: int = make().choices, told: Callable[[Jobs], FloatArray] = told) -> FloatArray:
            first = Inputs(_SERVERS, jobs, (0,))
            return np.stack([told(all_jobs(first, choices, load)) for load in _STUDY.loads], axis=-1)

        yield Case(
            "replicas",
            f"{name}, {columns} runs at once",
            columns * jobs,
            work,
            way,
            len(met) * jobs,
            plain,
            lambda waits: waits[:, :, 0],
        )


def by_events(jobs: Jobs) -> FloatArray:
    """Return the waits of jobs with replicas, of shape (jobs,), as all that follow."""
    return tell(jobs, _SERVERS).waits


def least_work(jobs: Jobs) -> FloatArray:
    """Send each job to the server that is free first, which stands at the top of a heap."""
    free = [0.0] * _SERVERS
    waits = []
    for now, length in zip(jobs.arrivals.tolist(), jobs.lengths.tolist(), strict=True):
        start = max(now, free[0])
        heapq.heapreplace(free, start + length)
        waits.append(start - now)
    return np.array(waits)


def shortest_of_all(jobs: Jobs) -> FloatArray:
    """Send each job to the shortest queue, and of idle servers to the one that has been so for longest."""
    return _shortest(jobs, [range(_SERVERS)] * len(jobs.arrivals), longest_idle=True)


def shortest_of_chosen(jobs: Jobs) -> FloatArray:
    """Send each job to the shortest of the queues chosen for it."""
    return _shortest(jobs, jobs.choices.tolist(), longest_idle=False)


def _shortest(jobs: Jobs, candidates: Sequence[Sequence[int]], longest_idle: bool) -> FloatArray:
    ends: list[deque[float]] = [deque() for _ in range(_SERVERS)]  # of the jobs that are still there
    free = [0.0] * _SERVERS
    waits = []
    for now, length, servers in zip(jobs.arrivals.tolist(), jobs.lengths.tolist(), candidates, strict=True):
        best, least = -1, (0, 0.0)
        for server in servers:
            queue = ends[server]
            while queue and queue[0] <= now:
                queue.popleft()
            rank = (len(queue), free[server] if longest_idle and not queue else 0.0)
            if best < 0 or rank < least:
                best, least = server, rank
        start = max(now, free[best])
        free[best] = start + length
        ends[best].append(free[best])
        waits.append(start - now)
    return np.array(waits)
