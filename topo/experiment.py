# SPDX-License-Identifier: Apache-2.0
"""The main job: hours of green energy, pushed to the switches, and hours of jobs, spread by them."""

import asyncio
import json
import time
from collections import Counter
from dataclasses import asdict
from typing import Protocol

import numpy as np
from grasp.targets.interface import Target

from grasp.telemetry.energy.sources import Energy
from grasp.telemetry.protocol import EpochClock
from grasp.topo.configuration import Files
from grasp.topo.emulation import Emulation, Recording
from grasp.topo.isolation import SCRATCH
from grasp.topo.metrics import scrape
from grasp.topo.processes import RunError
from grasp.topo.report import Measurements, Settings
from grasp.topo.topology import Topology
from grasp.topo.traffic import Outcome
from grasp.topo.workload import Workload

_MARGIN = 2.5  # seconds; controller and agents need about as long as switches and hosts did, and this
_GUARD = (
    0.04  # of an hour, at its end, in which no job is opened: none is under way when the next hour begins
)
_SETTLE = 0.01  # seconds; probes spread the forecasts once the sites' switches have them
_LAST_WORD = 10.0  # seconds that the last jobs may take beyond their hold


class Listener(Protocol):
    """Who is told how the run goes on."""

    def phase(self, text: str) -> None:
        """Another part of the run has begun."""

    def hour(self, hour: int) -> None:
        """The jobs of an hour, counted from 0, begin."""

    def outcome(self, outcome: Outcome) -> None:
        """A job has ended."""


async def measure(
    settings: Settings,
    topology: Topology,
    target: Target,
    energy: Energy,
    recording: Recording,
    listener: Listener,
) -> Measurements:
    """Run the hours of `energy` in a new network and return what was seen.

    Must run in a world of its own (`isolation.enter`). Raises RunError when a part of the network fails.
    """
    begun = time.monotonic()
    try:
        async with asyncio.TaskGroup() as group:
            listener.phase("building the network")
            emulation = Emulation(topology, target, Files(SCRATCH), recording, group)
            emulation.on_outcome = listener.outcome
            hours = _Hours(settings, emulation, energy)
            try:
                await emulation.start_hosts_and_switches()
                listener.phase("registering the sites")
                await hours.prepare(time.monotonic() - begun + _MARGIN)
                for hour in range(settings.hours):
                    await hours.run(hour, listener)
                listener.phase("waiting for the last jobs")
                await hours.finish()
                summaries = await emulation.server_summaries()
                counts = await asyncio.to_thread(scrape)
            finally:
                await emulation.stop()
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    jobs_per_site = np.array(
        [
            [summary["jobs_per_hour"].get(str(hour), 0) for summary in summaries]
            for hour in range(settings.hours)
        ]
    )
    packets = counts.get("grasp_controller_packets", Counter())
    return Measurements(
        sites=[site.label for site in topology.sites],
        switches=[switch.label for switch in topology.switches],
        energy_wh=energy.wh,
        energy_source=energy.description,
        jobs_per_site=jobs_per_site,
        offered=settings.hours * settings.jobs_per_hour,
        outcomes=emulation.outcomes,
        resets=sum(summary["resets"] for summary in summaries),
        repeated=sum(summary["repeated"] for summary in summaries),
        controller_packets={
            "job": packets.get("other", 0),
            **{kind: packets.get(kind, 0) for kind in ("overflow", "registration", "report", "discovery")},
        },
        drops=dict(counts.get("grasp_drops", {})),
        forecast_ms=hours.forecast_ms,
        wall_s=time.monotonic() - begun,
    )


class _Hours:
    """The run's clock and what happens by it."""

    def __init__(self, settings: Settings, emulation: Emulation, energy: Energy) -> None:
        self._settings = settings
        self._emulation = emulation
        self._energy = energy.wh
        self._first = int(energy.hours[0].astype(int))
        self._length = settings.seconds_per_hour
        self._workload = Workload(
            settings.jobs_per_hour, len(emulation.topology.clients), self._length, settings.seed
        )
        self.forecast_ms: list[float] = []

    async def prepare(self, margin: float) -> None:
        """Start controller and agents; the first hour begins `margin` seconds from now, later if need be."""
        start = time.time() + margin
        self._clock = EpochClock(round(start * 1e6), round(self._length * 1e6), self._first)
        self._write_forecasts()
        settings = self._settings
        await self._emulation.start_control(settings.scheduler, settings.job_energy, self._clock)
        if time.time() > start:  # a slow machine: begin with the next hour of which no forecast was reported
            self._first = self._clock.epoch(time.time_ns() // 1000) + 2
            self._write_forecasts()

    def _write_forecasts(self) -> None:
        """Tell the agents the green energy of every epoch; there is none before and after the run."""
        for index, site in enumerate(self._emulation.topology.sites):
            values = {self._first - before: 0.0 for before in range(1, 100)}
            values |= {self._first + hour: wh for hour, wh in enumerate(self._energy[:, index].tolist())}
            values |= {self._first + len(self._energy) + after: 0.0 for after in range(100)}
            path = self._emulation.files.forecast(site.label)
            new = path.with_suffix(".new.json")
            new.write_text(json.dumps({"green_energy": values}))
            new.replace(path)

    async def run(self, hour: int, listener: Listener) -> None:
        """Wait until an hour has begun and its forecasts are in the switches, then order its jobs."""
        epoch = self._first + hour
        begin = self._clock.begin(epoch) / 1e6
        await asyncio.sleep(begin - time.time())
        sites = {site.label for site in self._emulation.topology.sites}

        def acknowledged() -> bool:
            events = self._emulation.feed.named("forecast_acknowledged")
            return sites <= {event["site"] for event in events if event["epoch"] == epoch}

        await self._emulation.awaited(f"the forecasts of hour {hour}", acknowledged, self._length)
        self.forecast_ms.append((time.time() - begin) * 1e3)
        listener.hour(hour)
        now = time.monotonic()
        end = now + begin + self._length * (1 - _GUARD) - time.time()
        if end <= now:
            raise RunError(f"the forecasts of hour {hour} came too late: give an hour more seconds")
        await self.order(hour, now + _SETTLE, end)

    async def order(self, hour: int, begin: float, end: float) -> None:
        """Send the clients an hour's orders."""
        for client, orders in zip(
            self._emulation.topology.clients, self._workload.orders(hour, begin, end), strict=True
        ):
            await self._emulation.programs[client.node].tell(*map(asdict, orders))

    async def finish(self) -> None:
        """Wait until every job has ended, or should have."""
        offered = self._settings.hours * self._settings.jobs_per_hour
        last = self._clock.begin(self._first + self._settings.hours) / 1e6 - time.time()
        await self._emulation.all_outcomes(offered, last + self._workload.longest_hold + _LAST_WORD)
