# SPDX-License-Identifier: Apache-2.0
"""C expressions with their types and bounds, and how operations on them are written.

Each function takes the bounds of its result, and writes it in a type that holds them. Where only the low bits
of a result are wanted, a type of that size is enough: sums, differences, products and bitwise operations need
no more of their operands for that.
"""

from __future__ import annotations

from dataclasses import dataclass

from grasp import UserError
from grasp.targets.v1model.translate import bounds as bound
from grasp.targets.v1model.translate.bounds import Bounds

INT, U32, U64, S64, U128, S128, WIDE = (
    *("int", "uint32_t", "uint64_t", "int64_t"),
    *("v1_u128", "v1_s128", "struct v1_wide"),
)
# Types whose values (for unsigned types: those that are not negative) C converts to the type without a cast.
_SMALLER = {
    U64: (INT, U32, U64),
    S64: (INT, U32, S64),
    U128: (INT, U32, U64, U128),
    S128: (INT, U32, U64, S64, S128),
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
_RANKS = (INT, U32, S64, U64, S128, U128)


@dataclass(frozen=True, slots=True)
class Code:
    """A C expression, its type, and the bounds of its value."""

    text: str
    type: str
    bounds: Bounds

    @property
    def term(self) -> str:
        """The text, in parentheses unless it is one term."""
        return term(self.text)


def smallest(bounds: Bounds) -> str:
    """The smallest C type for values within the bounds."""
    if bounds.within(bound.signed(32)):
        return INT
    if bounds.bits > 128:
        return WIDE
    if bounds.bits > 64:
        return S128 if bounds.low < 0 else U128
    return S64 if bounds.low < 0 else U64


class Codes:
    """Writes operations; `widest` is the size in bits of the widest struct v1_wide that they need."""

    def __init__(self) -> None:
        self.widest = 0

    def note(self, bounds: Bounds) -> None:
        """Remember how wide struct v1_wide has to be."""
        self.widest = max(self.widest, bounds.bits + 1)

    def constant(self, number: int) -> Code:
        """A literal."""
        bounds = Bounds(number, number)
        kind = smallest(bounds)
        if kind != WIDE:
            return Code(_literal(number, kind), kind, bounds)
        self.note(bounds)
        limbs = [f"{number >> shift & 0xFFFFFFFFFFFFFFFF:#x}u" for shift in range(0, bounds.bits + 1, 64)]
        rest = "UINT64_MAX" if number < 0 else "0"
        return Code(
            f"v1_wide_fill((const uint64_t[]){{{', '.join(limbs)}}}, {len(limbs)}, {rest})", kind, bounds
        )

    def convert(self, code: Code, kind: str) -> str:
        """The text of a value in another C type; a narrower type keeps the low bits."""
        if code.type == kind:
            return code.text
        if code.bounds.low == code.bounds.high and kind != WIDE:
            return _literal(code.bounds.low, kind)
        if kind == WIDE:
            self.note(code.bounds)
            form = {U128: "u128", S128: "s128"}.get(code.type) or ("s64" if code.bounds.low < 0 else "u64")
            return f"v1_wide_{form}({code.text})"
        if code.type == WIDE:
            low = f"v1_wide_low({code.text})"
            return low if kind == U128 else f"({kind}){low}"
        return f"({kind}){code.term}"

    def operands(self, left: Code, right: Code, kind: str) -> tuple[str, str]:
        """Two operands in a type; C converts smaller ones itself if one has the type already."""
        if kind == INT:
            return left.term, right.term
        if kind == WIDE:
            return self.convert(left, kind), self.convert(right, kind)
        texts = list[str]()
        for code in (left, right):
            keeps = code.type in _SMALLER[kind] and (code.bounds.low >= 0 or kind in (S64, S128))
            texts.append(code.term if keeps else term(self.convert(code, kind)))
        if all(
            code.type != kind and text == code.term for code, text in zip((left, right), texts, strict=True)
        ):
            texts[0] = term(self.convert(left, kind))
        return texts[0], texts[1]

    def compared(self, op: str, left: Code, right: Code) -> str:
        """A C condition that compares two numbers."""
        both = left.bounds.union(right.bounds)
        if WIDE in (left.type, right.type, smallest(both)):
            a, b = self.operands(left, right, WIDE)
            match op:
                case "==" | "!=":
                    return f"{'!' if op == '!=' else ''}v1_wide_equal({a}, {b})"
                case "<" | ">=":
                    return f"{'!' if op == '>=' else ''}v1_wide_less({a}, {b})"
            return f"{'!' if op == '<=' else ''}v1_wide_less({b}, {a})"
        if both.low >= 0:  # C's conversions keep values that are not negative
            return f"{left.term} {op} {right.term}"
        kind = smallest(both)
        a, b = self.operands(left, right, S64 if kind == INT and not left.type == right.type == INT else kind)
        return f"{a} {op} {b}"

    def ring(self, op: str, left: Code, right: Code, bounds: Bounds, kind: str) -> Code:
        """+, -, *, &, | or ^ in a type: exact if the result fits, else exact in its low bits."""
        if kind == WIDE:
            self.note(bounds)
            a, b = self.operands(left, right, WIDE)
            return Code(f"v1_wide_{_WIDE_NAMES[op]}({a}, {b})", WIDE, bounds)
        if (
            op in "&|^"
            and left.bounds.low >= 0
            and right.bounds.low >= 0
            and WIDE not in (left.type, right.type)
        ):
            kind = max((left.type, right.type), key=_RANKS.index)  # no bit gets lost, nothing to extend
            return Code(f"{left.term} {op} {right.term}", kind, bounds)
        if kind == INT and not left.type == right.type == INT:
            kind = S64 if bounds.low < 0 else U64
        if kind in (S64, S128) and op in "+-*":  # overflow of signed types is undefined in C
            size = bound.signed(64 if kind == S64 else 128)
            if not (left.bounds.within(size) and right.bounds.within(size)):
                inner = self.ring(op, left, right, bounds, U64 if kind == S64 else U128)
                return Code(f"({kind})({inner.text})", kind, bounds)
        a, b = self.operands(left, right, kind)
        return Code(f"{a} {op} {b}", kind, bounds)

    def unary(self, op: str, code: Code, bounds: Bounds, kind: str) -> Code:
        """~ or - in a type."""
        if kind == WIDE:
            self.note(bounds)
            text = self.convert(code, WIDE)
            return Code(
                f"v1_wide_not({text})" if op == "~" else f"v1_wide_sub(v1_wide_u64(0), {text})", WIDE, bounds
            )
        if kind == INT and code.type != INT:
            kind = S64
        return Code(f"{op}{term(self.convert(code, kind))}", kind, bounds)

    def masked(self, code: Code, mask: int, bounds: Bounds) -> Code:
        """`code & mask`, for a mask that is not negative."""
        width, literal = mask.bit_length(), self.constant(mask)
        if width > 128:
            self.note(bounds)
            operand = self.convert(code, WIDE)
            if mask == (1 << width) - 1:
                return Code(f"v1_wide_mask({operand}, {width})", WIDE, bounds)
            return Code(f"v1_wide_and({operand}, {literal.text})", WIDE, bounds)
        if width > 64 or code.type in (WIDE, U128, S128):
            return self.narrow(Code(f"{term(self.convert(code, U128))} & {literal.text}", U128, bounds))
        if literal.type == INT or code.type == U64:
            return Code(f"{code.term} & {literal.text}", code.type, bounds)
        return Code(f"{term(self.convert(code, U64))} & {literal.text}", U64, bounds)

    def narrow(self, code: Code) -> Code:
        """Back from struct v1_wide or 128 bits where the bounds need less."""
        kind = smallest(code.bounds)
        if (code.type == WIDE and kind != WIDE) or (
            code.type in (U128, S128) and kind not in (WIDE, U128, S128)
        ):
            kind = {INT: S64}.get(kind, kind) if code.bounds.low < 0 else {INT: U64}.get(kind, kind)
            return Code(self.convert(code, kind), kind, code.bounds)
        return code

    def cut(self, code: Code, width: int) -> Code:
        """Out of struct v1_wide or 128 bits if the low bits, which alone are wanted, fit a smaller type."""
        if code.type == WIDE and width <= 128:
            code = Code(self.convert(code, U128), U128, bound.unsigned(128))
        if code.type in (U128, S128) and width <= 64:
            return Code(f"(uint64_t){code.term}", U64, bound.unsigned(64))
        return code

    def cast(self, code: Code, kind: str, bounds: Bounds) -> Code:
        """A value in a type of which only the low bits are wanted."""
        return Code(self.convert(code, kind), kind, bounds)

    def choose(self, condition: str, one: Code, other: Code, bounds: Bounds, kind: str) -> Code:
        """One of two values."""
        if kind == INT and not one.type == other.type == INT:
            kind = S64 if bounds.low < 0 else U64
        texts = [term(self.convert(code, kind)) for code in (one, other)]
        return Code(f"{term(condition)} ? {texts[0]} : {texts[1]}", kind, bounds)

    def signed(self, code: Code, width: int) -> Code:
        """The low bits as a signed number."""
        bounds = bound.signed(width)
        if width <= 64:
            return Code(f"v1_signed({code.text}, {width})", S64, bounds)
        if width <= 128:
            return Code(f"v1_signed128({self.convert(code, U128)}, {width})", S128, bounds)
        self.note(bounds)
        return Code(f"v1_wide_signed({self.convert(code, WIDE)}, {width})", WIDE, bounds)

    def clamp(self, code: Code, bounds: Bounds) -> Code:
        """The nearest value within the bounds."""
        kind = smallest(code.bounds.union(bounds))
        kind = S64 if kind == INT else kind
        names = {
            U64: "clamp_u64",
            S64: "clamp_s64",
            U128: "clamp_u128",
            S128: "clamp_s128",
            WIDE: "wide_clamp",
        }
        parts = [
            self.convert(part, kind) for part in (code, self.constant(bounds.low), self.constant(bounds.high))
        ]
        return self.narrow(Code(f"v1_{names[kind]}({', '.join(parts)})", kind, bounds))

    def divide(self, op: str, left: Code, right: Code, bounds: Bounds) -> Code:
        """Quotient (/) or remainder (%)."""
        both = left.bounds.union(right.bounds)
        if both.low < 0 or both.bits > 128:
            raise UserError(
                f"BMv2 JSON: '{op}' of negative numbers, or of more than 128 bits, is not supported"
            )
        kind, name = (U64, "u64") if both.bits <= 64 else (U128, "u128")
        a, b = (self.convert(code, kind) for code in (left, right))
        return Code(f"v1_{'quotient' if op == '/' else 'remainder'}_{name}({a}, {b})", kind, bounds)

    def shift(self, op: str, left: Code, amount: Code, bounds: Bounds, kind: str) -> Code:
        """A shift in a type; `left` is exact, or for << exact in the bits that matter."""
        most, text = amount.bounds.high, amount.text
        if op == ">>" and left.bounds.low >= 0 and left.type in (INT, U32) and most < 32:
            return Code(f"{left.term} >> {amount.term}", left.type, bounds)
        if op == ">>":  # in the type of what is shifted
            kind = left.type if left.type in (WIDE, S128, U128) else S64 if left.bounds.low < 0 else U64
        elif kind == INT:
            kind = S64 if bounds.low < 0 else U64
        operand = self.convert(left, kind)
        if kind == WIDE:
            self.note(bounds.union(left.bounds))
            return self.narrow(Code(f"v1_wide_{_WIDE_NAMES[op]}({operand}, {text})", WIDE, bounds))
        size, is_signed = 64 if kind in (U64, S64) else 128, kind in (S64, S128)
        if op == "<<" and amount.bounds.low >= size:
            return self.constant(0)  # only low bits are wanted, and none is left
        if most >= size:
            name = {"<<": "shl", ">>": "sar" if is_signed else "shr"}[op]
            shifted = f"v1_{name}{'' if size == 64 else '128'}({operand}, {text})"
            return self.narrow(Code(f"({kind}){shifted}" if is_signed else shifted, kind, bounds))
        if is_signed and op == "<<":  # shifts of negative numbers are undefined in C
            inner = U64 if kind == S64 else U128
            return Code(f"({kind})(({inner}){term(operand)} << {amount.term})", kind, bounds)
        return self.narrow(Code(f"{term(operand)} {op} {amount.term}", kind, bounds))


def _literal(number: int, kind: str) -> str:
    """A literal of a C type, cut to it."""
    if kind in (U128, S128):
        bits = number & (1 << 128) - 1
        text = f"V1_U128({bits >> 64:#x}u, {bits & 0xFFFFFFFFFFFFFFFF:#x}u)"
        return text if kind == U128 else f"(v1_s128){text}"
    if kind in (INT, U32):
        return f"{number:#x}" if number >= 1024 else str(number)
    if kind == S64:
        return "INT64_MIN" if number == -(1 << 63) else f"INT64_C({number})"
    number &= (1 << 64) - 1
    return f"UINT64_C({number if number < 1024 else f'{number:#x}'})"


def term(text: str) -> str:
    """The text, in parentheses unless it is one term."""
    if text[:1] in "-~(":
        return text if text[:1] == "(" and _closes_at_end(text) else f"({text})"
    depth = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and character == " ":
            return f"({text})"
    return text


def joined(op: str, left: str, right: str) -> str:
    """Two conditions with && or ||; in parentheses where the other operator, or ?:, stands in one."""
    others = {"&&": ("||", "?", ":"), "||": ("&&", "?", ":")}[op]
    texts = [
        f"({text})" if any(other in _top_level(text) for other in others) else text for text in (left, right)
    ]
    return f"{texts[0]} {op} {texts[1]}"


def _top_level(text: str) -> list[str]:
    """The words of a text that are in no parentheses."""
    depth, plain = 0, ""
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        plain += character if depth == 0 else ""
    return plain.split()


def _closes_at_end(text: str) -> bool:
    """Whether the first parenthesis is closed by the last character."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return position == len(text) - 1
    return False
