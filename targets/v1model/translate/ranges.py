# SPDX-License-Identifier: Apache-2.0
"""Whether a value is a number or a truth value, and the bounds of a number."""

from __future__ import annotations

from dataclasses import dataclass

from grasp import UserError
from grasp.targets.v1model.p4json import Field
from grasp.targets.v1model.p4values import (
    COMPARISONS,
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
from grasp.targets.v1model.translate.references import References

_TRUTHS = COMPARISONS | {"and", "or", "not", "d2b", "valid", "valid_union"}


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter of an action in C: its name and width."""

    name: str
    width: int


class Ranges:
    """Bounds in the scope of an action (with its arguments) or outside of one."""

    def __init__(self, places: References, arguments: tuple[Argument, ...]) -> None:
        self.places, self.arguments = places, arguments
        # By identity, with the operation itself so that it lives on: bounds are asked for at every level.
        self._known: dict[int, tuple[Operation, Bounds]] = {}

    def bounds(self, value: Value) -> Bounds:
        """The bounds of a number; a truth value as a number is 0 or 1."""
        match value:
            case Const(number):
                return Bounds(number, number)
            case Local(index):
                return bound.unsigned(self.arguments[index].width)
            case FieldRef() | StackField() | UnionStackField() | Operation(op="access_field"):
                return field_bounds(self.places.field_type(value))
            case Operation() if not is_bool(value):
                if id(value) not in self._known:
                    self._known[id(value)] = value, self._operation(value)
                return self._known[id(value)][1]
        if is_bool(value):
            return BOOL
        raise UserError(f"BMv2 JSON: {value} is not a number")

    def _operation(self, value: Operation) -> Bounds:
        op, right = value.op, value.right
        match op:
            case "b2d":
                return BOOL
            case "last_stack_index" | "size_stack":
                return bound.unsigned(32)
            case "~":
                inner = self.bounds(some(right))
                return Bounds(~inner.high, ~inner.low)
            case "-" if value.left is None:
                inner = self.bounds(some(right))
                return Bounds(-inner.high, -inner.low)
        left = self.bounds(some(value.left))
        match op:
            case "?":
                return left.union(self.bounds(some(right)))
            case "two_comp_mod":
                whole = bound.signed(width(right))
                return left if left.within(whole) else whole
            case "sat_cast":
                return left.clamp(bound.signed(width(right)))
            case "usat_cast":
                return left.clamp(bound.unsigned(width(right)))
        return bound.binary(op, left, self.bounds(some(right)))


def is_bool(value: Value) -> bool:
    """Whether the value is a truth value, not a number."""
    match value:
        case BoolConst():
            return True
        case Operation(op="?", left=left) if left is not None:
            return is_bool(left)
        case Operation(op=op):
            return op in _TRUTHS
    return False


def field_bounds(field: Field) -> Bounds:
    """What values a field can hold."""
    return bound.signed(field.width) if field.signed else bound.unsigned(field.width)


def some(value: Value | None) -> Value:
    """An operand that is there: the reader of the JSON has seen to it."""
    assert value is not None
    return value


def width(value: Value | None) -> int:
    """The width of a cast: a constant, the reader of the JSON has seen to it."""
    assert isinstance(value, Const)
    return value.value
