# SPDX-License-Identifier: Apache-2.0
"""Flow entries as plain values, and those that every switch has from the beginning.

Field names are OpenFlow's (OXM) and values integers; `messages` turns both into messages of the protocol.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from grasp.control.state import SwitchState

IN_PORT = 0xFFFFFFF8
CONTROLLER = 0xFFFFFFFD

ETHERTYPE_IPV4 = 0x0800
ETHERTYPE_ARP = 0x0806
_ARP_REQUEST, _ARP_REPLY = 1, 2

TABLE_MISS = 0
_STANDING = 10
CONNECTION = 20
"""Priorities: what nothing else matches, entries that stay, the entries of connections."""

TCP_OPENS = 0x02
"""Value of `tcp_flags`, of which SYN and ACK are matched, in a connection's first packet."""
_TCP = 6


@dataclass(frozen=True, slots=True)
class Set:
    """Write a value into a field."""

    field: str
    value: int


@dataclass(frozen=True, slots=True)
class Move:
    """Copy one field into another; an extension of OpenFlow 1.3 that Open vSwitch has."""

    source: str
    destination: str


@dataclass(frozen=True, slots=True)
class Output:
    """Send the packet out of a port."""

    port: int


Action = Set | Move | Output
Match = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow entry; `idle_timeout` in seconds, 0 for none; with `notify` the switch tells of its end."""

    priority: int
    match: Match
    actions: tuple[Action, ...]
    cookie: int = 0
    idle_timeout: int = 0
    notify: bool = False

    @property
    def key(self) -> tuple[int, Match]:
        """What identifies the entry in its switch."""
        return self.priority, self.match


def match(**fields: int) -> Match:
    """Return a match in its one order, so that equal matches are equal values."""
    return tuple(sorted(fields.items()))


def standing_flows(state: SwitchState) -> Iterator[Flow]:
    """Yield the entries that do not belong to connections.

    What matches nothing goes to the controller. Requests for the addresses of gateway and services are
    answered by the switch, so that hosts find their way also while the controller is away.

    The first packets of TCP services would go to the controller without an entry of their own. But Open
    vSwitch remembers for a while what it did with a packet, and does it again with all that differ only in
    what no entry looks at: the client's second packet would follow the first one to the controller.
    """
    yield Flow(TABLE_MISS, match(), (Output(CONTROLLER),))
    for entry in state.entries.values():
        # The keys of both tables are exact.
        keys = [key for key in entry.match if isinstance(key, int)]
        if entry.table == "arp_responder":
            yield _answer_arp(*keys, *entry.params)
        elif entry.table == "services" and keys[1] == _TCP:
            address, _, port = keys
            opening = match(
                eth_type=ETHERTYPE_IPV4, ip_proto=_TCP, ipv4_dst=address, tcp_dst=port, tcp_flags=TCP_OPENS
            )
            yield Flow(_STANDING, opening, (Output(CONTROLLER),))


def _answer_arp(address: int, mac: int) -> Flow:
    """Turn the request into its own answer and send it back."""
    return Flow(
        _STANDING,
        match(eth_type=ETHERTYPE_ARP, arp_op=_ARP_REQUEST, arp_tpa=address),
        (
            Move("eth_src", "eth_dst"),
            Set("eth_src", mac),
            Set("arp_op", _ARP_REPLY),
            Move("arp_sha", "arp_tha"),
            Move("arp_spa", "arp_tpa"),
            Set("arp_sha", mac),
            Set("arp_spa", address),
            Output(IN_PORT),
        ),
    )
