# SPDX-License-Identifier: Apache-2.0
"""The main job: hours of green energy, pushed to the switches, and hours of jobs, spread by them."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from typing import Protocol

import numpy as np

from grasp.telemetry.energy.sources import Energy
from grasp.topo.configuration import Files
from grasp.topo.emulation import Emulation, Recording
from grasp.topo.hours import Hours
from grasp.topo.isolation import SCRATCH
from grasp.topo.metrics import scrape
from grasp.topo.planes import Builder
from grasp.topo.report import Measurements, Settings
from grasp.topo.topology import Topology
from grasp.topo.traffic import Order, Outcome
from grasp.topo.workload import Workload

# Seconds. Controller and agents need no longer than switches and hosts did, and this; nor longer than that,
# had the program to be compiled first.
_MARGIN, _LONGEST = 1.0, 4.0
# Share of an hour, at its end, in which no job is opened: none is on its way when the next hour begins.
_GUARD = 0.04
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
    build: Builder,
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
            emulation = build(topology, Files(SCRATCH), recording, group)
            emulation.on_outcome = listener.outcome
            hours = Hours(emulation, energy.wh, int(energy.hours[0].astype(int)), settings.seconds_per_hour)
            try:
                await emulation.start_hosts_and_switches()
                listener.phase("registering the sites")
                margin = min(time.monotonic() - begun, _LONGEST) + _MARGIN
                await hours.prepare(settings.scheduler, settings.job_energy, margin)
                await offer(emulation, hours, settings, listener)
                return await collect(emulation, hours, settings, energy)
            finally:
                await emulation.stop()
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def offer(emulation: Emulation, hours: Hours, settings: Settings, listener: Listener) -> None:
    """Open the jobs of every hour; return when they have ended, or are given up."""
    clients = len(emulation.topology.clients)
    workload = Workload(settings.jobs_per_hour, clients, settings.seconds_per_hour, settings.seed)
    for hour in range(settings.hours):
        left = await hours.begin(hour)
        listener.hour(hour)
        await _order(emulation, workload.orders(hour, *_window(left, settings)))
    for patience in (hours.begins_in(settings.hours), workload.longest_hold + _LAST_WORD):
        await emulation.outcomes_until(
            lambda: len(emulation.outcomes) >= settings.hours * settings.jobs_per_hour, patience
        )
        listener.phase("waiting for the last jobs")


async def collect(emulation: Emulation, hours: Hours, settings: Settings, energy: Energy) -> Measurements:
    """Ask servers, clients and controller what they have seen so far."""
    summaries = await emulation.server_summaries()
    counts = await asyncio.to_thread(scrape)
    topology = emulation.topology
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
        outcomes=list(emulation.outcomes),
        resets=sum(summary["resets"] for summary in summaries),
        strays=sum(summary["strays"] for summary in summaries),
        repeated=sum(summary["repeated"] for summary in summaries),
        controller_packets={
            "job": packets.get("job", 0) + packets.get("overflow", 0),
            **{kind: packets.get(kind, 0) for kind in ("overflow", "registration", "report", "discovery")},
        },
        drops=dict(counts.get("grasp_drops", {})),
        forecast_ms=list(hours.forecast_ms),
    )


def _window(left: float, settings: Settings) -> tuple[float, float]:
    """When the jobs of an hour are opened, if `left` seconds of it are left (CLOCK_MONOTONIC)."""
    now = time.monotonic()
    begin = now + _SETTLE
    return begin, max(begin, now + left - _GUARD * settings.seconds_per_hour)


async def _order(emulation: Emulation, dealt: Iterable[Iterable[Order]]) -> None:
    for client, orders in zip(emulation.topology.clients, dealt, strict=True):
        await emulation.programs[client.node].tell(*map(asdict, orders))
