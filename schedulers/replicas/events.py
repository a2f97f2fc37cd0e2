# SPDX-License-Identifier: Apache-2.0
"""One simulation told event by event: arrivals, ends of service, and signals on their way.

Slower than `grasp.schedulers.replicas.queues`, but it takes rules that look at the whole system when a
replica is about to start, and it shows that the faster one is right.
"""

import heapq
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from grasp.schedulers.base import FloatArray, IntArray


class Rule(ABC):
    """Decides whether a replica that its server has reached starts there."""

    @abstractmethod
    def starts(self, server: int, others: Collection[int], waited: float, now: float) -> bool:
        """Say whether it starts; if not, it leaves the queue and the job relies on its other replicas.

        `others` are the servers in whose queues the job still waits; a job with none must start.
        """


class FirstToStart(Rule):
    """Whichever replica is reached first."""

    def starts(self, server: int, others: Collection[int], waited: float, now: float) -> bool:
        """Say yes."""
        return True


@dataclass(frozen=True)
class Jobs:
    """Jobs in order of arrival: `arrivals` and `lengths` of shape (jobs,), `choices` of shape (jobs, d)."""

    arrivals: FloatArray
    lengths: FloatArray
    choices: IntArray


@dataclass(frozen=True)
class Told:
    """What became of the jobs: time to the first start, server of the first start, replicas that ran too."""

    waits: FloatArray
    servers: IntArray
    duplicates: IntArray


@dataclass(frozen=True)
class _Run:
    """Where a simulation stands; lists, since single values of arrays are slow to reach."""

    arrivals: list[float]
    lengths: list[float]
    delay: float
    rule: Rule
    queues: Sequence[deque[int]]
    busy: list[bool]
    waiting: list[set[int]]  # by job: servers in whose queues it waits, as far as they know
    first: list[int]  # by job: server of the first start, or -1
    waits: list[float]
    duplicates: list[int]
    coming: list[tuple[float, int, int, int]]  # time, number, server that ends or -1, job


def tell(jobs: Jobs, servers: int, delay: float = 0.0, rule: Rule | None = None) -> Told:
    """Simulate all jobs on `servers` servers; a signal takes `delay`.

    Without a delay a start removes the other replicas at once; of several idle servers the one chosen first
    starts.
    """
    count = len(jobs.arrivals)
    run = _Run(
        jobs.arrivals.tolist(),
        jobs.lengths.tolist(),
        delay,
        rule or FirstToStart(),
        [deque() for _ in range(servers)],
        [False] * servers,
        [set(chosen) for chosen in jobs.choices.tolist()],
        [-1] * count,
        [0.0] * count,
        [0] * count,
        [],
    )
    coming = run.coming
    for job, (now, chosen) in enumerate(zip(run.arrivals, jobs.choices.tolist(), strict=True)):
        while coming and coming[0][0] <= now:
            _happen(run)
        for server in chosen:
            run.queues[server].append(job)
        for server in chosen:
            if not run.busy[server]:
                _reach(run, server, now)
    while coming:
        _happen(run)
    return Told(np.array(run.waits), np.array(run.first), np.array(run.duplicates))


def _happen(run: _Run) -> None:
    """Take the next event: a signal that a job has started, or the end of a service."""
    now, _, server, job = heapq.heappop(run.coming)
    if server < 0:
        run.waiting[job].clear()
    else:
        run.busy[server] = False
        _reach(run, server, now)


def _reach(run: _Run, server: int, now: float) -> None:
    """Let a server that is free take the next job in its queue that it may."""
    queue = run.queues[server]
    while queue:
        job = queue.popleft()
        others = run.waiting[job]
        if server not in others:  # cancelled
            continue
        others.remove(server)
        waited = now - run.arrivals[job]
        if run.rule.starts(server, others, waited, now):
            _start(run, server, job, now, waited)
            return


def _start(run: _Run, server: int, job: int, now: float, waited: float) -> None:
    if run.first[job] < 0:
        run.first[job] = server
        run.waits[job] = waited
        if run.delay == 0:
            run.waiting[job].clear()
        elif run.waiting[job]:
            heapq.heappush(run.coming, (now + run.delay, -1, -1, job))
    else:
        run.duplicates[job] += 1
    run.busy[server] = True
    heapq.heappush(run.coming, (now + run.lengths[job], job, server, job))
