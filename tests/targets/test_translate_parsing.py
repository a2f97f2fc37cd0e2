# SPDX-License-Identifier: Apache-2.0
"""Parsers: packets that scapy makes, and what the program reports of them."""

from __future__ import annotations

import struct

import pytest
from scapy.layers.inet import IP, TCP, UDP, IPOption
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

from .documents import switch

pytestmark = pytest.mark.packet

NO_ERROR, TOO_SHORT, OUT_OF_BOUNDS, HEADER_TOO_SHORT, BAD_VERSION = 0, 1, 2, 3, 4
IPV4, TCP_SEEN, UDP_SEEN, TRUSTED, TLV, EXPERIMENTAL = (1 << bit for bit in range(6))
TRUSTED_PORTS = "ParsingParse.trusted_ports"


@pytest.fixture(scope="module")
def parsing():
    with switch("parsing") as pair:
        yield pair


def ethernet(ethertype):
    return b"\1" * 6 + b"\2" * 6 + struct.pack("!H", ethertype)


def parse(engine, packet):
    """The report (error, path, tags, priority of the last tag, what was peeked) and what follows it."""
    data = bytes(packet)
    ((port, out),) = engine.process(3, data)
    assert port == 1
    return struct.unpack("!BBBBH", out[:6]), out[6:]


@pytest.mark.parametrize(
    ("packet", "path"),
    [
        (Ether() / IP() / TCP(), IPV4 | TCP_SEEN),
        (Ether() / IP() / UDP(dport=9) / Raw(b"payload"), IPV4 | UDP_SEEN),
        (Ether() / IP(proto=47) / Raw(b"x" * 20), IPV4),
        (Ether() / IP(options=[IPOption(b"\x94\x04\x00\x00")]) / TCP(), IPV4 | TCP_SEEN),
        (Ether() / IP(options=[IPOption(b"\x01" * 40)]) / UDP(), IPV4 | UDP_SEEN),
        (Ether(type=0x88B5) / Raw(b"x"), 0),
    ],
)
def test_packets_leave_as_they_came(parsing, packet, path):
    report, rest = parse(parsing[0], packet)
    assert report == (NO_ERROR, path, 0, 0, 0)
    assert rest == bytes(packet)


@pytest.mark.parametrize("tags", [1, 2, 3])
def test_tags_fill_a_stack(parsing, tags):
    packet = Ether()
    for number in range(tags):
        packet /= Dot1Q(prio=number + 2, vlan=100 + number)
    packet /= IP() / TCP()
    report, rest = parse(parsing[0], packet)
    assert report == (NO_ERROR, IPV4 | TCP_SEEN, tags, tags + 1, 0)
    assert rest == bytes(packet)


def test_a_full_stack_is_an_error(parsing):
    packet = Ether() / Dot1Q() / Dot1Q() / Dot1Q() / Dot1Q() / IP()
    report, rest = parse(parsing[0], packet)
    assert report[:3] == (OUT_OF_BOUNDS, 0, 3)
    assert rest == bytes(packet)  # what was not parsed is payload


def test_two_keys_of_a_select(parsing):
    """The second key stops at a tag with the drop bit before another one."""
    packet = Ether() / Dot1Q(dei=1) / Dot1Q() / IP()
    report, _ = parse(parsing[0], packet)
    assert report[:3] == (NO_ERROR, 0, 1)


@pytest.mark.parametrize("length", range(54))
def test_cut_short_anywhere(parsing, length):
    packet = bytes(Ether() / IP() / TCP())[:length]
    report, rest = parse(parsing[0], packet)
    # The program's TCP header ends after the sequence number.
    assert report[0] == (TOO_SHORT if length < 42 else NO_ERROR)
    assert report[1] == (IPV4 if length >= 14 else 0) | (TCP_SEEN if length >= 34 else 0)
    assert rest == packet


def test_verify_and_lengths_of_variable_fields(parsing):
    good = bytes(Ether() / IP(options=[IPOption(b"\x01" * 8)]) / TCP())
    assert parse(parsing[0], good[:14] + b"\x66" + good[15:])[0][0] == BAD_VERSION
    # A header length below 5 makes a length of more bits than the field can have.
    assert parse(parsing[0], good[:14] + b"\x44" + good[15:])[0][0] in (TOO_SHORT, HEADER_TOO_SHORT)
    long = good[:14] + b"\x44" + good[15:] + bytes(9000)
    assert parse(parsing[0], long)[0][0] == HEADER_TOO_SHORT


def test_advance_and_lookahead(parsing):
    tlv = ethernet(0x9000) + bytes([7, 3]) + b"abc" + b"\x12\x34" + b"rest"
    report, rest = parse(parsing[0], tlv)
    assert report == (NO_ERROR, TLV, 0, 0, 0x1234)
    assert rest == ethernet(0x9000) + bytes([7, 3]) + b"\x12\x34rest"  # what was skipped is gone
    assert parse(parsing[0], tlv[:20])[0][0] == TOO_SHORT  # nothing to look at
    assert parse(parsing[0], tlv[:18])[0][0] == TOO_SHORT  # not enough to skip


@pytest.mark.parametrize(("ethertype", "path"), [(0x9100, EXPERIMENTAL), (0x91FF, EXPERIMENTAL), (0x9200, 0)])
def test_masks(parsing, ethertype, path):
    report, _ = parse(parsing[0], ethernet(ethertype) + b"\xab\xcd")
    assert report == (NO_ERROR, path, 0, 0, 0xABCD >> 3 if path else 0)


def test_value_sets(parsing):
    engine, program = parsing
    packet = Ether() / IP() / UDP(dport=4000)
    assert parse(engine, packet)[0][1] == IPV4 | UDP_SEEN
    program.set_value_set(TRUSTED_PORTS, [(53,), (4000,)])
    assert parse(engine, packet)[0][1] == IPV4 | UDP_SEEN | TRUSTED
    program.set_value_set(TRUSTED_PORTS, [(53,)])
    assert parse(engine, packet)[0][1] == IPV4 | UDP_SEEN
