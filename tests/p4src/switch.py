# SPDX-License-Identifier: Apache-2.0
"""A switch that runs the compiled program, as tests see it: entries in, packets in, packets out.

`Switch` is what tests use. Two things stand behind it: the embedded target's engine in this process, with a
clock that tests move, and any P4Runtime target over veth pairs (p4runtime_switch.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar

from finsy.proto import p4i
from google.protobuf import text_format

from grasp.control.wire import CPU_PORT, Operation, PacketIn, PacketOut, Reason

BUILD = Path(__file__).parents[2] / "p4src" / "build"

Key = tuple["int | tuple[int, int]", ...]
"""One value per key field; of an lpm field (value, prefix length)."""
Output = list[tuple[int, bytes]]
"""Frames that came out: (port, bytes), in order per port; on the CPU port behind their header."""


@cache
def p4info() -> p4i.P4Info:
    return text_format.Parse((BUILD / "grasp.p4info.txtpb").read_text(), p4i.P4Info())


@cache
def names(kind: str) -> Mapping[str, str]:
    """Full name by alias, of the P4Info's tables, actions or counters."""
    return {item.preamble.alias: item.preamble.name for item in getattr(p4info(), kind)}


def pack(header: PacketOut | PacketIn) -> bytes:
    """A controller header as its bytes."""
    values = header.metadata()
    return b"".join(values[name].to_bytes(width // 8, "big") for name, width in header.WIDTHS.items())


def unpack(data: bytes) -> tuple[PacketIn, bytes]:
    """The header of a packet-in, and the frame behind it."""
    values, at = {}, 0
    for name, width in PacketIn.WIDTHS.items():
        values[name] = int.from_bytes(data[at : at + width // 8], "big")
        at += width // 8
    return PacketIn.from_metadata(values), data[at:]


class Switch(ABC):
    """One switch under test. Tables, actions and counters go by their alias in P4Info."""

    real_time: ClassVar[bool]
    """Whether time passes by itself; then `advance` waits."""
    pace: ClassVar[int] = 1
    """Microseconds of the switch for each that a test speaks of. Where time passes by itself, a busy machine
    must not make a test too slow for its own timeouts."""

    @abstractmethod
    def insert(self, table: str, key: Key, action: str, *args: int) -> None: ...

    @abstractmethod
    def delete(self, table: str, key: Key) -> None: ...

    @abstractmethod
    def set_default(self, table: str, action: str, *args: int) -> None: ...

    @abstractmethod
    def set_multicast_group(self, group: int, ports: Sequence[int]) -> None: ...

    @abstractmethod
    def pour(self, port: int, frames: Sequence[bytes]) -> Output:
        """Send frames into a port, one after the other; returns all that comes out."""

    @abstractmethod
    def counts(self, counter: str) -> dict[int, int]:
        """Packets by index, in all cells of an indirect counter that are not zero."""

    @abstractmethod
    def advance(self, microseconds: int) -> None:
        """Let `pace` times that much time pass."""

    @abstractmethod
    def close(self) -> None: ...

    def send(self, port: int, frame: bytes) -> Output:
        """Send one frame into a port; returns what comes out."""
        return self.pour(port, [frame])

    def count(self, counter: str, index: int) -> int:
        return self.counts(counter).get(index, 0)

    def packet_out(self, header: PacketOut, payload: bytes = b"") -> Output:
        return self.send(CPU_PORT, pack(header) + payload)

    def operate(self, header: PacketOut) -> PacketIn:
        """Do an operation on a site; returns its answer."""
        (answer,) = [unpack(data)[0] for port, data in self.packet_out(header) if port == CPU_PORT]
        assert (answer.reason, answer.sequence) == (Reason.ANSWER, header.sequence)
        return answer

    def read_site(self, site: int) -> PacketIn:
        return self.operate(PacketOut(Operation.READ_SITE, site=site))
