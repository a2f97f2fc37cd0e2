# SPDX-License-Identifier: Apache-2.0
"""Any P4Runtime target as a switch under test, over veth pairs in a network namespace of its own.

What comes out for a frame is known without waiting for silence, because ports keep the order of frames:

1. After the frame a marker goes into the same port, one that the program hands to the controller. When it
   arrives there, ingress has done with the frame, its resubmissions included.
2. Then a marker is transmitted out of every port. What stands before it is all that comes out there.
"""

from __future__ import annotations

import itertools
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import grpc
from finsy.proto import p4r, p4r_grpc
from tests.p4src.namespace import Namespace
from tests.p4src.switch import BUILD, Key, Output, Switch, p4info, pack, unpack

from grasp.control.wire import CPU_PORT, Operation, PacketIn, PacketOut, Reason, Role
from grasp.telemetry.protocol import FrameType

DEVICE = 1
DEADLINE = 20.0
"""Seconds in which everything must have come; a switch that needs them is stuck."""
BATCH = 8
"""Frames on their way at once: fewer than any buffer of the target holds. libpcap's ring has 16 places
for interfaces with an MTU like these."""

MARKER_HOST = bytes.fromhex("02000000ffff")
OUTWARD = MARKER_HOST * 2 + bytes.fromhex("88b6")
INWARD = MARKER_HOST * 2 + bytes.fromhex("88b5")


class P4RuntimeSwitch(Switch):
    """A switch process with a link for each of `ports`. `command` starts it without a program."""

    real_time = True
    pace = 3

    def __init__(self, command: Sequence[str], ports: Sequence[int]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="grasp-test-")
        self._namespace = Namespace()
        self._links = {port: self._namespace.add_link(f"near{port}", f"far{port}") for port in ports}
        # A local socket: the client's own threads are outside the namespace.
        address = f"unix:{self._folder.name}/grpc"
        arguments = ["--device-id", str(DEVICE)]
        for port in ports:
            arguments += ["-i", f"{port}@far{port}"]
        arguments += ["--", "--grpc-server-addr", address, "--cpu-port", str(CPU_PORT)]
        self._log = Path(self._folder.name, "log")
        self._process = self._namespace.start([*command, *arguments], self._log)
        self._channel = grpc.insecure_channel(address, [("grpc.max_receive_message_length", -1)])
        self._await_server()
        self._stub = p4r_grpc.P4RuntimeStub(self._channel)
        self._requests: queue.SimpleQueue[p4r.StreamMessageRequest | None] = queue.SimpleQueue()
        self._packet_ins: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._serial = itertools.count(1)
        self._trunks: set[int] = set()
        self._groups: set[int] = set()
        self._due: dict[int, float] = {}  # of each port, see _pace
        self._become_primary()
        self.reset()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        self._requests.put(None)
        self._channel.close()
        self._namespace.close()
        for link in self._links.values():
            link.close()
        self._folder.cleanup()

    def advance(self, microseconds: int) -> None:
        time.sleep(microseconds * self.pace / 1e6)

    # ---- session

    def _await_server(self) -> None:
        ready = grpc.channel_ready_future(self._channel)
        end = time.monotonic() + DEADLINE
        while True:
            try:
                return ready.result(timeout=0.1)
            except grpc.FutureTimeoutError:
                if not self.running or time.monotonic() > end:
                    raise RuntimeError(f"the switch did not start:\n{self._log.read_text()}") from None

    def _become_primary(self) -> None:
        request = p4r.StreamMessageRequest()
        request.arbitration.device_id = DEVICE
        request.arbitration.election_id.low = 1
        self._requests.put(request)
        stream = self._stub.StreamChannel(iter(self._requests.get, None))
        assert next(stream).arbitration.status.code == 0
        threading.Thread(target=self._receive, args=(stream,), daemon=True).start()

    def _receive(self, stream: Iterator[p4r.StreamMessageResponse]) -> None:
        try:
            for message in stream:
                if message.HasField("packet"):
                    values = {m.metadata_id: int.from_bytes(m.value, "big") for m in message.packet.metadata}
                    packed = [
                        values[field].to_bytes(size, "big") for field, size in _header("packet_in").items()
                    ]
                    self._packet_ins.put(b"".join(packed) + message.packet.payload)
        except grpc.RpcError:
            pass  # the switch has ended, or this end has

    def reset(self) -> None:
        """Bring the program back to its first state."""
        # BMv2 forgets that it has groups, but not their copies: each would double what the next one sends.
        for group in self._groups:
            self._write(p4r.Update.DELETE, _group(group, []))
        request = p4r.SetForwardingPipelineConfigRequest(device_id=DEVICE)
        request.election_id.low = 1
        request.action = p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
        request.config.p4info.CopyFrom(p4info())
        request.config.p4_device_config = (BUILD / "grasp.json").read_bytes()
        self._stub.SetForwardingPipelineConfig(request)
        self._trunks.clear()
        self._groups.clear()

    # ---- entities

    def _write(self, kind: p4r.Update.Type.ValueType, entity: p4r.Entity) -> None:
        request = p4r.WriteRequest(device_id=DEVICE)
        request.election_id.low = 1
        request.updates.add(type=kind).entity.CopyFrom(entity)
        self._stub.Write(request)

    def insert(self, table: str, key: Key, action: str, *args: int) -> None:
        self._write(p4r.Update.INSERT, _entry(table, key, action, args))
        if table == "ports" and args == (Role.TRUNK,):
            self._trunks.update(port for port in key if isinstance(port, int))

    def delete(self, table: str, key: Key) -> None:
        self._write(p4r.Update.DELETE, _entry(table, key))

    def set_default(self, table: str, action: str, *args: int) -> None:
        entity = _entry(table, (), action, args)
        entity.table_entry.is_default_action = True
        self._write(p4r.Update.MODIFY, entity)

    def set_multicast_group(self, group: int, ports: Sequence[int]) -> None:
        self._write(p4r.Update.INSERT, _group(group, ports))
        self._groups.add(group)

    def counts(self, counter: str) -> dict[int, int]:
        request = p4r.ReadRequest(device_id=DEVICE)
        entry = request.entities.add().counter_entry
        entry.counter_id = next(c.preamble.id for c in p4info().counters if c.preamble.alias == counter)
        found = [e.counter_entry for response in self._stub.Read(request) for e in response.entities]
        return {e.index.index: e.data.packet_count for e in found if e.data.packet_count}

    # ---- packets

    def pour(self, port: int, frames: Sequence[bytes]) -> Output:
        out = []
        for start in range(0, len(frames), BATCH):
            batch = frames[start : start + BATCH]
            out += self._pour_out(batch) if port == CPU_PORT else self._pour_in(port, batch)
        return out + self._drain()

    def _pour_in(self, port: int, frames: Sequence[bytes]) -> Output:
        trunk = port in self._trunks
        kind, reason = (
            (FrameType.DISCOVERY, Reason.DISCOVERY) if trunk else (FrameType.REGISTER, Reason.AGENT)
        )
        marker = INWARD + bytes([1, kind, 0, 0]) + self._nonce()
        if kind == FrameType.REGISTER:
            self._pace(port)
        for frame in (*frames, marker):
            self._links[port].send(frame)
        return self._packet_ins_before(lambda header, frame: (header.reason, frame) == (reason, marker))

    def _pace(self, port: int) -> None:
        """Stay below what the program lets a port send to the controller: AgentRate in p4src/frames.p4."""
        now = time.monotonic()
        due = max(self._due.get(port, now), now) + 0.002
        if due - now > 0.8:
            time.sleep(due - now - 0.8)
        self._due[port] = due

    def _pour_out(self, frames: Sequence[bytes]) -> Output:
        for frame in frames:
            self._packet_out(frame)
        return self._answered()

    def _packet_out(self, data: bytes) -> None:
        request = p4r.StreamMessageRequest()
        at = 0
        for field, size in _header("packet_out").items():
            request.packet.metadata.add(metadata_id=field, value=data[at : at + size])
            at += size
        request.packet.payload = data[at:]
        self._requests.put(request)

    def _drain(self) -> Output:
        """Everything that is on its way out."""
        marker = OUTWARD + self._nonce()
        for port in self._links:
            self._packet_out(pack(PacketOut(Operation.TRANSMIT, port=port)) + marker)
        out = self._answered()
        for port, link in self._links.items():
            link.settimeout(DEADLINE)
            while (frame := link.recv(1 << 17)) != marker:
                out.append((port, frame))
        return out

    def _answered(self) -> Output:
        """Wait for the answer to a question of our own; returns the packet-ins that came before it."""
        sequence = 0x8000_0000 | next(self._serial)
        self._packet_out(pack(PacketOut(Operation.READ_SITE, sequence=sequence)))
        return self._packet_ins_before(
            lambda header, _: (header.reason, header.sequence) == (Reason.ANSWER, sequence)
        )

    def _packet_ins_before(self, is_marker: Callable[[PacketIn, bytes], bool]) -> Output:
        out = []
        while not is_marker(*unpack(data := self._packet_ins.get(timeout=DEADLINE))):
            out.append((CPU_PORT, data))
        return out

    def _nonce(self) -> bytes:
        return next(self._serial).to_bytes(8, "big") + bytes(34)


