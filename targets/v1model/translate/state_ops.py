# SPDX-License-Identifier: Apache-2.0
"""Primitives on registers, counters and meters, hashes and random numbers, as C statements."""

from __future__ import annotations

from grasp import UserError
from grasp.targets.v1model.p4json import Field
from grasp.targets.v1model.p4values import Const, Operation, Ref, Value
from grasp.targets.v1model.translate import bounds as bound
from grasp.targets.v1model.translate.codes import U64, U128, WIDE, Code, term
from grasp.targets.v1model.translate.fields import Fields, Lines, Primitives, block, indent
from grasp.targets.v1model.translate.layout import Layout, words
from grasp.targets.v1model.translate.objects import Objects


class StateOps:
    """Writes primitives that use what outlives a packet."""

    def __init__(self, layout: Layout, objects: Objects, fields: Fields) -> None:
        self.layout, self.objects, self.fields = layout, objects, fields
        self.expressions, self.places, self.codes = fields.expressions, fields.places, fields.codes
        self.primitives: Primitives = {
            "register_read": (self.register_read, 3),
            "register_write": (self.register_write, 3),
            "count": (self.count, 2),
            "execute_meter": (self.execute_meter, 3),
            "modify_field_with_hash_based_offset": (self.hash, 4),
            "modify_field_rng_uniform": (self.random, 3),
        }

    def register_read(self, target: Value, register: Value, index: Value) -> Lines:
        """Read a register's cell into a field; out of bounds, the field is left alone."""
        found = self.layout.program.registers[_named(register)]
        array, width, at = self._array("register", found.name), found.width, self.expressions.index(index)
        field, lvalue = self.places.field_type(target), self.places.field(target)
        whole = bound.unsigned(width)
        if width > 64:
            cell = Code("V1_U128(cell[1], cell[0])", U128, whole)
            if width > 128:
                self.codes.note(whole)
                cell = Code(f"v1_wide_words(cell, {words(width)})", WIDE, whole)
            stored = self.fields.store_raw(lvalue, field, cell)
            return block(
                [
                    f"const uint64_t *cell = v1_register_words({array}, {at});",
                    "if (cell) {",
                    *indent(stored),
                    "}",
                ]
            )
        call = f"v1_register_read({array}, V1_CELL_BYTES({width}), {at}, &cell);"
        stored = self.fields.store_raw(lvalue, field, Code("cell", U64, whole))
        if self.expressions.bounds(index).high >= found.size:
            stored = [f"if ({self.expressions.exact(index).term} < {found.size}u) {{", *indent(stored), "}"]
        return block(["uint64_t cell = 0;", call, *stored])

    def register_write(self, register: Value, index: Value, value: Value) -> Lines:
        """Write a number to a register's cell, cut to its width; out of bounds, nothing happens."""
        found = self.layout.program.registers[_named(register)]
        array, width, at = self._array("register", found.name), found.width, self.expressions.index(index)
        cut = self.expressions.exact(Operation("&", value, Const((1 << width) - 1)))
        if width <= 64:
            return [
                f"v1_register_write({array}, V1_CELL_BYTES({width}), {at}, {self.codes.convert(cut, U64)});"
            ]
        target = "cell" if width > 128 else "*(v1_u128 *)cell"
        stored = self.fields.store(target, Field("cell", width), cut)
        return block(
            [f"uint64_t *cell = v1_register_words({array}, {at});", "if (cell) {", *indent(stored), "}"]
        )

    def count(self, counter: Value, index: Value) -> Lines:
        """Count the packet."""
        return [
            f"v1_count(&s->v1, {self._array('counter', _named(counter))}, {self.expressions.index(index)});"
        ]

    def execute_meter(self, meter: Value, index: Value, target: Value) -> Lines:
        """Meter the packet; out of bounds, the field is left alone."""
        array, at = self._array("meter", _named(meter)), self.expressions.index(index)
        return self.fields.through_word(target, "color", f"v1_execute_meter(&s->v1, {array}, {at}, &color);")

    def _array(self, kind: str, name: str) -> str:
        if (kind, name) not in self.objects.constants:
            raise UserError(f"BMv2 JSON: the direct {kind} '{name}' is used as if it were an array")
        return f"&s->v1.context->{kind}s[{self.objects.constants[kind, name]}]"

    def hash(self, target: Value, base: Value, calculation: Value, size: Value) -> Lines:
        """Hash modulo size, plus base; a size of 0 is taken as 1."""
        call = f"{self.objects.calculation_names[_named(calculation)]}(s)"
        start, modulus = (
            term(self.codes.convert(self.expressions.exact(Operation("&", value, Const((1 << 64) - 1))), U64))
            for value in (base, size)
        )
        code = Code("value", U64, bound.unsigned(64))
        stored = self.fields.store_raw(self.places.field(target), self.places.field_type(target), code)
        if isinstance(size, Const):
            return block([f"uint64_t value = {call} % {max(size.value, 1):#x}u + {start};", *stored])
        value = f"{call} % (modulus ? modulus : 1) + {start}"
        return block([f"uint64_t modulus = {modulus};", f"uint64_t value = {value};", *stored])

    def random(self, target: Value, low: Value, high: Value) -> Lines:
        """A random number from low to high; the field is left alone if there is none."""
        ends = ", ".join(self.codes.convert(self.expressions.exact(value), U64) for value in (low, high))
        return self.fields.through_word(target, "value", f"v1_random(&s->v1, {ends}, &value);")


def _named(value: Value) -> str:
    if not isinstance(value, Ref):
        raise UserError(f"BMv2 JSON: expected the name of an object, got {value}")
    return value.name
