# SPDX-License-Identifier: Apache-2.0
"""Faults in a running network: what breaks, what must not, and how long it takes until all is well again.

While connections are opened all the time and live for seconds, and hours with new forecasts go by:

1. the agent of the site that gets most jobs is killed, a client forges its heartbeats, the agent comes back;
2. the cable between that site's switch and another is cut, and joined again;
3. a switch is killed, and started again;
4. the controller is killed, hours go by without it, and it is started again.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from grasp.control.admin import ask
from grasp.schedulers.base import FloatArray
from grasp.targets.interface import Target
from grasp.topo.configuration import HEARTBEAT, SERVICE_ADDRESS, SERVICE_PORT, Files, switch_name
from grasp.topo.crafted import Seen, heartbeat, probe
from grasp.topo.emulation import Emulation, Recording
from grasp.topo.hours import Hours
from grasp.topo.processes import Program
from grasp.topo.topology import Host, Switch, Topology, Trunk
from grasp.topo.traffic import Order, Outcome

SECONDS_PER_HOUR = 2.0
JOB_ENERGY = 10.0
_HOURS = 40
_FAVOURITE, _OTHERS = 9000.0, 4000.0  # Wh an hour: the favourite is ahead in all of its hours
_JOBS_PER_SECOND = 40
_HOLD, _EXCHANGES = 3.0, 15
_BATCH = 0.5  # seconds of orders given at a time
_OBSERVE = 0.6  # seconds in which nothing may come after a fault: five times the expiry


@dataclass
class Findings:
    """What the trial found; times in milliseconds. The numbers after `forecasts_lost` must be 0."""

    last_job_after_heartbeat_ms: float = 0.0  # of the dead site: its last new job, after its last heartbeat
    heartbeat_interval_ms: float = HEARTBEAT / 1e3
    agent_back_ms: float = 0.0  # from the start of its process to the site's next job
    longest_wait_after_cut_ms: float = 0.0  # of any answer on a connection that ran over the cut cable
    connections_over_cut: int = 0
    link_noticed_ms: float = 0.0
    link_back_ms: float = 0.0
    switch_back_ms: float = 0.0  # from the start of its process until it is reconciled
    switch_jobs_back_ms: float = 0.0  # until a job of a client there was answered
    forecasts_back_ms: float = 0.0  # until its sites' forecasts are in it again
    controller_back_ms: float = 0.0  # from the start of its process until every switch is reconciled
    controller_forecasts_ms: float = 0.0  # until the forecasts of the present hour are in the switches
    jobs: int = 0
    failed_elsewhere: list[str] = field(default_factory=list)  # jobs that no fault excuses
    forecasts_lost: list[str] = field(default_factory=list)
    moved: int = 0  # connections that two sites answered
    resets: int = 0  # that sites sent to segments of connections which were not theirs


async def trial(topology: Topology, target: Target, files: Files, recording: Recording) -> Findings:
    """Build the network, make the faults one after the other, and return what was found.

    Must run in a world of its own (`isolation.enter`).
    """
    try:
        async with asyncio.TaskGroup() as group:
            emulation = Emulation(topology, target, files, recording, group)
            faults = Faults(emulation)
            try:
                await faults.prepare()
                ordering = group.create_task(faults.keep_ordering())
                await faults.kill_agent()
                await faults.cut_link()
                await faults.kill_switch()
                await faults.kill_controller()
                ordering.cancel()
                return await faults.conclude()
            finally:
                await emulation.stop()
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None


class Faults:
    """The faults, and what is watched meanwhile."""

    def __init__(self, emulation: Emulation) -> None:
        self.findings = Findings()
        self._emulation = emulation
        self._topology = emulation.topology
        self._site = self._topology.sites[0]
        self._energy = np.full((_HOURS, len(self._topology.sites)), _OTHERS)
        self._energy[:, 0] = _FAVOURITE
        self._hours = Hours(emulation, self._energy, 1000, SECONDS_PER_HOUR)
        self._ordered: dict[int, Host] = {}  # who was told to do a job
        self._seen: list[Seen] = []  # at the favourite site
        self._noticed = asyncio.Event()
        self._excused: list[tuple[float, float, Switch]] = []  # when a switch was away (CLOCK_MONOTONIC)

    async def prepare(self) -> None:
        """Bring the network up and wait for the first hour."""
        begun = time.monotonic()
        await self._emulation.start_hosts_and_switches()
        watcher = await self._emulation.start_crafted("watch", self._site)
        watcher.receive = self._take_frame
        await self._hours.prepare("green", JOB_ENERGY, time.monotonic() - begun + 2.5)
        await self._hours.begin(0)

    async def keep_ordering(self) -> None:
        """Order jobs from all clients in turn until cancelled."""
        clients = self._topology.clients
        job, at = 0, time.monotonic() + 0.05
        while True:
            until = time.monotonic() + _BATCH
            while at < until:
                client = clients[job % len(clients)]
                self._ordered[job] = client
                order = Order(
                    hour=0,
                    job=job,
                    at=at,
                    address=SERVICE_ADDRESS,
                    port=SERVICE_PORT,
                    exchanges=_EXCHANGES,
                    hold=_HOLD,
                )
                await self._emulation.programs[client.node].tell(asdict(order))
                job, at = job + 1, at + 1 / _JOBS_PER_SECOND
            await asyncio.sleep(_BATCH / 2)

    async def kill_agent(self) -> None:
        """Kill the favourite's agent; a liar takes its part; then start it again."""
        await self._next("syn")  # it gets jobs
        name = f"agent-{self._site.label}"
        liar = await self._emulation.start_crafted("send", self._topology.clients[-1])
        await self._emulation.programs[name].kill()
        killed = time.time()
        epoch = self._hours.epoch_now()
        for sequence in range(10):
            for frame in (
                heartbeat(0, self._site.mac),
                probe(0, self._site.mac, epoch + 1, sequence, 2**40),
            ):
                await liar.write_line(frame.hex())
            await asyncio.sleep(_OBSERVE / 10)
        await liar.end()
        last = max(seen.time for seen in self._seen if seen.kind == "heartbeat")
        syns = [seen.time for seen in self._seen if seen.kind == "syn"]
        assert last < killed + 0.01
        self.findings.last_job_after_heartbeat_ms = (max(syns) - last) * 1e3
        begin = time.time()
        await self._emulation.start_agent(self._site)
        await self._next("syn")
        self.findings.agent_back_ms = (time.time() - begin) * 1e3
        await self._forecasts_in_place()

    async def cut_link(self) -> None:
        """Cut the cable between the favourite's switch and the next one; join it again."""
        trunk, other = self._trunk_of(self._site.switch)
        feed = self._emulation.feed
        downs, ups = len(feed.named("link_down")), len(feed.named("link_up"))
        self._emulation.network.set_link(trunk, up=False)
        cut, begin = time.monotonic(), time.time()
        await self._emulation.awaited("the cut link", lambda: len(feed.named("link_down")) > downs)
        self.findings.link_noticed_ms = (time.time() - begin) * 1e3
        await asyncio.sleep(_HOLD)  # the connections that ran over it go on
        running = [
            outcome
            for outcome in self._emulation.outcomes
            if outcome.opened < cut < outcome.closed and self._ordered[outcome.job].switch == other
        ]
        self.findings.connections_over_cut = len(running)
        self.findings.longest_wait_after_cut_ms = max(outcome.slowest_us for outcome in running) / 1e3
        begin = time.time()
        self._emulation.network.set_link(trunk, up=True)
        await self._emulation.awaited("the joined link", lambda: len(feed.named("link_up")) > ups)
        self.findings.link_back_ms = (time.time() - begin) * 1e3
        await self._forecasts_in_place()

    async def kill_switch(self) -> None:
        """Kill a switch that is not the favourite's; start it again."""
        _, switch = self._trunk_of(self._site.switch)
        sites = {site.label for site in self._topology.sites if site.switch == switch}
        away = time.monotonic()
        await self._emulation.programs[switch.node].kill()
        await asyncio.sleep(_OBSERVE)
        begin = time.time()
        await self._emulation.start_switch(switch)

        def after(event: str) -> list[dict[str, Any]]:
            return [item for item in self._emulation.feed.named(event) if item["time"] > begin]

        await self._emulation.awaited(
            "the switch", lambda: switch_name(switch) in {item["switch"] for item in after("reconciled")}
        )
        self.findings.switch_back_ms = (time.time() - begin) * 1e3
        await self._emulation.awaited(
            "its forecasts", lambda: sites <= {item["site"] for item in after("forecast_acknowledged")}
        )
        self.findings.forecasts_back_ms = (time.time() - begin) * 1e3
        back = time.monotonic()
        await self._outcome(
            lambda outcome: outcome.opened > away
            and bool(outcome.sites)
            and self._ordered[outcome.job].switch == switch
        )
        first = min(
            outcome.opened
            for outcome in self._emulation.outcomes
            if outcome.opened > away and outcome.sites and self._ordered[outcome.job].switch == switch
        )
        self.findings.switch_jobs_back_ms = max(first - back, 0) * 1e3 + self.findings.forecasts_back_ms
        self._excused.append((away, back + 1.0, switch))
        await self._forecasts_in_place()

    async def kill_controller(self) -> None:
        """Kill the controller, let hours go by, start it again."""
        await self._emulation.programs["controller"].kill()
        await asyncio.sleep(1.5 * SECONDS_PER_HOUR)
        begin = time.time()
        await self._emulation.start_controller()
        switches = {switch_name(switch) for switch in self._topology.switches}
        sites = {site.label for site in self._topology.sites}

        def after(event: str, key: str) -> set[object]:
            return {item[key] for item in self._emulation.feed.named(event) if item["time"] > begin}

        await self._emulation.awaited("the switches", lambda: switches <= after("reconciled", "switch"))
        self.findings.controller_back_ms = (time.time() - begin) * 1e3
        await self._emulation.awaited(
            "the forecasts", lambda: sites <= self._hours.acknowledged(self._hours.epoch_now())
        )
        self.findings.controller_forecasts_ms = (time.time() - begin) * 1e3
        await self._forecasts_in_place()

    async def conclude(self) -> Findings:
        """Wait for the jobs that are under way, and judge."""
        findings, emulation = self.findings, self._emulation
        await emulation.all_outcomes(len(self._ordered), _HOLD + 10)
        findings.jobs = len(emulation.outcomes)
        for outcome in emulation.outcomes:
            findings.moved += len(outcome.sites) > 1
            if outcome.error is not None and not self._excuse(outcome):
                client = self._ordered[outcome.job]
                findings.failed_elsewhere.append(f"{client.node}, job {outcome.job}: {outcome.error}")
        findings.resets = sum(summary["resets"] for summary in await emulation.server_summaries())
        return findings
