# SPDX-License-Identifier: Apache-2.0
"""Crafted frames are the project's own frames, and what passes is named rightly."""

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether

from grasp.telemetry.protocol import Frame, FrameType
from grasp.topo.crafted import Grasp, Probe, heartbeat, notable, probe

MAC = "02:00:00:01:01:01"


def test_heartbeat_is_one_to_the_agents_protocol() -> None:
    frame = Frame.from_bytes(heartbeat(7, MAC))
    assert (frame.type, frame.site, frame.source) == (FrameType.HEARTBEAT, 7, bytes.fromhex("020000010101"))


def test_probe_carries_a_negative_headroom() -> None:
    frame = Ether(probe(3, MAC, epoch=9, sequence=2**32 - 1, headroom=-1000))
    assert (frame[Grasp].type, frame[Grasp].site) == (FrameType.PROBE, 3)
    assert (frame[Probe].epoch, frame[Probe].sequence) == (9, 2**32 - 1)
    assert frame[Probe].headroom == 2**48 - 1000


def test_what_is_notable() -> None:
    packet = Ether(src=MAC) / IP(src="10.1.2.1", dst="10.1.1.1")
    kinds = [
        None if (seen := notable(frame)) is None else seen.kind
        for frame in (
            Ether(heartbeat(0, MAC)),
            Ether(probe(0, MAC, 1, 1, 1)),
            packet / TCP(flags="S"),
            packet / TCP(flags="SA"),
            packet / TCP(flags="A"),
            packet / TCP(flags="R"),
            packet / UDP(),
        )
    ]
    assert kinds == ["heartbeat", None, "syn", None, None, "reset", None]
