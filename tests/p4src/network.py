# SPDX-License-Identifier: Apache-2.0
"""Several engine switches wired together: what one sends on a trunk, its neighbour receives.

Every switch has a client at port 1 and two sites at ports 3 and 4; its trunk to switch n is port 10 + n.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from ipaddress import IPv4Address

from tests.p4src.engine_switch import EngineSwitch
from tests.p4src.site_switch import (
    WEB,
    Host,
    add_service,
    add_site,
    attach,
    from_server,
    grasp,
    ipv4,
    number,
    set_parameters,
    to_service,
)
from tests.p4src.switch import Key, pack, unpack

from grasp.control.wire import CPU_PORT, Operation, PacketOut, Role, Status
from grasp.telemetry.protocol import FrameType

EXPIRY = 300_000  # us
BEAT = EXPIRY // 3
SERVICE = replace(WEB, timeout=3_600_000_000)
LIMIT = 2000
"""Frames between switches that one frame may cause; more would not end by themselves."""


def client_of(switch: int) -> Host:
    return Host(f"10.1.{switch}.1", f"02:00:00:01:{switch:02x}:01", 1)


def sites_of(switch: int) -> tuple[int, int]:
    return 2 * switch, 2 * switch + 1


def server_of(site: int) -> Host:
    return Host(f"10.2.{site}.1", f"02:00:00:02:{site:02x}:01", 3 + site % 2)


def address(host: Host) -> bytes:
    return IPv4Address(host.address).packed


@cache
def beat_of(site: int) -> bytes:
    return grasp(FrameType.HEARTBEAT, site, server_of(site).mac)


@cache
def request(switch: int, sport: int, flags: str) -> bytes:
    return ipv4(client_of(switch), SERVICE.address, to_service(sport, flags))


@cache
def response(site: int, switch: int, sport: int, flags: str) -> bytes:
    return ipv4(server_of(site), client_of(switch).address, from_server(sport, flags))


class Network:
    """Switches 0 to `size` - 1, with what a controller and agents do. `links` are pairs of switches."""

    def __init__(self, size: int, links: Iterable[tuple[int, int]], handshake: int = SERVICE.timeout) -> None:
        self.size = size
        self.handshake = handshake
        self.links = {frozenset(link) for link in links}
        self.carried = 0  # frames between switches, so far
        self.silent: set[int] = set()  # sites without an agent
        self._routes: list[set[Key]] = [set() for _ in range(size)]
        self.switches = [EngineSwitch() for _ in range(size)]
        for n, switch in enumerate(self.switches):
            switch.now *= n + 1  # no clock agrees with another
            self._configure(n)

    def close(self) -> None:
        for switch in self.switches:
            switch.close()

    # ---- frames

    def send(self, switch: int, port: int, frame: bytes) -> list[tuple[int, int, bytes]]:
        """Send a frame into a port; returns what leaves the network: (switch, port, frame)."""
        waiting = deque([(switch, port, frame)])
        left: list[tuple[int, int, bytes]] = []
        for _ in range(LIMIT):
            if not waiting:
                return left
            at, port, frame = waiting.popleft()
            for out, sent in self.switches[at].send(port, frame):
                if not 10 <= out < 10 + self.size:
                    left.append((at, out, sent))
                elif frozenset((at, out - 10)) in self.links:
                    self.carried += 1
                    waiting.append((out - 10, 10 + at, sent))
        raise AssertionError(f"{LIMIT} frames, and no end")

    def request(self, switch: int, sport: int, flags: str = "S") -> int | None:
        """The client of a switch sends to the service; returns the site that gets it, None if none does."""
        left = self.send(switch, 1, request(switch, sport, flags))
        if not left:
            return None
        ((at, port, out),) = left
        site = next(n for n in range(2 * self.size) if address(server_of(n)) == out[30:34])
        assert (at, port) == (site // 2, server_of(site).port)
        return site

    def respond(self, site: int, switch: int, sport: int, flags: str = "A") -> bool:
        """A site's server sends to a client; returns whether that gets it, as from the service."""
        left = self.send(site // 2, server_of(site).port, response(site, switch, sport, flags))
        if not left:
            return False
        ((at, port, out),) = left
        assert (at, port, out[26:30]) == (switch, 1, IPv4Address(SERVICE.address).packed)
        return True

    def beat(self) -> None:
        """A heartbeat of every agent, after the usual time."""
        for switch in self.switches:
            switch.advance(BEAT)
        for site in sorted(set(range(2 * self.size)) - self.silent):
            self.send(site // 2, server_of(site).port, beat_of(site))

    # ---- the controller

    def forecast(self, site: int, epoch: int, budget: int, spent: int = 0) -> None:
        header = PacketOut(Operation.SET_FORECAST, site=site, epoch=epoch, budget=budget, spent=spent)
        ((at, port, data),) = self.send(site // 2, CPU_PORT, pack(header))
        assert (at, port, unpack(data)[0].status) == (site // 2, CPU_PORT, Status.OK)

    def restart(self, switch: int) -> None:
        """A switch loses its state, and its controller brings back what it knows."""
        states = {site: self.switches[switch].read_site(site) for site in sites_of(switch)}
        self.switches[switch].close()
        self.switches[switch] = EngineSwitch()
        self._routes[switch] = set()
        self._configure(switch)
        for site, state in states.items():
            self.forecast(site, state.epoch, state.budget, spent=state.budget - state.headroom)

    def cut(self, a: int, b: int) -> None:
        """A link falls silent; its ports keep their roles."""
        self.links.remove(frozenset((a, b)))

    def route(self) -> None:
        """Give every switch the way to every host over the links that there are."""
        for n in range(self.size):
            self._route(n)

    def _configure(self, n: int) -> None:
        switch = self.switches[n]
        set_parameters(switch, expiry=EXPIRY, handshake=self.handshake)
        trunks = [10 + other for other in range(self.size) if frozenset((n, other)) in self.links]
        for port in trunks:
            switch.insert("ports", (port,), "set_role", Role.TRUNK)
        switch.set_multicast_group(1, trunks)
        switch.set_multicast_group(2, [*trunks, CPU_PORT])
        for host in (client_of(n), *map(server_of, sites_of(n))):
            switch.insert("ports", (host.port,), "set_role", Role.EDGE)
            attach(switch, host)
        for site in range(2 * self.size):
            server = server_of(site)
            add_site(switch, site, server if site in sites_of(n) else replace(server, port=0))
        add_service(switch, SERVICE)
        self._route(n)

    def _route(self, n: int) -> None:
        switch = self.switches[n]
        for key in self._routes[n]:
            switch.delete("routes", key)
        self._routes[n].clear()
        for other, hop in self._first_hops(n).items():
            for host in (client_of(other), *map(server_of, sites_of(other))):
                key = ((number(host.address), 32),)
                switch.insert("routes", key, "forward", 10 + hop)
                self._routes[n].add(key)

    def _first_hops(self, start: int) -> dict[int, int]:
        """The neighbour to take towards each other switch, by fewest links."""
        hops = {n: n for n in self._neighbours(start)}
        queue = deque(hops)
        while queue:
            at = queue.popleft()
            for n in self._neighbours(at):
                if n != start and n not in hops:
                    hops[n] = hops[at]
                    queue.append(n)
        return hops

    def _neighbours(self, switch: int) -> list[int]:
        return [n for n in range(self.size) if frozenset((switch, n)) in self.links]


def ring(size: int) -> list[tuple[int, int]]:
    return [(n, (n + 1) % size) for n in range(size)]


def mesh(size: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(size) for b in range(a)]
