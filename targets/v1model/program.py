# SPDX-License-Identifier: Apache-2.0
"""A loaded program with its state: entries, registers, groups and the rest. It need not be running."""

from __future__ import annotations

import ctypes
from pathlib import Path

from grasp import UserError
from grasp.targets.v1model.arraystate import ArrayState
from grasp.targets.v1model.descriptors import read_descriptors
from grasp.targets.v1model.tablestate import TableState

_REASONS = {
    -1: "it was compiled for another version of the run time",
    -3: "two of its const entries are equal",
    -7: "out of memory",
}


class Program(TableState, ArrayState):
    """A program that Engine.load has loaded. Raises EngineError for requests it refuses."""

    def __init__(self, lib: ctypes.CDLL, switch: int, path: Path) -> None:
        error = ctypes.c_int()
        self._lib, self._switch = lib, switch
        self._program = read_descriptors(path)
        self._context = lib.v1_load(switch, self._program.address, error)
        if not self._context:
            raise UserError(f"cannot load {path}: {_REASONS.get(error.value, f'error {error.value}')}")

    def activate(self) -> int:
        """Let the switch run it; Engine.activate calls this. Returns how many programs the switch had."""
        _, context = self._running()
        return self.check(self._lib.v1_activate(self._switch, context), "cannot run the program")

    def close(self) -> None:
        """Forget it and its state; not while it runs. To be called once or more."""
        if self._context:
            self._lib.v1_unload(self._context)
        self._context = None
