# SPDX-License-Identifier: Apache-2.0
"""Every test that asks for a switch runs on each thing that can run the program here."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.p4src import namespace
from tests.p4src.engine_switch import EngineSwitch
from tests.p4src.p4runtime_switch import P4RuntimeSwitch
from tests.p4src.site_switch import PORTS, configure
from tests.p4src.switch import Switch


def command(target: str) -> list[str]:
    """How a target is started; skips the test where it cannot be."""
    if reason := namespace.unavailable():
        pytest.skip(reason)
    if target == "bmv2":
        if not (program := shutil.which("simple_switch_grpc")):
            pytest.skip("simple_switch_grpc is not on PATH")
        return [program, "--no-p4"]
    return [str(Path(sys.executable).with_name("grasp")), "switch", "--no-p4"]


class Runner:
    """Gives each test a switch in its first state: a new engine, or a process that goes on."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.process: P4RuntimeSwitch | None = None
        self._steady: Switch | None = None
        self._failed = ""

    def steady(self) -> Switch:
        """A configured switch, as the last user of it left it."""
        if self._steady is None:
            self._steady = self.fresh()
            configure(self._steady)
        return self._steady

    def fresh(self) -> Switch:
        self._steady = None
        if self.target == "engine":
            return EngineSwitch()
        if self.process and not self.process.running:
            self.close()
        if self.process:
            self.process.reset()
            return self.process
        if self._failed:
            pytest.fail(self._failed)  # at once: each test would wait for it again
        try:
            self.process = P4RuntimeSwitch(command(self.target), PORTS)
        except RuntimeError as error:
            self._failed = str(error)
            raise
        return self.process

    def close(self) -> None:
        if self.process:
            self.process.close()
            self.process = None


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    return argname if isinstance(val, bytes) else None


TARGETS = [
    pytest.param("engine", marks=pytest.mark.packet),
    pytest.param("v1model", marks=[pytest.mark.packet, pytest.mark.network]),
    pytest.param("bmv2", marks=pytest.mark.network),
]


@pytest.fixture(scope="session", params=TARGETS)
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    runner = Runner(request.param)
    yield runner
    runner.close()


@pytest.fixture
def blank(runner: Runner) -> Iterator[Switch]:
    """A switch with the program and no entries."""
    switch = runner.fresh()
    yield switch
    if isinstance(switch, EngineSwitch):
        switch.close()


@pytest.fixture
def switch(blank: Switch) -> Switch:
    """The switch of site_switch.py."""
    configure(blank)
    return blank


@pytest.fixture
def steady(runner: Runner) -> Switch:
    """The same, shared by tests that leave nothing behind: a new one costs a process most of their time."""
    return runner.steady()
