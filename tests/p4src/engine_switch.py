# SPDX-License-Identifier: Apache-2.0
"""The embedded target's engine as a switch under test, in this process, with a clock that tests move."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.p4src.switch import BUILD, Key, Output, Switch, names

from grasp.control.wire import CPU_PORT
from grasp.targets.v1model import p4load
from grasp.targets.v1model.compile import compile_program
from grasp.targets.v1model.engine import Engine
from grasp.targets.v1model.objects import Call, Replica
from grasp.targets.v1model.translate import translate


@cache
def compiled() -> Path:
    return compile_program(translate(p4load.load((BUILD / "grasp.json").read_bytes())))


class EngineSwitch(Switch):
    real_time = False

    def __init__(self) -> None:
        self.engine = Engine(cpu_port=CPU_PORT)
        self.program = self.engine.load(compiled())
        self.engine.activate(self.program)
        self.now = 1_000_000

    def insert(self, table: str, key: Key, action: str, *args: int) -> None:
        self.program.insert(names("tables")[table], key, Call(names("actions")[action], args))

    def delete(self, table: str, key: Key) -> None:
        self.program.delete(names("tables")[table], key)

    def set_default(self, table: str, action: str, *args: int) -> None:
        self.program.set_default(names("tables")[table], Call(names("actions")[action], args))

    def set_multicast_group(self, group: int, ports: Sequence[int]) -> None:
        self.program.set_multicast_group(group, [Replica(port) for port in ports])

    def pour(self, port: int, frames: Sequence[bytes]) -> Output:
        return [out for frame in frames for out in self.engine.process(port, frame, self.now)]

    def counts(self, counter: str) -> dict[int, int]:
        cells = self.program.read_counters(names("counters")[counter])
        return {index: cell.packets for index, cell in enumerate(cells) if cell.packets}

    def register(self, name: str) -> list[int]:
        """The cells of a register."""
        return self.program.read_registers(name)

    def registers(self) -> dict[str, list[int]]:
        """Every register of the program, by name."""
        return {name: self.register(name) for name in self.program.registers}

    def advance(self, microseconds: int) -> None:
        self.now += microseconds

    def close(self) -> None:
        self.engine.close()
