# SPDX-License-Identifier: Apache-2.0
"""A P4Runtime server that holds what a controller writes and answers operations as the P4 program does.

It has no data plane: tests hand it the packets that a switch would send to its controller.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import finsy as fy
import grpc
from finsy.proto import U128, p4r, p4r_grpc, rpc_code, rpc_status

OK = fy.GRPCStatusCode.OK
TRANSMIT, INJECT, SET_FORECAST, SET_DRAIN, READ_SITE = 1, 2, 3, 4, 5
AGENT, DISCOVERY, OVERFLOW, ANSWER = 1, 2, 3, 4
KNOWN, DRAINED, ALIVE, LOCAL, AUTHORITATIVE = 1, 2, 4, 8, 16


@dataclass
class Site:
    """What the registers hold of one site; energies in mWh."""

    epoch: int = 0
    budget: int = 0
    headroom: int = 0
    flags: int = 0


def _signed(value: int) -> int:
    return value - (1 << 48) if value >> 47 else value


class FakeSwitch(p4r_grpc.P4RuntimeServicer):
    """One switch. ``wires`` maps a port to (neighbour, its port); ``changed`` is set after every event."""

    def __init__(self, schema: fy.P4Schema, device_id: int = 1) -> None:
        self.schema = schema
        self.device_id = device_id
        self.wires: dict[int, tuple[FakeSwitch, int]] = {}
        self.changed = asyncio.Condition()
        self.port = 0
        self.lose_answers = 0  # so many answers will not reach the controller
        self.refuse = False  # every write
        self._server: grpc.aio.Server | None = None
        self._highest = 0
        self._forget()

    def _forget(self) -> None:
        """Lose everything, as a process that ends does."""
        self.pipeline: p4r.ForwardingPipelineConfig | None = None
        self.pipelines_set = 0
        self.tables: dict[bytes, p4r.TableEntry] = {}
        self.defaults: dict[int, p4r.TableEntry] = {}
        self.groups: dict[int, frozenset[int]] = {}
        self.groups_at_load: dict[int, frozenset[int]] = {}  # those that simple_switch would not forget
        self.sites: defaultdict[int, Site] = defaultdict(Site)
        self.operations: list[dict[str, int]] = []  # every packet-out's metadata, in order
        self.transmitted: list[tuple[int, bytes]] = []
        self.injected: list[tuple[int, int, bytes]] = []  # flags, port, payload
        self.writes: list[p4r.Update] = []
        self.primaries: list[int] = []  # election ids, as they won
        self._streams: dict[int, asyncio.Queue[p4r.StreamMessageResponse]] = {}

    async def start(self) -> "FakeSwitch":
        """Listen, on the port of before after a stop."""
        self._server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        p4r_grpc.add_P4RuntimeServicer_to_server(self, self._server)
        self.port = self._server.add_insecure_port(f"127.0.0.1:{self.port}")
        await self._server.start()
        return self

    async def stop(self) -> None:
        """End as by kill -9."""
        if self._server is not None:
            await self._server.stop(None)
            self._server = None
            self._highest = 0
            self._forget()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for the event after which the condition holds."""
        async with asyncio.timeout(10), self.changed:
            await self.changed.wait_for(condition)

    async def _note(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    # What tests ask of the held state

    def entries(self, table: str) -> dict[tuple[int, ...], tuple[str, ...]]:
        """Entries of a table: match values (an lpm key as value, length) to the action and its parameters."""
        found = {}
        p4table = self.schema.tables[table]
        for entry in self.tables.values():
            if entry.table_id == p4table.id:
                found[self._key(entry)] = self._action(entry)
        return found

    def default(self, table: str) -> tuple[str, ...] | None:
        entry = self.defaults.get(self.schema.tables[table].id)
        return None if entry is None else self._action(entry)

    def _key(self, entry: p4r.TableEntry) -> tuple[int, ...]:
        values: list[int] = []
        for field in sorted(entry.match, key=lambda field: field.field_id):
            if field.HasField("lpm"):
                values += [int.from_bytes(field.lpm.value), field.lpm.prefix_len]
            else:
                values.append(int.from_bytes(field.exact.value))
        return tuple(values)

    def _action(self, entry: p4r.TableEntry) -> tuple[str, ...]:
        action = entry.action.action
        name = self.schema.actions[action.action_id].alias
        return (name, *(int.from_bytes(p.value) for p in sorted(action.params, key=lambda p: p.param_id)))

    # What a data plane would do

    async def packet_in(self, payload: bytes, **metadata: int) -> None:
        """Send a packet to the controller."""
        fields = self.schema.controller_packet_metadata["packet_in"]
        values = {field.name: 0 for field in fields.metadata} | metadata
        packet = p4r.PacketIn(payload=payload, metadata=fields.encode(values))
        await self._tell(p4r.StreamMessageResponse(packet=packet))

    async def idle(self, table: str) -> None:
        """Report every entry of a table as idle."""
        table_id = self.schema.tables[table].id
        notification = p4r.IdleTimeoutNotification(
            table_entry=[entry for entry in self.tables.values() if entry.table_id == table_id]
        )
        await self._tell(p4r.StreamMessageResponse(idle_timeout_notification=notification))

    async def replace_pipeline(self) -> None:
        """Run another program, which has none of the entries."""
        assert self.pipeline is not None
        self.pipeline.cookie.cookie ^= 1
        self.tables.clear()
        self.groups.clear()

    async def _tell(self, message: p4r.StreamMessageResponse) -> None:
        if self._streams:
            await self._streams[max(self._streams)].put(message)

    async def _packet_out(self, packet: p4r.PacketOut) -> None:
        fields = self.schema.controller_packet_metadata["packet_out"].decode(packet.metadata)
        out = {name: int(value) for name, value in fields.items()}  # type: ignore[arg-type]
        self.operations.append(out)
        match out["operation"]:
            case 1:
                self.transmitted.append((out["port"], packet.payload))
                if out["port"] in self.wires and packet.payload[12:14] == b"\x88\xb5":
                    neighbour, port = self.wires[out["port"]]
                    await neighbour.packet_in(packet.payload, reason=DISCOVERY, ingress_port=port)
            case 2:
                self.injected.append((out["flags"], out["port"], packet.payload))
            case _:
                await self._operate(out)
        await self._note()

    async def _operate(self, out: dict[str, int]) -> None:
        site, number = self.sites[out["site"]], out["site"]
        local = (number,) in self.entries("local_sites")
        budget, status = _signed(out["budget"]), 0
        if out["operation"] != READ_SITE and not local:
            status = 2
        elif out["operation"] == SET_FORECAST:
            known = site.flags & AUTHORITATIVE
            if known and out["epoch"] < site.epoch:
                status = 1
            elif known and out["epoch"] == site.epoch:
                site.headroom += budget - site.budget
                site.budget = budget
            else:
                site.headroom = budget - _signed(out["spent"])
                site.epoch, site.budget, site.flags = out["epoch"], budget, site.flags | KNOWN | AUTHORITATIVE
        elif out["operation"] == SET_DRAIN:
            site.flags = site.flags | DRAINED if out["flags"] & 1 else site.flags & ~DRAINED
        if self.lose_answers:
            self.lose_answers -= 1
            return
        await self.packet_in(
            b"",
            reason=ANSWER,
            status=status,
            ingress_port=255,
            site=number,
            flags=site.flags | (LOCAL if local else 0),
            sequence=out["sequence"],
            epoch=site.epoch,
            budget=site.budget % (1 << 48),
            headroom=site.headroom % (1 << 48),
        )

    # P4Runtime

    async def Capabilities(self, request, context):  # noqa: N802
        return p4r.CapabilitiesResponse(p4runtime_api_version="1.4.0")

    async def StreamChannel(self, requests, context):  # noqa: N802
        queue: asyncio.Queue[p4r.StreamMessageResponse] = asyncio.Queue()
        mine = -1

        async def follow() -> None:
            nonlocal mine
            async for request in requests:
                if request.WhichOneof("update") == "arbitration":
                    self._streams.pop(mine, None)
                    mine = U128.decode(request.arbitration.election_id)
                    self._streams[mine] = queue
                    await self._arbitrate()
                elif request.WhichOneof("update") == "packet" and mine == self._highest:
                    await self._packet_out(request.packet)

        reader = asyncio.create_task(follow())
        try:
            while True:
                yield await queue.get()
        finally:
            reader.cancel()
            if self._streams.pop(mine, None) is not None:
                await self._arbitrate()

    async def _arbitrate(self) -> None:
        """Tell every stream who is primary: as specified, nobody below the highest id ever bid."""
        highest = max(self._streams, default=0)
        if highest > self._highest:
            self._highest = highest
            self.primaries.append(highest)
        for number, queue in self._streams.items():
            if number == self._highest:
                code = rpc_code.OK
            else:
                code = rpc_code.ALREADY_EXISTS if self._highest in self._streams else rpc_code.NOT_FOUND
            update = p4r.MasterArbitrationUpdate(
                device_id=self.device_id,
                election_id=U128.encode(self._highest),
                status=rpc_status.Status(code=code),
            )
            await queue.put(p4r.StreamMessageResponse(arbitration=update))
        await self._note()

    async def _refuse_others(self, request, context) -> None:
        if U128.decode(request.election_id) != self._highest:
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, "not primary")
        if request.device_id != self.device_id:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"no device {request.device_id}")

    async def SetForwardingPipelineConfig(self, request, context):  # noqa: N802
        await self._refuse_others(request, context)
        groups = self.groups
        highest, primaries, streams, count = self._highest, self.primaries, self._streams, self.pipelines_set
        self._forget()
        self._highest, self.primaries, self._streams = highest, primaries, streams
        self.pipeline, self.pipelines_set, self.groups_at_load = request.config, count + 1, groups
        await self._note()
        return p4r.SetForwardingPipelineConfigResponse()

    async def GetForwardingPipelineConfig(self, request, context):  # noqa: N802
        if self.pipeline is None:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "No forwarding pipeline config set")
        config = p4r.ForwardingPipelineConfig(cookie=self.pipeline.cookie)
        return p4r.GetForwardingPipelineConfigResponse(config=config)

    async def Write(self, request, context):  # noqa: N802
        await self._refuse_others(request, context)
        for update in request.updates:
            if self.refuse or not self._apply(update):
                await context.abort(grpc.StatusCode.UNKNOWN, f"refused {update}")
            self.writes.append(update)
        await self._note()
        return p4r.WriteResponse()

    def _apply(self, update: p4r.Update) -> bool:
        """Apply one update; an INSERT of what exists and a change of what does not are refused."""
        entity = update.entity
        store: dict
        if entity.WhichOneof("entity") == "packet_replication_engine_entry":
            group = entity.packet_replication_engine_entry.multicast_group_entry
            ports = frozenset(int.from_bytes(r.port) or r.egress_port for r in group.replicas)
            store, key, value = self.groups, group.multicast_group_id, ports
        elif entity.table_entry.is_default_action:
            self.defaults[entity.table_entry.table_id] = entity.table_entry
            return update.type == p4r.Update.MODIFY
        else:
            entry = entity.table_entry
            match = [field.SerializeToString(deterministic=True) for field in entry.match]
            store, key, value = self.tables, bytes([*entry.table_id.to_bytes(4), *b"".join(match)]), entry
        if (key in store) == (update.type == p4r.Update.INSERT):
            return False
        if update.type == p4r.Update.DELETE:
            del store[key]
        else:
            store[key] = value
        return True

    async def Read(self, request, context):  # noqa: N802
        reply = p4r.ReadResponse()
        for wanted in request.entities:
            match wanted.WhichOneof("entity"):
                case "table_entry" if wanted.table_entry.is_default_action:
                    held = [self.defaults.get(wanted.table_entry.table_id)]
                    reply.entities.extend(p4r.Entity(table_entry=entry) for entry in held if entry)
                case "table_entry":
                    held = self.tables.values()
                    wanted_id = wanted.table_entry.table_id
                    reply.entities.extend(
                        p4r.Entity(table_entry=entry) for entry in held if wanted_id in (0, entry.table_id)
                    )
                case "packet_replication_engine_entry":
                    for number, ports in self.groups.items():
                        group = fy.P4MulticastGroupEntry(number, replicas=sorted(ports))
                        reply.entities.append(group.encode(self.schema))
                case "counter_entry":
                    entry = wanted.counter_entry
                    size = self.schema.counters[entry.counter_id].size
                    for index in range(size) if not entry.HasField("index") else [entry.index.index]:
                        reply.entities.add().counter_entry.CopyFrom(
                            p4r.CounterEntry(
                                counter_id=entry.counter_id,
                                index=p4r.Index(index=index),
                                data=p4r.CounterData(packet_count=index),
                            )
                        )
                case other:
                    await context.abort(grpc.StatusCode.UNIMPLEMENTED, f"{other} is not served")
        yield reply
