# SPDX-License-Identifier: Apache-2.0
"""Connections, their paths, and the entries of both directions on every switch of a path.

           first switch                          last switch
 client --> client, VIP  => client, server  -->  client, server --> site
 client <-- server, client => VIP, client  <--   server, client <-- site

The switch of the client rewrites Ethernet and IP addresses and ports, there and back; the others forward.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from grasp.control.config import Client, Service, Site
from grasp.control.desired import PROTOCOLS
from grasp.control.openflow.flows import CONNECTION, ETHERTYPE_IPV4, Action, Flow, Match, Output, Set, match
from grasp.control.state import Entry, Prefix, SwitchState
from grasp.control.topology import Port

LONGEST_TIMEOUT = 0xFFFF
"""Seconds: an idle timeout has 16 bits."""
_NAMES = {6: "tcp", 17: "udp"}


class Key(NamedTuple):
    """What tells connections apart: service id, address and port of the client."""

    service: int
    client: int
    port: int


class Hop(NamedTuple):
    """A switch on the path, with the ports towards client and site."""

    switch: str
    near: int
    far: int


@dataclass(slots=True)
class Connection:
    """A job: its ends, the epoch it was charged to, and its path. `number` names it to the switches.

    `begun` is when the controller decided about it, or found it, `sent` when its entries were sent last:
    microseconds since 1970. `sequence` is that of its first packet, as in a `Cookie`; 0 for UDP.
    """

    number: int
    client: Client
    port: int
    service: Service
    site: Site
    epoch: int
    begun: int
    sent: int
    sequence: int
    hops: tuple[Hop, ...] = ()

    @property
    def key(self) -> Key:
        """What tells it apart."""
        return Key(self.service.id, int(self.client.address), self.port)


class Cookie(NamedTuple):
    """What an entry carries of its connection, for a controller that starts again and finds it.

    `sequence` is the lower half of TCP's number in the first packet, which tells a connection from an earlier
    one between the same ends.
    """

    epoch: int
    sequence: int
    site: int

    def pack(self) -> int:
        """Return 64 bits that are never 0, which is the cookie of all other entries."""
        return self.epoch << 32 | self.sequence << 16 | self.site << 8 | 1

    @classmethod
    def unpack(cls, cookie: int) -> "Cookie | None":
        """Return what a cookie says, None if it is no connection's."""
        return cls(cookie >> 32, cookie >> 16 & 0xFFFF, cookie >> 8 & 0xFF) if cookie & 0xFF == 1 else None


class Routes:
    """The way to each host, as the core's routes and links have it."""

    def __init__(self, states: Mapping[str, SwitchState], peers: Mapping[Port, Port]) -> None:
        self._states = states
        self._peers = peers

    def path(self, client: Client, site: Site) -> tuple[Hop, ...]:
        """Return the hops from a client to a site, none if there is no way."""
        hops: list[Hop] = []
        switch, near = client.switch, client.port
        while len(hops) < len(self._states):
            entry = self._entry(switch, site)
            if entry is None:
                return ()
            far = entry.params[0]
            hops.append(Hop(switch, near, far))
            if entry.action == "deliver":
                return tuple(hops)
            peer = self._peers.get(Port(switch, far))
            if peer is None:
                return ()
            switch, near = peer
        return ()

    def lead(self, connection: Connection) -> bool:
        """Whether a connection's own hops lead from its client to its site, if not by the best way."""
        reached: Port | None = Port(connection.client.switch, connection.client.port)
        for hop in connection.hops:
            if Port(hop.switch, hop.near) != reached:
                return False
            reached = self._peers.get(Port(hop.switch, hop.far))
        last = connection.hops[-1]
        entry = self._entry(last.switch, connection.site)
        return entry is not None and entry.action == "deliver" and entry.params[0] == last.far

    def _entry(self, switch: str, site: Site) -> Entry | None:
        state = self._states.get(switch)
        return None if state is None else state.entries.get(("routes", (Prefix(int(site.address), 32),)))


def flows(connection: Connection, gateway: int) -> Iterator[tuple[str, Flow]]:
    """Yield a connection's entries, each with its switch; `gateway` is the hosts' hardware address for it."""
    cookie = Cookie(connection.epoch, connection.sequence, connection.site.id).pack()
    timeout = idle_timeout(connection.service)
    for place, hop in enumerate(connection.hops):
        at_client = place == 0
        there = (*to_server(connection, gateway), Output(hop.far)) if at_client else (Output(hop.far),)
        back = (*_to_client(connection, gateway), Output(hop.near)) if at_client else (Output(hop.near),)
        forward = _from_client(connection, hop.near) if at_client else _to_site(connection, hop.near)
        # The end of one of the entries is the end of the job: it is told once.
        yield hop.switch, Flow(CONNECTION, forward, there, cookie, timeout, notify=at_client)
        yield hop.switch, Flow(CONNECTION, _from_site(connection, hop.far), back, cookie, timeout)


def idle_timeout(service: Service) -> int:
    """Return a service's timeout in whole seconds, rounded up: OpenFlow has no finer ones."""
    return -(-service.timeout // 1_000_000)


def to_server(connection: Connection, gateway: int) -> tuple[Action, ...]:
    """What turns a client's packet into one to the site's server."""
    service, site = connection.service, connection.site
    return (
        Set("eth_src", gateway),
        Set("eth_dst", int.from_bytes(site.mac)),
        Set("ipv4_dst", int(site.address)),
        Set(f"{service.protocol}_dst", service.server_port),
    )


def _to_client(connection: Connection, gateway: int) -> tuple[Action, ...]:
    service, client = connection.service, connection.client
    return (
        Set("eth_src", gateway),
        Set("eth_dst", int.from_bytes(client.mac)),
        Set("ipv4_src", int(service.vip)),
        Set(f"{service.protocol}_src", service.port),
    )


def _from_client(connection: Connection, port: int) -> Match:
    service = connection.service
    return _match(
        port, service, int(connection.client.address), connection.port, int(service.vip), service.port
    )


def _to_site(connection: Connection, port: int) -> Match:
    service, server = connection.service, int(connection.site.address)
    return _match(port, service, int(connection.client.address), connection.port, server, service.server_port)


def _from_site(connection: Connection, port: int) -> Match:
    service, server = connection.service, int(connection.site.address)
    return _match(port, service, server, service.server_port, int(connection.client.address), connection.port)


def _match(
    in_port: int, service: Service, source: int, source_port: int, destination: int, destination_port: int
) -> Match:
    return match(
        in_port=in_port,
        eth_type=ETHERTYPE_IPV4,
        ip_proto=PROTOCOLS[service.protocol],
        ipv4_src=source,
        ipv4_dst=destination,
        **{f"{service.protocol}_src": source_port, f"{service.protocol}_dst": destination_port},
    )


def client_end(match: Match) -> tuple[int, int, int, int, int] | None:
    """Return protocol, client's address and port, service's address and port of a first switch's match."""
    fields = dict(match)
    name = _NAMES.get(fields.get("ip_proto", 0))
    names = ("ip_proto", "ipv4_src", f"{name}_src", "ipv4_dst", f"{name}_dst")
    if name is None or not fields.keys() >= set(names):
        return None
    protocol, client, port, address, service_port = (fields[field] for field in names)
    return protocol, client, port, address, service_port
