# SPDX-License-Identifier: Apache-2.0
"""The switch itself: the running program, ports, packets and events, driven from Python.

The work is done in C outside the interpreter's lock; every method may be called from any thread. Names of
objects are the BMv2 JSON's. See `objects` for what the methods take and return.

    engine = Engine(cpu_port=255)
    program = engine.load(compile_program(source))
    program.insert("ingress.ports", (3,), Call("ingress.set_role", (1,)))
    engine.activate(program)
    engine.process(3, frame)            # [(port, bytes), ...]
    engine.add_port(1, "veth1"); engine.start()
"""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import struct
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from grasp import UserError
from grasp.targets.v1model import binding
from grasp.targets.v1model.context import Context
from grasp.targets.v1model.objects import (
    Code,
    EngineError,
    Event,
    PacketIn,
    PortEvent,
    PortStatus,
    SwitchCounts,
)  # fmt: skip
from grasp.targets.v1model.program import Program

_LOG = logging.getLogger(__name__)
_LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)  # enum v1_level
_EVENT_BYTES = 1 << 17  # of the buffer that events are fetched into; grows with need
_PORTS = 512


def _log(level: int, text: bytes) -> None:
    _LOG.log(_LEVELS[level], "%s", text.decode(errors="replace"))


_log_function = binding.LogFunction(_log)  # must live as long as any switch


