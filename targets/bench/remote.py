# SPDX-License-Identifier: Apache-2.0
"""A controller that prepares a switch for the benchmark over P4Runtime, whichever target it is."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import grpc
from finsy import pbutil
from finsy.proto import p4i, p4r, p4r_grpc

from grasp import UserError
from grasp.targets.bench.scenario import CPU_PORT, Entry, Scenario

_PATIENCE = 60.0  # s for a request: the embedded target compiles the program in one of them
_Item = TypeVar("_Item", p4i.Table, p4i.Action)


def encode(value: int) -> bytes:
    """A P4Runtime byte string: big endian, no leading zeros."""
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


def _named(items: Iterable[_Item], name: str) -> _Item:
    found = [i for i in items if i.preamble.name == name or i.preamble.name.endswith(f".{name}")]
    [item] = found
    return item


class Controller:
    """The switch's primary controller, while the context lasts."""

    def __init__(self, address: str, device_id: int, program: Path) -> None:
        p4info = program.with_suffix(".p4info.txtpb")
        try:
            text, self._json = p4info.read_text(), program.read_bytes()
        except OSError as error:
            raise UserError(f"cannot read {error.filename}: {error.strerror}") from None
        self._info = pbutil.from_text(text, p4i.P4Info)
        self._channel = grpc.insecure_channel(address, [("grpc.enable_http_proxy", 0)])
        self._stub = p4r_grpc.P4RuntimeStub(self._channel)
        self._device_id = device_id
        self._election_id = p4r.Uint128(low=1)
        self._requests: queue.SimpleQueue[p4r.StreamMessageRequest | None] = queue.SimpleQueue()

    def __enter__(self) -> Controller:
        self._stream = self._stub.StreamChannel(iter(self._requests.get, None))
        me = p4r.MasterArbitrationUpdate(device_id=self._device_id, election_id=self._election_id)
        self._requests.put(p4r.StreamMessageRequest(arbitration=me))
        next(self._stream)
        config = p4r.ForwardingPipelineConfig(p4info=self._info, p4_device_config=self._json)
        self._stub.SetForwardingPipelineConfig(
            p4r.SetForwardingPipelineConfigRequest(
                device_id=self._device_id,
                election_id=self._election_id,
                action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
                config=config,
            ),
            timeout=_PATIENCE,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._requests.put(None)
        self._stream.cancel()
        self._channel.close()

    def fill(self, scenario: Scenario) -> Iterator[tuple[int, bytes]]:
        """Write the scenario's tables and groups; then its frames follow, for the caller to send on ports."""
        self.write([p4r.Entity(table_entry=self._entry(entry)) for entry in scenario.entries()])
        table = _named(self._info.tables, "parameters")
        default = p4r.TableEntry(table_id=table.preamble.id, is_default_action=True)
        default.action.action.CopyFrom(self._action("set_parameters", scenario.parameters))
        self.write([p4r.Entity(table_entry=default)], p4r.Update.MODIFY)
        groups = [_group(number, ports) for number, ports in scenario.groups().items()]
        self.write(groups)
        for port, frame in scenario.announcements():
            if port == CPU_PORT:
                self._packet_out(frame)
            else:
                yield port, frame
            time.sleep(0.01)  # a forecast must find its site's heartbeat behind it

    def write(self, entities: list[p4r.Entity], kind: Any = p4r.Update.INSERT) -> None:
        """Write entities in one request."""
        request = p4r.WriteRequest(device_id=self._device_id, election_id=self._election_id)
        request.updates.extend(p4r.Update(type=kind, entity=entity) for entity in entities)
        self._stub.Write(request, timeout=_PATIENCE)

    def _action(self, name: str, args: tuple[int, ...]) -> p4r.Action:
        action = _named(self._info.actions, name)
        call = p4r.Action(action_id=action.preamble.id)
        for param, value in zip(action.params, args, strict=True):
            call.params.add(param_id=param.id, value=encode(value))
        return call

    def _entry(self, entry: Entry) -> p4r.TableEntry:
        name, key, action, args = entry
        table = _named(self._info.tables, name)
        message = p4r.TableEntry(table_id=table.preamble.id)
        for field, item in zip(table.match_fields, key, strict=True):
            match = message.match.add(field_id=field.id)
            if isinstance(item, tuple):
                match.lpm.value, match.lpm.prefix_len = encode(item[0]), item[1]
            else:
                match.exact.value = encode(item)
        message.action.action.CopyFrom(self._action(action, args))
        return message

    def _packet_out(self, frame: bytes) -> None:
        """The packet-out whose header and payload these bytes are."""
        fields = next(
            header.metadata
            for header in self._info.controller_packet_metadata
            if header.preamble.name == "packet_out"
        )
        packet, bits = p4r.PacketOut(), 0
        value = int.from_bytes(frame, "big")
        for field in fields:
            bits += field.bitwidth
            part = value >> (8 * len(frame) - bits) & ((1 << field.bitwidth) - 1)
            packet.metadata.add(metadata_id=field.id, value=encode(part))
        packet.payload = frame[bits // 8 :]
        self._requests.put(p4r.StreamMessageRequest(packet=packet))


def _group(number: int, ports: tuple[int, ...]) -> p4r.Entity:
    entity = p4r.Entity()
    group = entity.packet_replication_engine_entry.multicast_group_entry
    group.multicast_group_id = number
    group.replicas.extend(p4r.Replica(egress_port=port, instance=1) for port in ports)
    return entity
