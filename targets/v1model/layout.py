# SPDX-License-Identifier: Apache-2.0
"""Keys and arguments between Python's integers and the words that the run time keeps (runtime/program.h)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from grasp.targets.v1model.objects import Code, EngineError, FieldInfo, Key, Match, TableInfo

Words = ctypes.Array[ctypes.c_uint64]


def words_of(width: int) -> int:
    """How many 64-bit words a value of so many bits takes."""
    return (width + 63) // 64


def to_words(value: int, count: int) -> Words:
    """An array of `count` words, the least significant first."""
    return (ctypes.c_uint64 * count).from_buffer_copy(value.to_bytes(8 * count, "little"))


def pack_key(table: TableInfo, key: Key) -> tuple[Words, Words]:
    """A key's value and mask (upper bound, where it is a range) laid out as the table's fields say."""
    if len(key) != len(table.fields):
        wrong = f"{table.name}: the key has {len(table.fields)} fields, not {len(key)}"
        raise EngineError(Code.INVALID_ARGUMENT, wrong)
    values = masks = 0
    for field, item in zip(table.fields, key, strict=True):
        value, mask = _pack_field(table, field, item)
        place = 64 * field.word + field.shift
        values |= value << place
        masks |= mask << place
    return to_words(values, table.key_words), to_words(masks, table.key_words)


def _pack_field(table: TableInfo, field: FieldInfo, item: int | tuple[int, int] | None) -> tuple[int, int]:
    ones = (1 << field.width) - 1
    match field.match, item:
        case Match.EXACT, int(value) if 0 <= value <= ones:
            return value, ones
        case Match.LPM, (int(value), int(length)) if 0 <= length <= field.width:
            mask = ones ^ (ones >> length)
            if 0 <= value <= ones and not value & ~mask:
                return value, mask
        case Match.TERNARY, (int(value), int(mask)) if 0 <= mask <= ones:
            if value >= 0 and not value & ~mask:
                return value, mask
        case Match.RANGE, (int(low), int(high)) if 0 <= low <= high <= ones:
            return low, high
        case ((Match.LPM | Match.TERNARY), None):
            return 0, 0
        case Match.RANGE, None:
            return 0, ones
    bad = f"{table.name}: {item!r} is no {field.match.name} match for {field.name}, bit<{field.width}>"
    raise EngineError(Code.INVALID_ARGUMENT, bad)


def unpack_key(table: TableInfo, words: bytes) -> Key:
    """The key of an entry, given the words of its value and of its mask."""
    size = 8 * table.key_words
    values, masks = int.from_bytes(words[:size], "little"), int.from_bytes(words[size : 2 * size], "little")
    return tuple(_unpack_field(field, values, masks) for field in table.fields)


def _unpack_field(field: FieldInfo, values: int, masks: int) -> int | tuple[int, int] | None:
    ones, place = (1 << field.width) - 1, 64 * field.word + field.shift
    value, mask = values >> place & ones, masks >> place & ones
    match field.match:
        case Match.EXACT:
            return value
        case Match.LPM:
            return (value, mask.bit_count()) if mask else None
        case Match.TERNARY:
            return (value, mask) if mask else None
        case Match.RANGE:
            return None if (value, mask) == (0, ones) else (value, mask)


def pack_values(what: str, values: Sequence[int], widths: Sequence[int]) -> Words:
    """Values one after the other, each in the words of its width; at least one word."""
    if len(values) != len(widths):
        raise EngineError(Code.INVALID_ARGUMENT, f"{what}: takes {len(widths)} values, not {len(values)}")
    data = bytearray()
    for value, width in zip(values, widths, strict=True):
        if not 0 <= value < 1 << width:
            raise EngineError(Code.INVALID_ARGUMENT, f"{what}: {value} does not fit bit<{width}>")
        data += value.to_bytes(8 * words_of(width), "little")
    data = data or bytearray(8)
    return (ctypes.c_uint64 * (len(data) // 8)).from_buffer_copy(data)


def unpack_values(data: bytes, widths: Sequence[int]) -> tuple[int, ...]:
    """The values that pack_values packed."""
    values, at = [], 0
    for width in widths:
        size = 8 * words_of(width)
        values.append(int.from_bytes(data[at : at + size], "little"))
        at += size
    return tuple(values)
