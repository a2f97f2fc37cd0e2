# SPDX-License-Identifier: Apache-2.0
"""The OpenFlow controller as a process: the baseline behind a lock, a clock, and the outside's ways in.

os-ken's threads and the event loop both enter here; whoever does takes the lock, asks the baseline, and sends
its commands before the next one may ask, so that every switch gets them in their order.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from grasp import UserError
from grasp.control import admin, metrics
from grasp.control.clock import now_us
from grasp.control.config import Config
from grasp.control.core import Core, Event
from grasp.control.events import EventLog
from grasp.control.openflow import southbound
from grasp.control.openflow.baseline import Baseline
from grasp.control.openflow.commands import Command
from grasp.control.openflow.flows import Flow, Match
from grasp.control.openflow.messages import to_message
from grasp.control.tasks import until_one_fails
from grasp.control.wire import Drop

LOG = logging.getLogger(__name__)


class Controller:
    """Drives every switch of a configuration that connects."""

    def __init__(self, config: Config, core: Core, baseline: Baseline, events: EventLog) -> None:
        self._config = config
        self._core = core
        self._baseline = baseline
        self._events = events
        self._names = {switch.device_id: switch.name for switch in config.switches}
        self._datapaths: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._failure: asyncio.Future[None] = self._loop.create_future()

    async def run(self, endpoint: str) -> None:
        """Run until cancelled; UserError when an address of the configuration cannot be used."""
        async with contextlib.AsyncExitStack() as stack:
            if self._config.admin is not None:
                await stack.enter_async_context(admin.serve(self._config.admin, self._answer))
            if self._config.metrics is not None:
                await stack.enter_async_context(metrics.serve(self._config.metrics, self._read))
            southbound.listen(endpoint, self)
            self._emit("ready", switches=len(self._names))
            stack.callback(self._emit, "end")
            await until_one_fails(self._tick(), self._fail())

    def up(self, datapath: Any, found: list[Flow]) -> None:
        """Take a switch over."""
        name = self._names.get(datapath.id)
        if name is None:
            LOG.warning("switch %s is not in the configuration; it is not driven", datapath.id)
            southbound.hang_up(datapath)
            return
        with self._turn():
            self._datapaths[name] = datapath
            self._emit("switch_up", switch=name, entries=len(found))
            self._send(self._baseline.connected(name, found, now_us()))

    def down(self, datapath: Any) -> None:
        """Note that a switch is gone, unless it has come back by another connection already."""
        with self._turn():
            name = self._name(datapath)
            if name is not None:
                del self._datapaths[name]
                self._baseline.disconnected(name)
                self._emit("switch_down", switch=name)

    def packet_in(self, datapath: Any, port: int, frame: bytes) -> None:
        """Take a packet."""
        with self._turn():
            name = self._name(datapath)
            if name is not None:
                self._send(self._baseline.packet_in(name, port, frame, now_us()))

    def removed(self, datapath: Any, match: Match, cookie: int) -> None:
        """Take the end of an entry."""
        with self._turn():
            name = self._name(datapath)
            if name is not None:
                self._baseline.removed(name, match, cookie)

    def refused(self, datapath: Any, number: int) -> None:
        """Take a switch's refusal of an entry."""
        with self._turn():
            name = self._name(datapath)
            if name is not None:
                self._send(self._baseline.refused(name, number, now_us()))

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Keep others out; an error that a person must see ends the controller."""
        with self._lock:
            try:
                yield
            except UserError as error:
                self._loop.call_soon_threadsafe(self._end, error)

    def _end(self, error: UserError) -> None:
        if not self._failure.done():
            self._failure.set_exception(error)

    async def _fail(self) -> None:
        await self._failure

    async def _tick(self) -> None:
        while True:
            with self._lock:
                self._send(self._baseline.tick(now_us()))
            await asyncio.sleep((self._core.next_tick(now_us()) - now_us()) / 1e6)

    def _name(self, datapath: Any) -> str | None:
        """Return the switch of a connection, None if it has another one or is not taken over yet."""
        name = self._names.get(datapath.id)
        return name if name is not None and self._datapaths.get(name) is datapath else None

    def _send(self, commands: Iterable[Command]) -> None:
        for command in commands:
            if isinstance(command, Event):
                self._emit(command.name, **command.fields)
            else:
                datapath = self._datapaths[command.switch]
                datapath.send_msg(to_message(datapath, command))

    def _emit(self, event: str, **fields: object) -> None:
        self._events.emit(event, **fields)

    async def _read(self) -> metrics.Reading:
        with self._lock:
            sites = max((site.id for site in self._config.sites), default=-1) + 1
            return metrics.Reading(
                up={name: name in self._datapaths for name in self._names.values()},
                switches={
                    name: {
                        "jobs": [self._baseline.jobs[name][site] for site in range(sites)],
                        "drops": [self._baseline.drops[name][reason] for reason in Drop],
                    }
                    for name in self._names.values()
                },
                controller=dict(self._core.counters),
                status=self._core.status(now_us()),
            )

    async def _answer(self, request: admin.Request) -> object:
        """Do what an administrator asks."""
        match request:
            case {"command": "status"}:
                with self._lock:
                    return {
                        "switches": {name: {"up": name in self._datapaths} for name in self._names.values()},
                        "counters": dict(self._core.counters),
                        "connections": len(self._baseline.connections),
                        **self._core.status(now_us()),
                    }
            case {"command": "drain" | "undrain" as command, "site": str(name)}:
                site = next((site for site in self._config.sites if site.name == name), None)
                if site is None:
                    known = ", ".join(site.name for site in self._config.sites)
                    raise UserError(f"no site is named {name!r}; the sites are {known}")
                with self._lock:
                    self._send(self._baseline.drain(site.id, command == "drain", now_us()))
                jobs = "no new jobs; its connections stay" if command == "drain" else "new jobs again"
                return f"{name} gets {jobs}"
        raise UserError("a request is status, drain or undrain, the latter two with a site")
