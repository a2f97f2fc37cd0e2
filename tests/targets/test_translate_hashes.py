# SPDX-License-Identifier: Apache-2.0
"""Checksums as scapy computes them, hashes as zlib and plain Python do."""

from __future__ import annotations

import random
import struct
import zlib

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from .documents import switch

pytestmark = pytest.mark.packet


@pytest.fixture(scope="module")
def engine():
    with switch("hashing") as (engine, _):
        yield engine


def rebuilt(packet):
    """The packet with checksums by scapy."""
    copy = packet.copy()
    del copy[IP].chksum
    if UDP in copy:
        del copy[UDP].chksum
    return Ether(bytes(copy))


@pytest.mark.parametrize("payload", [b"", b"a", b"ab", b"odd length", bytes(range(256)) * 5, b"\xff" * 1001])
def test_updated_checksums(engine, payload):
    packet = Ether(
        bytes(Ether() / IP(ttl=9, src="10.1.2.3", dst="10.4.5.6") / UDP(sport=77, dport=99) / Raw(payload))
    )
    ((port, out),) = engine.process(0, bytes(packet))
    assert port == 1
    packet[IP].ttl, packet[IP].dst, packet[UDP].dport = 8, "10.0.0.99", 4321
    assert out == bytes(rebuilt(packet))


def test_verified_checksums(engine):
    good = Ether(bytes(Ether() / IP() / UDP() / Raw(b"some payload")))
    assert engine.process(0, bytes(good))[0][0] == 1
    bad = good.copy()
    bad[IP].chksum ^= 0x100
    assert engine.process(0, bytes(bad))[0][0] == 2
    bad = good.copy()
    bad[UDP].chksum ^= 1
    assert engine.process(0, bytes(bad))[0][0] == 2
    bad = bytes(good)[:-1] + b"!"
    assert engine.process(0, bad)[0][0] == 2
    none = good.copy()
    none[UDP].chksum = 0  # not verified, because its condition says so
    assert engine.process(0, bytes(none))[0][0] == 1
    assert engine.process(0, bytes(Ether() / IP() / TCP()))[0][0] == 1  # no UDP, nothing to verify there


def crc16(data):
    """CRC-16/ARC, bit by bit."""
    value = 0
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0xA001 if value & 1 else 0)
    return value


def ones_complement(data):
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def exclusive_or(data):
    value = 0
    for (word,) in struct.iter_unpack("!H", data + bytes(len(data) % 2)):
        value ^= word
    return value


def test_hashes(engine):
    source = random.Random(1)
    for _ in range(50):
        a, b, c, d = (source.getrandbits(width) for width in (5, 11, 32, 48))
        ab, tail = struct.pack("!H", a << 11 | b), struct.pack("!I", c) + d.to_bytes(6, "big")
        ethernet = bytes(12) + b"\x90\0"
        ((_, out),) = engine.process(0, ethernet + ab + tail + bytes(28))
        found = struct.unpack("!HIHHQHI", out[26:50])
        assert out[:26] == ethernet + ab + tail
        bounded = zlib.crc32(struct.pack("!I", c) + ab) % 77 + 1000
        constant = zlib.crc32(struct.pack("!H", b << 5 | 21) + b"\xde\xad\xbe\xef")
        assert found == (
            crc16(ab + tail), zlib.crc32(ab + tail), ones_complement(ab + tail), exclusive_or(ab + tail),
            d, bounded, constant,
        )  # fmt: skip
