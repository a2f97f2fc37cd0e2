# SPDX-License-Identifier: Apache-2.0
"""Registers, counters, meters, digests and idle timeouts; hashes against other implementations."""

from __future__ import annotations

import binascii
import ctypes
import struct
import threading
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.utils import checksum

from grasp.targets.v1model.binding import runtime
from grasp.targets.v1model.engine import Engine
from grasp.targets.v1model.objects import (
    Call,
    Code,
    Counts,
    DigestConfig,
    DigestList,
    EngineError,
    IdleTimeout,
    PacketIn,
    Rates,
)  # fmt: skip

from . import bare

pytestmark = pytest.mark.packet


@pytest.fixture
def switch():
    with Engine(cpu_port=255) as engine:
        bare.load(engine)
        engine.set_clock(0)
        yield engine


# ---- hashes


def hashed(name, data):
    function = getattr(runtime(), f"v1_hash_{name}")
    function.restype, function.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_size_t)
    return function(data, len(data))


def crc16_bit_by_bit(data):
    """CRC-16/ARC from its definition: polynomial 0x8005 reflected, no initial or final value."""
    value = 0
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0xA001 if value & 1 else 0)
    return value


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=70))
def test_hashes_are_those_of_others(data):
    even = data + b"\0" * (len(data) % 2)
    words = struct.unpack(f">{len(even) // 2}H", even)
    folded = 0
    for word in words:
        folded ^= word
    assert hashed("crc32", data) == zlib.crc32(data)
    assert hashed("crc16", data) == crc16_bit_by_bit(data)
    assert hashed("csum16", data) == checksum(data)
    assert hashed("xor16", data) == folded
    assert hashed("identity", data) == int.from_bytes(data[:8], "big")


def test_crc16_by_its_published_check_value():
    assert hashed("crc16", b"123456789") == 0xBB3D
    assert hashed("crc32", b"123456789") == 0xCBF43926 == binascii.crc32(b"123456789")


# ---- cells


