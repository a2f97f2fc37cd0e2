# SPDX-License-Identifier: Apache-2.0
"""Values into fields, as C statements."""

from __future__ import annotations

from collections.abc import Callable

from grasp.targets.v1model.p4json import Field
from grasp.targets.v1model.p4values import Const, Operation, Value
from grasp.targets.v1model.translate import bounds as bound
from grasp.targets.v1model.translate.codes import U64, U128, WIDE, Code
from grasp.targets.v1model.translate.expressions import Expressions
from grasp.targets.v1model.translate.ranges import field_bounds

Lines = list[str]
Primitives = dict[str, tuple[Callable[..., Lines], int]]  # by name: what writes it, and its parameters


class Fields:
    """Writes assignments to fields."""

    def __init__(self, expressions: Expressions) -> None:
        self.expressions, self.places, self.codes = expressions, expressions.places, expressions.codes

    def assign(self, target: Value, value: Value) -> Lines:
        """Assign a number to a field, cut to its width."""
        field, lvalue = self.places.field_type(target), self.places.field(target)
        if field.variable:
            return self.assign_variable(target, value)
        if self.expressions.bounds(value).within(field_bounds(field)):
            code = self.expressions.exact(value)
        elif field.signed:
            code = self.expressions.exact(Operation("two_comp_mod", value, Const(field.width)))
        elif field.width in (8, 16, 32, 64, 128) and not lvalue.startswith("s->v1."):
            code = self.expressions.low(value, field.width)  # what is too much, C cuts off
        else:
            code = self.expressions.exact(Operation("&", value, Const((1 << field.width) - 1)))
        return self.store(lvalue, field, code)

    def assign_variable(self, target: Value, value: Value) -> Lines:
        """Assign a variable field to another: its bytes and their number."""
        one, other = self.places.field(target), self.places.field(value)
        lines = [f"memmove({one}, {other}, {other}_bits / 8u);", f"{one}_bits = {other}_bits;"]
        if self.places.field_type(target).width >= self.places.field_type(value).width:
            return lines
        return [f"if ({other}_bits <= sizeof {one} * 8) {{", *indent(lines), "}"]

    def store(self, lvalue: str, field: Field, code: Code) -> Lines:
        """Store a number that fits, or of which the C type of the field keeps the right bits."""
        if field.width > 128:
            self.codes.note(bound.unsigned(field.width))
            return [f"v1_wide_store({lvalue}, {field.width}, {self.codes.convert(code, WIDE)});"]
        kind = U128 if field.width > 64 else U64
        return [f"{lvalue} = {self.codes.convert(code, kind) if code.type == WIDE else code.text};"]

    def store_raw(self, lvalue: str, field: Field, code: Code) -> Lines:
        """Store bits, cut to the field's width and taken as a signed number if the field is one."""
        fits = code.bounds.within(field_bounds(field))
        if field.width <= 128 and not fits:
            cut = self.codes.cut(code, field.width)
            if field.signed:
                code = self.codes.signed(cut, field.width)
            else:
                code = self.codes.masked(cut, (1 << field.width) - 1, field_bounds(field))
        return self.store(lvalue, field, code)

    def through_word(self, target: Value, name: str, call: str) -> Lines:
        """Let a function of the run time change a field by way of a word."""
        field, lvalue = self.places.field_type(target), self.places.field(target)
        before = self.codes.convert(self.expressions.exact(target), U64)
        stored = self.store_raw(lvalue, field, Code(name, U64, bound.unsigned(64)))
        return block([f"uint64_t {name} = {before};", call, *stored])


def indent(lines: Lines) -> Lines:
    """The lines, one level deeper."""
    return [f"    {line}" for line in lines]


def block(lines: Lines) -> Lines:
    """The lines in a scope of their own."""
    return ["{", *indent(lines), "}"]
