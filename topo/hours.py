# SPDX-License-Identifier: Apache-2.0
"""The clock of a run: emulated hours, and the forecasts that go with them."""

import asyncio
import json
import time

from grasp.schedulers.base import FloatArray
from grasp.telemetry.protocol import EpochClock
from grasp.topo.emulation import Emulation
from grasp.topo.processes import RunError

_BEFORE_AND_AFTER = 100  # hours of which the agents have a forecast too, of nothing


class Hours:
    """Emulated hours of `seconds` each, with `energy_wh` (hours, sites); `first` is the first one's epoch."""

    def __init__(self, emulation: Emulation, energy_wh: FloatArray, first: int, seconds: float) -> None:
        self.forecast_ms: list[float] = []  # from each hour's begin until all its forecasts were acknowledged
        self._emulation = emulation
        self._energy = energy_wh
        self._first = first
        self._seconds = seconds

    async def prepare(self, scheduler: str, job_energy: float, margin: float) -> None:
        """Start controller and agents. The first hour begins in `margin` seconds, or later if need be."""
        start = time.time() + margin
        self._clock = EpochClock(round(start * 1e6), round(self._seconds * 1e6), self._first)
        self._write_forecasts()
        await self._emulation.start_control(scheduler, job_energy, self._clock)
        if time.time() > start:  # a slow machine: begin with the first hour that no forecast was reported of
            self._first = self.epoch_now() + 2
            self._write_forecasts()

    def epoch(self, hour: int) -> int:
        """Epoch of an hour, counted from 0."""
        return self._first + hour

    def epoch_now(self) -> int:
        """The present epoch."""
        return self._clock.epoch(time.time_ns() // 1000)

    def begins_in(self, hour: int) -> float:
        """Seconds until an hour begins; negative when it has begun."""
        return self._clock.begin(self.epoch(hour)) / 1e6 - time.time()

    async def begin(self, hour: int) -> float:
        """Return when an hour has begun and all its forecasts are in the switches, with what is left of it.

        Raises RunError when nothing is left.
        """
        epoch = self.epoch(hour)
        await asyncio.sleep(self.begins_in(hour))
        sites = {site.label for site in self._emulation.topology.sites}
        left = self._seconds + self.begins_in(hour)
        await self._emulation.awaited(
            f"the forecasts of hour {hour}", lambda: sites <= self.acknowledged(epoch), max(left, 0.0)
        )
        self.forecast_ms.append(-self.begins_in(hour) * 1e3)
        left = self._seconds + self.begins_in(hour)
        if left <= 0:
            raise RunError(f"the forecasts of hour {hour} came too late: give an hour more seconds")
        return left

    def acknowledged(self, epoch: int) -> set[str]:
        """Sites whose forecast of an epoch is in their switch."""
        events = self._emulation.feed.named("forecast_acknowledged")
        return {event["site"] for event in events if event["epoch"] == epoch}

    def _write_forecasts(self) -> None:
        """Tell the agents the green energy of every epoch."""
        hours = len(self._energy)
        for index, site in enumerate(self._emulation.topology.sites):
            values = {
                self.epoch(hour): float(self._energy[hour, index]) if 0 <= hour < hours else 0.0
                for hour in range(-_BEFORE_AND_AFTER, hours + _BEFORE_AND_AFTER)
            }
            path = self._emulation.files.forecast(site.label)
            new = path.with_suffix(".new.json")
            new.write_text(json.dumps({"green_energy": values}))
            new.replace(path)
