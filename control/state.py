# SPDX-License-Identifier: Apache-2.0
"""What a switch must contain, as plain values, and what to write when it contains something else.

Keys and parameters are integers in the order in which the P4 program declares them (`TABLES`), so a driver
translates them by position, whatever names its protocol uses.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple


class Prefix(NamedTuple):
    """Match value of a longest-prefix key: the leading `length` bits of `value`."""

    value: int
    length: int


Match = tuple[int | Prefix, ...]
Key = tuple[str, Match]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the program: its keys in order, and each action's parameters in order."""

    keys: tuple[str, ...]
    actions: Mapping[str, tuple[str, ...]]


TABLES: Mapping[str, Table] = MappingProxyType(
    {
        "ports": Table(("ingress_port",), {"set_role": ("role",)}),
        "sources": Table(("ingress_port", "ethernet_source", "ipv4_source"), {"NoAction": ()}),
        "arp_responder": Table(("target",), {"answer_arp": ("mac",)}),
        "local_sites": Table(("site",), {"deliver_to_site": ("port", "mac")}),
        "site_servers": Table(("site",), {"set_server": ("address",)}),
        "site_addresses": Table(("destination",), {"set_destination_site": ("site",)}),
        "site_sources": Table(("source",), {"set_source_site": ("site",)}),
        "services": Table(
            ("destination", "protocol", "port"),
            {"set_service": ("service", "server_port", "energy", "timeout")},
        ),
        "site_services": Table(
            ("protocol", "port"),
            {"set_site_service": ("service", "address", "port", "energy", "timeout")},
        ),
        "pinned": Table(("service", "client", "client_port"), {"pin": ("site",)}),
        "routes": Table(("destination",), {"forward": ("port",), "deliver": ("port", "mac")}),
        "parameters": Table(
            (), {"set_parameters": ("expiry", "linger", "handshake", "flowlet_gap", "gateway")}
        ),
    }
)
"""Every table that the controller writes. `parameters` has no key: its entry is the default action."""

PINNED = "pinned"
"""The table whose entries end by idle timeout; a switch may hold more of them than the controller knows."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A table entry; `idle_timeout_us` is 0 for those that stay."""

    table: str
    match: Match
    action: str
    params: tuple[int, ...] = ()
    idle_timeout_us: int = 0

    @property
    def key(self) -> Key:
        """What identifies the entry in its switch."""
        return self.table, self.match


@dataclass(frozen=True, slots=True)
class SwitchState:
    """All that a switch contains: entries by key, and the ports of each multicast group."""

    entries: dict[Key, Entry] = field(default_factory=dict)
    groups: dict[int, frozenset[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[Entry], groups: Mapping[int, Iterable[int]]) -> "SwitchState":
        """Build a state from any iterables; raises ValueError when two entries have the same key."""
        by_key: dict[Key, Entry] = {}
        for entry in entries:
            if by_key.setdefault(entry.key, entry) != entry:
                raise ValueError(f"two entries for {entry.key}: {by_key[entry.key]} and {entry}")
        return cls(by_key, {group: frozenset(ports) for group, ports in groups.items()})


@dataclass(frozen=True, slots=True)
class Changes:
    """What turns one state into another. Written in the order of the fields, no packet finds a gap.

    Groups in `set_groups` are to contain exactly those ports, whether they exist already or not.
    """

    insert: tuple[Entry, ...] = ()
    modify: tuple[Entry, ...] = ()
    set_groups: Mapping[int, frozenset[int]] = field(default_factory=dict)
    delete: tuple[Entry, ...] = ()
    delete_groups: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.insert or self.modify or self.set_groups or self.delete or self.delete_groups)


def diff(desired: SwitchState, actual: SwitchState) -> Changes:
    """Return what to write to a switch that contains `actual`, so that it contains `desired`.

    Two exceptions to "contains": pinned entries that only the switch has stay, because a running connection
    depends on them; and the default entry of a table without keys is modified, never inserted or deleted.
    """
    insert: list[Entry] = []
    modify: list[Entry] = []
    delete: list[Entry] = []
    for key, entry in desired.entries.items():
        if actual.entries.get(key) == entry:
            continue
        (modify if key in actual.entries or not entry.match else insert).append(entry)
    for key, entry in actual.entries.items():
        if key not in desired.entries and entry.table != PINNED and entry.match:
            delete.append(entry)
    set_groups = {
        group: ports for group, ports in desired.groups.items() if actual.groups.get(group) != ports
    }
    delete_groups = tuple(group for group in actual.groups if group not in desired.groups)
    return Changes(tuple(insert), tuple(modify), set_groups, tuple(delete), delete_groups)


def apply(changes: Changes, state: SwitchState) -> SwitchState:
    """Return what `state` becomes when the changes are written."""
    entries = {**state.entries, **{entry.key: entry for entry in (*changes.insert, *changes.modify)}}
    for entry in changes.delete:
        del entries[entry.key]
    groups = {**state.groups, **changes.set_groups}
    for group in changes.delete_groups:
        del groups[group]
    return SwitchState(entries, groups)
