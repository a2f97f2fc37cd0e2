# SPDX-License-Identifier: Apache-2.0
"""Packet replication: multicast groups and clone sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from finsy.proto import p4r

from grasp.targets.v1model.objects import CloneSession, Replica
from grasp.targets.v1model.program import Program

from .errors import already_exists, invalid_argument, not_found, out_of_range, unimplemented
from .ports import decode_port

MAX_GROUP = 0xFFFF  # standard_metadata.mcast_grp is a bit<16>
MAX_SESSION = 0x7FFF  # BMv2's limit
MAX_INSTANCE = 0xFFFF  # standard_metadata.egress_rid is a bit<16>


class Replication:
    """The multicast groups and clone sessions that controllers have made."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.groups: dict[int, p4r.MulticastGroupEntry] = {}
        self.sessions: dict[int, p4r.CloneSessionEntry] = {}

    def write(self, kind: p4r.Update.Type.ValueType, message: p4r.PacketReplicationEngineEntry) -> None:
        """Insert, modify or delete a group or session."""
        which = message.WhichOneof("type")
        if which == "multicast_group_entry":
            self._write_group(kind, message.multicast_group_entry)
        elif which == "clone_session_entry":
            self._write_session(kind, message.clone_session_entry)
        else:
            raise invalid_argument("neither a multicast group nor a clone session")

    def _write_group(self, kind: p4r.Update.Type.ValueType, message: p4r.MulticastGroupEntry) -> None:
        number = message.multicast_group_id
        _check_number("multicast group", kind, number, MAX_GROUP, number in self.groups)
        if kind == p4r.Update.DELETE:
            self.program.delete_multicast_group(number)
            del self.groups[number]
            return
        self.program.set_multicast_group(number, _replicas(message.replicas, f"multicast group {number}"))
        self.groups[number] = p4r.MulticastGroupEntry()
        self.groups[number].CopyFrom(message)

    def _write_session(self, kind: p4r.Update.Type.ValueType, message: p4r.CloneSessionEntry) -> None:
        number = message.session_id
        _check_number("clone session", kind, number, MAX_SESSION, number in self.sessions)
        if kind == p4r.Update.DELETE:
            self.program.delete_clone_session(number)
            del self.sessions[number]
            return
        if message.class_of_service:
            raise unimplemented(f"clone session {number}: clones have no class of service in v1model")
        if message.packet_length_bytes < 0:
            raise invalid_argument(f"clone session {number}: packet_length_bytes is negative")
        replicas = _replicas(message.replicas, f"clone session {number}")
        self.program.set_clone_session(
            number, CloneSession(replicas=replicas, packet_length=message.packet_length_bytes)
        )
        self.sessions[number] = p4r.CloneSessionEntry()
        self.sessions[number].CopyFrom(message)

    def read(self, message: p4r.PacketReplicationEngineEntry) -> Iterator[p4r.PacketReplicationEngineEntry]:
        """A group or session, or all groups or all sessions for number 0."""
        which = message.WhichOneof("type")
        if which == "multicast_group_entry":
            number = message.multicast_group_entry.multicast_group_id
            for group in _pick(self.groups, number, "multicast group"):
                yield p4r.PacketReplicationEngineEntry(multicast_group_entry=self.groups[group])
        elif which == "clone_session_entry":
            number = message.clone_session_entry.session_id
            for session in _pick(self.sessions, number, "clone session"):
                yield p4r.PacketReplicationEngineEntry(clone_session_entry=self.sessions[session])
        else:
            raise invalid_argument("neither a multicast group nor a clone session")


def _check_number(what: str, kind: p4r.Update.Type.ValueType, number: int, limit: int, exists: bool) -> None:
    if number == 0:
        raise invalid_argument(f"{what} 0 is not a valid number")
    if number > limit:
        raise out_of_range(f"{what} {number} is above {limit}")
    if kind == p4r.Update.INSERT and exists:
        raise already_exists(f"{what} {number} exists")
    if kind != p4r.Update.INSERT and not exists:
        raise not_found(f"no {what} {number}")


def _replicas(messages: Iterable[p4r.Replica], what: str) -> tuple[Replica, ...]:
    replicas = []
    for one in messages:
        if one.backup_replicas:
            raise unimplemented(f"{what}: backup replicas are not supported")
        if one.WhichOneof("port_kind") is None:
            raise invalid_argument(f"{what}: a replica has no port")
        if one.instance > MAX_INSTANCE:
            raise invalid_argument(f"{what}: instance {one.instance} is above {MAX_INSTANCE}")
        port = (
            one.egress_port if one.WhichOneof("port_kind") == "egress_port" else decode_port(one.port, what)
        )
        replicas.append(Replica(port=port, instance=one.instance))
    if len(set(replicas)) != len(replicas):
        raise invalid_argument(f"{what}: a port and instance are given twice")
    return tuple(replicas)


def _pick(known: Iterable[int], number: int, what: str) -> list[int]:
    if number == 0:
        return list(known)
    if number not in known:
        raise not_found(f"no {what} {number}")
    return [number]
