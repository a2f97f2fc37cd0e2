# SPDX-License-Identifier: Apache-2.0
"""Strict reading of JSON objects: a key that is not known, or a value of another type, is a UserError."""

from __future__ import annotations

from typing import Any

from grasp import UserError

MAX_WIDTH = 1 << 14  # bits of a value; p4c stops at 2048 by default


class Node:
    """A JSON object and where it stands in the file, for error messages."""

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise UserError(f"BMv2 JSON, {where}: expected an object, got {_show(value)}")
        self._value: dict[str, Any] = value
        name = value.get("name")
        self.where = f"{where} '{name}'" if isinstance(name, str) else where

    def fail(self, what: str) -> UserError:
        """A UserError that says where this object stands."""
        return UserError(f"BMv2 JSON, {self.where}: {what}")

    def only(self, *known: str) -> None:
        """Refuse an object with a key that is not among `known` (source_info is always known)."""
        for key, value in self._value.items():
            if key not in known and key != "source_info" and value not in (None, [], {}, False):
                raise self.fail(f"'{key}' is not supported by the embedded target")

    def has(self, key: str) -> bool:
        """Whether the key is there and not null."""
        return self._value.get(key) is not None

    def raw(self, key: str) -> Any:
        """The value as it is; None if the key is missing."""
        return self._value.get(key)

    def text(self, key: str) -> str:
        """A string."""
        return str(self._typed(key, str))

    def optional_text(self, key: str) -> str | None:
        """A string, or None where it is missing or null."""
        return self.text(key) if self.has(key) else None

    def number(self, key: str) -> int:
        """An integer that is not negative."""
        value = self._typed(key, int)
        if isinstance(value, bool) or value < 0:
            raise self.fail(f"'{key}' must be a number that is not negative, not {_show(value)}")
        return int(value)

    def width(self, key: str) -> int:
        """A width in bits."""
        return checked_width(self.number(key), self.where)

    def flag(self, key: str, default: bool = False) -> bool:
        """A boolean; the default where it is missing or null."""
        return bool(self._typed(key, bool)) if self.has(key) else default

    def items(self, key: str) -> list[Any]:
        """An array; empty where it is missing or null."""
        return list(self._typed(key, list)) if self.has(key) else []

    def numbers(self, key: str) -> list[int]:
        """An array of integers that are not negative."""
        found = self.items(key)
        for item in found:
            if not isinstance(item, int) or isinstance(item, bool) or item < 0:
                raise self.fail(f"'{key}' must hold numbers that are not negative, not {_show(item)}")
        return found

    def pairs(self, key: str) -> list[tuple[str, Any]]:
        """An array of pairs, each of a name and something else."""
        found = self.items(key)
        for item in found:
            if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], str):
                raise self.fail(f"'{key}' must hold pairs of a name and a value, not {_show(item)}")
        return [(name, value) for name, value in found]

    def nodes(self, key: str) -> list[Node]:
        """An array of objects."""
        return [Node(item, f"{self.where}, {key}") for item in self.items(key)]

    def node(self, key: str) -> Node:
        """An object."""
        return Node(self._typed(key, dict), f"{self.where}, {key}")

    def hexadecimal(self, key: str) -> int:
        """A number written as a hexadecimal string, perhaps with a minus sign."""
        return hexadecimal(self.text(key), self.where)

    def _typed(self, key: str, kind: type) -> Any:
        if key not in self._value:
            raise self.fail(f"'{key}' is missing")
        value = self._value[key]
        if not isinstance(value, kind):
            raise self.fail(f"'{key}' must be {_NAMES[kind]}, not {_show(value)}")
        return value


_NAMES = {str: "a string", int: "a number", bool: "true or false", list: "an array", dict: "an object"}


def hexadecimal(text: object, where: str) -> int:
    """The number in a hexadecimal string such as 0x1f or -0x1."""
    try:
        return int(str(text), 16)
    except ValueError:
        raise UserError(f"BMv2 JSON, {where}: not a hexadecimal number: {_show(text)}") from None


def checked_width(value: int, where: str) -> int:
    """The width in bits, if it is one that the target can have."""
    if not 0 < value <= MAX_WIDTH:
        raise UserError(f"BMv2 JSON, {where}: a width of {_show(value)} bits is not 1 to {MAX_WIDTH}")
    return value


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
