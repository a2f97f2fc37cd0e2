# SPDX-License-Identifier: Apache-2.0
"""A generator of first packets: many more connections in a second than a client's own kernel would open.

    python -m grasp.topo.comparison.openings INTERFACE CLIENT_ADDRESS GATEWAY_MAC ADDRESS PORT

says ``{"ready": true}``. For each line of standard input, an `Order`, it sends SYN segments at that rate,
each from a port that it has not used before, and says with an `Answer` what became of them. The client's
kernel knows nothing of these connections and resets each when it is answered, which ends it everywhere.
"""

import json
import socket
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address

_IPV4 = 0x0800
_SO_RCVBUFFORCE = 33  # asm-generic/socket.h
_BUFFER = 1 << 24  # bytes: answers of a second wait there while this program does not get to run
_OUTGOING = 4  # PACKET_OUTGOING of linux/if_packet.h
_WAIT = 1.0  # seconds after the last one in which an answer counts
_SYN_ACK = 0x12
# Without those that a client's kernel gives to its own connections (ip_local_port_range).
_PORTS = (range(1024, 32_768), range(61_000, 65_536))
_SLICE = 0.001  # seconds: SYNs due within it are sent at once


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

    def frame(self, port: int) -> bytes:
        """Return the frame of a connection from a local port."""
        segment = struct.pack("!HHIIBBHHH", port, self._port, port << 8, 0, 0x50, 0x02, 64_240, 0, 0)
        total = checksum(self._pseudo + segment)
        return self._before + segment[:16] + total.to_bytes(2) + segment[18:]


class Generator:
    """Sends and counts at an interface."""

    def __init__(self, interface: str, client: str, gateway: str, address: str, port: int) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_IPV4))
        self._socket.bind((interface, _IPV4))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
        self._socket.setblocking(False)
        mac = self._socket.getsockname()[4]
        self._opening = Opening(mac, bytes.fromhex(gateway.replace(":", "")), client, address, port)
        self._ports: Iterator[int] = (port for part in _PORTS for port in part)
        self._from = IPv4Address(address).packed, port

    def carry_out(self, order: Order) -> Answer:
        """Send and wait; ports that are used up end the sending early."""
        wanted = round(order.rate * order.seconds)
        frames = [
            (port, self._opening.frame(port)) for _, port in zip(range(wanted), self._ports, strict=False)
        ]
        sent: dict[int, float] = {}
        took: dict[int, float] = {}
        time.sleep(max(order.at - time.monotonic(), 0))
        begin = time.monotonic()
        # As long again as ordered, then a rate that cannot be reached is given up.
        while len(sent) < len(frames) and time.monotonic() < begin + 2 * order.seconds:
            due = (time.monotonic() - begin + _SLICE) * order.rate
            while len(sent) < min(due, len(frames)):
                port, frame = frames[len(sent)]
                try:
                    self._socket.send(frame)
                except BlockingIOError:  # the interface's queue is full
                    break
                sent[port] = time.monotonic()
            self._take(sent, took)
            time.sleep(_SLICE / 4)
        seconds = time.monotonic() - begin
        while time.monotonic() < begin + seconds + _WAIT and len(took) < len(sent):
            self._take(sent, took)
            time.sleep(_SLICE)
        waits = sorted(took.values())
        return Answer(len(sent), seconds, len(took), _quantile(waits, 0.5), _quantile(waits, 0.99))

    def _take(self, sent: dict[int, float], took: dict[int, float]) -> None:
        """Read the answers that wait."""
        address, port = self._from
        while True:
            try:
                frame, (_, _, kind, *_) = self._socket.recvfrom(256)
            except BlockingIOError:
                return
            if kind == _OUTGOING or len(frame) < 54 or frame[26:30] != address:
                continue
            source, local = struct.unpack_from("!HH", frame, 34)
            if source == port and frame[47] & _SYN_ACK == _SYN_ACK and local in sent and local not in took:
                took[local] = time.monotonic() - sent[local]


def _quantile(ordered: list[float], share: float) -> float | None:
    """Return a quantile of sorted seconds, in microseconds."""
    return round(ordered[int(share * (len(ordered) - 1))] * 1e6, 1) if ordered else None


def main(interface: str, client: str, gateway: str, address: str, port: int) -> None:
    """Carry out orders until standard input ends."""
    generator = Generator(interface, client, gateway, address, port)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(asdict(generator.carry_out(Order(**json.loads(line))))), flush=True)


if __name__ == "__main__":
    INTERFACE, CLIENT, GATEWAY, ADDRESS, PORT = sys.argv[1:]
    main(INTERFACE, CLIENT, GATEWAY, ADDRESS, int(PORT))
