# SPDX-License-Identifier: Apache-2.0
"""Registers of many widths and signs, counters, random numbers, digests, log messages, assertions."""

from __future__ import annotations

import random

import pytest

from grasp.targets.v1model.objects import Counts, DigestConfig, DigestList

from .documents import switch
from .test_translate_expressions import pack, unpack

pytestmark = pytest.mark.packet

FIELDS = [
    ("operation", 8, False), ("index", 8, False), ("one", 1, False), ("seven", 7, False), ("nine", 9, False),
    ("pad", 7, False), ("word", 32, False), ("balance", 48, True), ("long", 64, False), ("wide", 72, False),
    ("wider", 200, False), ("low", 8, False), ("high", 8, False), ("drawn", 8, False),
]  # fmt: skip
STORED = {
    "ones": "one",
    "nines": "nine",
    "words": "word",
    "balances": "balance",
    "longs": "long",
    "wides": "wide",
    "widers": "wider",
}
WRITE, READ, PAY, RANDOM, DIGEST, LOG = range(1, 7)


@pytest.fixture
def remembering():
    with switch("remembering") as pair:
        yield pair


def ask(engine, operation, **values):
    ((port, out),) = engine.process(0, pack({"operation": operation, **values}, FIELDS))
    assert port == 1
    return unpack(out, FIELDS)


def some_values(source):
    values = {}
    for name, width, signed in FIELDS:
        if name in STORED.values():
            value = source.choice([0, 1, (1 << width) - 1, 1 << (width - 1), source.getrandbits(width)])
            values[name] = value - (1 << width) if signed and value >> (width - 1) else value
    return values


def test_registers_keep_what_was_written(remembering):
    engine, program = remembering
    source, cells = random.Random(3), {}
    for _ in range(100):
        index = source.randrange(8)
        cells[index] = some_values(source)
        ask(engine, WRITE, index=index, **cells[index])
        for number, values in cells.items():
            found = ask(engine, READ, index=number)
            assert {name: found[name] for name in values} == values
    for register, name in STORED.items():
        width = next(width for field, width, _ in FIELDS if field == name)
        raw = [cells[index][name] & (1 << width) - 1 for index in range(8)]
        assert program.read_registers(f"RememberingIngress.{register}") == raw


def test_the_control_plane_and_packets_see_the_same(remembering):
    engine, program = remembering
    program.write_register("RememberingIngress.balances", 3, (1 << 48) - 5)
    program.write_register("RememberingIngress.widers", 3, 1 << 199 | 7)
    found = ask(engine, READ, index=3)
    assert (found["balance"], found["wider"]) == (-5, 1 << 199 | 7)


def test_an_index_out_of_bounds(remembering):
    engine, program = remembering
    values = some_values(random.Random(4))
    ask(engine, WRITE, index=8, **values)
    assert program.read_registers("RememberingIngress.longs") == [0] * 8
    found = ask(engine, READ, index=200, **values)
    assert {name: found[name] for name in values} == values  # left alone


def test_signed_arithmetic_on_registers(remembering):
    engine, _ = remembering
    ask(engine, WRITE, index=1, balance=10)
    for paid, left in ((4, 6), (6, 0), (1, -1), (2**31, -1 - 2**31)):
        found = ask(engine, PAY, index=1, word=paid)
        assert (found["balance"], found["one"]) == (left, left < 0)
    assert ask(engine, READ, index=1)["balance"] == -1 - 2**31


def test_counters(remembering):
    engine, program = remembering
    size = len(pack({}, FIELDS))
    for index in (2, 2, 5, 8, 255):
        ask(engine, 0, index=index)
    counts = program.read_counters("RememberingIngress.packets")
    assert [count.packets for count in counts] == [0, 0, 2, 0, 0, 1, 0, 0]
    assert counts[2] == Counts(2, 2 * size)


def test_random_numbers(remembering):
    engine, _ = remembering
    assert {ask(engine, RANDOM, low=10, high=17)["drawn"] for _ in range(300)} == set(range(10, 18))
    assert ask(engine, RANDOM, low=9, high=9)["drawn"] == 9
    assert ask(engine, RANDOM, low=9, high=8, drawn=77)["drawn"] == 77


def test_digests(remembering):
    engine, program = remembering
    (name,) = program.digests
    program.set_digest(name, DigestConfig(max_list_size=1))
    ask(engine, DIGEST, index=3, balance=-2, wider=1 << 190 | 1)
    event = engine.next_event(1.0)
    assert isinstance(event, DigestList)
    assert event.samples == ((3, (1 << 48) - 2, 1 << 190 | 1, (1 << 100) - 2),)


def test_messages_and_assertions(caplog):
    caplog.set_level("INFO")  # before the switch is made: it does not format what nobody wants
    with switch("remembering") as (engine, _):
        ask(engine, LOG, index=3, balance=-2, wide=1 << 71)
        assert f"index 3 balance -2 wide {1 << 71}" in caplog.text
        assert engine.process(0, pack({"operation": LOG, "word": 13}, FIELDS)) == []
        assert engine.counts().assertions == 1
        assert "hdr.request.word != 13" in caplog.text
