# SPDX-License-Identifier: Apache-2.0
"""The random inputs of a simulation: when jobs come, how long they take, which servers they may choose.

Each seed has a stream of each kind, so that every policy, load and delay meets the same jobs: what differs
between two results then comes from the policies, and much of the noise cancels out of their ratio.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from grasp import UserError
from grasp.schedulers.base import FloatArray, IntArray

Sampler = Callable[[Generator, int], FloatArray]

_FAST, _SLOW = 0.5 * (1 + np.sqrt(0.6)), 0.5 * (1 - np.sqrt(0.6))
_PARETO_SHAPE = 2.5


def _hyperexponential(generator: Generator, size: int) -> FloatArray:
    """Two phases of balanced means whose mixture has mean 1 and a squared coefficient of variation of 4."""
    fast = generator.random(size) < _FAST
    scale = np.where(fast, 0.5 / _FAST, 0.5 / _SLOW)
    times: FloatArray = scale * generator.standard_exponential(size)
    return times


SERVICE_TIMES: dict[str, Sampler] = {
    "exponential": lambda generator, size: generator.standard_exponential(size),
    "deterministic": lambda _, size: np.ones(size),
    "uniform": lambda generator, size: generator.uniform(0, 2, size),
    "hyperexponential": _hyperexponential,
    "pareto": lambda generator, size: (
        (generator.pareto(_PARETO_SHAPE, size) + 1) * (_PARETO_SHAPE - 1) / _PARETO_SHAPE
    ),
}
"""Distributions of the service time, all of mean 1."""


def service_time(name: str) -> Sampler:
    """Return the distribution of that name; raises UserError that lists those there are."""
    try:
        return SERVICE_TIMES[name]
    except KeyError:
        raise UserError(f"service times {name!r}: there are {', '.join(SERVICE_TIMES)}") from None


@dataclass(frozen=True)
class Block:
    """Some jobs in a row: gaps before them at load 1 on one server, lengths, servers to choose from.

    Shapes: `gaps` and `lengths` (jobs, seeds), `choices` (jobs, d, seeds), distinct along d.
    """

    gaps: FloatArray
    lengths: FloatArray
    choices: IntArray


@dataclass(frozen=True)
class Inputs:
    """Jobs for `servers` servers, the same whenever they are asked for.

    Source of the model: Poisson arrivals, d of the servers chosen at random for each job (Nahir et al.).
    """

    servers: int
    jobs: int
    seeds: Sequence[int]
    service: str = "exponential"

    def blocks(self, choices: int, size: int = 1000) -> Iterator[Block]:
        """Yield the jobs, at most `size` at a time, each with so many servers to choose from."""
        if choices > self.servers:
            raise UserError(f"{choices} replicas: there are {self.servers} servers")
        draw = service_time(self.service)
        arrivals, lengths, places = (
            [np.random.default_rng((seed, kind)) for seed in self.seeds] for kind in range(3)
        )
        for done in range(0, self.jobs, size):
            count = min(size, self.jobs - done)
            yield Block(
                np.stack([generator.standard_exponential(count) for generator in arrivals], axis=-1),
                np.stack([draw(generator, count) for generator in lengths], axis=-1),
                np.stack([distinct(generator, count, choices, self.servers) for generator in places], -1),
            )


def distinct(generator: Generator, rows: int, choices: int, of: int) -> IntArray:
    """Draw `choices` different numbers below `of` for each row, in random order; shape (rows, choices)."""
    drawn = generator.integers(of, size=(rows, choices))
    while True:
        ordered = np.sort(drawn, axis=-1)
        repeated = (ordered[:, 1:] == ordered[:, :-1]).any(axis=-1)
        if not repeated.any():
            return drawn
        if choices * choices > of:  # repeats would be the rule: shuffle instead
            every = np.broadcast_to(np.arange(of), (int(repeated.sum()), of))
            drawn[repeated] = generator.permuted(every, axis=-1)[:, :choices]
        else:
            drawn[repeated] = generator.integers(of, size=(int(repeated.sum()), choices))
