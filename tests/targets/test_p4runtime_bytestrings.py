# SPDX-License-Identifier: Apache-2.0
"""Byte strings, by the tables of the specification's section on them."""

from __future__ import annotations

import pytest
from finsy.proto import rpc_code
from hypothesis import given
from hypothesis import strategies as st

from grasp.targets.v1model.p4runtime import bytestrings
from grasp.targets.v1model.p4runtime.errors import P4RuntimeError


@pytest.mark.parametrize(
    ("width", "signed", "value", "text", "canonical"),
    [
        (8, False, 99, b"\x63", True),
        (16, False, 99, b"\x00\x63", False),
        (16, False, 99, b"\x63", True),
        (16, False, 12388, b"\x30\x64", True),
        (16, False, 12388, b"\x00\x30\x64", False),
        (12, False, 99, b"\x00\x63", False),
        (12, False, 99, b"\x63", True),
        (12, False, 99, b"\x00\x00\x63", False),
        (8, True, 99, b"\x63", True),
        (8, True, -99, b"\x9d", True),
        (8, True, -99, b"\xff\x9d", False),
        (12, True, -739, b"\xfd\x1d", True),
        (16, True, 0, b"\x00\x00", False),
        (16, True, 0, b"\x00", True),
    ],
)
def test_valid_byte_strings(width, signed, value, text, canonical):
    decode = bytestrings.decode_signed if signed else bytestrings.decode
    encode = bytestrings.encode_signed if signed else bytestrings.encode
    assert decode(text, width, "x") == value
    assert (encode(value) == text) is canonical


@pytest.mark.parametrize(
    ("width", "signed", "text"),
    [
        (8, False, b"\x01\x63"),
        (8, False, b""),
        (16, False, b"\x01\x00\x63"),
        (12, False, b"\x10\x63"),
        (12, False, b"\x01\x00\x63"),
        (12, False, b"\x00\x40\x63"),
        (8, True, b"\x00\x9d"),
        (12, True, b"\x8d\x1d"),
        (16, True, b""),
    ],
)
def test_invalid_byte_strings(width, signed, text):
    decode = bytestrings.decode_signed if signed else bytestrings.decode
    with pytest.raises(P4RuntimeError, match="a field") as refused:
        decode(text, width, "a field")
    assert refused.value.code == rpc_code.OUT_OF_RANGE


@given(st.integers(1, 300), st.data())
def test_signed_values_survive(width, data):
    value = data.draw(st.integers(-(1 << (width - 1)), (1 << (width - 1)) - 1))
    text = bytestrings.encode_signed(value)
    assert bytestrings.decode_signed(bytes([0xFF if value < 0 else 0]) + text, width, "x") == value
    assert len(text) == 1 or not (text[0] in (0, 0xFF) and (text[0] ^ text[1]) < 0x80)
    assert bytestrings.to_signed(bytestrings.to_unsigned(value, width), width) == value
