# SPDX-License-Identifier: Apache-2.0
"""The controller against real P4Runtime targets that run the compiled program, without any interface.

Packets that a site would send enter by INJECT; what the controller sends a site is read where it leaves.
"""

import asyncio
import contextlib
import shutil
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import finsy as fy
import pytest
from rig import Agent, Events, ring_config

from grasp.control.core import Core, Install, Remove, Send
from grasp.control.p4runtime.controller import Controller
from grasp.control.p4runtime.entries import to_state, wildcards
from grasp.control.p4runtime.session import connect
from grasp.control.state import PINNED, Entry
from grasp.control.store import Store
from grasp.control.wire import Operation, PacketOut
from grasp.schedulers.registry import scheduler
from grasp.targets.interface import SwitchConfig, find

pytestmark = [
    pytest.mark.packet,
    pytest.mark.parametrize(
        "target",
        ["v1model", pytest.param("bmv2", marks=pytest.mark.skipif(
            shutil.which("simple_switch_grpc") is None, reason="simple_switch_grpc is not on PATH"))],
    ),
]  # fmt: skip


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Target:
    """A switch process that can be killed and started again."""

    command: tuple[str, ...]
    address: str
    device_id: int = 1
    process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(*self.command, stdout=asyncio.subprocess.DEVNULL)

    async def kill(self) -> None:
        assert self.process is not None
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


@pytest.fixture
async def switch(target: str) -> AsyncIterator[Target]:
    address = f"127.0.0.1:{free_port()}"
    switch = Target(tuple(find(target)(SwitchConfig(1, address, ports={})).command()), address)
    await switch.start()
    yield switch
    await switch.kill()


class Tapped(Controller):
    """A controller whose packets to a site can be read, and to whose switch a site's can be given."""

    def __init__(self, *arguments: object) -> None:
        self.transmitted: list[tuple[int, bytes]] = []
        self.removed: list[Entry] = []
        self.changed = asyncio.Condition()
        super().__init__(*arguments)

    def perform(self, actions):
        actions = list(actions)
        for action in actions:
            if isinstance(action, Send) and action.packet.operation == Operation.TRANSMIT:
                self.transmitted.append((action.packet.port, action.payload))
            elif isinstance(action, Remove):
                self.removed.append(action.entry)
        super().perform(actions)
        asyncio.get_running_loop().create_task(self._note())

    async def _note(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(10), self.changed:
            await self.changed.wait_for(condition)

    async def packet_in(self, raw: bytes, *, reason: int, ingress_port: int) -> None:
        self.perform([Send("s1", PacketOut(Operation.INJECT, port=ingress_port), raw)])


@contextlib.asynccontextmanager
async def controlled(config, schema) -> AsyncIterator[tuple[Tapped, Events]]:
    events = Events()
    with contextlib.closing(Store(config.store)) as store:
        core = Core(config, scheduler(config.scheduler), store, 0)
        controller = Tapped(config, core, schema, events)
        task = asyncio.create_task(controller.run())
        try:
            yield controller, events
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


async def held(switch: Target, schema: fy.P4Schema):
    """Read a switch beside its controller; reading takes no primary."""
    async with connect(switch.address, schema, 1) as reader:
        return to_state(await reader.read(wildcards()), schema)


async def test_a_site_is_served_across_restarts_of_switch_and_controller(switch, schema, tmp_path):
    config = ring_config([switch], tmp_path)
    async with controlled(config, schema) as (controller, events):
        await events.until("switch_up", fresh=True)
        await events.until("reconciled", switch="s1")
        agent = Agent(controller, 1)
        await agent.register()
        await agent.report(1000, 5.0)
        await events.until("forecast_acknowledged", site="site1", epoch=1000, budget_wh=5.0)
        wanted = controller._core.desired("s1")
        assert ("local_sites", (1,)) in wanted.entries
        assert await held(switch, schema) == wanted

        await switch.kill()
        await events.until("switch_down")
        await switch.start()
        await events.until("switch_up", fresh=True)
        await events.until("forecast_acknowledged", site="site1", epoch=1000, budget_wh=5.0)
        assert await held(switch, schema) == wanted

    async with controlled(config, schema) as (controller, events):
        await events.until("switch_up", fresh=False)
        await events.until("reconciled", switch="s1", written=0)
        agent.switch = controller
        assert (await agent.report(1000, 6.0)).status == 0
        await events.until("forecast_acknowledged", site="site1", epoch=1000, budget_wh=6.0)
        status = controller._core.status(0)
        assert [site["headroom_wh"] for site in status["sites"]] == [6.0]


async def test_a_pinned_connection_is_forgotten_when_it_is_silent(switch, schema, tmp_path):
    pin = Entry(PINNED, (7, 0x0A000001, 40000), "pin", (1,), idle_timeout_us=300_000)
    async with controlled(ring_config([switch], tmp_path), schema) as (controller, events):
        await events.until("reconciled", switch="s1")
        controller.perform([Install("s1", pin)])
        await controller.until(lambda: controller.removed == [pin])
        await controller.until(lambda: pin.key not in controller._drivers["s1"]._written.entries)
        assert pin.key not in (await held(switch, schema)).entries
