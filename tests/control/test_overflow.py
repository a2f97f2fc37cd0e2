# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample import example
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from grasp.control.overflow import Overflow, first_packet
from grasp.control.state import Entry
from grasp.control.wire import Operation, PacketIn, PacketOut, Reason

CLIENT = 0x0A000115
SERVICES = example().services


def frame(l4, **ip):
    return bytes(Ether() / IP(src="10.0.1.21", dst="10.100.0.1", **ip) / l4)


SYN = frame(TCP(sport=40_000, dport=80, flags="S"))
QUERY = frame(UDP(sport=40_000, dport=53) / Raw(b"query"))
HEADER = PacketIn(Reason.OVERFLOW, ingress_port=3, site=2, service=1)
PIN = Entry("pinned", (1, CLIENT, 40_000), "pin", (2,), 300_000_000)
PORT_3 = PacketOut(Operation.INJECT, port=3)
PORT_3_CHARGED = PacketOut(Operation.INJECT, port=3, flags=1)


@pytest.fixture
def overflow():
    return Overflow(SERVICES)


def test_a_connection_is_pinned_to_the_site_that_the_switch_chose(overflow):
    decision = overflow.decide("a", HEADER, SYN)
    assert (decision.install, decision.inject) == (PIN, None)
    inject = overflow.installed("a", PIN)
    assert (inject.packet, inject.payload) == (PORT_3_CHARGED, SYN)
    assert overflow.pins("a") == [PIN]
    assert overflow.pins("b") == []


def test_a_job_is_charged_once_however_often_its_first_packet_comes(overflow):
    overflow.decide("a", HEADER, SYN)
    repeated = overflow.decide("a", HEADER, SYN)
    assert (repeated.install, repeated.inject) == (None, None), "the first one is still waiting"
    assert overflow.installed("a", PIN).packet == PORT_3_CHARGED
    late = overflow.decide("a", HEADER, SYN)
    assert (late.install, late.inject.packet) == (None, PORT_3)
    assert overflow.installed("a", PIN) is None


def test_connections_are_told_apart_by_switch_service_client_and_port(overflow):
    overflow.decide("a", HEADER, SYN)
    others = [
        overflow.decide("b", HEADER, SYN),
        overflow.decide("a", PacketIn(Reason.OVERFLOW, ingress_port=3, site=2, service=2), QUERY),
        overflow.decide("a", HEADER, frame(TCP(sport=40_001, dport=80, flags="S"))),
        overflow.decide("a", HEADER, bytes(Ether() / IP(src="10.0.1.22") / TCP(sport=40_000, flags="S"))),
    ]
    assert all(decision.install for decision in others)
    assert len({("a", PIN)} | {(n < 1, decision.install) for n, decision in enumerate(others)}) == 5
    assert others[1].install.idle_timeout_us == 10_000_000


def test_the_site_is_the_one_chosen_first(overflow):
    overflow.decide("a", HEADER, SYN)
    overflow.installed("a", PIN)
    other = overflow.decide("a", PacketIn(Reason.OVERFLOW, ingress_port=3, site=1, service=1), SYN)
    assert other.install is None
    assert overflow.pins("a") == [PIN]


def test_an_entry_that_cannot_be_written_is_asked_for_again(overflow):
    overflow.decide("a", HEADER, SYN)
    overflow.removed("a", PIN)
    assert overflow.pins("a") == []
    assert overflow.decide("a", HEADER, SYN).install == PIN


def test_entries_under_way_are_lost_with_the_switch_and_the_others_kept(overflow):
    overflow.installed("a", PIN)
    other = frame(TCP(sport=50_000, dport=80, flags="S"))
    under_way = overflow.decide("a", HEADER, other).install
    assert overflow.pins("a") == [PIN], "not yet the one under way"
    overflow.disconnected("a")
    assert overflow.pins("a") == [PIN]
    assert overflow.decide("a", HEADER, other).install == under_way


def test_pins_come_back_from_a_store():
    overflow = Overflow(SERVICES, [("a", PIN)])
    assert overflow.pins("a") == [PIN]
    assert overflow.decide("a", HEADER, SYN).inject.packet == PORT_3


@pytest.mark.parametrize(
    ("header", "payload"),
    [
        (PacketIn(Reason.OVERFLOW, service=9), SYN),
        (PacketIn(Reason.OVERFLOW, service=1), QUERY),
        (HEADER, b""),
        (HEADER, SYN[:37]),
        (HEADER, bytes(Ether() / ARP())),
        (HEADER, bytes(Ether() / IPv6() / TCP())),
        (HEADER, frame(ICMP())),
        (HEADER, frame(TCP(sport=40_000, flags="S"), flags="MF")),
        (HEADER, frame(TCP(sport=40_000, flags="S"), frag=1)),
        (HEADER, frame(TCP(sport=40_000, flags="S"), ihl=4)),
        (HEADER, frame(TCP(sport=40_000, flags="S"), version=5)),
    ],
)
def test_what_is_no_first_packet_of_the_service_is_dropped(overflow, header, payload):
    decision = overflow.decide("a", header, payload)
    assert (decision.install, decision.inject) == (None, None)
    assert overflow.pins("a") == []


def test_ports_are_read_behind_ip_options():
    packet = IP(src="1.2.3.4", options=[b"\x94\x04\x00\x00"]) / UDP(sport=5, dport=6)
    assert first_packet(bytes(Ether() / packet)) == (17, 0x01020304, 5)


@given(st.binary(max_size=100))
def test_random_bytes_are_no_first_packet_or_one_within_bounds(raw):
    for payload in (raw, SYN[:12] + raw, SYN[:23] + raw):
        found = first_packet(payload)
        assert found is None or (found[0] in (6, 17) and 0 <= found[1] < 2**32 and 0 <= found[2] < 2**16)
