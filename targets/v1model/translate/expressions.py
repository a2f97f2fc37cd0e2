# SPDX-License-Identifier: Apache-2.0
"""Expressions of the BMv2 JSON in C.

BMv2 computes with integers of any size, and p4c writes the masks and sign extensions that P4 asks for. Here every
expression has bounds, and gets the smallest C type that holds its exact value: int, 64 or 128 bits, or struct
v1_wide. Where only the low bits of a value are wanted, as under a mask, it is computed in a type of that size:
sums, differences, products and bitwise operations do not need more for exact low bits.
"""

from __future__ import annotations

from dataclasses import dataclass

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
from grasp.targets.v1model.translate.layout import Layout, c_type, words
from grasp.targets.v1model.translate.references import References

INT, U64, S64, U128, S128, WIDE = "int", "uint64_t", "int64_t", "v1_u128", "v1_s128", "struct v1_wide"
# Types whose values (for unsigned types: those that are not negative) C converts to the type without a cast.
_SMALLER = {
    U64: (INT, "uint32_t", U64),
    S64: (INT, "uint32_t", S64),
    U128: (INT, "uint32_t", U64, U128),
    S128: (INT, "uint32_t", U64, S64, S128),
}
_WIDE_NAMES = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "shl",
    ">>": "shr",
}


