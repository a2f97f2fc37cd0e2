# SPDX-License-Identifier: Apache-2.0
"""The graph of switches, as discovery frames show it, and the shortest paths through it.

A discovery frame that left one port and arrived at another proves one direction; a link is there when both
directions were proved, and gone when one of them was missed in too many rounds in a row. Rounds are counted,
not time, so that a clock that steps cannot take every link away at once.
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple


class Port(NamedTuple):
    """A port of a switch."""

    switch: str
    port: int


class Link(NamedTuple):
    """An undirected link; `a` is the smaller end."""

    a: Port
    b: Port

    @classmethod
    def between(cls, one: Port, other: Port) -> "Link":
        """Return the link between two ports, whatever their order."""
        return cls(*sorted((one, other)))


class Topology:
    """Links between switches; `missed` rounds without a frame end a direction.

    `links` that are known from before are believed for twice as many rounds, so that a controller that starts
    again can find them before it takes them away.
    """

    def __init__(self, missed: int, links: Iterable[Link] = ()) -> None:
        self._missed = missed
        self._age: dict[tuple[Port, Port], int] = {}
        for a, b in links:
            self._age[a, b] = self._age[b, a] = -missed

    @property
    def links(self) -> frozenset[Link]:
        """Every link that was seen in both directions."""
        return frozenset(Link.between(a, b) for a, b in self._age if (b, a) in self._age)

    def next_round(self) -> bool:
        """Begin a round of discovery frames; return whether a link is gone."""
        before = self.links
        self._age = {hop: age + 1 for hop, age in self._age.items() if age < self._missed}
        return self.links != before

    def heard(self, sender: Port, receiver: Port) -> bool:
        """Note that a frame sent out of one port arrived at another; return whether the links changed.

        What contradicts it (either port was connected elsewhere) is forgotten. A cable between two ports of
        one switch carries nothing and is no link.
        """
        if sender.switch == receiver.switch:
            return False
        before = self.links
        self._age = {
            (a, b): age
            for (a, b), age in self._age.items()
            if {a, b} == {sender, receiver} or not {a, b} & {sender, receiver}
        }
        self._age[sender, receiver] = 0
        return self.links != before

    def forget(self, port: Port) -> bool:
        """Drop what is known of a port, because a host is attached there; return whether a link is gone."""
        before = self.links
        self._age = {hop: age for hop, age in self._age.items() if port not in hop}
        return self.links != before

    def trunks(self, switch: str) -> frozenset[int]:
        """Return the ports of a switch that lead to other switches."""
        return frozenset(end.port for link in self.links for end in link if end.switch == switch)

    def next_hops(self, destination: str) -> dict[str, int]:
        """Return, for each switch that can reach `destination`, the port of its shortest path there.

        Between paths of equal length the lowest port number wins, so the answer is the same every time.
        """
        neighbours: dict[str, list[tuple[int, str]]] = {}
        for a, b in self.links:
            neighbours.setdefault(a.switch, []).append((a.port, b.switch))
            neighbours.setdefault(b.switch, []).append((b.port, a.switch))
        distance = {destination: 0}
        queue = deque([destination])
        while queue:
            switch = queue.popleft()
            for _, neighbour in neighbours.get(switch, []):
                if neighbour not in distance:
                    distance[neighbour] = distance[switch] + 1
                    queue.append(neighbour)
        return {
            switch: min(port for port, peer in neighbours[switch] if distance[peer] == hops - 1)
            for switch, hops in distance.items()
            if hops > 0
        }
