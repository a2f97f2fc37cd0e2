# SPDX-License-Identifier: Apache-2.0
"""The controller as a process of its own: how it ends, and what is left when it does not get to end."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from rig import Agent, ring_config

from grasp.control.config import Config
from grasp.control.config_dump import dump

GRASP_CONTROLLER = (sys.executable, "-m", "grasp.control.cli", "controller")


@dataclass
class Process:
    """A running `grasp controller` and the events that it wrote."""

    process: asyncio.subprocess.Process
    pipe: asyncio.StreamReader
    seen: list[dict[str, object]] = field(default_factory=list)

    async def until(self, event: str, **wanted: object) -> dict[str, object]:
        async with asyncio.timeout(10):
            while True:
                fields = json.loads(await self.pipe.readline())
                self.seen.append(fields)
                if {"event": event, **wanted}.items() <= fields.items():
                    return fields

    async def end(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        async with asyncio.timeout(10):
            return await self.process.wait()


@pytest.fixture
async def controller(tmp_path) -> AsyncIterator[Callable[..., object]]:
    """Start `grasp controller`; what is left of it ends with the test."""
    async with contextlib.AsyncExitStack() as stack:

        async def start(config: Path) -> Process:
            path = tmp_path / "events"
            path.unlink(missing_ok=True)
            os.mkfifo(path)
            reader = asyncio.StreamReader()
            pipe = stack.enter_context(os.fdopen(os.open(path, os.O_RDWR | os.O_NONBLOCK), "rb"))
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), pipe
            )
            stack.callback(transport.close)
            process = await asyncio.create_subprocess_exec(
                *GRASP_CONTROLLER, "--config", config, "--events", path
            )  # fmt: skip
            stack.push_async_callback(process.wait)
            stack.callback(lambda: process.returncode is None and process.kill())
            return Process(process, reader)

        yield start


def written(config: Config) -> Config:
    """Write a configuration to the file that it names."""
    Path(config.source).write_text(dump(config))
    return config


async def run(*arguments: str | Path) -> tuple[int, str, str]:
    """Run `grasp controller` to its end; return status, output and errors."""
    process = await asyncio.create_subprocess_exec(
        *GRASP_CONTROLLER, *arguments,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(10):
        output, errors = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode(), errors.decode()


async def test_a_killed_controllers_successor_goes_on_and_ends_on_sigterm(fake, tmp_path, controller):
    switch = await fake()
    config = written(ring_config([switch], tmp_path))
    first = await controller(config.source)
    await first.until("reconciled", switch="s1")
    agent = Agent(switch, 1)
    await agent.register()
    await agent.report(1000, 5.0)
    await first.until("forecast_acknowledged", site="site1", epoch=1000)
    assert await first.end(signal.SIGKILL) == -signal.SIGKILL
    await switch.until(lambda: not switch._streams)
    switch.sites[1].headroom -= 1500
    writes = len(switch.writes)

    second = await controller(config.source)
    await second.until("reconciled", switch="s1", written=0)
    await second.until("forecast_acknowledged", site="site1", epoch=1000, budget_wh=5.0)
    assert (await agent.report(1000, 6.0)).status == 0  # by the session of before
    await second.until("forecast_acknowledged", budget_wh=6.0)
    assert (switch.pipelines_set, len(switch.writes)) == (1, writes)
    assert switch.sites[1].headroom == 4500
    assert switch.primaries[1] > switch.primaries[0]

    status, output, _ = await run("--config", config.source, "status")
    assert status == 0
    assert json.loads(output)["switches"] == {"s1": {"address": switch.address, "up": True}}
    assert (await run("drain", "site1", "--config", config.source))[0] == 0
    status, _, errors = await run("--config", config.source, "drain", "atlantis")
    assert (status, errors.count("\n")) == (2, 1)
    assert "the sites are site1" in errors

    assert await second.end(signal.SIGTERM) == 0
    assert second.seen[-1]["event"] != "end"
    await second.until("end")
    assert not config.admin.exists()


async def test_mistakes_are_one_line_and_status_2(tmp_path):
    for arguments in ((), ("--config", tmp_path / "missing.toml")):
        status, _, errors = await run(*arguments)
        assert (status, errors.count("\n")) == (2, 1)
        assert errors.startswith("grasp: ")
