# SPDX-License-Identifier: Apache-2.0
"""Control flow by its traces: entries of every kind of match, hit and miss, switch, exit, return, loops."""

from __future__ import annotations

import struct

import pytest

from grasp.targets.v1model.objects import Call

from .documents import document, field, hexstr, switch

pytestmark = pytest.mark.packet

EXACT, LPM, TERNARY, RANGE, INVALID, HIT, RUN, SWITCH = range(8)
TRACE, LEAVE, COUNT, EARLY = (f"DecidingIngress.{name}" for name in ("trace", "leave", "count_down", "early"))


@pytest.fixture(scope="module")
def deciding():
    with switch("deciding") as pair:
        yield pair


def trace(engine, program, x=0, y=0, z=0, extra=None):
    """The trace that the packet brings back; E is the end of ingress, F that of egress."""
    packet = (
        struct.pack("!BHI", program | (0x80 if extra is not None else 0), x, y)
        + z.to_bytes(16, "big")
        + bytes(4)
    )
    packet += b"" if extra is None else struct.pack("!H", extra)
    ((port, out),) = engine.process(0, packet)
    assert port == 1
    assert out[:23] == packet[:23]
    return f"{int.from_bytes(out[23:27], 'big'):X}"


@pytest.mark.parametrize(
    ("program", "values", "expected"),
    [
        (EXACT, {"x": 1, "y": 1}, "1"), (EXACT, {"x": 1, "y": 2}, "2"), (EXACT, {"x": 2, "y": 1}, "9"),
        (LPM, {"y": 0x0A010101}, "1"), (LPM, {"y": 0x0A0B0101}, "2"),
        (LPM, {"y": 0x0A0B0C0D}, "3"), (LPM, {"y": 7}, "4"),
        (TERNARY, {"x": 0x0123, "z": 0x501}, "1"), (TERNARY, {"x": 0x0123, "z": 2}, "2"),
        (TERNARY, {"x": 5, "z": 0xFFFF << 112 | 9}, "3"), (TERNARY, {"x": 5, "z": 9}, "9"),
        (RANGE, {"x": 10, "y": 1}, "1"), (RANGE, {"x": 20, "y": 0xFF01}, "1"),
        (RANGE, {"x": 21, "y": 1}, "2"),
        (RANGE, {"x": 31, "y": 1}, "9"), (RANGE, {"x": 9, "y": 1}, "9"), (RANGE, {"x": 65535, "y": 2}, "3"),
        (INVALID, {}, "1"), (INVALID, {"extra": 0}, "2"),
        (INVALID, {"extra": 5}, "3"), (INVALID, {"extra": 6}, "9"),
        (SWITCH, {"x": 1}, "1"), (SWITCH, {"x": 2}, "2"), (SWITCH, {"x": 3}, "2"), (SWITCH, {"x": 4}, "3"),
    ],
)  # fmt: skip
def test_entries_of_the_program(deciding, program, values, expected):
    assert trace(deciding[0], program, **values) == expected + "EF"


def test_hit_and_miss(deciding):
    engine, program = deciding
    program.insert("DecidingIngress.look", (5,), Call(TRACE, (0xA,)))
    assert trace(engine, HIT, x=5) == "A1EF"
    assert trace(engine, HIT, x=6) == "2EF"


def test_the_way_depends_on_the_action(deciding):
    engine, program = deciding
    for x, call in {
        1: Call(TRACE, (0xB,)),
        2: Call(LEAVE),
        3: Call(COUNT),
        7: Call(EARLY, (0xC,)),
        8: Call(EARLY, (0xC,)),
    }.items():
        program.insert("DecidingIngress.choose", (x,), call)
    assert trace(engine, RUN, x=1) == "B58EF"
    assert trace(engine, RUN, x=2) == "F"  # exit in an action ends ingress, not egress
    assert trace(engine, RUN, x=3) == "26F"  # marks for i = 0 and 2; return in the control ends it
    assert trace(engine, RUN, x=7) == "778EF"  # return in an action ends the action alone
    assert trace(engine, RUN, x=8) == "C8EF"
    assert trace(engine, RUN, x=9) == "7F"  # a miss goes the default way


def test_a_loop_without_end_drops_the_packet():
    forever = [
        {"op": "assign", "parameters": [field("h", "a"), hexstr(1)]},
        {"op": "_jump_if_zero", "parameters": [field("h", "a"), hexstr(5)]},
        {"op": "assign", "parameters": [field("h", "b"), hexstr(2)]},
        {"op": "_jump", "parameters": [hexstr(2)]},
    ]
    with switch(document([("a", 8, False), ("b", 8, False)], forever)) as (engine, _):
        assert engine.process(0, b"\0\0") == []
        assert engine.counts().assertions == 1


def test_a_parser_without_end_times_out():
    fields = [("a", 32, False)]
    error = {"op": "assign", "parameters": [field("h", "a"), field("standard_metadata", "parser_error")]}
    endless = document(fields, [error], errors=[["NoError", 0], ["PacketTooShort", 1], ["ParserTimeout", 9]])
    (state,) = endless["parsers"][0]["parse_states"]
    again = {"type": "default", "value": None, "mask": None, "next_state": "again"}
    state["transitions"] = [again]
    endless["parsers"][0]["parse_states"].append({**state, "name": "again", "id": 1, "parser_ops": []})
    with switch(endless) as (engine, _):
        assert engine.process(0, b"\0\0\0\0payload") == [(1, b"\0\0\0\x09payload")]


def test_changed_default(deciding):
    engine, program = deciding
    program.set_default("DecidingIngress.look", Call(TRACE, (0xD,)))
    assert trace(engine, HIT, x=77) == "D2EF"
    program.set_default("DecidingIngress.look", None)
    assert trace(engine, HIT, x=77) == "2EF"
