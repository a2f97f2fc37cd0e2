# SPDX-License-Identifier: Apache-2.0
"""The controller as a process: the core, a driver for each switch, a clock, and the outside's ways in."""

import asyncio
import contextlib
from collections.abc import Iterable

import finsy as fy

from grasp import UserError
from grasp.control import admin, metrics
from grasp.control.clock import now_us
from grasp.control.config import Config
from grasp.control.core import Action, Core, Event
from grasp.control.events import EventLog
from grasp.control.p4runtime.switch import SwitchDriver
from grasp.control.tasks import until_one_fails


class Controller:
    """Drives every switch of a configuration."""

    def __init__(self, config: Config, core: Core, schema: fy.P4Schema, events: EventLog):
        self._config = config
        self._core = core
        self._events = events
        self._drivers = {
            switch.name: SwitchDriver(switch, schema, core, self.perform, events.emit)
            for switch in config.switches
        }

    def perform(self, actions: Iterable[Action]) -> None:
        """Pass the core's actions on to the drivers and the event log."""
        for action in actions:
            if isinstance(action, Event):
                self._events.emit(action.name, **action.fields)
            else:
                self._drivers[action.switch].submit(action)

    async def run(self) -> None:
        """Run until cancelled; UserError when an address of the configuration cannot be used."""
        async with contextlib.AsyncExitStack() as stack:
            if self._config.admin is not None:
                await stack.enter_async_context(admin.serve(self._config.admin, self._answer))
            if self._config.metrics is not None:
                await stack.enter_async_context(metrics.serve(self._config.metrics, self._read))
            self._events.emit("ready", switches=len(self._drivers))
            stack.callback(self._events.emit, "end")
            await until_one_fails(self._tick(), *(driver.run() for driver in self._drivers.values()))

    async def _tick(self) -> None:
        """Call the core when it is due; epochs, discovery, readings and repeats are its business."""
        while True:
            self.perform(self._core.tick(now_us()))
            await asyncio.sleep((self._core.next_tick(now_us()) - now_us()) / 1e6)

    async def _read(self) -> metrics.Reading:
        """Read what is counted, here and in the switches."""
        counters = await asyncio.gather(*(driver.counters() for driver in self._drivers.values()))
        return metrics.Reading(
            up={name: driver.up for name, driver in self._drivers.items()},
            switches=dict(zip(self._drivers, counters, strict=True)),
            controller=dict(self._core.counters),
            status=self._core.status(now_us()),
        )

    async def _answer(self, request: admin.Request) -> object:
        """Do what an administrator asks."""
        match request:
            case {"command": "status"}:
                return self._status()
            case {"command": "drain" | "undrain" as command, "site": str(name)}:
                site = next((site for site in self._config.sites if site.name == name), None)
                if site is None:
                    known = ", ".join(site.name for site in self._config.sites)
                    raise UserError(f"no site is named {name!r}; the sites are {known}")
                self.perform(self._core.drain(site.id, command == "drain", now_us()))
                jobs = "no new jobs; its connections stay" if command == "drain" else "new jobs again"
                return f"{name} gets {jobs}"
        raise UserError("a request is status, drain or undrain, the latter two with a site")

    def _status(self) -> dict[str, object]:
        """Return what is known and counted, in JSON's terms."""
        return {
            "switches": {
                name: {"address": driver.address, "up": driver.up} for name, driver in self._drivers.items()
            },
            "counters": dict(self._core.counters),
            **self._core.status(now_us()),
        }
