# SPDX-License-Identifier: Apache-2.0
"""All P4 entities of one loaded program: updates and reads by kind of entity, and what the program tells."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from finsy.proto import p4i, p4r, rpc_code

from grasp.targets.v1model.objects import DigestList, EngineError, IdleTimeout, PacketIn
from grasp.targets.v1model.program import Program

from .counters import Counter
from .digests import Digest
from .direct import DirectCounter, DirectMeter
from .entities import ById, Facet, Store
from .errors import P4RuntimeError, invalid_argument, unimplemented
from .meters import Meter
from .p4info import Index, unknown
from .packet_io import PacketIO
from .ports import Ports
from .profiles import Profile
from .registers import Register
from .replication import Replication
from .tables import Table
from .value_sets import ValueSet

_TYPES = (p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE)


@contextmanager
def engine_refusals() -> Iterator[None]:
    """Let a refusal of the engine's look like one of ours: the codes have the same names."""
    try:
        yield
    except EngineError as error:
        raise P4RuntimeError(rpc_code.Code.Value(error.code.name), str(error)) from error


class Forwarding:
    """What controllers have written for a program, which need not be running yet."""

    def __init__(self, info: p4i.P4Info, program: Program, ports: Ports) -> None:
        index = Index(info, program)
        types = index.info.type_info
        self.program = program
        self.packet_io = PacketIO(index.info)
        self.profiles = {i: Profile(one, index, program, ports) for i, one in index.profiles.items()}
        self.tables = {
            i: Table(one, index, program, self.profiles.get(one.implementation_id))
            for i, one in index.tables.items()
        }
        self.digests = {i: Digest(one, types, program) for i, one in index.digests.items()}
        self._tables_by_name = {table.name: table for table in self.tables.values()}
        self._digests_by_name = {digest.name: digest for digest in self.digests.values()}
        counted = {i: table for i, table in self.tables.items() if table.resources.counter is not None}
        metered = {i: table for i, table in self.tables.items() if table.resources.meter is not None}
        by_id: dict[str, dict[int, Store]] = {
            "action_profile_member": {
                i: Facet(one.write_member, one.read_members) for i, one in self.profiles.items()
            },
            "action_profile_group": {
                i: Facet(one.write_group, one.read_groups) for i, one in self.profiles.items()
            },
            "table_entry": dict(self.tables),
            "direct_counter_entry": {i: DirectCounter(table) for i, table in counted.items()},
            "direct_meter_entry": {i: DirectMeter(table) for i, table in metered.items()},
            "counter_entry": {i: Counter(one, program) for i, one in index.counters.items()},
            "meter_entry": {i: Meter(one, program) for i, one in index.meters.items()},
            "register_entry": {i: Register(one, types, program) for i, one in index.registers.items()},
            "value_set_entry": {i: ValueSet(one, program) for i, one in index.value_sets.items()},
            "digest_entry": dict(self.digests),
        }
        self._stores: dict[str, Store] = {which: ById(which, stores) for which, stores in by_id.items()}
        self._stores["packet_replication_engine_entry"] = Replication(program)

    # ---- requests

    def _store(self, entity: p4r.Entity) -> tuple[str, Store]:
        which = entity.WhichOneof("entity")
        if which == "extern_entry":
            raise unimplemented("v1model has no externs beyond those that P4Runtime knows")
        if which is None:
            raise invalid_argument("the entity is not set")
        return which, self._stores[which]

    def write(self, update: p4r.Update) -> None:
        """Apply one update, or raise P4RuntimeError and change nothing."""
        if update.type not in _TYPES:
            raise invalid_argument("the update has no type")
        which, store = self._store(update.entity)
        with engine_refusals():
            store.write(update.type, getattr(update.entity, which))

    def read(self, entity: p4r.Entity) -> Iterator[p4r.Entity]:
        """The entities that a request selects."""
        which, store = self._store(entity)
        with engine_refusals():
            for message in store.read(getattr(entity, which)):
                yield p4r.Entity(**{which: message})

    def acknowledge(self, ack: p4r.DigestListAck) -> None:
        """Let the samples of a digest list be sent again."""
        if ack.digest_id not in self.digests:
            raise unknown("digest", ack.digest_id)
        with engine_refusals():
            self.digests[ack.digest_id].acknowledge(ack.list_id)

    # ---- what the program tells

    def tell(self, event: PacketIn | DigestList | IdleTimeout) -> p4r.StreamMessageResponse | None:
        """The message for an event; None if there is nothing to tell."""
        if isinstance(event, PacketIn):
            packet = self.packet_io.unpack(event.data)
            return None if packet is None else p4r.StreamMessageResponse(packet=packet)
        if isinstance(event, DigestList):
            digest = self._digests_by_name.get(event.name)
            return None if digest is None else p4r.StreamMessageResponse(digest=digest.message(event))
        table = self._tables_by_name.get(event.table)
        entries = [] if table is None else [table.idle(entry) for entry in event.entries]
        told = [entry for entry in entries if entry is not None]
        if not told:
            return None
        notification = p4r.IdleTimeoutNotification(table_entry=told, timestamp=time.time_ns())
        return p4r.StreamMessageResponse(idle_timeout_notification=notification)

    def port_changed(self, port: int) -> None:
        """Take note that a port went down or came up."""
        for profile in self.profiles.values():
            profile.port_changed(port)
