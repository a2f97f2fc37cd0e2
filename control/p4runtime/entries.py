# SPDX-License-Identifier: Apache-2.0
"""The core's table entries and groups, as P4Runtime writes and reads them.

The core names fields by position, P4Runtime by name: the P4Info tells which name stands where.
"""

from collections.abc import Iterable, Iterator

import finsy as fy
from finsy import p4entity

from grasp.control.state import TABLES, Changes, Entry, Key, Prefix, SwitchState

Writable = fy.P4TableEntry | fy.P4MulticastGroupEntry


def to_table_entry(entry: Entry, schema: fy.P4Schema) -> fy.P4TableEntry:
    """Return an entry for writing."""
    table = schema.tables[entry.table]
    keys = [field.alias for field in table.match_fields]
    names = [parameter.name for parameter in schema.actions[entry.action].params]
    values = [(v.value, v.length) if isinstance(v, Prefix) else v for v in entry.match]
    return fy.P4TableEntry(
        entry.table,
        match=fy.Match(zip(keys, values, strict=True)) if keys else None,
        action=fy.Action(entry.action, **dict(zip(names, entry.params, strict=True))),
        is_default_action=not keys,
        idle_timeout_ns=entry.idle_timeout_us * 1000,
    )


def from_table_entry(entry: fy.P4TableEntry, schema: fy.P4Schema) -> Entry:
    """Return an entry as it was read."""
    table, match = table_key(entry, schema)
    action = entry.action
    assert isinstance(action, fy.Action)  # GRASP's tables have no action profiles
    return Entry(
        table=table,
        match=match,
        action=action.name,
        params=tuple(action.args[parameter.name] for parameter in schema.actions[action.name].params),
        idle_timeout_us=entry.idle_timeout_ns // 1000,
    )


def table_key(entry: fy.P4TableEntry, schema: fy.P4Schema) -> Key:
    """Return table and match of an entry, by which the core knows it."""
    match = entry.match or fy.Match()
    fields = schema.tables[entry.table_id].match_fields
    return entry.table_id, tuple(_value(match[field.alias]) for field in fields)


def _value(value: object) -> int | Prefix:
    """Return a match value as the core writes it; finsy reads an lpm value as a pair."""
    match value:
        case int():
            return value
        case (int(number), int(length)):
            return Prefix(number, length)
    raise TypeError(f"{value!r} is neither an exact nor an lpm value")


def wildcards() -> Iterator[p4entity.P4Entity]:
    """Yield what to read for a switch's whole state: a wildcard leaves default entries out."""
    yield fy.P4TableEntry()
    for name, table in TABLES.items():
        if not table.keys:
            yield fy.P4TableEntry(name, is_default_action=True)
    yield fy.P4MulticastGroupEntry()


def to_state(found: Iterable[p4entity.P4Entity], schema: fy.P4Schema) -> SwitchState:
    """Return what was read as a state that can be compared with the desired one."""
    state = SwitchState()
    for entity in found:
        if isinstance(entity, fy.P4MulticastGroupEntry):
            ports = frozenset(_port(replica) for replica in entity.replicas)
            state.groups[entity.multicast_group_id] = ports
        elif isinstance(entity, fy.P4TableEntry) and entity.table_id in TABLES and entity.action is not None:
            entry = from_table_entry(entity, schema)
            state.entries[entry.table, entry.match] = entry
    return state


def _port(replica: int | tuple[int, int] | p4entity.P4Replica) -> int:
    """Return a replica's port; finsy reads one with an instance as a pair."""
    match replica:
        case int(port) | (int(port), _):
            return port
        case p4entity.P4Replica(port=port):
            return port


def to_updates(changes: Changes, before: SwitchState, schema: fy.P4Schema) -> Iterator[Writable]:
    """Yield the writes of a set of changes, in the core's order; `before` tells which groups exist."""
    for entry in changes.insert:
        yield +to_table_entry(entry, schema)
    for entry in changes.modify:
        yield ~to_table_entry(entry, schema)
    for number, ports in changes.set_groups.items():
        group = fy.P4MulticastGroupEntry(number, replicas=sorted(ports))
        yield ~group if number in before.groups else +group
    for entry in changes.delete:
        yield -to_table_entry(entry, schema)
    for number in changes.delete_groups:
        yield -fy.P4MulticastGroupEntry(number)
