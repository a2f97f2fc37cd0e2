# SPDX-License-Identifier: Apache-2.0
"""Many simulations at once: every load, delay and seed a column, all of them moved on job by job.

Queues are first come, first served, and a job's replicas join them when it comes. What happens to a replica
then depends on earlier jobs only: on when its server has done with them, and on when another replica of the
same job starts. So one pass over the jobs in order of arrival gives exactly what a simulation of all events
gives (`grasp.schedulers.replicas.events`), and a step of the pass is a few array operations on all columns.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grasp.schedulers.base import FloatArray, IntArray
from grasp.schedulers.replicas.inputs import Inputs


@dataclass(frozen=True)
class Case:
    """A load (part of the servers' capacity) and the delay of the signal that cancels replicas."""

    load: float
    delay: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What became of the jobs.

    Shapes: `waits` (jobs, cases, seeds), from arrival to the first start; `duplicates` and `wasted`
    (cases, seeds): replicas that ran although another one had started, and the time they took.
    """

    waits: NDArray[np.float32]
    duplicates: IntArray
    wasted: FloatArray


class Policy(ABC):
    """Where jobs wait. One object serves one simulation, of `columns` = cases x seeds."""

    choices = 1
    """How many randomly chosen servers it looks at."""

    duplicates: IntArray
    wasted: FloatArray

    @abstractmethod
    def begin(self, servers: int, delay: FloatArray) -> None:
        """Empty all queues; `delay` has shape (columns,)."""

    @abstractmethod
    def place(self, now: FloatArray, length: FloatArray, choices: IntArray) -> FloatArray:
        """Take a job in every column and return how long it waits.

        `now` and `length` have shape (columns,), `choices` has shape (choices, columns) and numbers the
        servers of all columns through: column * servers + server.
        """


def simulate(
    policy: Policy,
    inputs: Inputs,
    cases: Sequence[Case],
    follow: Callable[[int], None] = lambda jobs: None,
) -> Outcome:
    """Run `policy` over all cases and seeds; `follow` is told how many jobs of each column are done."""
    shape = (len(cases), len(inputs.seeds))
    columns = shape[0] * shape[1]
    rate = np.array([case.load * inputs.servers for case in cases])[:, np.newaxis]
    policy.begin(inputs.servers, np.repeat([case.delay for case in cases], shape[1]))
    waits = np.empty((inputs.jobs, columns), dtype=np.float32)
    offset = np.arange(columns).reshape(shape) * inputs.servers
    clock = np.zeros(shape[1])  # at load 1 on one server
    done = 0
    for block in inputs.blocks(policy.choices):
        since = clock + np.cumsum(block.gaps, axis=0)
        arrivals = (since[:, np.newaxis] / rate).reshape(-1, columns)
        lengths = np.tile(block.lengths, shape[0])
        choices = (block.choices[:, :, np.newaxis] + offset).reshape(len(since), -1, columns)
        for now, length, servers in zip(arrivals, lengths, choices, strict=True):
            waits[done] = policy.place(now, length, servers)
            done += 1
        clock = since[-1]
        follow(done)
    return Outcome(
        waits.reshape(inputs.jobs, *shape), policy.duplicates.reshape(shape), policy.wasted.reshape(shape)
    )


class Replicas(Policy):
    """Each job waits in d queues; where it starts first, it cancels the others after the delay.

    A replica whose server reaches it before the signal does runs as well, to its end. With one choice this
    is random assignment.
    """

    def __init__(self, d: int) -> None:
        self.choices = d

    def begin(self, servers: int, delay: FloatArray) -> None:
        """Empty all queues."""
        columns = len(delay)
        self._free = np.zeros(columns * servers)  # when each server has done with the jobs that came so far
        self._delay = delay
        self._instant = not delay.any()
        self._columns = np.arange(columns)
        self.duplicates = np.zeros(columns, dtype=np.int64)
        self.wasted = np.zeros(columns)

    def place(self, now: FloatArray, length: FloatArray, choices: IntArray) -> FloatArray:
        """Put a replica in each chosen queue; the servers' next replica follows when this one is over."""
        reached = self._free[choices]
        np.maximum(reached, now, out=reached)
        if len(choices) == 1:
            self._free[choices] = reached + length
            return np.asarray(reached[0] - now)
        winner = reached.argmin(axis=0)  # of servers that are idle, the one chosen first
        place = winner * len(now) + self._columns  # in both arrays, read as one row
        first = reached.take(place)
        if self._instant:
            self._free[choices.take(place)] = first + length
            return np.asarray(first - now)
        runs = reached < first + self._delay
        runs[winner, self._columns] = True
        self._free[choices] = reached + runs * length
        extra = runs.sum(axis=0) - 1
        self.duplicates += extra
        self.wasted += extra * length
        return np.asarray(first - now)


class LeastWork(Policy):
    """Each job joins the server of all that will be free first: what no one could know without an oracle."""

    def begin(self, servers: int, delay: FloatArray) -> None:
        """Empty all queues."""
        columns = len(delay)
        self._free = np.zeros((columns, servers))
        self._columns = np.arange(columns)
        self.duplicates = np.zeros(columns, dtype=np.int64)
        self.wasted = np.zeros(columns)

    def place(self, now: FloatArray, length: FloatArray, choices: IntArray) -> FloatArray:
        """Join the queue with the least work."""
        place = self._columns, self._free.argmin(axis=1)
        start = np.maximum(self._free[place], now)
        self._free[place] = start + length
        return np.asarray(start - now)


class ShortestQueue(Policy):
    """Each job joins the shortest of d randomly chosen queues, or of all of them; ties to the first.

    Of all servers that are idle, the one that has been so for longest is taken: they are equals, and it is
    found at once.

    Source of the choice of two: M. Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing",
    IEEE Transactions on Parallel and Distributed Systems 12(10), 2001.
    """

    def __init__(self, d: int | None = None) -> None:
        self._all = d is None
        self.choices = d or 1

    def begin(self, servers: int, delay: FloatArray) -> None:
        """Empty all queues."""
        columns = len(delay)
        self._servers = servers
        # Departures of each server's latest jobs, the latest first: a queue is longer than m when the one at
        # m is still to come. There is room for one more than the longest queue.
        self._departures = np.zeros((2, columns * servers))
        self._columns = np.arange(columns)
        self.duplicates = np.zeros(columns, dtype=np.int64)
        self.wasted = np.zeros(columns)

    def place(self, now: FloatArray, length: FloatArray, choices: IntArray) -> FloatArray:
        """Join the shortest queue."""
        chosen = self._shortest_of_all(now) if self._all else self._shortest(now, choices)
        latest = self._departures[:, chosen]
        start = np.maximum(latest[0], now)
        self._departures[1:, chosen] = latest[:-1]
        self._departures[0, chosen] = start + length
        if (latest[-2] > now).any():
            self._departures = np.concatenate([self._departures, np.zeros_like(self._departures[:1])])
        return np.asarray(start - now)

    def _shortest(self, now: FloatArray, choices: IntArray) -> IntArray:
        waiting = (self._departures[:, choices] > now).view(np.int8)
        lengths = waiting.sum(axis=0, dtype=np.int16)
        return np.asarray(choices[lengths.argmin(axis=0), self._columns])

    def _shortest_of_all(self, now: FloatArray) -> IntArray:
        departures = self._departures.reshape(len(self._departures), -1, self._servers)
        server = departures[0].argmin(axis=1)
        left = np.flatnonzero(departures[0, self._columns, server] > now)
        for level in departures[1:]:  # where every server has more jobs than those looked at so far
            if not len(left):
                break
            free = level[left] <= now[left, np.newaxis]
            first = free.argmax(axis=1)
            server[left] = first
            left = left[level[left, first] > now[left]]
        return np.asarray(self._columns * self._servers + server)
