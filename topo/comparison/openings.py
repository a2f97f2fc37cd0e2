# SPDX-License-Identifier: Apache-2.0
"""A generator of first packets: many more connections in a second than a client's own kernel would open.

    python -m grasp.topo.comparison.openings INTERFACE CLIENT_ADDRESS GATEWAY_MAC ADDRESS PORT

says ``{"ready": true}``. For each line of standard input, an `Order`, it sends SYN segments at that rate,
each from another port, none again before all others, and says with an `Answer` what became of them. The
client's kernel knows nothing of these connections and resets each when it is answered, which ends it
everywhere.
"""

import ctypes
import json
import os
import socket
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address
from itertools import count, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grasp.targets.v1model.compile import compile_shared

WAIT = 0.2
"""Seconds within which an answer counts: no rate shall pass by what waits in line."""

_IPV4 = 0x0800
_SO_RCVBUFFORCE = 33  # asm-generic/socket.h
_SO_TIMESTAMPNS = 35
_SOL_PACKET = 263  # linux/socket.h
_PACKET_IGNORE_OUTGOING = 23  # linux/if_packet.h
_BUFFER = 1 << 24  # bytes: answers of a step wait there while this program does not get to run
# Without those that a client's kernel gives to its own connections (ip_local_port_range).
_PORTS = (range(1024, 32_768), range(61_000, 65_536))
_SECOND = 1e9  # nanoseconds


class _Order(ctypes.Structure):
    """`struct order` of openings.c."""

    _fields_ = (
        ("frames", ctypes.c_char_p),
        ("count", ctypes.c_uint32),
        ("rate", ctypes.c_double),
        ("patience", ctypes.c_uint64),
        ("wait", ctypes.c_uint64),
        ("address", ctypes.c_uint32),
        ("port", ctypes.c_uint16),
    )


class _Result(ctypes.Structure):
    """`struct result` of openings.c."""

    _fields_ = (
        ("sent", ctypes.c_void_p),
        ("answered", ctypes.c_void_p),
        ("begun", ctypes.c_uint64),
        ("ended", ctypes.c_uint64),
        ("sent_count", ctypes.c_uint32),
        ("answered_count", ctypes.c_uint32),
    )


def library() -> ctypes.CDLL:
    """Return the inner loop, compiled if need be; raises UserError without a C compiler."""
    source = Path(__file__).parent / "openings.c"
    return ctypes.CDLL(str(compile_shared([source], "openings")), use_errno=True)


@dataclass(frozen=True, slots=True)
class Order:
    """Open `rate` connections a second for `seconds`, from `at` (CLOCK_MONOTONIC)."""

    rate: float
    seconds: float
    at: float


@dataclass(frozen=True, slots=True)
class Answer:
    """How many were sent, in how many seconds, how many were answered, and how long those took (us)."""

    sent: int
    seconds: float
    answered: int
    p50_us: float | None
    p99_us: float | None


def checksum(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071)."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


class Opening:
    """Makes SYN frames from one address to one service."""

    def __init__(self, mac: bytes, gateway: bytes, client: str, address: str, port: int) -> None:
        source, destination = IPv4Address(client).packed, IPv4Address(address).packed
        header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, 0, 0x4000, 64, 6, 0, source, destination)
        ip = header[:10] + checksum(header).to_bytes(2) + header[12:]
        self._before = gateway + mac + struct.pack("!H", _IPV4) + ip
        self._pseudo = source + destination + struct.pack("!BBH", 0, 6, 20)
        self._port = port

    def frame(self, port: int, use: int = 0) -> bytes:
        """Return the frame of a connection from a local port; its sequence number tells its `use` too."""
        sequence = port << 8 | use & 0xFF
        segment = struct.pack("!HHIIBBHHH", port, self._port, sequence, 0, 0x50, 0x02, 64_240, 0, 0)
        total = checksum(self._pseudo + segment)
        return self._before + segment[:16] + total.to_bytes(2) + segment[18:]


class Generator:
    """Sends and counts at an interface."""

    def __init__(self, interface: str, client: str, gateway: str, address: str, port: int) -> None:
        self._library = library()
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        self._socket.bind((interface, _IPV4))
        mac = self._socket.getsockname()[4]
        self._opening = Opening(mac, bytes.fromhex(gateway.replace(":", "")), client, address, port)
        self._ends: Iterator[tuple[int, int]] = (
            (port, use) for use in count() for part in _PORTS for port in part
        )
        self._from = int.from_bytes(IPv4Address(address).packed, sys.byteorder), port

    def carry_out(self, order: Order) -> Answer:
        """Send and wait; of more connections than there are ports the rest is left out. Raises OSError."""
        wanted = min(round(order.rate * order.seconds), sum(map(len, _PORTS)))
        frames = [self._opening.frame(*end) for end in islice(self._ends, wanted)]
        sent, answered = (np.zeros(len(frames), dtype=np.uint64) for _ in range(2))
        # As long again as ordered, then a rate that cannot be reached is given up.
        patience = round(2 * order.seconds * _SECOND)
        asked = _Order(
            b"".join(frames), len(frames), order.rate, patience, round(WAIT * _SECOND), *self._from
        )
        result = _Result(sent.ctypes.data, answered.ctypes.data)
        time.sleep(max(order.at - time.monotonic(), 0))
        status = self._library.openings_carry_out(
            self._socket.fileno(), ctypes.byref(asked), ctypes.byref(result)
        )
        if status < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        is_answered = answered > 0
        waits = np.sort((answered - sent)[is_answered]) / 1000
        return Answer(
            result.sent_count,
            (result.ended - result.begun) / _SECOND,
            result.answered_count,
            _quantile(waits, 0.5),
            _quantile(waits, 0.99),
        )


def _quantile(ordered: NDArray[np.float64], share: float) -> float | None:
    """Return a quantile of sorted values."""
    return round(float(ordered[int(share * (len(ordered) - 1))]), 1) if len(ordered) else None


def main(interface: str, client: str, gateway: str, address: str, port: int) -> None:
    """Carry out orders until standard input ends."""
    generator = Generator(interface, client, gateway, address, port)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(asdict(generator.carry_out(Order(**json.loads(line))))), flush=True)


if __name__ == "__main__":
    INTERFACE, CLIENT, GATEWAY, ADDRESS, PORT = sys.argv[1:]
    main(INTERFACE, CLIENT, GATEWAY, ADDRESS, int(PORT))
