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
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from grasp.control.admin import ask
from grasp.targets.interface import Target
from grasp.topo.configuration import HEARTBEAT, SERVICE_ADDRESS, SERVICE_PORT, Files, switch_name
from grasp.topo.crafted import Seen, heartbeat, probe
from grasp.topo.emulation import Emulation, Recording
from grasp.topo.hours import Hours
from grasp.topo.metrics import scrape
from grasp.topo.pulse import Pulse
from grasp.topo.topology import Host, Switch, Topology, Trunk
from grasp.topo.traffic import Order, Outcome

SECONDS_PER_HOUR = 2.0
JOB_ENERGY = 10.0
_HOURS = 40
_FAVOURITE, _OTHERS = 9000.0, 4000.0  # Wh an hour: the favourite is ahead in all of its hours
_JOBS_PER_SECOND = 40
_HOLD, _EXCHANGES = 3.0, 15
_BATCH = 0.5  # seconds of orders given at a time
_FORGERIES = 10
_PATIENCE = 10.0
_POLL = 0.1
_OBSERVE = 0.6  # seconds in which nothing may come after a fault: five times the expiry


@dataclass
class Findings:
    """What the trial found; times in milliseconds. What follows `jobs` must be 0 or empty."""

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
    forgeries_refused: int = 0  # heartbeats and probes that a client sent in the dead site's name
    jobs: int = 0
    unfinished: int = 0
    failed_elsewhere: list[str] = field(default_factory=list)  # jobs that no fault excuses
    forecasts_lost: list[str] = field(default_factory=list)
    moved: int = 0  # connections that two sites answered
    resets: int = 0  # that sites sent to segments of connections which were not theirs


