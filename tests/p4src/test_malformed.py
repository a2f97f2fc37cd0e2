# SPDX-License-Identifier: Apache-2.0
"""Frames cut short, too long, in pieces, or with more in their headers than usual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from scapy.layers.inet import (
    ICMP,
    IP,
    TCP,
    UDP,
    IPOption,
    IPOption_NOP,
    IPOption_RR,
    IPOption_Timestamp,
)
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from tests.p4src.site_switch import (
    CLIENTS,
    DNS,
    FAR_CLIENT,
    GATEWAY,
    PORTS,
    SITES,
    WEB,
    Host,
    checksums_hold,
    connect,
    dropped,
    from_server,
    grasp,
    heartbeat_frame,
    ipv4,
    prefer,
    probe,
    to_service,
    with_header_checksum,
)
from tests.p4src.switch import Switch

from grasp.control.wire import Drop
from grasp.telemetry.protocol import FrameType

CLIENT, OTHER = CLIENTS
SYN = ipv4(CLIENT, WEB.address, to_service(41000))
QUERY = ipv4(CLIENT, DNS.address, to_service(41000, service=DNS))
OPTIONS = [IPOption_NOP(), IPOption_RR(length=15, routers=["1.2.3.4"]), IPOption_Timestamp(length=20)]
SYN_WITH_OPTIONS = ipv4(CLIENT, WEB.address, to_service(41000), options=OPTIONS)


def shortest(switch: Switch) -> int:
    """The shortest frame that can be sent: a link takes nothing below an Ethernet header."""
    return 14 if switch.real_time else 0


@pytest.fixture
def ready(steady: Switch) -> Switch:
    prefer(steady, 10, 1)
    return steady


@contextmanager
def only_dropped(switch: Switch, expected: dict[Drop, int]) -> Iterator[None]:
    """What is sent meanwhile is counted under these reasons, and changes nothing."""
    before = switch.counts("drops"), switch.counts("jobs"), switch.read_site(10).headroom
    yield
    drops = Counter(switch.counts("drops"))
    drops.subtract(before[0])
    assert {reason: count for reason, count in drops.items() if count} == expected
    assert (switch.counts("jobs"), switch.read_site(10).headroom) == before[1:]
    assert connect(switch, 41000, "A") is None


@pytest.mark.parametrize("fill", [b"\0", b"\xff", b"\x45"])
def test_runts_of_every_length(ready: Switch, fill: bytes) -> None:
    lengths = range(shortest(ready), 61)
    reasons = [Drop.MALFORMED if length < 14 else Drop.ETHERTYPE for length in lengths] * len(PORTS)
    with only_dropped(ready, Counter(reasons)):
        for port in PORTS:
            assert ready.pour(port, [fill * length for length in lengths]) == []


@pytest.mark.parametrize("frame", [SYN, QUERY, SYN_WITH_OPTIONS], ids=["tcp", "udp", "options"])
def test_ip_cut_short_at_every_byte(ready: Switch, frame: bytes) -> None:
    lengths = range(shortest(ready), len(frame))
    with only_dropped(ready, {Drop.MALFORMED: len(lengths)}):
        assert ready.pour(CLIENT.port, [frame[:length] for length in lengths]) == []


@pytest.mark.parametrize(
    ("port", "frame", "whole"),
    [
        (1, bytes(Ether(src=CLIENT.mac) / ARP(hwsrc=CLIENT.mac, psrc=CLIENT.address, pdst=WEB.address)), 42),
        (3, heartbeat_frame(10), 18),
        (3, grasp(FrameType.REGISTER), 18),
        (6, grasp(FrameType.DISCOVERY), 18),
        (6, probe(200, headroom=-(10**12)), 36),
    ],
    ids=["arp", "heartbeat", "register", "discovery", "probe"],
)
def test_other_headers_cut_short_at_every_byte(ready: Switch, port: int, frame: bytes, whole: int) -> None:
    lengths = range(shortest(ready), whole)
    with only_dropped(ready, {Drop.MALFORMED: len(lengths)}):
        assert ready.pour(port, [frame[:length] for length in lengths]) == []
    assert ready.send(port, frame[:whole]) != []


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"version": 6}, Drop.MALFORMED),
        ({"version": 0}, Drop.MALFORMED),
        ({"ihl": 4}, Drop.MALFORMED),
        ({"ihl": 0}, Drop.MALFORMED),
        ({"ihl": 15}, Drop.MALFORMED),  # longer than the packet
        ({"len": 19}, Drop.MALFORMED),
        ({"len": 0}, Drop.MALFORMED),
        ({"len": 39}, Drop.MALFORMED),  # ends within the TCP header
        ({"len": 46}, Drop.MALFORMED),  # goes on after the end of the frame
        ({"len": 65535}, Drop.MALFORMED),
        ({"chksum": 0}, Drop.BAD_CHECKSUM),
        ({"chksum": 0xFFFF}, Drop.BAD_CHECKSUM),
        ({"ttl": 0}, Drop.TTL),
        ({"ttl": 1}, Drop.TTL),
        ({"dst": "10.77.0.1"}, Drop.NO_ROUTE),
        ({"dst": "255.255.255.255"}, Drop.NO_ROUTE),
        ({"dst": "224.0.0.1"}, Drop.NO_ROUTE),
    ],
    ids=str,
)
def test_headers_that_contradict_themselves(ready: Switch, fields: dict[str, Any], reason: Drop) -> None:
    header = IP(**{"src": CLIENT.address, "dst": WEB.address, **fields})
    frame = Ether(src=CLIENT.mac, dst=GATEWAY) / header / to_service(41000)
    with only_dropped(ready, {reason: 1}):
        assert ready.send(CLIENT.port, bytes(frame)) == []


def test_ports_are_not_read_out_of_ethernet_padding(ready: Switch) -> None:
    """Packets that end within their transport header, in frames that go on with what looks like its rest."""
    for protocol, frame, shortest in ((6, SYN, 40), (17, QUERY, 28)):
        for length in range(20, shortest):
            packet = frame[:16] + length.to_bytes(2, "big") + frame[18:23] + bytes([protocol]) + frame[24:]
            assert dropped(ready, CLIENT.port, with_header_checksum(packet)) == Drop.MALFORMED


def test_every_damaged_bit_of_an_ip_header_is_noticed(ready: Switch) -> None:
    frames = []
    for bit in range(14 * 8, 34 * 8):
        damaged = bytearray(SYN)
        damaged[bit // 8] ^= 1 << bit % 8
        frames.append(bytes(damaged))
    before = sum(ready.counts("drops").values())
    assert ready.pour(CLIENT.port, frames) == []
    assert sum(ready.counts("drops").values()) - before == len(frames)
    assert connect(ready, 41000, "A") is None


@pytest.mark.parametrize("ttl", [2, 64, 255])
def test_the_time_to_live_counts_down(ready: Switch, ttl: int) -> None:
    ((_, frame),) = ready.send(1, ipv4(CLIENT, WEB.address, to_service(40000), ttl=ttl))
    assert Ether(frame)[IP].ttl == ttl - 1
    ((_, frame),) = ready.send(3, ipv4(SITES[10], CLIENT.address, from_server(40000), ttl=ttl))
    assert Ether(frame)[IP].ttl == ttl - 1
    ((_, frame),) = ready.send(1, ipv4(CLIENT, OTHER.address, UDP(sport=1, dport=2), ttl=ttl))
    assert Ether(frame)[IP].ttl == ttl - 1
    assert checksums_hold(frame)


@pytest.mark.parametrize(
    "options",
    [
        [IPOption_NOP()] * 4,
        OPTIONS,
        [IPOption_NOP()] * 40,
        [IPOption(copy_flag=1, optclass=0, option=20, length=4, value=b"\0\0")],  # router alert
    ],
    ids=["padding", "several", "longest", "router-alert"],
)
def test_ip_options_are_kept(ready: Switch, options: list[IPOption]) -> None:
    for port, frame in (
        (1, ipv4(CLIENT, WEB.address, to_service(40000), options=options)),
        (3, ipv4(SITES[10], CLIENT.address, from_server(40000), options=options)),
        (6, ipv4(FAR_CLIENT, OTHER.address, UDP(sport=4, dport=5), options=options)),
    ):
        ((_, out),) = ready.send(port, frame)
        assert checksums_hold(out)
        ihl = Ether(frame)[IP].ihl
        assert out[34 : 14 + ihl * 4] == frame[34 : 14 + ihl * 4]
        assert Ether(out)[IP].ihl == ihl
        assert bytes(Ether(out)[IP].payload.payload) == bytes(Ether(frame)[IP].payload.payload)


def fragments(source: Host, destination: str, transport: Packet) -> list[bytes]:
    packet = IP(src=source.address, dst=destination, id=7) / transport / Raw(bytes(100))
    return [bytes(Ether(src=source.mac, dst=GATEWAY) / piece) for piece in packet.fragment(64)]  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("port", "pieces", "reasons"),
    [
        (
            1,
            fragments(CLIENT, WEB.address, TCP(sport=4, dport=80, flags="S")),
            [Drop.FRAGMENT, Drop.NO_ROUTE],
        ),
        (1, fragments(CLIENT, DNS.address, UDP(sport=4, dport=53)), [Drop.FRAGMENT, Drop.NO_ROUTE]),
        (3, fragments(SITES[10], CLIENT.address, UDP(sport=5353, dport=4)), [Drop.FRAGMENT, None]),
        (6, fragments(FAR_CLIENT, SITES[10].address, UDP(sport=4, dport=5353)), [Drop.FRAGMENT, None]),
    ],
    ids=["tcp", "udp", "returning", "arriving"],
)
def test_a_service_takes_no_fragments(
    ready: Switch, port: int, pieces: list[bytes], reasons: list[Drop | None]
) -> None:
    """Later fragments have no ports; those that name a host and not a service are any IP packet."""
    assert len(pieces) == 2
    for piece, reason in zip(pieces, reasons, strict=True):
        if reason is None:
            ((_, out),) = ready.send(port, piece)
            assert checksums_hold(out)
        else:
            assert dropped(ready, port, piece) == reason


def test_other_fragments_pass(ready: Switch) -> None:
    for transport in (UDP(sport=4, dport=9), TCP(sport=4, dport=9), ICMP()):
        for piece in fragments(CLIENT, OTHER.address, transport):
            ((port, out),) = ready.send(1, piece)
            assert port == OTHER.port
            assert checksums_hold_for_header(out)
            assert out[34:] == piece[34:]


def checksums_hold_for_header(frame: bytes) -> bool:
    fresh = Ether(frame)
    del fresh[IP].chksum
    return bool(Ether(bytes(fresh))[IP].chksum == Ether(frame)[IP].chksum)


@pytest.mark.parametrize("length", [1514, 9014, 65535])
def test_long_frames_pass_whole(ready: Switch, length: int) -> None:
    payload = bytes(n * 31 % 256 for n in range(length - 14 - 20 - 20))
    for port, frame in (
        (1, ipv4(CLIENT, WEB.address, TCP(sport=40000, dport=80, flags="S") / Raw(payload))),
        (3, ipv4(SITES[10], CLIENT.address, TCP(sport=8080, dport=40000, flags="A") / Raw(payload))),
        (1, ipv4(CLIENT, OTHER.address, TCP(sport=1, dport=2) / Raw(payload))),
    ):
        assert len(frame) == length
        ((_, out),) = ready.send(port, frame)
        assert bytes(Ether(out)[TCP].payload) == payload
        assert checksums_hold(out)


def test_ip_without_ports_goes_its_way(ready: Switch) -> None:
    for protocol in (1, 2, 41, 47, 50, 132, 255):
        ((port, _),) = ready.send(1, ipv4(CLIENT, OTHER.address, Raw(bytes(30)), proto=protocol))
        assert port == OTHER.port
        assert dropped(ready, 1, ipv4(CLIENT, WEB.address, Raw(bytes(30)), proto=protocol)) == Drop.NO_ROUTE


def test_ip_of_no_payload(ready: Switch) -> None:
    ((port, out),) = ready.send(1, ipv4(CLIENT, OTHER.address, Raw(b""), proto=59))
    assert (port, len(out)) == (OTHER.port, 34)
    assert dropped(ready, 1, ipv4(CLIENT, WEB.address, Raw(b""), proto=6)) == Drop.MALFORMED
