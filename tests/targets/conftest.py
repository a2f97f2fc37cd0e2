# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
import pytest_asyncio

from . import rig
from .fake_engine import FakeEngine


@pytest.fixture
def engine():
    return FakeEngine()


@pytest_asyncio.fixture
async def port(engine):
    """The gRPC port of a server whose switch has no program yet."""
    server, port = await rig.start(engine)
    yield port
    await server.stop()


@pytest_asyncio.fixture
async def client(port):
    """The primary controller of a switch that runs the test program."""
    async with rig.Client(port) as client:
        await client.arbitrate()
        await client.set_config()
        yield client