class Engine:
    """One switch. Raises EngineError for requests it refuses, UserError for what the user must mend.

    cpu_port: its packets are events; None: none. drop_port: the egress_spec that drops. queues: priority
    queues per port. queue_depth: packets in each. pcap: folder for <interface>_in.pcap and _out.pcap.
    """

    def __init__(
        self,
        *,
        cpu_port: int | None = None,
        drop_port: int = 511,
        queues: int = 1,
        queue_depth: int = 64,
        pcap: Path | None = None,
    ) -> None:
        self._switch: int | None = None
        self._program: Program | None = None
        self._loaded: weakref.WeakSet[Program] = weakref.WeakSet()
        self._activated = 0  # programs so far
        if pcap is not None and not pcap.is_dir():
            raise UserError(f"no folder {pcap} for the pcap files: create it first")
        self._lib = binding.runtime()
        enabled = [number for number, level in enumerate(_LEVELS) if _LOG.isEnabledFor(level)]
        options = binding.Options(
            cpu_port=binding.NONE if cpu_port is None else cpu_port,
            drop_port=drop_port,
            queues=queues,
            queue_depth=queue_depth,
            log_level=max(enabled, default=0),
            pcap=None if pcap is None else os.fsencode(pcap),
            log=_log_function,
        )
        self._switch = self._lib.v1_switch_create(options)
        if not self._switch:
            raise UserError(f"cannot create a switch: {os.strerror(ctypes.get_errno())}")
        self._event_lock = threading.Lock()
        self._event = ctypes.create_string_buffer(_EVENT_BYTES)

    # ---- life

    def load(self, path: Path) -> Program:
        """Load a compiled program (compile.compile_program). It has its state and does not run yet."""
        if self._switch is None:
            raise EngineError(Code.FAILED_PRECONDITION, "the engine is closed")
        program = Program(self._lib, self._switch, path)
        self._loaded.add(program)
        return program

    def activate(self, program: Program) -> None:
        """Run a program in place of the one before, which is closed; what waits in queues is dropped.

        Ports, their counters and the clock go on.
        """
        if program is not self._program:
            self._activated = program.activate()
            old, self._program = self._program, program
            if old is not None:
                old.close()

    @property
    def program(self) -> Program:
        """The running program."""
        if self._program is None:
            raise EngineError(Code.FAILED_PRECONDITION, "no program is loaded")
        return self._program

    def start(self) -> None:
        """Begin to move packets between the ports, in a thread of its own."""
        Context.check(self._lib.v1_start(self._switch), "cannot start the packet loop")

    def stop(self) -> None:
        """End that thread; state stays."""
        Context.check(self._lib.v1_stop(self._switch), "cannot stop the packet loop")

    def close(self) -> None:
        """Stop, release sockets and memory; the engine cannot be used any more."""
        if self._switch is not None:
            self._lib.v1_stop(self._switch)
            self._lib.v1_activate(self._switch, None)
            for program in self._loaded:
                program.close()
            self._lib.v1_switch_destroy(self._switch)
        self._switch = self._program = None

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- ports

    def add_port(self, number: int, interface: str) -> None:
        """Attach an interface; one that goes down or vanishes later is used again when it is back.

        UserError if there is no such interface, the port is taken, or the rights are lacking.
        """
        status = self._lib.v1_port_add(self._switch, number, interface.encode())
        if status < 0:
            raise UserError(f"port {number}@{interface}: {_port_error(status, ctypes.get_errno())}")

    def remove_port(self, number: int) -> None:
        """Detach it."""
        Context.check(self._lib.v1_port_remove(self._switch, number), f"port {number}")

    def ports(self) -> list[PortStatus]:
        """Every port, by number."""
        array = (binding.PortInfo * _PORTS)()
        count = self._lib.v1_port_list(self._switch, array, _PORTS)
        names = binding.PORT_COUNTS
        return [
            PortStatus(p.number, p.name.decode(), bool(p.up), **{name: getattr(p, name) for name in names})
            for p in array[:count]
        ]

    def counts(self) -> SwitchCounts:
        """What the switch dropped and why."""
        raw = binding.Counts()
        self._lib.v1_read_counts(self._switch, raw)
        return SwitchCounts(**{name: getattr(raw, name) for name in binding.COUNTS})

    # ---- packets without ports

    def process(self, port: int, packet: bytes, now_us: int | None = None) -> list[tuple[int, bytes]]:
        """Run a packet as if it came in at a port; returns what goes out, with the CPU port's, in order.

        Nothing is sent and no packet-in event arises. now_us sets the clock, which then stands still.
        """
        if now_us is not None:
            self.set_clock(now_us)
        out = ctypes.c_void_p()
        size = self._lib.v1_process(self._switch, port, packet, len(packet), out)
        Context.check(size, f"packet of {len(packet)} bytes")
        data = ctypes.string_at(out, size) if size else b""
        packets, at = [], 0
        while at < size:
            to, length = struct.unpack_from("=II", data, at)
            packets.append((to, data[at + 8 : at + 8 + length]))
            at += 8 + length
        return packets

    def packet_out(self, packet: bytes) -> None:
        """Run a packet as if it came in at the CPU port; what goes out is sent."""
        status = self._lib.v1_packet_out(self._switch, packet, len(packet))
        Context.check(status, f"packet-out of {len(packet)} bytes (is there a CPU port?)")

    def bench(self, packets: Sequence[tuple[int, bytes]], count: int) -> int:
        """Run `count` packets, the given ones (port, packet) in turn; what goes out is lost.

        Returns the nanoseconds of processor time that it took.
        """
        data = b"".join(_padded(packet) for _, packet in packets)
        lengths = (ctypes.c_uint32 * len(packets))(*(len(packet) for _, packet in packets))
        ports = (ctypes.c_uint32 * len(packets))(*(port for port, _ in packets))
        elapsed = self._lib.v1_bench(self._switch, data, lengths, ports, len(packets), count)
        return Context.check(elapsed, "bench")

    def now_us(self) -> int:
        """Microseconds on the switch's clock."""
        return int(self._lib.v1_clock(self._switch))

    def set_clock(self, now_us: int | None) -> None:
        """Let the clock stand at a time, or run on from where it stands."""
        self._lib.v1_set_clock(self._switch, now_us is not None, now_us or 0)

    # ---- events

    def next_event(self, timeout: float | None = None) -> Event | None:
        """The next event; waits up to timeout seconds (None: for ever). None if there was none or wake()."""
        with self._event_lock:
            info = binding.EventInfo()
            wait = -1 if timeout is None else int(timeout * 1000)
            while self._lib.v1_next_event(self._switch, wait, info, self._event, len(self._event)):
                if info.length > len(self._event):
                    self._event = ctypes.create_string_buffer(info.length)
                elif event := self._event_from(info, self._event.raw[: info.length]):
                    return event
            return None

    def wake(self) -> None:
        """Let one waiting, or the next, next_event return None."""
        self._lib.v1_wake(self._switch)

    def sweep(self) -> None:
        """Look for idle entries and due digests now; the packet loop does so every second."""
        self._lib.v1_sweep(self._switch)

    def _event_from(self, info: binding.EventInfo, data: bytes) -> Event | None:
        if info.kind == 4:
            return PortEvent(info.object, bool(info.number))
        program = self._program
        if program is None or info.program != self._activated:
            return None  # of a program that is gone
        if info.kind == 1:
            return PacketIn(data)
        if info.kind == 2:
            return program.digest_list(info.object, info.number, data)
        return program.idle_timeout(info.object, info.number, data)


def _padded(packet: bytes) -> bytes:
    """With the slack that parsers may read, the next packet 64-byte aligned."""
    return packet.ljust((len(packet) + binding.SLACK + 63) // 64 * 64, b"\0")


def _port_error(status: int, error: int) -> str:
    match status:
        case -1:
            return f"ports are 0 to {_PORTS - 1}, the CPU port and the drop port excepted"
        case -2:
            return "there is no such interface"
        case -3:
            return "the port is taken"
        case -8 if error in (errno.EPERM, errno.EACCES):
            return "not allowed to open the interface: run as root, or with CAP_NET_RAW"
    return os.strerror(error) if status == -8 else "out of memory"