@dataclass(frozen=True, slots=True)
class Code:
    """A C expression, its type, and the bounds of its value."""

    text: str
    type: str
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter of an action in C: its name and width."""

    name: str
    width: int


def smallest(bounds: Bounds) -> str:
    """The C type for values within the bounds."""
    if bounds.within(bound.signed(32)):
        return INT
    bits = bounds.bits
    if bits > 128:
        return WIDE
    return ((U64 if bits <= 64 else U128), (S64 if bits <= 64 else S128))[bounds.low < 0]


class Expressions:
    """Writes expressions in the scope of an action (with its arguments) or outside of one."""

    def __init__(self, layout: Layout, arguments: tuple[Argument, ...] = ()) -> None:
        self.layout = layout
        self.arguments = arguments
        self.places = References(layout, self.index)

    # -- bounds and kinds

    def is_bool(self, value: Value) -> bool:
        """Whether the value is a truth value, not a number."""
        match value:
            case BoolConst():
                return True
            case Operation(op="?", left=left) if left is not None:
                return self.is_bool(left)
            case Operation(op=op):
                return op in COMPARISONS or op in ("and", "or", "not", "d2b", "valid", "valid_union")
        return False

    def bounds(self, value: Value) -> Bounds:
        """The bounds of a number, without the code for it."""
        match value:
            case Const(number):
                return Bounds(number, number)
            case Local(index):
                return bound.unsigned(self.arguments[index].width)
            case FieldRef() | StackField() | UnionStackField():
                return field_bounds(self.places.field_type(value))
            case Operation():
                return self._operation_bounds(value)
        if self.is_bool(value):
            return BOOL
        raise UserError(f"BMv2 JSON: {value} is not a number")

    def _operation_bounds(self, value: Operation) -> Bounds:
        op, left, right = value.op, value.left, value.right
        match op:
            case "access_field":
                return field_bounds(self.places.field_type(value))
            case "b2d":
                return BOOL
            case "last_stack_index":
                return bound.unsigned(32)
            case "size_stack":
                return bound.unsigned(32)
            case "~":
                inner = self.bounds(_some(right))
                return Bounds(~inner.high, ~inner.low)
            case "-" if left is None:
                inner = self.bounds(_some(right))
                return Bounds(-inner.high, -inner.low)
            case "?":
                return self.bounds(_some(left)).union(self.bounds(_some(right)))
            case "two_comp_mod":
                inner, whole = self.bounds(_some(left)), bound.signed(_constant(right))
                return inner if inner.within(whole) else whole
            case "sat_cast":
                return self.bounds(_some(left)).clamp(bound.signed(_constant(right)))
            case "usat_cast":
                return self.bounds(_some(left)).clamp(bound.unsigned(_constant(right)))
        if self.is_bool(value):
            return BOOL
        return bound.binary(op, self.bounds(_some(left)), self.bounds(_some(right)))

    # -- truth values

    def truth(self, value: Value) -> str:
        """A C condition."""
        match value:
            case BoolConst(known):
                return "true" if known else "false"
            case Operation(op="not", right=right):
                return f"!{_wrap(self.truth(_some(right)))}"
            case Operation(op="and" | "or" as op, left=left, right=right):
                return f"{_wrap(self.truth(_some(left)))} {'&&' if op == 'and' else '||'} {_wrap(self.truth(_some(right)))}"
            case Operation(op="d2b", right=Operation(op="b2d", right=right)):
                return self.truth(_some(right))
            case Operation(op="d2b", right=right):
                return self.nonzero(_some(right))
            case Operation(op="valid", right=right):
                return f"{self.places.header(_some(right))}.valid"
            case Operation(op="valid_union", right=right):
                return self.places.union_valid(_some(right))
            case Operation(op="?", left=left, right=right, condition=condition):
                chosen = (self.truth(_some(part)) for part in (condition, left, right))
                return " {} ".join(map(_wrap, chosen)).format("?", ":")
            case Operation(op=op, left=left, right=right) if op in COMPARISONS:
                return self._compare(op, _some(left), _some(right))
        return self.nonzero(value)

    def nonzero(self, value: Value) -> str:
        """A C condition: whether a number is not 0."""
        if isinstance(value, FieldRef) and value.field == VALID:
            return self.layout.field(value)
        if self.is_bool(value):
            return self.truth(value)
        if isinstance(value, Operation) and value.op == "b2d":
            return self.truth(_some(value.right))
        code = self.exact(value)
        return code.text if self.bounds(value) == BOOL else self._compared("!=", code, self.constant(0))

    def _compare(self, op: str, left: Value, right: Value) -> str:
        if op in ("==", "!=") and (same := self.places.compare(left, right)) is not None:
            return same if op == "==" else f"!{_wrap(same)}"
        if self.is_bool(left) and self.is_bool(right):
            return f"{_wrap(self.truth(left))} {op} {_wrap(self.truth(right))}"
        return self._compared(op, self.exact(left), self.exact(right))

    def _compared(self, op: str, left: Code, right: Code) -> str:
        both = left.bounds.union(right.bounds)
        if WIDE in (left.type, right.type):
            a, b = self.convert(left, WIDE), self.convert(right, WIDE)
            match op:
                case "==" | "!=":
                    return f"{'!' if op == '!=' else ''}v1_wide_equal({a}, {b})"
                case "<" | ">=":
                    return f"{'!' if op == '>=' else ''}v1_wide_less({a}, {b})"
            return f"{'!' if op == '<=' else ''}v1_wide_less({b}, {a})"
        if both.low >= 0:  # C's conversions keep values that are not negative
            return f"{_wrap(left.text)} {op} {_wrap(right.text)}"
        common = smallest(both)
        a, b = self._operands(left, right, common)
        return f"{_wrap(a)} {op} {_wrap(b)}"

    # -- numbers

    def index(self, value: Value) -> str:
        """A number as an index: uint64_t, or what C converts to it."""
        code = self.exact(value)
        return code.text if code.type in (INT, "uint32_t", U64) else self.convert(code, U64)

    def constant(self, number: int) -> Code:
        """A literal."""
        bounds = Bounds(number, number)
        kind = smallest(bounds)
        if kind == WIDE:
            limbs = (
                f"{(number >> shift) & 0xFFFFFFFFFFFFFFFF:#x}u" for shift in range(0, bounds.bits + 1, 64)
            )
            rest = "UINT64_MAX" if number < 0 else "0"
            text = (
                f"v1_wide_fill((const uint64_t[]){{{', '.join(limbs)}}}, {(bounds.bits + 64) // 64}, {rest})"
            )
            self.note(bounds)
            return Code(text, kind, bounds)
        return Code(
            str(number) if kind == INT and number < 1024 else self._literal(number, kind), kind, bounds
        )

    @staticmethod
    def _literal(number: int, kind: str) -> str:
        """A literal of a C type, cut to it."""
        if kind in (U128, S128):
            bits = number & (1 << 128) - 1
            text = f"V1_U128({bits >> 64:#x}u, {bits & 0xFFFFFFFFFFFFFFFF:#x}u)"
            return text if kind == U128 else f"(v1_s128){text}"
        if kind == INT:
            return f"{number:#x}" if number >= 1024 else str(number)
        if kind == S64:
            return "INT64_MIN" if number == -(1 << 63) else f"INT64_C({number})"
        number &= (1 << 64) - 1
        return f"UINT64_C({number if number < 1024 else f'{number:#x}'})"

    def note(self, bounds: Bounds) -> None:
        """Remember how wide struct v1_wide has to be."""
        self.layout.widest = max(self.layout.widest, bounds.bits + 1)

    def exact(self, value: Value) -> Code:
        """C code for the exact value, in the smallest type for its bounds or the type that it is stored in."""
        if self.is_bool(value):
            return Code(_wrap(self.truth(value)), INT, BOOL)
        match value:
            case Const(number):
                return self.constant(number)
            case Local(index):
                return self._local(self.arguments[index])
            case FieldRef() | StackField() | UnionStackField():
                return self.load(self.places.field(value), self.places.field_type(value))
            case Operation(op="access_field"):
                return self.load(self.places.field(value), self.places.field_type(value))
            case Operation():
                return self._operation(value)
        raise UserError(f"BMv2 JSON: {value} is not a number")

    def _local(self, argument: Argument) -> Code:
        bounds = bound.unsigned(argument.width)
        if argument.width > 128:
            self.note(bounds)
            return Code(f"v1_wide_words({argument.name}, {words(argument.width)})", WIDE, bounds)
        return Code(argument.name, U64 if argument.width <= 64 else U128, bounds)

    def load(self, lvalue: str, field: Field) -> Code:
        """The value of a field."""
        bounds = field_bounds(field)
        if field.variable:
            raise UserError(f"BMv2 JSON: the variable field '{field.name}' cannot be computed with")
        if field.width > 128:
            self.note(bounds)
            text = f"v1_wide_words({lvalue}, {words(field.width)})"
            if field.signed:
                text = f"v1_wide_signed({text}, {field.width})"
            return Code(text, WIDE, bounds)
        stored = "uint64_t" if lvalue.startswith("s->v1.standard.") else c_type(field)
        if stored in ("uint8_t", "uint16_t", "int8_t", "int16_t", "int32_t"):
            return Code(lvalue, INT, bounds)  # C's promotion makes them int
        return Code(lvalue, stored, bounds)

    def convert(self, code: Code, kind: str) -> str:
        """The text of a value in another C type; a narrower type keeps the low bits."""
        if code.type == kind:
            return code.text
        if code.bounds.low == code.bounds.high and kind != WIDE:  # a literal
            return self._literal(code.bounds.low, kind)
        if kind == WIDE:
            self.note(code.bounds)
            form = {U128: "u128", S128: "s128"}.get(code.type) or ("s64" if code.bounds.low < 0 else "u64")
            return f"v1_wide_{form}({code.text})"
        if code.type == WIDE:
            low = f"v1_wide_low({code.text})"
            return low if kind == U128 else f"({kind}){low}"
        return f"({kind}){_wrap(code.text)}"

    def _operation(self, value: Operation) -> Code:
        op, left, right, bounds = value.op, value.left, value.right, self.bounds(value)
        match op:
            case "b2d":
                return Code(_wrap(self.truth(_some(right))), INT, BOOL)
            case "last_stack_index":
                return Code(f"(uint32_t)({self.places.next_index(_some(right))} - 1)", "uint32_t", bounds)
            case "size_stack":
                return Code(self.places.next_index(_some(right)), "uint32_t", bounds)
            case "two_comp_mod":
                return self._sign(_some(left), _constant(right))
            case "sat_cast" | "usat_cast":
                return self._saturate(_some(left), bounds)
            case "?":
                return self._choose(value, lambda part: self.exact(part), smallest(bounds))
            case "&":
                for mask, other in ((left, right), (right, left)):
                    if isinstance(mask, Const) and mask.value >= 0 and other is not None:
                        return self._masked(other, mask.value)
            case "~":
                return self._unary("~", self.exact(_some(right)), bounds)
            case "-" if left is None:
                return self._unary("-", self.exact(_some(right)), bounds)
            case "/" | "%":
                return self._divide(op, _some(left), _some(right), bounds)
            case "<<" | ">>":
                return self._shift(op, self.exact(_some(left)), _some(right), bounds, smallest(bounds))
        return self._ring(op, self.exact(_some(left)), self.exact(_some(right)), bounds, smallest(bounds))

    def _ring(self, op: str, left: Code, right: Code, bounds: Bounds, kind: str) -> Code:
        """+, -, *, &, | or ^ in a type: exact if the result fits, else exact in its low bits."""
        if kind == WIDE:
            self.note(bounds)
            text = f"v1_wide_{_WIDE_NAMES[op]}({self.convert(left, WIDE)}, {self.convert(right, WIDE)})"
            return Code(text, WIDE, bounds)
        if (
            op in "&|^"
            and left.bounds.low >= 0
            and right.bounds.low >= 0
            and WIDE not in (left.type, right.type)
        ):
            kind = max((left.type, right.type), key=_rank)  # no bit gets lost, nothing to extend
            return Code(f"{_wrap(left.text)} {op} {_wrap(right.text)}", kind, bounds)
        if kind == INT and not left.type == right.type == INT:
            kind = S64 if bounds.low < 0 else U64
        if kind in (S64, S128) and op in "+-*":  # in unsigned arithmetic: signed overflow is undefined in C
            safe = all(code.bounds.within(bound.signed(64 if kind == S64 else 128)) for code in (left, right))
            if not safe:
                inner = self._ring(op, left, right, bounds, U64 if kind == S64 else U128)
                return Code(f"({kind})({inner.text})", kind, bounds)
        a, b = self._operands(left, right, kind)
        return Code(f"{_wrap(a)} {op} {_wrap(b)}", kind, bounds)

    def _operands(self, left: Code, right: Code, kind: str) -> tuple[str, str]:
        """Two operands in a type; C converts smaller ones itself if one has the type already."""
        if kind == INT:
            return left.text, right.text
        texts = list[str]()
        for code in (left, right):
            keeps = code.type in _SMALLER[kind] and (code.bounds.low >= 0 or kind in (S64, S128))
            texts.append(code.text if keeps else self.convert(code, kind))
        done = any(
            code.type == kind or text != code.text for code, text in zip((left, right), texts, strict=True)
        )
        return (texts[0] if done else self.convert(left, kind)), texts[1]

    def _unary(self, op: str, code: Code, bounds: Bounds) -> Code:
        kind = smallest(bounds)
        if kind == INT and code.type != INT:
            kind = S64
        if kind == WIDE:
            self.note(bounds)
            operand = self.convert(code, WIDE)
            return Code(
                f"v1_wide_not({operand})" if op == "~" else f"v1_wide_sub(v1_wide_u64(0), {operand})",
                WIDE,
                bounds,
            )
        return Code(f"{op}{_wrap(self.convert(code, kind) if kind != INT else code.text)}", kind, bounds)

    def _masked(self, value: Value, mask: int) -> Code:
        """value & mask."""
        inner, width = self.bounds(value), mask.bit_length()
        if mask == (1 << width) - 1 and inner.within(bound.unsigned(width)):
            return self.exact(value)
        code = self.low(value, width)
        bounds = Bounds(0, min(mask, inner.high) if inner.low >= 0 else mask)
        if width > 128:
            self.note(bounds)
            operand = self.convert(code, WIDE)
            if mask == (1 << width) - 1:
                return Code(f"v1_wide_mask({operand}, {width})", WIDE, bounds)
            return Code(f"v1_wide_and({operand}, {self.convert(self.constant(mask), WIDE)})", WIDE, bounds)
        literal = self.constant(mask)
        if width > 64 or code.type in (WIDE, U128, S128):
            return self._narrow(Code(f"{_wrap(self.convert(code, U128))} & {literal.text}", U128, bounds))
        if literal.type == INT or code.type == U64:
            return Code(f"{_wrap(code.text)} & {literal.text}", code.type, bounds)
        return Code(f"{_wrap(self.convert(code, U64))} & {literal.text}", U64, bounds)

    def _narrow(self, code: Code) -> Code:
        """Back from struct v1_wide or 128 bits where 64 bits are enough again."""
        if code.type == WIDE and code.bounds.bits <= 128:
            kind = U64 if code.bounds.bits <= 64 else U128
            return Code(self.convert(code, kind), kind, code.bounds)
        if code.type == U128 and code.bounds.bits <= 64:
            return Code(f"(uint64_t){_wrap(code.text)}", U64, code.bounds)
        return code

    def low(self, value: Value, width: int) -> Code:
        """C code whose low `width` bits are those of the value; what stands above them is arbitrary."""
        bounds = self.bounds(value)
        simple = bounds.bits <= 64 and (bounds.low >= 0 or smallest(bounds) == INT or width > 64)
        if simple or not isinstance(value, Operation):
            return self._cut(self.exact(value), width)
        kind = U64 if width <= 64 else U128 if width <= 128 else WIDE
        whole = bound.unsigned(64 if kind == U64 else 128 if kind == U128 else width)
        left, right = value.left, value.right
        match value.op:
            case "+" | "-" | "*" | "&" | "|" | "^" if left is not None:
                a, b = self.low(left, width), self.low(_some(right), width)
                return self._ring(value.op, self._as(a, kind, whole), self._as(b, kind, whole), whole, kind)
            case "~":
                return self._unary_low(self.low(_some(right), width), kind, whole)
            case "<<":
                return self._shift(
                    "<<", self._as(self.low(_some(left), width), kind, whole), _some(right), whole, kind
                )
            case "two_comp_mod" if width <= _constant(right):
                return self.low(_some(left), width)
            case "?":
                return self._choose(value, lambda part: self.low(part, width), kind)
        return self._cut(self.exact(value), width)

    def _unary_low(self, code: Code, kind: str, whole: Bounds) -> Code:
        text = self.convert(code, kind)
        return Code(f"v1_wide_not({text})" if kind == WIDE else f"~{_wrap(text)}", kind, whole)

    def _as(self, code: Code, kind: str, bounds: Bounds) -> Code:
        return Code(self.convert(code, kind), kind, bounds)

    def _cut(self, code: Code, width: int) -> Code:
        """Out of struct v1_wide or 128 bits if the low bits fit a smaller type."""
        if code.type == WIDE and width <= 128:
            code = Code(self.convert(code, U128), U128, bound.unsigned(128))
        if code.type in (U128, S128) and width <= 64:
            return Code(f"(uint64_t){_wrap(code.text)}", U64, bound.unsigned(64))
        return code

    def _choose(self, value: Operation, write: object, kind: str) -> Code:
        parts = [write(_some(part)) for part in (value.left, value.right)]  # type: ignore[operator]
        if kind == INT and not all(code.type == INT for code in parts):
            kind = S64 if self.bounds(value).low < 0 else U64
        texts = [self.convert(code, kind) if kind != INT else code.text for code in parts]
        condition = _wrap(self.truth(_some(value.condition)))
        return Code(f"{condition} ? {_wrap(texts[0])} : {_wrap(texts[1])}", kind, self.bounds(value))

    def _sign(self, value: Value, width: int) -> Code:
        """two_comp_mod: the low bits as a signed number."""
        if self.bounds(value).within(bound.signed(width)):
            return self.exact(value)
        code, bounds = self.low(value, width), bound.signed(width)
        if width <= 64:
            return Code(f"v1_signed({code.text}, {width})", S64, bounds)
        if width <= 128:
            return Code(f"v1_signed128({self.convert(code, U128)}, {width})", S128, bounds)
        self.note(bounds)
        return Code(f"v1_wide_signed({self.convert(code, WIDE)}, {width})", WIDE, bounds)

    def _saturate(self, value: Value, bounds: Bounds) -> Code:
        inner = self.bounds(value)
        if inner == bounds:
            return self.exact(value)
        kind = smallest(inner)
        kind = S64 if kind == INT else kind
        parts = [
            self.convert(code, kind)
            for code in (self.exact(value), *map(self.constant, (bounds.low, bounds.high)))
        ]
        names = {
            U64: "clamp_u64",
            S64: "clamp_s64",
            U128: "clamp_u128",
            S128: "clamp_s128",
            WIDE: "wide_clamp",
        }
        code = Code(f"v1_{names[kind]}({', '.join(parts)})", kind, bounds)
        if kind in (S128, U128, WIDE) and bounds.bits <= 64:
            result = S64 if bounds.low < 0 else U64
            return Code(
                f"({result}){self.convert(code, U128) if kind == WIDE else code.text}", result, bounds
            )
        return code

    def _divide(self, op: str, left: Value, right: Value, bounds: Bounds) -> Code:
        both = self.bounds(left).union(self.bounds(right))
        if both.low < 0 or both.bits > 128:
            raise UserError(
                f"BMv2 JSON: '{op}' of negative numbers, or of more than 128 bits, is not supported"
            )
        kind, name = (U64, "u64") if both.bits <= 64 else (U128, "u128")
        a, b = (self.convert(self.exact(part), kind) for part in (left, right))
        return Code(f"v1_{'quotient' if op == '/' else 'remainder'}_{name}({a}, {b})", kind, bounds)

    def _shift(self, op: str, left: Code, right: Value, bounds: Bounds, kind: str) -> Code:
        """A shift in a type; `left` is exact, or for << exact in the bits that matter."""
        amount, most = self.index(right), self.bounds(right).high
        if op == "<<" and isinstance(right, Const) and right.value >= 64 and kind in (U64, S64):
            return self.constant(0)  # only low bits are wanted, and none is left
        if op == ">>" and left.bounds.low >= 0 and left.type in (INT, "uint32_t") and most < 32:
            return Code(f"{_wrap(left.text)} >> {_wrap(amount)}", left.type, bounds)
        if op == ">>":  # in the type of what is shifted
            kind = left.type if left.type in (WIDE, S128, U128) else S64 if left.bounds.low < 0 else U64
        if kind == INT:
            kind = S64 if bounds.low < 0 else U64
        operand = self.convert(left, kind)
        if kind == WIDE:
            self.note(bounds.union(left.bounds))
            return self._narrow(Code(f"v1_wide_{_WIDE_NAMES[op]}({operand}, {amount})", WIDE, bounds))
        size = 64 if kind in (U64, S64) else 128
        if most >= size:
            name = {"<<": "shl", ">>": "sar" if kind in (S64, S128) else "shr"}[op]
            text = f"v1_{name}{'' if size == 64 else '128'}({operand}, {amount})"
            return self._narrow(Code(f"({kind}){text}" if kind in (S64, S128) else text, kind, bounds))
        if kind in (S64, S128) and op == "<<":
            inner = U64 if kind == S64 else U128
            return Code(f"({kind})(({inner}){_wrap(operand)} << {_wrap(amount)})", kind, bounds)
        return self._narrow(Code(f"{_wrap(operand)} {op} {_wrap(amount)}", kind, bounds))


def field_bounds(field: Field) -> Bounds:
    """What values a field can hold."""
    return bound.signed(field.width) if field.signed else bound.unsigned(field.width)


def _rank(kind: str) -> int:
    return (INT, "uint32_t", S64, U64, S128, U128).index(kind)


def _wrap(text: str) -> str:
    """The text, in parentheses unless it is one term."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and character == " ":
            return f"({text})"
        if depth == 0 and position < len(text) - 1 and text[0] in "(-~!" and character == ")":
            return f"({text})"  # a cast: what follows binds less than it looks
    return f"({text})" if text[:1] in "-~" else text


def _some(value: Value | None) -> Value:
    assert value is not None
    return value


def _constant(value: Value | None) -> int:
    if not isinstance(value, Const):
        raise UserError("BMv2 JSON: the width of a cast is not a constant")
    return value.value
