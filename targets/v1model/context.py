# SPDX-License-Identifier: Apache-2.0
"""What all parts of a program stand on: its descriptors, its context in C, errors as exceptions."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from grasp import UserError
from grasp.targets.v1model.descriptors import Descriptors
from grasp.targets.v1model.objects import (
    ActionInfo,
    ArrayInfo,
    Code,
    DigestInfo,
    EngineError,
    ProfileInfo,
    TableInfo,
)  # fmt: skip


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Item = TypeVar("_Item", bound=_Named)

_REASONS = {
    -1: (Code.INVALID_ARGUMENT, "not allowed here"),
    -2: (Code.NOT_FOUND, "there is none"),
    -3: (Code.ALREADY_EXISTS, "it exists"),
    -4: (Code.RESOURCE_EXHAUSTED, "full"),
    -5: (Code.PERMISSION_DENIED, "constant: the program does not let it change"),
    -6: (Code.FAILED_PRECONDITION, "still in use"),
    -7: (Code.RESOURCE_EXHAUSTED, "out of memory"),
}


class Context:
    """A program on a switch; what can be done with its state is in subclasses."""

    _lib: ctypes.CDLL
    _switch: int
    _context: int | None
    _program: Descriptors | None

    def _running(self) -> tuple[Descriptors, int]:
        """The program's descriptors and its context in C."""
        if self._program is None or self._context is None:
            raise EngineError(Code.FAILED_PRECONDITION, "the program is closed")
        return self._program, self._context

    @staticmethod
    def check(status: int, what: str) -> int:
        """Turn the run time's error codes into exceptions."""
        if status >= 0:
            return status
        if status in _REASONS:
            code, reason = _REASONS[status]
            raise EngineError(code, f"{what}: {reason}")
        raise UserError(f"{what}: {os.strerror(ctypes.get_errno())}")

    @staticmethod
    def _number(items: Sequence[_Named], name: str, kind: str) -> int:
        """The place of an object in its descriptors, which is the run time's number for it."""
        for number, item in enumerate(items):
            if item.name == name:
                return number
        raise EngineError(Code.NOT_FOUND, f"the program has no {kind} {name}")

    @staticmethod
    def _list(count: Callable[[Any, int], int]) -> list[int]:
        """Numbers from a function that writes up to so many and returns how many there are."""
        room = count(None, 0)
        while True:
            array = (ctypes.c_uint32 * room)()
            there = count(array, room)
            if there <= room:
                return list(array[:there])
            room = there

    # ---- what the program has (name -> description); empty when closed

    def _named(self, items: Sequence[_Item]) -> Mapping[str, _Item]:
        return {item.name: item for item in reversed(items)}

    @property
    def tables(self) -> Mapping[str, TableInfo]:
        """Tables."""
        return self._named(self._program.tables if self._program else ())

    @property
    def value_sets(self) -> Mapping[str, TableInfo]:
        """Parser value sets."""
        return self._named(self._program.value_sets if self._program else ())

    @property
    def actions(self) -> Mapping[str, ActionInfo]:
        """Actions; of several with one name, the first."""
        return self._named(self._program.actions if self._program else ())

    @property
    def profiles(self) -> Mapping[str, ProfileInfo]:
        """Action profiles and selectors."""
        return self._named(self._program.profiles if self._program else ())

    @property
    def registers(self) -> Mapping[str, ArrayInfo]:
        """Registers."""
        return self._named(self._program.registers if self._program else ())

    @property
    def counters(self) -> Mapping[str, ArrayInfo]:
        """Indirect counters."""
        return self._named(self._program.counters if self._program else ())

    @property
    def meters(self) -> Mapping[str, ArrayInfo]:
        """Indirect meters."""
        return self._named(self._program.meters if self._program else ())

    @property
    def digests(self) -> Mapping[str, DigestInfo]:
        """Digests."""
        return self._named(self._program.digests if self._program else ())
