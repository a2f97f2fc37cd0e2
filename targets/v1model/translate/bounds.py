# SPDX-License-Identifier: Apache-2.0
"""What values an expression can take, which tells what C type is enough: BMv2's integers are of any size."""

from __future__ import annotations

from dataclasses import dataclass

from grasp import UserError

MAX_BITS = 1 << 15  # of an intermediate value; p4c shifts by at most 255


@dataclass(frozen=True, slots=True)
class Bounds:
    """All integers from `low` to `high`."""

    low: int
    high: int

    @property
    def bits(self) -> int:
        """Bits of a two's complement (or, if `low` >= 0, unsigned) number that holds all of them."""
        if self.low >= 0:
            return max(1, self.high.bit_length())
        return max(self.high.bit_length(), (~self.low).bit_length()) + 1

    def within(self, other: Bounds) -> bool:
        """Whether `other` has all of them."""
        return other.low <= self.low and self.high <= other.high

    def union(self, other: Bounds) -> Bounds:
        """The smallest interval that has both."""
        return Bounds(min(self.low, other.low), max(self.high, other.high))

    def clamp(self, other: Bounds) -> Bounds:
        """What saturation to `other` leaves."""
        return Bounds(*(min(max(end, other.low), other.high) for end in (self.low, self.high)))


BOOL = Bounds(0, 1)


def unsigned(width: int) -> Bounds:
    """bit<width>."""
    return Bounds(0, (1 << width) - 1)


def signed(width: int) -> Bounds:
    """int<width>."""
    return Bounds(-(1 << (width - 1)), (1 << (width - 1)) - 1)


def binary(op: str, left: Bounds, right: Bounds) -> Bounds:
    """Bounds of `left op right` for an operator on integers."""
    match op:
        case "+":
            return Bounds(left.low + right.low, left.high + right.high)
        case "-":
            return Bounds(left.low - right.high, left.high - right.low)
        case "*":
            return _hull(a * b for a in (left.low, left.high) for b in (right.low, right.high))
        case "/":
            return Bounds(0, max(left.high, 0))
        case "%":
            return Bounds(0, min(max(left.high, 0), max(right.high - 1, 0)))
        case "<<":
            if right.high + left.bits > MAX_BITS:
                raise UserError(
                    f"BMv2 JSON: a shift by up to {right.high} bits is not supported by the embedded target"
                )
            return _hull(
                a << b for a in (left.low, left.high) for b in (max(right.low, 0), max(right.high, 0))
            )
        case ">>":
            amounts = (max(right.low, 0), min(max(right.high, 0), MAX_BITS))
            return _hull(a >> min(b, MAX_BITS) for a in (left.low, left.high) for b in amounts)
        case "&":
            positive = [bounds.high for bounds in (left, right) if bounds.low >= 0]
            return Bounds(0, min(positive)) if positive else signed(max(left.bits, right.bits))
    bits = max(left.bits, right.bits)  # | and ^
    return unsigned(bits) if left.low >= 0 and right.low >= 0 else signed(bits + 1)


def _hull(values: object) -> Bounds:
    found = list(values)  # type: ignore[call-overload]
    return Bounds(min(found), max(found))
