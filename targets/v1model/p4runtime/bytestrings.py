# SPDX-License-Identifier: Apache-2.0
"""Integers as P4Runtime byte strings: big-endian, any length in, the shortest out."""

from .errors import out_of_range


def encode(value: int) -> bytes:
    """The canonical byte string of a bit<W> value."""
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


def encode_signed(value: int) -> bytes:
    """The canonical byte string of an int<W> value, in two's complement."""
    magnitude = value if value >= 0 else ~value
    return value.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def decode(data: bytes, width: int, what: str) -> int:
    """The value of a bit<W> byte string; `what` names it if it is refused."""
    if not data:
        raise out_of_range(f"{what}: the byte string is empty")
    value = int.from_bytes(data, "big")
    if value >> width:
        raise out_of_range(f"{what}: {data.hex()} does not fit in bit<{width}>")
    return value


def decode_signed(data: bytes, width: int, what: str) -> int:
    """The value of an int<W> byte string; `what` names it if it is refused."""
    if not data:
        raise out_of_range(f"{what}: the byte string is empty")
    value = int.from_bytes(data, "big", signed=True)
    if not -(1 << (width - 1)) <= value < 1 << (width - 1):
        raise out_of_range(f"{what}: {data.hex()} does not fit in int<{width}>")
    return value


def to_unsigned(value: int, width: int) -> int:
    """The bits of an int<W> value, as the data plane stores them."""
    return value & ((1 << width) - 1)


def to_signed(bits: int, width: int) -> int:
    """The int<W> value of stored bits."""
    return bits - (1 << width) if bits >> (width - 1) else bits
