# SPDX-License-Identifier: Apache-2.0
"""Any P4Runtime target as a switch under test, over veth pairs in a network namespace of its own.

What comes out for a frame is known without waiting for silence, because ports keep the order of frames:

1. After the frame a marker goes into the same port, one that the program hands to the controller. When it
   arrives there, ingress has done with the frame, its resubmissions included.
2. Then a marker is transmitted out of every port. What stands before it on a port is all that comes out there.
"""

from __future__ import annotations

import itertools
import queue
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import grpc
from finsy.proto import p4r, p4r_grpc

from tests.p4src.namespace import Namespace
from tests.p4src.switch import (
    AGENT, ANSWER, BUILD, CPU, DISCOVERY, READ_SITE, TRANSMIT, Key, PacketIn, PacketOut, Switch, p4info,
)  # fmt: skip

DEVICE = 1
DEADLINE = 20.0
"""Seconds in which everything must have come; a switch that needs them is stuck."""
BATCH = 16
"""Frames on their way at once: fewer than any buffer of the target holds (libpcap's ring, for one)."""

MARKER = bytes.fromhex("02000000ffff 02000000ffff 88b6")  # on the way out
REGISTER = bytes.fromhex("02000000ffff 02000000ffff 88b5 0101 0000")  # on the way in, but for trunks
DISCOVER = bytes.fromhex("02000000ffff 02000000ffff 88b5 0107 0000")  # on the way in, on trunks

def _bytes(value: int) -> bytes:
    """An unsigned integer as P4Runtime's shortest byte string."""
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


