# SPDX-License-Identifier: Apache-2.0
"""Frames made by hand, sent and watched with scapy, in the network namespace of a host.

    python -m grasp.topo.crafted watch INTERFACE     says what passes, a line of JSON each (`Seen`)
    python -m grasp.topo.crafted send INTERFACE      sends frames: hex digits in JSON strings, one a line

Both say ``{"ready": true}`` first. `send` ends with standard input, `watch` with SIGTERM.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import ClassVar

from scapy.config import conf
from scapy.fields import AnyField, BitField, ByteEnumField, ByteField, IntField, ShortField
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, bind_layers
from scapy.supersocket import SuperSocket

from grasp.telemetry.protocol import ETHERTYPE, MINIMUM_FRAME, VERSION, FrameType

_SYN_ONLY, _RESET = 0x02, 0x04


class Grasp(Packet):
    """The header of every GRASP frame."""

    name = "GRASP"
    fields_desc: ClassVar[list[AnyField]] = [
        ByteField("version", VERSION),
        ByteEnumField("type", FrameType.HEARTBEAT, {kind.value: kind.name for kind in FrameType}),
        ByteField("site", 0),
        ByteField("flags", 0),
    ]


class Probe(Packet):
    """What a probe carries from switch to switch; `headroom` is in mWh, two's complement."""

    name = "GRASP probe"
    fields_desc: ClassVar[list[AnyField]] = [
        IntField("epoch", 0),
        IntField("sequence", 0),
        BitField("headroom", 0, 48),
        ShortField("utilisation", 0),
        ByteField("hops", 0),
        ByteField("reserved", 0),
    ]


bind_layers(Ether, Grasp, type=ETHERTYPE)
bind_layers(Grasp, Probe, type=FrameType.PROBE)


@dataclass(frozen=True, slots=True)
class Seen:
    """A frame that passed: `kind` is heartbeat, syn or reset; `time` is seconds since 1970."""

    time: float
    kind: str
    source: str


def heartbeat(site: int, source: str) -> bytes:
    """Return a heartbeat frame of a site, as its agent at hardware address `source` sends it."""
    frame = bytes(Ether(src=source, dst="ff:ff:ff:ff:ff:ff") / Grasp(site=site))
    return frame.ljust(MINIMUM_FRAME, b"\0")


def probe(site: int, source: str, epoch: int, sequence: int, headroom: int) -> bytes:
    """Return a probe frame, as a neighbouring switch sends it."""
    body = Probe(epoch=epoch, sequence=sequence, headroom=headroom & (2**48 - 1))
    known_and_alive = 0b101
    header = Grasp(type=FrameType.PROBE, site=site, flags=known_and_alive)
    return bytes(Ether(src=source, dst="ff:ff:ff:ff:ff:ff") / header / body).ljust(MINIMUM_FRAME, b"\0")


def notable(frame: Packet) -> Seen | None:
    """Return what `watch` says of a frame, or None if it is of no interest."""
    time, source = float(frame.time), str(frame.src)
    if Grasp in frame:
        return Seen(time, "heartbeat", source) if frame[Grasp].type == FrameType.HEARTBEAT else None
    if TCP in frame:
        flags = int(frame[TCP].flags)
        if flags & 0x17 == _SYN_ONLY:
            return Seen(time, "syn", str(frame[IP].src))
        if flags & _RESET:
            return Seen(time, "reset", str(frame[IP].src))
    return None


def _watch(interface: str) -> None:
    socket = conf.L2listen(iface=interface, promisc=False)
    print(json.dumps({"ready": True}), flush=True)
    for frame in _frames(socket):
        if (seen := notable(frame)) is not None:
            print(json.dumps(asdict(seen)), flush=True)


def _frames(socket: SuperSocket) -> Iterator[Packet]:
    while True:
        frame = socket.recv()
        if frame is not None:
            yield frame


def _send(interface: str) -> None:
    socket = conf.L2socket(iface=interface, promisc=False)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        socket.send(Ether(bytes.fromhex(json.loads(line))))


if __name__ == "__main__":
    {"watch": _watch, "send": _send}[sys.argv[1]](sys.argv[2])
