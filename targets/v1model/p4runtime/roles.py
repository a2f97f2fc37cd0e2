# SPDX-License-Identifier: Apache-2.0
"""What a role may do: everything, or what its configuration (Stratum's P4RoleConfig) says."""

from dataclasses import dataclass

from finsy.proto import p4r, stratum

from . import bytestrings
from .errors import invalid_argument


@dataclass(frozen=True)
class Access:
    """The rights of a role; `objects` are P4Info ids, None for all of them."""

    objects: frozenset[int] | None = None
    packet_ins: bool = True
    packet_in_filter: tuple[int, bytes] | None = None  # metadata id, canonical value
    pipeline: bool = True

    def covers(self, p4_id: int | None) -> bool:
        """Whether the role may write and see an object; what has no id (replication) is open to all."""
        return self.objects is None or p4_id is None or p4_id in self.objects

    def wants(self, packet: p4r.PacketIn) -> bool:
        """Whether the role's primary gets a packet-in."""
        if not self.packet_ins or self.packet_in_filter is None:
            return self.packet_ins
        return self.packet_in_filter in {(one.metadata_id, one.value) for one in packet.metadata}


FULL_ACCESS = Access()


def parse_config(role: p4r.Role) -> Access:
    """The rights that a role's configuration grants; without one, all."""
    if not role.HasField("config"):
        return FULL_ACCESS
    config = role.config
    message = stratum.P4RoleConfig()
    if not config.Unpack(message):
        raise invalid_argument(
            f"role configuration of type '{config.type_url}': only P4RoleConfig is understood"
        )
    wanted = message.packet_in_filter
    value = bytestrings.encode(int.from_bytes(wanted.value, "big"))
    return Access(
        objects=frozenset(message.exclusive_p4_ids) | frozenset(message.shared_p4_ids),
        packet_ins=message.receives_packet_ins,
        packet_in_filter=(wanted.metadata_id, value) if wanted.metadata_id else None,
        pipeline=message.can_push_pipeline,
    )


def p4_id(entity: p4r.Entity) -> int | None:
    """The id of the P4 object that an entity belongs to; None if it has none, 0 for a wildcard read."""
    which = entity.WhichOneof("entity")
    if which == "table_entry":
        return entity.table_entry.table_id
    if which == "direct_counter_entry":
        return entity.direct_counter_entry.table_entry.table_id
    if which == "direct_meter_entry":
        return entity.direct_meter_entry.table_entry.table_id
    if which == "action_profile_member":
        return entity.action_profile_member.action_profile_id
    if which == "action_profile_group":
        return entity.action_profile_group.action_profile_id
    if which == "counter_entry":
        return entity.counter_entry.counter_id
    if which == "meter_entry":
        return entity.meter_entry.meter_id
    if which == "register_entry":
        return entity.register_entry.register_id
    if which == "value_set_entry":
        return entity.value_set_entry.value_set_id
    if which == "digest_entry":
        return entity.digest_entry.digest_id
    return None
