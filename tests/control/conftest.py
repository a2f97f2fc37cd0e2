# SPDX-License-Identifier: Apache-2.0
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import finsy as fy
import pytest

from grasp.control.p4runtime.pipeline import load_pipeline

sys.path.insert(0, str(Path(__file__).parent))  # for the helpers that lie beside the tests

from fake_switch import FakeSwitch

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def schema() -> fy.P4Schema:
    return load_pipeline(REPOSITORY / "p4src" / "build")


@pytest.fixture
async def fake(schema: fy.P4Schema) -> AsyncIterator[Callable[..., Awaitable[FakeSwitch]]]:
    """Start any number of fake switches; they end with the test."""
    started: list[FakeSwitch] = []

    async def start(device_id: int = 1) -> FakeSwitch:
        started.append(await FakeSwitch(schema, device_id).start())
        return started[-1]

    yield start
    for switch in started:
        await switch.stop()