def _header(name: str) -> dict[int, int]:
    """Field ids of a controller header, in order, with their size in bytes."""
    header = next(h for h in p4info().controller_packet_metadata if h.preamble.name == name)
    return {field.id: field.bitwidth // 8 for field in header.metadata}


def _bytes(value: int) -> bytes:
    """An unsigned integer as P4Runtime's shortest byte string."""
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


def _entry(table: str, key: Key, action: str | None = None, args: Sequence[int] = ()) -> p4r.Entity:
    entity = p4r.Entity()
    entry = entity.table_entry
    table_info = next(t for t in p4info().tables if t.preamble.alias == table)
    entry.table_id = table_info.preamble.id
    for field, value in zip(table_info.match_fields, key, strict=False):  # a default entry has no key
        if not isinstance(value, tuple):
            entry.match.add(field_id=field.id).exact.value = _bytes(value)
        elif value[1]:  # P4Runtime leaves out what matches everything
            lpm = entry.match.add(field_id=field.id).lpm
            lpm.value, lpm.prefix_len = _bytes(value[0]), value[1]
    if action is not None:
        action_info = next(a for a in p4info().actions if a.preamble.alias == action)
        entry.action.action.action_id = action_info.preamble.id
        for parameter, value in zip(action_info.params, args, strict=True):
            entry.action.action.params.add(param_id=parameter.id, value=_bytes(value))
    return entity


def _group(group: int, ports: Sequence[int]) -> p4r.Entity:
    entity = p4r.Entity()
    config = entity.packet_replication_engine_entry.multicast_group_entry
    config.multicast_group_id = group
    for port in ports:
        config.replicas.add(egress_port=port, instance=1)
    return entity
