# SPDX-License-Identifier: Apache-2.0
"""Packet-out and packet-in headers, and the frames that only switches and controller exchange.

Names, widths and codes are those of p4src/headers.p4 and p4src/constants.p4; a test compares them. A driver
hands `metadata()` to P4Runtime as it is: unsigned integers by field name, energies in two's complement.
The frames that agents also know are in `grasp.telemetry.protocol`.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import ClassVar, Self

from grasp.telemetry.protocol import (
    CONTROLLER_MAC,
    ENERGY_LIMIT_MWH,
    ETHERNET_LENGTH,
    GRASP_LENGTH,
    MINIMUM_FRAME,
    TAG_LENGTH,
    Frame,
    FrameType,
    ProtocolError,
    seal,
    unseal,
)

CPU_PORT = 255
HIGHEST_PORT = 510
"""Ports have 9 bits, and 511 is the drop port."""
TRUNKS = 1
"""Multicast group of every trunk port."""
TRUNKS_AND_CPU = 2
"""The same and the CPU port."""
DISCOVERY_MAC = bytes.fromhex("0180c200000e")
"""Destination of discovery frames: one that bridges do not forward (IEEE 802.1D, 7.12.6)."""


class WireError(ValueError):
    """A header that does not fit the program's: a field missing, unknown or out of its width."""


class Operation(IntEnum):
    """What a packet-out asks."""

    TRANSMIT = 1
    INJECT = 2
    SET_FORECAST = 3
    SET_DRAIN = 4
    READ_SITE = 5


class Reason(IntEnum):
    """Why a packet-in was sent."""

    AGENT = 1
    DISCOVERY = 2
    OVERFLOW = 3
    ANSWER = 4


class Status(IntEnum):
    """How an operation went."""

    OK = 0
    STALE = 1
    NOT_HERE = 2
    UNKNOWN = 3


class Role(IntEnum):
    """What a port is for."""

    UNKNOWN = 0
    TRUNK = 1
    EDGE = 2


class Drop(IntEnum):
    """Index of the `drops` counter."""

    NONE = 0
    MALFORMED = 1
    BAD_CHECKSUM = 2
    UNKNOWN_PORT = 3
    SPOOFED = 4
    ARP_UNKNOWN = 5
    ETHERTYPE = 6
    IPV6 = 7
    TTL = 8
    NO_ROUTE = 9
    NO_SITE = 10
    NO_CONNECTION = 11
    FRAGMENT = 12
    UNBOUND_SITE = 13
    BYPASS = 14
    OPERATION = 15
    RATE = 16


class SiteFlag(IntFlag):
    """What a switch knows of a site; in answers."""

    KNOWN = 1
    DRAINED = 2
    ALIVE = 4
    LOCAL = 8
    AUTHORITATIVE = 16


DRAINED = 1
"""PacketOut.flags of SET_DRAIN: take the site out of selection."""
CHARGE = 1
"""PacketOut.flags of INJECT: the packet is a new job, and its energy is to be charged."""


def to_signed(value: int, width: int) -> int:
    """Return the integer that `width` bits hold in two's complement."""
    return value - (1 << width) if value >> (width - 1) else value


class _Header:
    """Fields as the program declares them; the dataclass fields of a subclass come in the same order."""

    WIDTHS: ClassVar[Mapping[str, int]]
    SIGNED: ClassVar[frozenset[str]]
    CODES: ClassVar[Mapping[str, type[IntEnum]]]

    def metadata(self) -> dict[str, int]:
        """Return unsigned integers by field name; raises WireError when a value does not fit its field."""
        result = {}
        for name, width in self.WIDTHS.items():
            value: int = getattr(self, name)
            low, high = (-(1 << (width - 1)), 1 << (width - 1)) if name in self.SIGNED else (0, 1 << width)
            if not low <= value < high:
                raise WireError(f"{name} {value} does not fit {width} bits")
            result[name] = int(value) % (1 << width)
        return result

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, int]) -> Self:
        """Build the header from unsigned integers by field name, all of them; raises WireError otherwise."""
        if metadata.keys() != cls.WIDTHS.keys():
            odd = ", ".join(sorted(metadata.keys() ^ cls.WIDTHS.keys()))
            raise WireError(f"missing or unknown fields: {odd}")
        values: dict[str, int] = {}
        for name, width in cls.WIDTHS.items():
            value = metadata[name]
            if not 0 <= value < 1 << width:
                raise WireError(f"{name} {value} does not fit {width} bits")
            values[name] = to_signed(value, width) if name in cls.SIGNED else value
            if name in cls.CODES:
                try:
                    values[name] = cls.CODES[name](value)
                except ValueError:
                    raise WireError(f"{name} {value} is unknown") from None
        return cls(**values)


