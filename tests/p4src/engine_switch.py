# SPDX-License-Identifier: Apache-2.0
"""The embedded target's engine as a switch under test, in this process, with a clock that tests move."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from grasp.targets.v1model import p4load
from grasp.targets.v1model.compile import compile_program
from grasp.targets.v1model.engine import Engine
from grasp.targets.v1model.objects import Call, Replica
from grasp.targets.v1model.translate import translate

from tests.p4src.switch import BUILD, CPU, Key, Switch, names


@cache
def compiled() -> Path:
    return compile_program(translate(p4load.load((BUILD / "grasp.json").read_bytes())))


class EngineSwitch(Switch):
    real_time = False

    def __init__(self) -> None:
        self.engine = Engine(cpu_port=CPU)
        self.program = self.engine.load(compiled())
        self.engine.activate(self.program)
        self.now = 1_000_000

    def insert(self, table: str, key: Key, action: str, *args: int) -> None:
        self.program.insert(names("tables")[table], key, Call(names("actions")[action], args))

    def delete(self, table: str, key: Key) -> None:
        self.program.delete(names("tables")[table], key)

    def set_default(self, table: str, action: str, *args: int) -> None:
        self.program.set_default(names("tables")[table], Call(names("actions")[action], args))

    def set_multicast_group(self, group: int, ports: list[int]) -> None:
        self.program.set_multicast_group(group, [Replica(port) for port in ports])

    def send(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        return self.engine.process(port, frame, self.now)

    def count(self, counter: str, index: int) -> int:
        return self.program.read_counter(names("counters")[counter], index).packets

    def advance(self, microseconds: int) -> None:
        self.now += microseconds

    def close(self) -> None:
        self.engine.close()
