# SPDX-License-Identifier: Apache-2.0
"""Carrying what controllers wrote, and what was counted, from one loaded program to another."""

from collections.abc import Iterable, Iterator

from finsy.proto import p4r

from .forwarding import Forwarding

_INSERT, _MODIFY = p4r.Update.INSERT, p4r.Update.MODIFY

# How to write each kind of entity, and the read that selects all of it: what others refer to comes first.
_KINDS = (
    (_INSERT, p4r.Entity(action_profile_member=p4r.ActionProfileMember())),
    (_INSERT, p4r.Entity(action_profile_group=p4r.ActionProfileGroup())),
    (
        _INSERT,
        p4r.Entity(
            table_entry=p4r.TableEntry(counter_data=p4r.CounterData(), meter_config=p4r.MeterConfig())
        ),
    ),
    (_MODIFY, p4r.Entity(table_entry=p4r.TableEntry(is_default_action=True))),
    (_MODIFY, p4r.Entity(counter_entry=p4r.CounterEntry())),
    (_MODIFY, p4r.Entity(meter_entry=p4r.MeterEntry())),
    (_MODIFY, p4r.Entity(register_entry=p4r.RegisterEntry())),
    (_MODIFY, p4r.Entity(value_set_entry=p4r.ValueSetEntry())),
    (_INSERT, p4r.Entity(digest_entry=p4r.DigestEntry())),
    (
        _INSERT,
        p4r.Entity(
            packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(
                multicast_group_entry=p4r.MulticastGroupEntry()
            )
        ),
    ),
    (
        _INSERT,
        p4r.Entity(
            packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(
                clone_session_entry=p4r.CloneSessionEntry()
            )
        ),
    ),
)


def snapshot(forwarding: Forwarding) -> Iterator[p4r.Update]:
    """The updates that bring a freshly loaded program to this state."""
    for kind, request in _KINDS:
        for entity in forwarding.read(request):
            if _is_changed(entity, forwarding):
                yield p4r.Update(type=kind, entity=entity)


def restore(forwarding: Forwarding, updates: Iterable[p4r.Update]) -> None:
    """Apply a snapshot; entries that came with the program, and are not constant, give way to it."""
    for table in forwarding.tables.values():
        table.clear()
    for update in updates:
        forwarding.write(update)


def _is_changed(entity: p4r.Entity, forwarding: Forwarding) -> bool:
    """Whether an entity is not as the program brings it."""
    which = entity.WhichOneof("entity")
    if which == "table_entry":
        entry = entity.table_entry
        if entry.is_default_action:
            return forwarding.tables[entry.table_id].default_changed
        return not entry.is_const
    if which == "counter_entry":
        return bool(entity.counter_entry.data.packet_count or entity.counter_entry.data.byte_count)
    if which == "meter_entry":
        return entity.meter_entry.HasField("config")
    if which == "register_entry":
        data = entity.register_entry.data
        return any(data.bitstring) or any(data.enum_value) or data.bool
    if which == "value_set_entry":
        return bool(entity.value_set_entry.members)
    return True
