# SPDX-License-Identifier: Apache-2.0
"""Expressions in C give what Python's integers of any size give."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .documents import document, field, hexstr, operation, switch

pytestmark = pytest.mark.packet

WIDTHS = (1, 3, 8, 9, 16, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129, 200)
INPUTS = [
    (f"{'s' if signed else 'u'}{width}", width, signed)
    for width in WIDTHS
    for signed in (False, True)
    if width > 1 or not signed
]
OUTPUTS = 48  # expressions in one program


def low(value, width):
    return value & (1 << width) - 1


def signed(value, width):
    value = low(value, width)
    return value - (1 << width) if value >> (width - 1) else value


class Expression:
    """A random expression: its JSON, and its value for given inputs."""

    def __init__(self, source, depth):
        inner = [self.leaf, self.bitwise, self.choice, self.saturated, self.shifted, self.divided]
        kinds = (
            [self.leaf, self.constant] if depth == 0 else [*inner, self.wrapped, self.wrapped, self.wrapped]
        )
        make = source.choice(kinds)
        self.json, self.value = make(source, depth)

    def leaf(self, source, depth):
        name, _, _ = source.choice(INPUTS)
        return field("h", name), lambda inputs: inputs[name]

    def constant(self, source, depth):
        number = source.choice([0, 1, 2, 0x7F, 0xFF, 0x80, source.getrandbits(source.choice(WIDTHS))])
        return hexstr(number), lambda inputs: number

    def wrapped(self, source, depth):
        """Sum, difference, product, complement: cut to a width, unsigned or signed, as p4c does."""
        width = source.choice(WIDTHS[1:])
        a, b = Expression(source, depth - 1), Expression(source, depth - 1)
        op = source.choice("+-*~")
        compute = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "~": lambda _, y: ~y}[op]
        inner = operation(op, None if op == "~" else a.json, b.json)
        if source.random() < 0.5:
            return operation("&", inner, hexstr((1 << width) - 1)), lambda i: low(
                compute(a.value(i), b.value(i)), width
            )
        return operation("two_comp_mod", inner, hexstr(width)), lambda i: signed(
            compute(a.value(i), b.value(i)), width
        )

    def bitwise(self, source, depth):
        a, b = Expression(source, depth - 1), Expression(source, depth - 1)
        op = source.choice("&|^")
        compute = {"&": int.__and__, "|": int.__or__, "^": int.__xor__}[op]
        return operation(op, a.json, b.json), lambda i: compute(a.value(i), b.value(i))

    def choice(self, source, depth):
        a, b, c, d = (Expression(source, depth - 1) for _ in range(4))
        op = source.choice(["==", "!=", "<", "<=", ">", ">="])
        compare = {
            "==": int.__eq__,
            "!=": int.__ne__,
            "<": int.__lt__,
            "<=": int.__le__,
            ">": int.__gt__,
            ">=": int.__ge__,
        }[op]
        json = operation("?", c.json, d.json, cond=operation(op, a.json, b.json))
        return json, lambda i: c.value(i) if compare(a.value(i), b.value(i)) else d.value(i)

    def saturated(self, source, depth):
        width, a, b = source.choice(WIDTHS[1:]), Expression(source, depth - 1), Expression(source, depth - 1)
        op, unsigned = source.choice("+-"), source.random() < 0.5
        lowest, highest = (0, (1 << width) - 1) if unsigned else (-(1 << width - 1), (1 << width - 1) - 1)
        json = operation(
            "usat_cast" if unsigned else "sat_cast", operation(op, a.json, b.json), hexstr(width)
        )
        sign = 1 if op == "+" else -1
        return json, lambda i: min(max(a.value(i) + sign * b.value(i), lowest), highest)

    def shifted(self, source, depth):
        a, width = Expression(source, depth - 1), source.choice(WIDTHS[1:])
        amount = source.choice([1, 7, 8, 31, 33, 64, 70, 130, None])
        json, value = (hexstr(amount), lambda i: amount) if amount else (field("h", "u8"), lambda i: i["u8"])
        if source.random() < 0.5:
            return operation(">>", a.json, json), lambda i: a.value(i) >> value(i)
        shifted = operation("<<", a.json, json)
        return operation("&", shifted, hexstr((1 << width) - 1)), lambda i: low(a.value(i) << value(i), width)

    def divided(self, source, depth):
        name, _, _ = source.choice([one for one in INPUTS if not one[2] and one[1] <= 128])
        divisor = source.choice([1, 3, 10, 255, 1 << 40])
        op = source.choice("/%")
        compute = {"/": int.__floordiv__, "%": int.__mod__}[op]
        return operation(op, field("h", name), hexstr(divisor)), lambda i: compute(i[name], divisor)


def pack(values, fields):
    """The bytes of a header."""
    whole = width = 0
    for name, bits, _ in fields:
        whole, width = whole << bits | low(values.get(name, 0), bits), width + bits
    return whole.to_bytes(width // 8, "big")


def unpack(data, fields):
    whole, left, values = int.from_bytes(data, "big"), 8 * len(data), {}
    for name, bits, is_signed in fields:
        left -= bits
        values[name] = signed(whole >> left, bits) if is_signed else low(whole >> left, bits)
    return values


def padded(fields):
    bits = sum(width for _, width, _ in fields)
    return [*fields, ("pad", 8 - bits % 8, False)]


@settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 32))
def test_random_expressions(seed):
    source = random.Random(seed)
    expressions, outputs = [], []
    for number in range(OUTPUTS):
        width = source.choice(WIDTHS)
        outputs.append((f"out{number}", width, width > 1 and source.random() < 0.5))
        expressions.append(Expression(source, source.choice([1, 2, 3])))
    fields = padded([*INPUTS, *outputs])
    primitives = [
        {"op": "assign", "parameters": [field("h", name), one.json]}
        for (name, _, _), one in zip(outputs, expressions, strict=True)
    ]
    with switch(document(fields, primitives)) as (engine, _):
        for _ in range(60):
            inputs = {}
            for name, width, is_signed in INPUTS:
                value = source.choice(
                    [
                        0,
                        1,
                        (1 << width) - 1,
                        1 << (width - 1),
                        source.getrandbits(width),
                        source.getrandbits(width),
                    ]
                )
                inputs[name] = signed(value, width) if is_signed else low(value, width)
            ((port, data),) = engine.process(0, pack(inputs, fields))
            assert port == 1
            found = unpack(data, fields)
            for (name, width, is_signed), one in zip(outputs, expressions, strict=True):
                want = signed(one.value(inputs), width) if is_signed else low(one.value(inputs), width)
                assert found[name] == want, (one.json, inputs)


def test_conditions():
    """Truth values: and, or, not, comparisons of both signs, conversion to and from numbers."""
    a, b, c = field("h", "a"), field("h", "b"), field("h", "c")
    conditions = {
        "and": (
            operation("and", operation(">", a, b), operation("<", c, hexstr(9))),
            lambda a, b, c: a > b and c < 9,
        ),
        "or": (
            operation("or", operation("==", a, c), operation("!=", b, c)),
            lambda a, b, c: a == c or b != c,
        ),
        "not": (operation("not", None, operation("<=", a, hexstr(5))), lambda a, b, c: not a <= 5),
        "mixed": (
            operation(
                "and",
                operation("or", operation(">=", a, hexstr(200)), operation("==", b, hexstr(3))),
                operation("d2b", None, c),
            ),
            lambda a, b, c: (a >= 200 or b == 3) and c != 0,
        ),
        "equal": (
            operation("==", operation("<", a, b), operation("<", b, c)),
            lambda a, b, c: (a < b) == (b < c),
        ),
    }
    fields = [("a", 8, False), ("b", 8, True), ("c", 8, False), *((name, 8, False) for name in conditions)]
    primitives = [
        {"op": "assign", "parameters": [field("h", name), operation("b2d", None, json)]}
        for name, (json, _) in conditions.items()
    ]
    with switch(document(fields, primitives)) as (engine, _):
        for a_value in (0, 3, 5, 6, 127, 128, 200, 255):
            for b_value in (-128, -1, 0, 3, 127):
                for c_value in (0, 3, 8, 9, 255):
                    inputs = {"a": a_value, "b": b_value, "c": c_value}
                    ((_, data),) = engine.process(0, pack(inputs, fields))
                    found = unpack(data, fields)
                    for name, (_, compute) in conditions.items():
                        assert found[name] == compute(a_value, b_value, c_value), (name, inputs)
