# SPDX-License-Identifier: Apache-2.0
"""What the controller counts, for Prometheus; the switches are read when Prometheus asks, not before."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from grasp import UserError
from grasp.control.wire import Drop

READ_SECONDS = 5.0
"""How long a scrape may wait for the switches."""

PROGRAM_EVENTS = (
    "affinity_hit",
    "overflow",
    "probe_accepted",
    "probe_refused",
    "struck_out",
    "relearned",
    "charged_on_arrival",
    "forecast_set",
)
"""Names by index of the program's `events` counter."""


@dataclass(frozen=True)
class Reading:
    """What is shown: which switches are driven, their counters by name, the core's counters and status."""

    up: Mapping[str, bool]
    switches: Mapping[str, Mapping[str, list[int]]]
    controller: Mapping[str, int]
    status: Mapping[str, Any]


class _Readings(Collector):
    """Turns one reading into metrics; Prometheus' client calls it in a thread of its own."""

    def __init__(self, read: Callable[[], Coroutine[None, None, Reading]], loop: asyncio.AbstractEventLoop):
        self._read = read
        self._loop = loop

    def collect(self) -> Iterator[Metric]:
        reading = asyncio.run_coroutine_threadsafe(self._read(), self._loop).result(READ_SECONDS)
        yield from metrics(reading)


def metrics(reading: Reading) -> Iterator[Metric]:
    """Yield the metrics of a reading."""
    up = GaugeMetricFamily("grasp_switch_up", "Whether the controller drives the switch", labels=["switch"])
    jobs = CounterMetricFamily("grasp_jobs", "Jobs that a switch sent to a site", labels=["switch", "site"])
    drops = CounterMetricFamily("grasp_drops", "Packets that a switch dropped", labels=["switch", "reason"])
    events = CounterMetricFamily("grasp_events", "What happened in a switch", labels=["switch", "event"])
    budget = GaugeMetricFamily("grasp_budget_wh", "Green energy of a site in this epoch", labels=["site"])
    headroom = GaugeMetricFamily("grasp_headroom_wh", "What a site has left of it", labels=["site"])
    names = {}
    for site in reading.status["sites"]:
        names[site["id"]] = site["site"]
        if site["headroom_wh"] is not None:
            budget.add_metric([site["site"]], site["budget_wh"])
            headroom.add_metric([site["site"]], site["headroom_wh"])
    for switch, state in reading.up.items():
        up.add_metric([switch], state)
    for switch, counters in reading.switches.items():
        for site, count in enumerate(counters.get("jobs", ())):
            if site in names:
                jobs.add_metric([switch, names[site]], count)
        for reason, count in zip(Drop, counters.get("drops", ()), strict=False):
            drops.add_metric([switch, reason.name.lower()], count)
        for event, count in zip(PROGRAM_EVENTS, counters.get("events", ()), strict=False):
            events.add_metric([switch, event], count)
    yield from (up, jobs, drops, events, budget, headroom)
    for name, prefix, label, what in (
        ("grasp_controller_packets", "packets_", "kind", "Packets that came to the controller"),
        ("grasp_refused", "refused_", "reason", "Messages that were refused and changed nothing"),
    ):
        family = CounterMetricFamily(name, what, labels=[label])
        for key, count in reading.controller.items():
            if key.startswith(prefix):
                family.add_metric([key.removeprefix(prefix)], count)
        yield family


@asynccontextmanager
async def serve(endpoint: str, read: Callable[[], Coroutine[None, None, Reading]]) -> AsyncIterator[None]:
    """Serve metrics at ``address:port`` while the context lasts; UserError when that cannot be opened."""
    host, _, port = endpoint.rpartition(":")
    registry = CollectorRegistry()
    try:
        server, _thread = start_http_server(int(port), host.strip("[]"), registry)
    except OSError as error:
        raise UserError(f"metrics cannot be served at {endpoint}: {error.strerror or error}") from None
    registry.register(_Readings(read, asyncio.get_running_loop()))
    try:
        yield
    finally:
        await asyncio.to_thread(server.shutdown)
        server.server_close()