class P4RuntimeSwitch(Switch):
    """A switch process. `ports` get a link each; `reset` brings the program back to its first state."""

    real_time: ClassVar[bool] = True

    def __init__(self, command: Sequence[str], ports: Sequence[int]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="grasp-test-")
        self._namespace = Namespace()
        self._links = {port: self._namespace.add_link(f"near{port}", f"far{port}") for port in ports}
        # A local socket: the client's own threads are outside the namespace.
        address = f"unix:{self._folder.name}/grpc"
        arguments = ["--device-id", str(DEVICE)]
        for port in ports:
            arguments += ["-i", f"{port}@far{port}"]
        arguments += ["--", "--grpc-server-addr", address, "--cpu-port", str(CPU)]
        self.log = Path(self._folder.name, "log")
        self.process = self._namespace.start([*command, *arguments], str(self.log))
        self._channel = grpc.insecure_channel(address)
        self._await_server()
        self._stub = p4r_grpc.P4RuntimeStub(self._channel)
        self._requests: queue.SimpleQueue[p4r.StreamMessageRequest | None] = queue.SimpleQueue()
        self._packet_ins: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._serial = itertools.count(1)
        self._trunks: set[int] = set()
        self._groups: set[int] = set()
        self._become_primary()
        self.reset()

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    # ---- P4Runtime

    def _await_server(self) -> None:
        ready = grpc.channel_ready_future(self._channel)
        end = time.monotonic() + DEADLINE
        while True:
            try:
                return ready.result(timeout=0.1)
            except grpc.FutureTimeoutError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"the switch did not start:\n{self.log.read_text()}") from None

    def _become_primary(self) -> None:
        request = p4r.StreamMessageRequest()
        request.arbitration.device_id = DEVICE
        request.arbitration.election_id.low = 1
        self._requests.put(request)
        stream = self._stub.StreamChannel(iter(self._requests.get, None))
        assert next(stream).arbitration.status.code == 0
        threading.Thread(target=self._receive, args=(stream,), daemon=True).start()

    def _receive(self, stream: Iterator[p4r.StreamMessageResponse]) -> None:
        header = next(h for h in p4info().controller_packet_metadata if h.preamble.name == "packet_in")
        widths = {field.id: field.bitwidth // 8 for field in header.metadata}
        try:
            for message in stream:
                if message.HasField("packet"):
                    values = {m.metadata_id: int.from_bytes(m.value, "big") for m in message.packet.metadata}
                    packed = b"".join(values[id].to_bytes(width, "big") for id, width in widths.items())
                    self._packet_ins.put(packed + message.packet.payload)
        except grpc.RpcError:
            pass  # the switch has ended, or this end has

    def reset(self) -> None:
        """Bring the program back to its first state."""
        # BMv2 forgets that it has groups, but not their copies: each would double what the next one sends.
        for group in self._groups:
            self._write(p4r.Update.DELETE, self._group(group, []))
        request = p4r.SetForwardingPipelineConfigRequest(device_id=DEVICE)
        request.election_id.low = 1
        request.action = p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
        request.config.p4info.CopyFrom(p4info())
        request.config.p4_device_config = (BUILD / "grasp.json").read_bytes()
        self._stub.SetForwardingPipelineConfig(request)
        self._trunks.clear()
        self._groups.clear()

    def _write(self, kind: p4r.Update.Type, entity: p4r.Entity) -> None:
        request = p4r.WriteRequest(device_id=DEVICE)
        request.election_id.low = 1
        request.updates.add(type=kind).entity.CopyFrom(entity)
        self._stub.Write(request)

    def _entry(self, table: str, key: Key) -> tuple[p4r.Entity, p4r.TableEntry]:
        info = next(t for t in p4info().tables if t.preamble.alias == table)
        entity = p4r.Entity()
        entry = entity.table_entry
        entry.table_id = info.preamble.id
        for field, value in zip(info.match_fields, key, strict=False):
            match = entry.match.add(field_id=field.id)
            if isinstance(value, tuple):
                match.lpm.value, match.lpm.prefix_len = _bytes(value[0]), value[1]
            else:
                match.exact.value = _bytes(value)
        return entity, entry

    @staticmethod
    def _set_action(entry: p4r.TableEntry, action: str, args: tuple[int, ...]) -> None:
        info = next(a for a in p4info().actions if a.preamble.alias == action)
        entry.action.action.action_id = info.preamble.id
        for parameter, value in zip(info.params, args, strict=True):
            entry.action.action.params.add(param_id=parameter.id, value=_bytes(value))

    def insert(self, table: str, key: Key, action: str, *args: int) -> None:
        entity, entry = self._entry(table, key)
        self._set_action(entry, action, args)
        self._write(p4r.Update.INSERT, entity)
        if table == "ports" and args == (1,):
            self._trunks.add(key[0])

    def delete(self, table: str, key: Key) -> None:
        self._write(p4r.Update.DELETE, self._entry(table, key)[0])

    def set_default(self, table: str, action: str, *args: int) -> None:
        entity, entry = self._entry(table, ())
        entry.is_default_action = True
        self._set_action(entry, action, args)
        self._write(p4r.Update.MODIFY, entity)

    @staticmethod
    def _group(group: int, ports: list[int]) -> p4r.Entity:
        entity = p4r.Entity()
        config = entity.packet_replication_engine_entry.multicast_group_entry
        config.multicast_group_id = group
        for port in ports:
            config.replicas.add(egress_port=port, instance=1)
        return entity

    def set_multicast_group(self, group: int, ports: list[int]) -> None:
        self._write(p4r.Update.INSERT, self._group(group, ports))
        self._groups.add(group)

    def count(self, counter: str, index: int) -> int:
        return self._counts(counter, index)[index]

    def counts(self, counter: str) -> dict[int, int]:
        return {index: value for index, value in self._counts(counter).items() if value}

    def _counts(self, counter: str, index: int | None = None) -> dict[int, int]:
        request = p4r.ReadRequest(device_id=DEVICE)
        entry = request.entities.add().counter_entry
        entry.counter_id = next(c.preamble.id for c in p4info().counters if c.preamble.alias == counter)
        if index is not None:
            entry.index.index = index
        entries = [e.counter_entry for response in self._stub.Read(request) for e in response.entities]
        return {e.index.index: e.data.packet_count for e in entries}

    # ---- packets

    def send(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        return self.pour(port, [frame])

    def pour(self, port: int, frames: Sequence[bytes]) -> list[tuple[int, bytes]]:
        out = []
        for start in range(0, len(frames), BATCH):
            batch = frames[start : start + BATCH]
            out += self._pour_out(batch) if port == CPU else self._pour_in(port, batch)
        return out + self._drain()

    def _pour_in(self, port: int, frames: Sequence[bytes]) -> list[tuple[int, bytes]]:
        trunk = port in self._trunks
        marker = (DISCOVER if trunk else REGISTER) + self._nonce()
        for frame in (*frames, marker):
            self._links[port].send(frame)
        reason = DISCOVERY if trunk else AGENT
        return self._packet_ins_before(lambda packet: (packet.reason, packet.payload) == (reason, marker))

    def _pour_out(self, frames: Sequence[bytes]) -> list[tuple[int, bytes]]:
        for frame in frames:
            self._packet_out(frame)
        return self._answered()

    def _answered(self) -> list[tuple[int, bytes]]:
        """Wait for the answer to a question of our own; returns the packet-ins that came before it."""
        sequence = 0x8000_0000 | next(self._serial)
        self._packet_out(PacketOut(READ_SITE, sequence=sequence).pack())
        return self._packet_ins_before(lambda packet: (packet.reason, packet.sequence) == (ANSWER, sequence))

    def _nonce(self) -> bytes:
        return next(self._serial).to_bytes(8, "big") + bytes(38)

    def _packet_out(self, data: bytes) -> None:
        header = next(h for h in p4info().controller_packet_metadata if h.preamble.name == "packet_out")
        request = p4r.StreamMessageRequest()
        at = 0
        for field in header.metadata:
            size = field.bitwidth // 8
            request.packet.metadata.add(metadata_id=field.id, value=data[at : at + size])
            at += size
        request.packet.payload = data[at:]
        self._requests.put(request)

    def _drain(self) -> list[tuple[int, bytes]]:
        """Everything that is on its way out."""
        marker = MARKER + self._nonce()
        for port in self._links:
            self._packet_out(PacketOut(TRANSMIT, port=port).pack() + marker)
        out = self._answered()
        for port, link in self._links.items():
            link.settimeout(DEADLINE)
            while (frame := link.recv(1 << 17)) != marker:
                out.append((port, frame))
        return out

    def _packet_ins_before(self, is_marker: Callable[[PacketIn], bool]) -> list[tuple[int, bytes]]:
        out = []
        while not is_marker(PacketIn.parse(data := self._packet_ins.get(timeout=DEADLINE))):
            out.append((CPU, data))
        return out

    def advance(self, microseconds: int) -> None:
        time.sleep(microseconds / 1e6)

    def close(self) -> None:
        self._requests.put(None)
        self._channel.close()
        self._namespace.close()
        for link in self._links.values():
            link.close()
        self._folder.cleanup()
