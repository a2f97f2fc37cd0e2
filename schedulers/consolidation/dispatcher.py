# SPDX-License-Identifier: Apache-2.0
"""The dispatcher: for each service, with which probability a server gets the next request or session."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

UNITS = 1000
"""Probabilities are whole thousandths, so that moving them to and fro never changes their sum."""


class Dispatcher:
    """Probabilities of all services over all servers, which are numbered by efficiency."""

    def __init__(self, services: int, shares: Sequence[float]) -> None:
        """Give each service the servers in proportion to `shares`."""
        edges = [round(UNITS * part / sum(shares)) for part in accumulate(shares)]
        row = [after - before for before, after in zip([0, *edges], edges, strict=False)]
        self._units = [list(row) for _ in range(services)]
        self._sums = [edges for _ in range(services)]

    def choose(self, service: int, z: int) -> int:
        """Return the first server at which the sum of the probabilities reaches z, of 1 to UNITS."""
        return bisect_left(self._sums[service], z)

    def units(self, service: int, server: int) -> int:
        """Return a probability, in UNITS."""
        return self._units[service][server]

    def row(self, service: int) -> list[int]:
        """Return a service's probabilities over the servers, in UNITS."""
        return list(self._units[service])

    def unused(self, server: int) -> bool:
        """Say whether no service sends anything there."""
        return not any(row[server] for row in self._units)

    def move(self, service: int, source: int, target: int, units: int) -> int:
        """Move so much probability, or what there is; return how much it was."""
        row = self._units[service]
        moved = min(units, row[source])
        row[source] -= moved
        row[target] += moved
        self._sums[service] = list(accumulate(row))
        return moved

    def whole(self) -> bool:
        """Say whether every service's probabilities are at least 0 and sum to 1."""
        return all(sum(row) == UNITS and min(row) >= 0 for row in self._units)