def test_registers_of_every_cell_size(switch):
    for name, width in (("bits", 1), ("r9", 9), ("r32", 32), ("r48", 48), ("r100", 100)):
        top = (1 << width) - 1
        switch.program.write_register(name, 7, top)
        switch.program.write_register(name, 0, top // 3)
        assert switch.program.read_registers(name) == [top // 3, *[0] * 6, top]
        assert switch.program.read_register(name, 7) == top
        switch.program.fill_register(name, 1)
        assert switch.program.read_registers(name) == [1] * 8
        for index, value in ((8, 0), (-1, 0), (0, top + 1), (0, -1)):
            with pytest.raises(EngineError) as refusal:
                switch.program.write_register(name, index, value)
            assert refusal.value.code is Code.INVALID_ARGUMENT


def test_counters_count_packets_and_bytes(switch):
    for number in (1, 1, 3, 4):  # 4 is out of bounds: nothing happens
        assert switch.process(0, bare.packet(bare.COUNT, number=number, payload=bytes(10)))
    assert switch.program.read_counters("counter") == [Counts(), Counts(2, 148), Counts(), Counts(1, 74)]
    switch.program.write_counter("counter", 0, Counts(9, 10))
    assert switch.program.read_counter("counter", 0) == Counts(9, 10)


# ---- meters


def color(switch, now_us, meter=0, index=0, payload=b""):
    packet = bare.packet(bare.METER, number=index, key=(meter, 99), payload=payload)
    [(_, data)] = switch.process(0, packet, now_us=now_us)
    return bare.HEADER.unpack_from(data)[6]


def rfc2698(rates, arrivals):
    """Colours by RFC 2698's token buckets, exact in microseconds; (time, size) in, 0 green, 2 red out."""
    peak, committed, last, colors = rates.pburst, rates.cburst, 0, []
    for now, size in arrivals:
        peak = min(rates.pburst, peak + (now - last) * rates.pir / 1e6)
        committed = min(rates.cburst, committed + (now - last) * rates.cir / 1e6)
        last = now
        if peak < size:
            colors.append(2)
        elif committed < size:
            peak -= size
            colors.append(1)
        else:
            peak, committed = peak - size, committed - size
            colors.append(0)
    return colors


@pytest.mark.parametrize("unit", [0, 1])
def test_meters_follow_rfc_2698(switch, unit):
    size = 164 if unit else 1
    rates = Rates(1000 * size, 4 * size, 4000 * size, 6 * size)
    switch.program.write_meter(("packets", "bytes")[unit], 1, rates)
    # Gaps whose fills are whole tokens: the run time keeps whole ones.
    times, now = [], 0
    for gap in [0] * 12 + [1000] * 6 + [250] * 12 + [5000] * 3 + [0, 0, 2000] * 4:
        now += gap
        times.append(now)
    got = [color(switch, now, unit, 1, bytes(100)) for now in times]
    assert got == rfc2698(rates, [(now, size) for now in times])
    assert {0, 1, 2} == set(got)


def test_an_unconfigured_meter_is_green_and_an_index_out_of_bounds_nothing(switch):
    assert [color(switch, now) for now in range(5)] == [0] * 5
    assert color(switch, 9, 0, 2) == 99
    switch.program.write_meter("packets", 0, Rates(1, 0, 1, 0))
    assert color(switch, 10) == 2
    assert switch.program.read_meters("packets") == [Rates(1, 0, 1, 0), None]
    switch.program.write_meter("packets", 0, None)
    assert color(switch, 11) == 0
    with pytest.raises(EngineError) as refusal:
        switch.program.write_meter("packets", 0, Rates(2, 1, 1, 1))
    assert refusal.value.code is Code.INVALID_ARGUMENT
    assert switch.program.read_meter("packets", 0) is None


# ---- idle timeouts


def test_idle_entries_are_reported_at_every_other_sweep(switch):
    def sweep(now):
        switch.set_clock(now)
        switch.sweep()
        return switch.next_event(0)

    program = switch.program
    program.insert("exact", (1, 1), Call("one", (1,)), timeout_us=3_000_000)
    program.insert("exact", (2, 2), Call("one", (1,)))
    assert sweep(2_999_999) is None
    event = sweep(3_000_000)
    assert isinstance(event, IdleTimeout)
    assert (event.table, [(e.key, e.idle_us) for e in event.entries]) == ("exact", [((1, 1), 3_000_000)])
    assert sweep(4_000_000) is None
    assert isinstance(sweep(5_000_000), IdleTimeout)
    bare.look_up(switch, "exact", 1 | 1 << 48)
    assert sweep(7_999_999) is None
    assert isinstance(sweep(8_000_000), IdleTimeout)
    program.delete("exact", (1, 1))
    assert sweep(10_000_000) is None


def test_more_idle_entries_than_one_event_takes(switch):
    for number in range(600):
        switch.program.insert("exact", (number, 0), Call("nothing"), timeout_us=1)
    switch.set_clock(10)
    switch.sweep()
    keys = []
    while event := switch.next_event(0):
        keys += [entry.key[0] for entry in event.entries]
    assert keys == list(range(600))


# ---- digests


def learn(switch, *values, port=5):
    for value in values:
        switch.process(port, bare.packet(bare.DIGEST, key=(value, 2 * value)))


def test_digests_in_lists_once_until_acknowledged(switch):
    learn(switch, 1)
    assert switch.next_event(0) is None  # not configured
    config = DigestConfig(max_timeout_us=1000, max_list_size=2, ack_timeout_us=10**9)
    switch.program.set_digest("digest", config)
    assert switch.program.digest("digest") == config
    learn(switch, 1, 1, 2, 2, 1, 3)
    assert switch.next_event(0) == DigestList("digest", 1, ((1, 2, 5), (2, 4, 5)))
    assert switch.next_event(0) is None  # 3 waits for company
    switch.set_clock(1000)
    switch.sweep()
    assert switch.next_event(0) == DigestList("digest", 2, ((3, 6, 5),))
    learn(switch, 1, 2, 3)
    switch.set_clock(3000)
    switch.sweep()
    assert switch.next_event(0) is None
    switch.program.ack_digest("digest", 1)
    learn(switch, 1, 2, 3)
    assert switch.next_event(0) == DigestList("digest", 3, ((1, 2, 5), (2, 4, 5)))


def test_digests_do_not_stop_without_an_acknowledgement(switch):
    switch.program.set_digest("digest", DigestConfig(0, 1, ack_timeout_us=500))
    learn(switch, 7, 7)
    assert switch.next_event(0).samples == ((7, 14, 5),)
    assert switch.next_event(0) is None
    switch.set_clock(500)
    learn(switch, 7)
    assert switch.next_event(0).list_id == 2
    learn(switch, *range(100, 20_000))
    seen = 0
    while switch.next_event(0):
        seen += 1
    assert seen == 19_900
    switch.program.set_digest("digest", None)
    learn(switch, 8)
    assert switch.next_event(0) is None


# ---- events


def test_packet_ins_and_packet_outs(switch):
    switch.packet_out(bare.packet(port=255, payload=b"to the controller"))
    assert switch.next_event(0) == PacketIn(bare.packet(port=255, payload=b"to the controller"))
    switch.packet_out(bare.packet(bare.REPORT, port=255))
    event = switch.next_event(0)
    assert isinstance(event, PacketIn)
    assert bare.answer(event.data).ingress == 255
    switch.packet_out(bare.packet(port=3))  # no such port
    assert switch.counts().dropped_no_port == 1
    assert switch.next_event(0) is None
    switch.packet_out(bare.packet(port=255, payload=bytes(65000)))
    switch.packet_out(bare.packet(port=255, payload=bytes(65472)))
    assert [len(switch.next_event(0).data) for _ in range(2)] == [65064, 65536]


def test_waking_whoever_waits(switch):
    seen = []
    waiter = threading.Thread(target=lambda: seen.append(switch.next_event()))
    waiter.start()
    switch.wake()
    waiter.join(5)
    assert seen == [None]


def test_events_that_nobody_fetches_are_counted(switch):
    big = bare.packet(port=255, payload=bytes(60000))
    for _ in range(200):
        switch.packet_out(big)
    fetched = 0
    while switch.next_event(0):
        fetched += 1
    assert fetched + switch.counts().events_lost == 200
    assert fetched > 100