@dataclass(frozen=True, slots=True)
class PacketOut(_Header):
    """What the controller asks of a switch. `budget` and `spent` are mWh, signed."""

    WIDTHS: ClassVar[Mapping[str, int]] = {
        "operation": 8,
        "flags": 8,
        "port": 16,
        "site": 8,
        "sequence": 32,
        "epoch": 32,
        "budget": 48,
        "spent": 48,
    }
    SIGNED: ClassVar[frozenset[str]] = frozenset({"budget", "spent"})
    CODES: ClassVar[Mapping[str, type[IntEnum]]] = {"operation": Operation}

    operation: Operation
    flags: int = 0
    port: int = 0
    site: int = 0
    sequence: int = 0
    epoch: int = 0
    budget: int = 0
    spent: int = 0


@dataclass(frozen=True, slots=True)
class PacketIn(_Header):
    """What a switch tells the controller; energies are mWh, `heard` is microseconds, `flags` SiteFlags."""

    WIDTHS: ClassVar[Mapping[str, int]] = {
        "reason": 8,
        "status": 8,
        "ingress_port": 16,
        "site": 8,
        "flags": 8,
        "service": 16,
        "sequence": 32,
        "epoch": 32,
        "budget": 48,
        "headroom": 48,
        "next_hop": 16,
        "heard": 48,
    }
    SIGNED: ClassVar[frozenset[str]] = frozenset({"budget", "headroom"})
    CODES: ClassVar[Mapping[str, type[IntEnum]]] = {"reason": Reason, "status": Status}

    reason: Reason
    status: Status = Status.OK
    ingress_port: int = 0
    site: int = 0
    flags: int = 0
    service: int = 0
    sequence: int = 0
    epoch: int = 0
    budget: int = 0
    headroom: int = 0
    next_hop: int = 0
    heard: int = 0


def milliwatt_hours(energy_wh: float) -> int:
    """Return energy in whole mWh, rounded to the nearest; raises WireError beyond the switches' unit."""
    scaled = energy_wh * 1000
    if not abs(scaled) < ENERGY_LIMIT_MWH:  # also false for NaN
        raise WireError(f"{energy_wh} Wh is not an energy below {ENERGY_LIMIT_MWH / 1000:.0f} Wh")
    return round(scaled)


@dataclass(frozen=True, slots=True)
class Discovery:
    """Where a discovery frame left: a switch's device id, a port, and the time in microseconds.

    Signed with a key that only the running controller knows, so a host cannot invent a link.
    """

    switch: int
    port: int
    time: int

    _FORMAT: ClassVar[str] = "!QHQ"

    def seal(self, key: bytes) -> Frame:
        """Return the frame to be transmitted out of the port."""
        body = struct.pack(self._FORMAT, self.switch, self.port, self.time)
        return seal(key, Frame(DISCOVERY_MAC, CONTROLLER_MAC, FrameType.DISCOVERY, body=body))

    @classmethod
    def open(cls, key: bytes, frame: Frame) -> Self:
        """Parse and authenticate; raises ProtocolError."""
        if frame.type != FrameType.DISCOVERY or len(frame.body) != struct.calcsize(cls._FORMAT) + TAG_LENGTH:
            raise ProtocolError("not a discovery frame")
        return cls(*struct.unpack(cls._FORMAT, unseal(key, frame)))


@dataclass(frozen=True, slots=True)
class Probe:
    """How a switch tells its neighbours of a site (the program's probe_t); `headroom` is mWh, signed."""

    site: int
    epoch: int
    sequence: int
    headroom: int
    utilisation: int = 0
    hops: int = 0
    flags: int = 0

    _LENGTH: ClassVar[int] = 18

    def to_frame(self, source: bytes) -> Frame:
        """Return the frame as a switch with that gateway MAC address would send it."""
        body = struct.pack("!II", self.epoch, self.sequence)
        body += self.headroom.to_bytes(6, "big", signed=True)
        body += struct.pack("!HBB", self.utilisation, self.hops, 0)
        return Frame(source, source, FrameType.PROBE, self.site, self.flags, body)

    @classmethod
    def from_frame(cls, frame: Frame) -> Self:
        """Parse; the body may be followed by Ethernet padding. Raises ProtocolError."""
        padding = len(frame.body) - cls._LENGTH
        minimum = MINIMUM_FRAME - ETHERNET_LENGTH - GRASP_LENGTH - cls._LENGTH
        if frame.type != FrameType.PROBE or padding not in (0, minimum):
            raise ProtocolError("not a probe")
        epoch, sequence = struct.unpack_from("!II", frame.body)
        headroom = int.from_bytes(frame.body[8:14], "big", signed=True)
        utilisation, hops = struct.unpack_from("!HB", frame.body, 14)
        return cls(frame.site, epoch, sequence, headroom, utilisation, hops, frame.flags)
