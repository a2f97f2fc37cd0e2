# SPDX-License-Identifier: Apache-2.0
"""Reads a TOML table key by key; a mistake is a UserError that names file, key and what is allowed."""

import math
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from ipaddress import IPv4Address
from pathlib import Path
from typing import NoReturn

from grasp import UserError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")
_MAC = re.compile(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}")
_SECRET_BYTES = 16


class Table:
    """A table of the file `source`, found at `where` (empty for the top). `done` refuses what nobody took.

    The getters raise UserError for a missing key unless a default is given, and for a value of another type
    or range; TOML booleans are never taken for numbers.
    """

    def __init__(self, source: str, where: str, data: dict[str, object]) -> None:
        self.source = source
        self.where = where
        self._data = data
        self._asked: list[str] = []

    def fail(self, key: str, what: str) -> NoReturn:
        """Raise a UserError about `key`, or about the whole table when `key` is empty."""
        path = ".".join(part for part in (self.where, key) if part)
        raise UserError(f"{self.source}: {path}: {what}" if path else f"{self.source}: {what}")

    def has(self, key: str) -> bool:
        """Whether the key is there; it counts as known."""
        self._asked.append(key)
        return key in self._data

    def keys(self) -> Iterable[str]:
        """Return the keys, for tables whose keys are the user's own names."""
        return self._data.keys()

    def done(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self._data:
            if key not in self._asked:
                self.fail(key, f"unknown key; known here are {', '.join(sorted(set(self._asked)))}")

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string."""
        value = self._take(key, default)
        if not isinstance(value, str) or not value:
            self.fail(key, f"{value!r} is not a text in quotes")
        return value

    def name(self, key: str) -> str:
        """Return a name: up to 32 letters, digits, '_', '.', '-', with a letter or digit first."""
        value = self.text(key)
        if not NAME.fullmatch(value):
            self.fail(
                key, f"{value!r} is not a name: up to 32 of A-Z a-z 0-9 _ . - with a letter or digit first"
            )
        return value

    def integer(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """Return an integer from `low` to `high`."""
        value = self._take(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            self.fail(key, f"{value!r} is not an integer from {low} to {high}")
        return value

    def number(self, key: str, low: float, high: float, default: float | None = None) -> float:
        """Return a finite number from `low` to `high`."""
        value = self._take(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            self.fail(key, f"{value!r} is not a number from {low:g} to {high:g}")
        return float(value)

    def seconds(self, key: str, low: float, high: float, default: float | None = None) -> int:
        """Return a number of seconds from `low` to `high`, as whole microseconds."""
        return round(self.number(key, low, high, default) * 1e6)

    def moment(self, key: str) -> int:
        """Return a TOML date-time with an offset, as microseconds since 1970-01-01 UTC."""
        value = self._take(key, None)
        if not isinstance(value, datetime) or value.tzinfo is None or value.timestamp() < 0:
            self.fail(key, f"{value!r} is not a date and time with an offset, such as 2030-06-21T00:00:00Z")
        return math.floor(value.timestamp()) * 1_000_000 + value.microsecond

    def choice(self, key: str, allowed: Iterable[str], default: str | None = None) -> str:
        """Return one of the allowed texts."""
        value, known = self.text(key, default), list(allowed)
        if value not in known:
            self.fail(key, f"{value!r} is not one of {', '.join(known)}")
        return value

    def address(self, key: str) -> IPv4Address:
        """Return a host's IPv4 address."""
        return self._address(key, self.text(key))

    def addresses(self, key: str) -> tuple[IPv4Address, ...]:
        """Return a list of hosts' IPv4 addresses, at least one."""
        return tuple(self._address(key, value) for value in self._list(key, str, "addresses"))

    def integers(self, key: str, allowed: Callable[[int], bool], what: str) -> tuple[int, ...]:
        """Return a list of different integers, at least one, each `allowed`."""
        values: list[int] = self._list(key, int, what)
        for value in values:
            if isinstance(value, bool) or not allowed(value):
                self.fail(key, f"{value!r} is not allowed; {what}")
        for value in values:
            if values.count(value) > 1:
                self.fail(key, f"{value} is there twice")
        return tuple(values)

    def mac(self, key: str) -> bytes:
        """Return a unicast hardware address as 6 bytes."""
        value = self.text(key)
        if not _MAC.fullmatch(value):
            self.fail(key, f"{value!r} is not a hardware address such as 02:00:00:00:00:01")
        raw = bytes.fromhex(value.replace(":", ""))
        if raw[0] & 1 or not any(raw):
            self.fail(key, f"{value} is not a unicast hardware address")
        return raw

    def path(self, key: str) -> Path:
        """Return an absolute path; in the file, a relative one starts at the file's folder."""
        return (Path(self.source).parent / self.text(key)).absolute()

    def secret(self, key: str, value: str | None = None) -> bytes:
        """Return a secret written in hexadecimal digits; `value` when it was read from a file."""
        text = self.text(key) if value is None else value.strip()
        try:
            secret = bytes.fromhex(text)
        except ValueError:
            secret = b""
        if len(secret) < _SECRET_BYTES:
            self.fail(
                key, f"a secret is at least {2 * _SECRET_BYTES} hexadecimal digits (openssl rand -hex 32)"
            )
        return secret

    def table(self, key: str, *, required: bool = True) -> "Table":
        """Return the table [key]; an empty one when it is missing and not required."""
        value = self._take(key, None if required else {})
        if not isinstance(value, dict):
            self.fail(key, f"must be a table: [{key}]")
        return Table(self.source, ".".join(part for part in (self.where, key) if part), value)

    def tables(self, key: str) -> list["Table"]:
        """Return the tables [[key]], at least one; they are called key[1], key[2], ... with their names."""
        value = self._take(key, None)
        if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
            self.fail(key, f"must be a list of tables, at least one: [[{key}]]")
        return [
            Table(
                self.source, f"{key}[{number}]" + (f" ({name})" if (name := item.get("name")) else ""), item
            )
            for number, item in enumerate(value, 1)
        ]

    def _take(self, key: str, default: object) -> object:
        if self.has(key):
            return self._data[key]
        if default is None:
            self.fail(key, "is missing")
        return default

    def _list(self, key: str, kind: type, what: str) -> list:  # type: ignore[type-arg]
        value = self._take(key, None)
        if not isinstance(value, list) or not value or not all(isinstance(item, kind) for item in value):
            self.fail(key, f"must be a list, not empty: {what}")
        return value

    def _address(self, key: str, value: str) -> IPv4Address:
        try:
            address = IPv4Address(value)
        except ValueError:
            self.fail(key, f"{value!r} is not an IPv4 address")
        if address.is_multicast or address.is_unspecified or address.is_loopback or address.is_reserved:
            self.fail(key, f"{value} is not an address of a host")
        return address
