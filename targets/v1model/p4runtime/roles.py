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

    def wants(self, message: p4r.StreamMessageResponse) -> bool:
        """Whether the role's primary gets a notification."""
        which = message.WhichOneof("update")
        if which == "packet":
            return self.packet_ins and self._passes(message.packet)
        if which == "digest":
            return self.covers(message.digest.digest_id)
        return all(self.covers(entry.table_id) for entry in message.idle_timeout_notification.table_entry)

    def _passes(self, packet: p4r.PacketIn) -> bool:
        values = {(one.metadata_id, one.value) for one in packet.metadata}
        return self.packet_in_filter is None or self.packet_in_filter in values


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
