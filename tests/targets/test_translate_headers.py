# SPDX-License-Identifier: Apache-2.0
"""Headers added, removed, copied, moved in stacks, indexed at run time; unions and variable fields."""

from __future__ import annotations

import pytest

from .documents import switch

pytestmark = pytest.mark.packet

ITEMS = [bytes([number]) + b"\0\0" + bytes([0x10 + number]) for number in range(1, 5)]
FRESH = b"\xaa\0\0\0"  # valid since push_front and setValid: all zero but its kind


@pytest.fixture(scope="module")
def engine():
    with switch("moving") as (engine, _):
        yield engine


def ask(engine, operation, items=(), index=0, rest=b""):
    """The result byte and all that follows the request."""
    ((port, out),) = engine.process(0, bytes([operation, index, 0, len(items)]) + b"".join(items) + rest)
    assert port == 1
    return out[2], out[4:]


@pytest.mark.parametrize("count", range(5))
def test_push(engine, count):
    items = ITEMS[:count]
    assert ask(engine, 0x01, items) == (0, b"".join([FRESH, *items][:4]))
    assert ask(engine, 0x02, items) == (
        0,
        b"".join(items[:1]),
    )  # three invalid ones in front, the rest fell out


@pytest.mark.parametrize("count", range(5))
def test_pop(engine, count):
    items = ITEMS[:count]
    assert ask(engine, 0x03, items) == (0, b"".join(items[1:]))
    assert ask(engine, 0x04, items) == (0, b"".join(items[2:]))


@pytest.mark.parametrize("index", range(4))
def test_index_at_run_time(engine, index):
    changed = [*ITEMS]
    changed[index] = changed[index][:1] + b"\x12\x34\x56"
    assert ask(engine, 0x10, ITEMS, index) == (0, b"".join(changed))
    assert ask(engine, 0x11, ITEMS, index) == (index + 1, b"".join(ITEMS))
    assert ask(engine, 0x12, ITEMS, index) == (0, b"".join(ITEMS[:index] + ITEMS[index + 1 :]))
    assert ask(engine, 0x13, ITEMS[:2], index) == (index < 2, b"".join(ITEMS[:2]))


@pytest.mark.parametrize("index", [4, 5, 200, 255])
@pytest.mark.parametrize("operation", [0x10, 0x12])
def test_an_index_out_of_bounds_changes_nothing(engine, operation, index):
    assert ask(engine, operation, ITEMS, index)[1] == b"".join(ITEMS)


def test_copies(engine):
    assert ask(engine, 0x20, ITEMS[:2]) == (0, ITEMS[1] + ITEMS[0])
    assert ask(engine, 0x20, ITEMS[:1]) == (0, ITEMS[0])  # an invalid header is copied too


@pytest.mark.parametrize(
    ("items", "same"),
    [(ITEMS[:2], 0), ([ITEMS[0], ITEMS[0]], 1), (ITEMS[:1], 0), ([], 1), ([ITEMS[0], b"\1\0\1\x11"], 0)],
)
def test_comparison(engine, items, same):
    assert ask(engine, 0x21, items) == (same, b"".join(items))


def test_a_union_has_one_valid_member(engine):
    assert ask(engine, 0x30) == (0, b"\x56\x56")  # of both unions
    assert ask(engine, 0x31) == (3, b"")


@pytest.mark.parametrize("length", [0, 1, 31, 32])
def test_variable_fields(engine, length):
    text = bytes([length]) + bytes(range(100, 100 + length))
    assert ask(engine, 0x40, rest=text + b"payload") == (1, text + text + b"payload")


def test_fields_across_bytes(engine):
    """bit<3>, int<11>, bit<66>, bit<8>: each wraps at its own width."""

    def pack(a, b, c, d):
        return ((a << 11 | b & 0x7FF) << 66 | c & (1 << 66) - 1).__lshift__(8).__or__(d).to_bytes(11, "big")

    for a, b, c, d in (
        (7, -1024, (1 << 66) - 1, 0xA5),
        (0, 0, 0, 0),
        (3, -1, 1 << 65, 1),
        (6, 1023, 12345678901234567890, 255),
    ):
        assert ask(engine, 0x41, rest=pack(a, b, c, d)) == (0, pack((a + 1) % 8, b - 1, c + 1, d))


def test_set_valid_clears(engine):
    assert ask(engine, 0x50) == (0, b"\xbb\0\0\0")
