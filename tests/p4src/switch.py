# SPDX-License-Identifier: Apache-2.0
"""A switch that runs the compiled program, as tests see it: entries in, packets in, packets out.

`Switch` is what tests use. Two things stand behind it: the embedded target's engine in this process, with a
clock that tests move, and any P4Runtime target over veth pairs (p4runtime_switch.py).
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

from finsy.proto import p4i
from google.protobuf import text_format

BUILD = Path(__file__).parents[2] / "p4src" / "build"
CPU = 255

Key = tuple["int | tuple[int, int]", ...]
"""One value per key field; of an lpm field (value, prefix length)."""

# Operations, reasons, statuses, flags: p4src/constants.p4 and metadata.p4.
TRANSMIT, INJECT, SET_FORECAST, SET_DRAIN, READ_SITE = 1, 2, 3, 4, 5
AGENT, DISCOVERY, OVERFLOW, ANSWER = 1, 2, 3, 4
OK, STALE, NOT_HERE = 0, 1, 2
KNOWN, DRAINED, ALIVE, LOCAL, AUTHORITATIVE = 1, 2, 4, 8, 16


@cache
def p4info() -> p4i.P4Info:
    return text_format.Parse((BUILD / "grasp.p4info.txtpb").read_text(), p4i.P4Info())


def signed48(value: int) -> int:
    return value - (1 << 48) if value >> 47 else value


class _Header:
    LAYOUT: ClassVar[str]
    """struct codes of the fields in order; "6" stands for a 48-bit number."""

    def pack(self) -> bytes:
        out = b""
        for code, value in zip(self.LAYOUT, vars(self).values(), strict=True):
            if code == "6":
                out += (value % (1 << 48)).to_bytes(6, "big")
            else:
                out += struct.pack(">" + code, value)
        return out


@dataclass
class PacketOut(_Header):
    operation: int
    flags: int = 0
    port: int = 0
    site: int = 0
    sequence: int = 0
    epoch: int = 0
    budget: int = 0
    spent: int = 0
    LAYOUT = "BBHBII66"


@dataclass
class PacketIn(_Header):
    reason: int
    status: int
    ingress_port: int
    site: int
    flags: int
    service: int
    sequence: int
    epoch: int
    budget: int
    headroom: int
    next_hop: int
    heard: int
    payload: bytes = b""
    LAYOUT = "BBHBBHII66H6"
    SIZE: ClassVar[int] = 36

    @classmethod
    def parse(cls, data: bytes) -> PacketIn:
        values, at = [], 0
        for code in cls.LAYOUT:
            size = 6 if code == "6" else struct.calcsize(code)
            values.append(int.from_bytes(data[at : at + size], "big"))
            at += size
        header = cls(*values, data[at:])
        return replace(header, budget=signed48(header.budget), headroom=signed48(header.headroom))


class Switch(ABC):
    """One switch under test. Tables, actions and counters go by their alias in P4Info."""

    real_time: ClassVar[bool]
    """Whether time passes by itself; then `advance` waits."""

    @abstractmethod
    def insert(self, table: str, key: Key, action: str, *args: int) -> None:
        """Add an entry; lpm keys are (value, prefix length)."""

    @abstractmethod
    def delete(self, table: str, key: Key) -> None: ...

    @abstractmethod
    def set_default(self, table: str, action: str, *args: int) -> None: ...

    @abstractmethod
    def set_multicast_group(self, group: int, ports: list[int]) -> None: ...

    @abstractmethod
    def send(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """Send one frame into a port; returns what comes out, in order per port (CPU: with its header)."""

    @abstractmethod
    def count(self, counter: str, index: int) -> int:
        """Packets in a cell of an indirect counter."""

    @abstractmethod
    def advance(self, microseconds: int) -> None: ...

    @abstractmethod
    def close(self) -> None: ...

    def packet_out(self, header: PacketOut, payload: bytes = b"") -> list[tuple[int, bytes]]:
        return self.send(CPU, header.pack() + payload)

    def operate(self, header: PacketOut) -> PacketIn:
        """Do an operation; returns its answer."""
        (answer,) = [PacketIn.parse(data) for port, data in self.packet_out(header) if port == CPU]
        assert answer.reason == ANSWER
        assert answer.sequence == header.sequence
        return answer

    def read_site(self, site: int) -> PacketIn:
        return self.operate(PacketOut(READ_SITE, site=site))

    def counts(self, counter: str) -> dict[int, int]:
        """All cells of a counter that are not zero."""
        size = next(item.size for item in p4info().counters if item.preamble.alias == counter)
        cells = ((index, self.count(counter, index)) for index in range(size))
        return {index: value for index, value in cells if value}


def names(kind: str) -> Mapping[str, str]:
    """Full name by alias, of the P4Info's tables, actions or counters."""
    return {item.preamble.alias: item.preamble.name for item in getattr(p4info(), kind)}
