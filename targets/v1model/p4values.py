# SPDX-License-Identifier: Apache-2.0
"""Values and expressions of the BMv2 JSON, typed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grasp import UserError
from grasp.targets.v1model.p4reader import Node, checked_width, hexadecimal

VALID = "$valid$"  # the hidden one-bit field of every header


@dataclass(frozen=True, slots=True)
class FieldRef:
    """A field of a header instance; `field` may be VALID."""

    header: str
    field: str


@dataclass(frozen=True, slots=True)
class Const:
    """An integer; `width` (bits) only where the JSON states it, as in calculations."""

    value: int
    width: int | None = None


@dataclass(frozen=True, slots=True)
class BoolConst:
    """True or false."""

    value: bool


@dataclass(frozen=True, slots=True)
class Local:
    """The parameter of an action at this index."""

    index: int


@dataclass(frozen=True, slots=True)
class Ref:
    """An object by its kind (one of REFERENCES) and name."""

    kind: str
    name: str


REFERENCES = frozenset(
    (
        *("header", "header_stack", "header_union", "header_union_stack"),
        *("calculation", "meter_array", "counter_array", "register_array"),
    )
)


@dataclass(frozen=True, slots=True)
class StackField:
    """A field of the last valid header of a stack."""

    stack: str
    field: str


@dataclass(frozen=True, slots=True)
class UnionStackField:
    """A field of a member of the last union of a stack of unions."""

    stack: str
    member: str
    field: str


@dataclass(frozen=True, slots=True)
class Lookahead:
    """Bits ahead of the parser's position: an offset and a width, in bits."""

    offset: int
    width: int


@dataclass(frozen=True, slots=True)
class Text:
    """A string, as in log_msg."""

    value: str


@dataclass(frozen=True, slots=True)
class Vector:
    """The list of values of log_msg."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator with up to three operands; `right` alone for unary ones, `condition` for the ternary."""

    op: str
    left: Value | None
    right: Value | None
    condition: Value | None = None


Value = (
    FieldRef
    | Const
    | BoolConst
    | Local
    | Ref
    | StackField
    | UnionStackField
    | Lookahead
    | Text
    | Vector
    | Operation
)

ARITHMETIC = frozenset(
    ("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "two_comp_mod", "sat_cast", "usat_cast")
)
COMPARISONS = frozenset(("==", "!=", "<", ">", "<=", ">="))
LOGIC = frozenset(("and", "or"))
UNARY = frozenset(("not", "~", "-", "d2b", "b2d", "valid", "valid_union", "last_stack_index", "size_stack"))
STACKS = frozenset(("dereference_header_stack", "dereference_stack", "dereference_union_stack"))
BINARY = ARITHMETIC | COMPARISONS | LOGIC | STACKS


def field_ref(value: Any, where: str) -> FieldRef:
    """A field written as [header, field]."""
    header, field = _strings(value, 2, where)
    return FieldRef(header, field)


def read_value(json: Any, where: str) -> Value:
    """A value object: a JSON object with `type` and `value`."""
    if isinstance(json, str):  # log_msg writes its format as a bare string
        return Text(json)
    node = Node(json, where)
    node.only("type", "value", "bitwidth", "op", "left", "right", "cond")
    if "op" in json:  # an operation that is not wrapped
        return _operation(node)
    kind, value = node.text("type"), node.raw("value")
    if kind in REFERENCES:
        if isinstance(value, dict):  # a header or stack that an expression chooses
            return read_value(value, where)
        return Ref(kind, node.text("value"))
    match kind:
        case "field":
            return _field(value, where)
        case "hexstr":
            return Const(hexadecimal(value, where), node.width("bitwidth") if node.has("bitwidth") else None)
        case "bool":
            return BoolConst(node.flag("value"))
        case "local" | "runtime_data":
            return Local(node.number("value"))
        case "stack_field":
            return StackField(*_strings(value, 2, where))
        case "union_stack_field":
            return UnionStackField(*_strings(value, 3, where))
        case "lookahead":
            offset, width = _numbers(value, 2, where)
            return Lookahead(checked_width(offset + 1, where) - 1, checked_width(width, where))
        case "string":
            return Text(node.text("value"))
        case "parameters_vector":
            items = node.items("value") if isinstance(value, list) else []
            return Vector(tuple(read_value(item, where) for item in items))
        case "expression":
            return read_value(value, where)
    raise node.fail(f"values of type '{kind}' are not supported by the embedded target")


def _field(value: Any, where: str) -> Value:
    """A field; its header may be chosen by an expression, and then only its validity can be asked."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], dict) and value[1] == VALID:
        inner = value[0] if "type" in value[0] else {"type": "expression", "value": value[0]}
        return Operation("b2d", None, Operation("valid", None, read_value(inner, where)))
    return field_ref(value, where)


def _operation(node: Node) -> Operation:
    op, where = node.text("op"), node.where

    def operand(key: str) -> Value:
        if not node.has(key):
            raise node.fail(f"operator '{op}' lacks its '{key}' operand")
        return read_value(node.raw(key), where)

    if op == "?":
        return Operation(op, operand("left"), operand("right"), operand("cond"))
    if op in ("access_field", "access_union_header"):
        return Operation(op, operand("left"), Const(node.number("right")))
    if op in UNARY and not node.has("left"):
        return Operation(op, None, operand("right"))
    if op in ("two_comp_mod", "sat_cast", "usat_cast"):
        size = operand("right")
        if not isinstance(size, Const):
            raise node.fail(f"the width of '{op}' is not a constant")
        return Operation(op, operand("left"), Const(checked_width(size.value, where)))
    if op in BINARY:
        return Operation(
            "dereference_header_stack" if op == "dereference_stack" else op, operand("left"), operand("right")
        )
    raise node.fail(f"operator '{op}' is not supported by the embedded target")


def _strings(value: Any, count: int, where: str) -> list[str]:
    if not (isinstance(value, list) and len(value) == count and all(isinstance(item, str) for item in value)):
        raise UserError(f"BMv2 JSON, {where}: expected {count} names, got {value!r}")
    return value


def _numbers(value: Any, count: int, where: str) -> list[int]:
    if not (isinstance(value, list) and len(value) == count and all(isinstance(item, int) for item in value)):
        raise UserError(f"BMv2 JSON, {where}: expected {count} numbers, got {value!r}")
    return value