async def trial(topology: Topology, target: type[Target], files: Files, recording: Recording) -> Findings:
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
        self._ordered: dict[int, tuple[float, Host]] = {}  # when a job is to be opened, and by whom
        self._seen: list[Seen] = []  # at the favourite site
        self._noticed = Pulse()
        self._away: list[tuple[float, float, Switch]] = []  # when a switch was away (CLOCK_MONOTONIC)

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
                self._ordered[job] = (at, client)
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
        epoch = self._hours.epoch_now()
        for sequence in range(_FORGERIES):
            lie = probe(0, self._site.mac, epoch + 1, sequence, headroom=2**40)
            await liar.tell(heartbeat(0, self._site.mac).hex(), lie.hex())
            await asyncio.sleep(_OBSERVE / _FORGERIES)
        await liar.end()
        drops = (await asyncio.to_thread(scrape))["grasp_drops"]
        self.findings.forgeries_refused = drops["spoofed"] + drops["unbound_site"]
        last = max(seen.time for seen in self._seen if seen.kind == "heartbeat")
        syns = [seen.time for seen in self._seen if seen.kind == "syn"]
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
        self._emulation.network.cut(trunk)
        cut, begin = time.monotonic(), time.time()
        await self._emulation.awaited("the cut link", lambda: len(feed.named("link_down")) > downs)
        self.findings.link_noticed_ms = (time.time() - begin) * 1e3
        running = await self._outcomes_of(
            job for job, (at, client) in self._ordered.items() if at < cut and client.switch == other
        )
        over_cut = [outcome for outcome in running if outcome.closed > cut]
        self.findings.connections_over_cut = len(over_cut)
        self.findings.longest_wait_after_cut_ms = max(outcome.slowest_us for outcome in over_cut) / 1e3
        begin = time.time()
        self._emulation.network.mend(trunk)
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

        def served() -> list[float]:
            return [
                outcome.opened
                for outcome in self._emulation.outcomes
                if outcome.opened > back and outcome.sites and self._ordered[outcome.job][1].switch == switch
            ]

        await self._emulation.outcomes_until(lambda: bool(served()), _HOLD + 10)
        self.findings.switch_jobs_back_ms = (min(served()) - back) * 1e3 + self.findings.forecasts_back_ms
        self._away.append((away, back + 1.0, switch))
        await self._forecasts_in_place()

    async def kill_controller(self) -> None:
        """Kill the controller, let hours go by, start it again."""
        await self._emulation.programs["controller"].kill()
        await asyncio.sleep(1.5 * SECONDS_PER_HOUR)
        begin = time.time()
        await self._emulation.start_controller()
        switches = {switch_name(switch) for switch in self._topology.switches}

        def after(event: str, key: str) -> set[object]:
            return {item[key] for item in self._emulation.feed.named(event) if item["time"] > begin}

        await self._emulation.awaited("the switches", lambda: switches <= after("reconciled", "switch"))
        self.findings.controller_back_ms = (time.time() - begin) * 1e3
        await self._emulation.awaited(
            "the forecasts", lambda: self._all_acknowledged(self._hours.epoch_now())
        )
        self.findings.controller_forecasts_ms = (time.time() - begin) * 1e3
        await self._forecasts_in_place()

    async def conclude(self) -> Findings:
        """Wait for the jobs that are under way, and judge."""
        findings, emulation = self.findings, self._emulation
        ordered = len(self._ordered)
        await emulation.outcomes_until(lambda: len(emulation.outcomes) >= ordered, _HOLD + 10)
        findings.jobs, findings.unfinished = ordered, ordered - len(emulation.outcomes)
        for outcome in emulation.outcomes:
            findings.moved += len(outcome.sites) > 1
            if outcome.error is not None and not self._excuses(outcome):
                _, client = self._ordered[outcome.job]
                findings.failed_elsewhere.append(f"{client.node}, job {outcome.job}: {outcome.error}")
        findings.resets = sum(summary["strays"] for summary in await emulation.server_summaries())
        return findings

    def _excuses(self, outcome: Outcome) -> bool:
        """Whether a job failed because the switch of its client was away."""
        switch = self._ordered[outcome.job][1].switch
        return any(
            switch == away and outcome.opened < end and outcome.closed > begin
            for begin, end, away in self._away
        )

    async def _outcomes_of(self, jobs: Iterable[int]) -> list[Outcome]:
        """Wait until so many jobs have ended."""
        wanted = set(jobs)

        def ended() -> list[Outcome]:
            return [outcome for outcome in self._emulation.outcomes if outcome.job in wanted]

        await self._emulation.outcomes_until(lambda: len(ended()) == len(wanted), _HOLD + _PATIENCE)
        return ended()

    def _trunk_of(self, switch: Switch) -> tuple[Trunk, Switch]:
        """A trunk of a switch, and the switch at its other end."""
        for trunk in self._topology.trunks:
            ends = [end for end, _ in trunk.ends]
            if switch in ends:
                return trunk, ends[1 - ends.index(switch)]
        raise ValueError(f"{switch.label} has no trunk")

    async def _next(self, kind: str) -> None:
        """Wait for the next frame of a kind at the favourite site."""
        count = len(self._seen)
        async with asyncio.timeout(_PATIENCE):
            await self._noticed.until(lambda: any(seen.kind == kind for seen in self._seen[count:]))

    def _take_frame(self, line: str) -> None:
        self._seen.append(Seen(**json.loads(line)))
        self._noticed.beat()

    def _all_acknowledged(self, epoch: int) -> bool:
        return self._hours.acknowledged(epoch) >= {site.label for site in self._topology.sites}

    async def _forecasts_in_place(self) -> None:
        """Note each site whose switch has not the present hour's forecast, once it was acknowledged."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            epoch = self._hours.epoch_now()
            in_force = partial(self._all_acknowledged, epoch)
            await self._emulation.awaited("forecasts", in_force)
            status = await asyncio.to_thread(ask, self._emulation.files.admin, command="status")
            wrong = [
                f"{site['site']}: {site['budget_wh']} Wh in epoch {site['epoch']}, now {epoch}"
                for site, budget in zip(status["sites"], self._energy[0].tolist(), strict=True)
                if (site["epoch"], site["budget_wh"]) != (epoch, budget)
            ]
            if not wrong:
                return
            if time.monotonic() > deadline:
                self.findings.forecasts_lost += wrong
                return
            await asyncio.sleep(_POLL)  # the controller reads the switches once a second and says nothing
