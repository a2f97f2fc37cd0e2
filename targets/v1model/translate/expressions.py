# SPDX-License-Identifier: Apache-2.0
"""Expressions of the BMv2 JSON in C.

BMv2 computes with integers of any size, and p4c writes the masks and sign extensions that P4 asks for. Here
every expression has bounds and gets the smallest C type that holds its exact value, except where only the low
bits of a value are wanted, as under a mask: those are computed in a type of that size.
"""

from __future__ import annotations

from collections.abc import Callable

from grasp import UserError
from grasp.targets.v1model.p4json import Field
from grasp.targets.v1model.p4values import (
    COMPARISONS,
    VALID,
    BoolConst,
    Const,
    FieldRef,
    Local,
    Operation,
    StackField,
    UnionStackField,
    Value,
)
from grasp.targets.v1model.translate import bounds as bound
from grasp.targets.v1model.translate.bounds import BOOL, Bounds
from grasp.targets.v1model.translate.codes import INT, U32, U64, U128, WIDE, Code, joined, smallest, term
from grasp.targets.v1model.translate.layout import Layout, c_type, words
from grasp.targets.v1model.translate.ranges import Argument, Ranges, field_bounds, is_bool, some, width
from grasp.targets.v1model.translate.references import References


class Expressions:
    """Writes expressions in the scope of an action (with its arguments) or outside of one."""

    def __init__(self, layout: Layout, arguments: tuple[Argument, ...] = ()) -> None:
        self.layout, self.codes, self.arguments = layout, layout.codes, arguments
        self.places = References(layout, self.index)
        self.bounds = Ranges(self.places, arguments).bounds

    # -- truth values

    def truth(self, value: Value) -> str:
        """A C condition."""
        match value:
            case BoolConst(known):
                return "true" if known else "false"
            case Operation(op="not", right=right):
                return f"!{term(self.truth(some(right)))}"
            case Operation(op="and" | "or" as op, left=left, right=right):
                return joined("&&" if op == "and" else "||", self.truth(some(left)), self.truth(some(right)))
            case Operation(op="d2b", right=right):
                return self.nonzero(some(right))
            case Operation(op="valid", right=right):
                return f"{self.places.header(some(right))}.valid"
            case Operation(op="valid_union", right=right):
                return self.places.union_valid(some(right))
            case Operation(op="?", left=left, right=right, condition=condition):
                if_so, one, other = (term(self.truth(some(part))) for part in (condition, left, right))
                return f"{if_so} ? {one} : {other}"
            case Operation(op=op, left=left, right=right) if op in COMPARISONS:
                return self._compare(op, some(left), some(right))
        return self.nonzero(value)

    def nonzero(self, value: Value) -> str:
        """A C condition: whether a number is not 0, or a truth value true."""
        match value:
            case FieldRef(_, field) if field == VALID:
                return self.layout.field(value)
            case Operation(op="b2d", right=right):
                return self.truth(some(right))
        if is_bool(value):
            return self.truth(value)
        code = self.exact(value)
        return code.text if code.bounds == BOOL else self.codes.compared("!=", code, self.codes.constant(0))

    def _compare(self, op: str, left: Value, right: Value) -> str:
        if op in ("==", "!=") and (same := self.places.compare(left, right)) is not None:
            return same if op == "==" else f"!{term(same)}"
        if is_bool(left) and is_bool(right):
            return f"{term(self.truth(left))} {op} {term(self.truth(right))}"
        return self.codes.compared(op, self.exact(left), self.exact(right))

    # -- numbers

    def index(self, value: Value) -> str:
        """A number as an index: uint64_t, or what C converts to it."""
        code = self.exact(value)
        return code.text if code.type in (INT, U32, U64) else self.codes.convert(code, U64)

    def exact(self, value: Value) -> Code:
        """C code for the exact value, in the smallest type for its bounds or the type of its field."""
        if is_bool(value):
            return Code(term(self.truth(value)), INT, BOOL)
        match value:
            case Const(number):
                return self.codes.constant(number)
            case Local(index):
                return self._local(self.arguments[index])
            case FieldRef() | StackField() | UnionStackField() | Operation(op="access_field"):
                return self.load(self.places.field(value), self.places.field_type(value))
            case Operation():
                return self._operation(value)
        raise UserError(f"BMv2 JSON: {value} is not a number")

    def _local(self, argument: Argument) -> Code:
        bounds = bound.unsigned(argument.width)
        if argument.width > 128:
            self.codes.note(bounds)
            return Code(f"v1_wide_words({argument.name}, {words(argument.width)})", WIDE, bounds)
        return Code(argument.name, U64 if argument.width <= 64 else U128, bounds)

    def load(self, lvalue: str, field: Field) -> Code:
        """The value of a field."""
        bounds = field_bounds(field)
        if field.variable:
            raise UserError(f"BMv2 JSON: the variable field '{field.name}' cannot be computed with")
        if field.width > 128:
            self.codes.note(bounds)
            text = f"v1_wide_words({lvalue}, {words(field.width)})"
            return Code(f"v1_wide_signed({text}, {field.width})" if field.signed else text, WIDE, bounds)
        stored = U64 if lvalue.startswith("s->v1.standard.") else c_type(field)
        if stored in ("uint8_t", "uint16_t", "int8_t", "int16_t", "int32_t"):
            return Code(lvalue, INT, bounds)  # C's promotion makes them int
        return Code(lvalue, stored, bounds)

    def _operation(self, value: Operation) -> Code:
        op, left, right, bounds = value.op, value.left, value.right, self.bounds(value)
        codes = self.codes
        match op:
            case "b2d":
                return Code(term(self.truth(some(right))), INT, BOOL)
            case "last_stack_index":
                return Code(f"(uint32_t)({self.places.next_index(some(right))} - 1)", U32, bounds)
            case "size_stack":
                return Code(self.places.next_index(some(right)), U32, bounds)
            case "two_comp_mod":
                size = width(right)
                fits = self.bounds(some(left)).within(bound.signed(size))
                return self.exact(some(left)) if fits else codes.signed(self.low(some(left), size), size)
            case "sat_cast" | "usat_cast":
                fits = self.bounds(some(left)) == bounds
                return self.exact(some(left)) if fits else codes.clamp(self.exact(some(left)), bounds)
            case "?":
                return self._choose(value, self.exact, smallest(bounds))
            case "~" | "-" if left is None:
                return codes.unary(op, self.exact(some(right)), bounds, smallest(bounds))
            case "&":
                for mask, other in ((left, right), (right, left)):
                    if isinstance(mask, Const) and mask.value >= 0:
                        return self._masked(some(other), mask.value)
        one, other_code = self.exact(some(left)), self.exact(some(right))
        match op:
            case "/" | "%":
                return codes.divide(op, one, other_code, bounds)
            case "<<" | ">>":
                return codes.shift(op, one, other_code, bounds, smallest(bounds))
        return codes.ring(op, one, other_code, bounds, smallest(bounds))

    def _masked(self, value: Value, mask: int) -> Code:
        if isinstance(value, Const):
            return self.codes.constant(value.value & mask)
        inner, size = self.bounds(value), mask.bit_length()
        if mask == (1 << size) - 1 and inner.within(bound.unsigned(size)):
            return self.exact(value)
        bounds = Bounds(0, min(mask, inner.high) if inner.low >= 0 else mask)
        return self.codes.masked(self.low(value, size), mask, bounds)

    def _choose(self, value: Operation, write: Callable[[Value], Code], kind: str) -> Code:
        one, other = write(some(value.left)), write(some(value.right))
        return self.codes.choose(self.truth(some(value.condition)), one, other, self.bounds(value), kind)

    # -- low bits

    def low(self, value: Value, size: int) -> Code:
        """C code whose low `size` bits are those of the value; what stands above them is arbitrary."""
        bounds, codes = self.bounds(value), self.codes
        simple = bounds.bits <= 64 and (bounds.low >= 0 or smallest(bounds) == INT or size > 64)
        if simple or not isinstance(value, Operation):
            return codes.cut(self.exact(value), size)
        kind = U64 if size <= 64 else U128 if size <= 128 else WIDE
        whole = bound.unsigned(64 if kind == U64 else 128 if kind == U128 else size)
        left, right = value.left, value.right
        match value.op:
            case "+" | "-" | "*" | "&" | "|" | "^" if left is not None:
                one, other = (codes.cast(self.low(part, size), kind, whole) for part in (left, some(right)))
                return codes.ring(value.op, one, other, whole, kind)
            case "~" | "-" as op if left is None:
                return codes.unary(op, self.low(some(right), size), whole, kind)
            case "<<":
                shifted = codes.cast(self.low(some(left), size), kind, whole)
                return codes.shift("<<", shifted, self.exact(some(right)), whole, kind)
            case "two_comp_mod" if size <= width(right):
                return self.low(some(left), size)
            case "?":
                return self._choose(value, lambda part: self.low(part, size), kind)
        return codes.cut(self.exact(value), size)
