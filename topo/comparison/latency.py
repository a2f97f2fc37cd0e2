# SPDX-License-Identifier: Apache-2.0
"""A client that measures what a connection's first packet waits for, by the kernel's time stamps.

    python -m grasp.topo.comparison.latency INTERFACE ADDRESS PORT

says ``{"ready": true}``, then opens as many connections as each line of standard input says, one after the
other, from ports that no other program here uses, and answers with a line of JSON: for each connection the
time from SYN to SYN-ACK and the times from later bytes to their acknowledgements, in microseconds. Both
answers come from the site's kernel, not from its server: a request is 12 bytes, and what is sent here stays
below that. Times are those at which the frames passed the client's interface.
"""

import json
import socket
import struct
import sys
import time
from dataclasses import dataclass, field
from itertools import count

_SO_TIMESTAMPNS = 35  # asm-generic/socket.h
_ALL_PROTOCOLS = 0x0003  # linux/if_ether.h
_TIMESPEC = struct.Struct("@qq")
_LATER = 5
_PAUSE = 0.004  # between two bytes: an answer may take this long
_PATIENCE = 3.0
_SYN, _SYN_ACK = 0x02, 0x12
# Downwards from here: no kernel gives these to jobs (ip_local_port_range), and `openings` comes to them last.
# An entry that a job left behind would let a connection from its port pass by the controller.
_HIGHEST_PORT = 65_535
_RESET_ON_CLOSE = struct.pack("@ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Segment:
    """A TCP segment as it passed: `time` in nanoseconds, `size` bytes of payload."""

    time: int
    source_port: int
    destination_port: int
    sequence: int
    acknowledgement: int
    flags: int
    size: int


@dataclass(slots=True)
class Times:
    """What one connection's packets waited for, in microseconds."""

    first: float | None = None
    later: list[float] = field(default_factory=list)


def parse(frame: bytes, time: int) -> Segment | None:
    """Return the TCP segment in a frame, None for anything else."""
    if len(frame) < 54 or frame[12:14] != b"\x08\x00" or frame[23] != socket.IPPROTO_TCP:
        return None
    header = 4 * (frame[14] & 0x0F)
    begin = 14 + header
    source, destination, sequence, acknowledgement, offset, flags = struct.unpack_from(
        "!HHIIBB", frame, begin
    )
    size = int.from_bytes(frame[16:18]) - header - 4 * (offset >> 4)
    return Segment(time, source, destination, sequence, acknowledgement, flags, size)


def times(segments: list[Segment], port: int) -> Times:
    """Return the waits of the connection from a local port; a repeated SYN counts from the first."""
    mine = [segment for segment in segments if port in (segment.source_port, segment.destination_port)]
    sent = [segment for segment in mine if segment.source_port == port]
    received = [segment for segment in mine if segment.destination_port == port]
    result = Times()
    syns = [segment for segment in sent if segment.flags & _SYN_ACK == _SYN]
    answers = [segment for segment in received if segment.flags & _SYN_ACK == _SYN_ACK]
    if syns and answers:
        result.first = (answers[0].time - syns[0].time) / 1000
    for segment in sent:
        end = (segment.sequence + segment.size) % 2**32
        answer = next((s for s in received if s.time > segment.time and s.acknowledgement == end), None)
        if segment.size and answer is not None:
            result.later.append((answer.time - segment.time) / 1000)
    return result


class Capture:
    """What passes an interface, in both directions, with the kernel's time stamps."""

    def __init__(self, interface: str) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS))
        self._socket.bind((interface, _ALL_PROTOCOLS))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket.setblocking(False)

    def take(self) -> list[Segment]:
        """Return the TCP segments that have passed since the last call."""
        segments: list[Segment] = []
        while True:
            try:
                frame, ancillary, _, _ = self._socket.recvmsg(256, socket.CMSG_SPACE(_TIMESPEC.size))
            except BlockingIOError:
                return segments
            for level, kind, data in ancillary:
                if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
                    seconds, nanoseconds = _TIMESPEC.unpack(data[: _TIMESPEC.size])
                    segment = parse(frame, seconds * 10**9 + nanoseconds)
                    if segment is not None:
                        segments.append(segment)


def measure(capture: Capture, local: int, address: str, port: int) -> Times:
    """Open a connection from a local port, send a few single bytes, and return what was waited for."""
    capture.take()
    with socket.socket() as connection:
        connection.bind(("", local))
        connection.settimeout(_PATIENCE)
        # No connection of the measurement lives on, in the kernel's tables or in a switch's.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            connection.connect((address, port))
        except OSError:
            return Times()
        for _ in range(_LATER):
            time.sleep(_PAUSE)
            connection.send(b"\0")
        time.sleep(_PAUSE)
    return times(capture.take(), local)


def main(interface: str, address: str, port: int) -> None:
    """Answer lines until standard input ends."""
    capture = Capture(interface)
    print(json.dumps({"ready": True}), flush=True)
    local = count(_HIGHEST_PORT, -1)
    for line in sys.stdin:
        found = [measure(capture, next(local), address, port) for _ in range(json.loads(line))]
        print(json.dumps([[item.first, item.later] for item in found]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
