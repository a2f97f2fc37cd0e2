# SPDX-License-Identifier: Apache-2.0
"""The measurements of the consolidation study: what is demanded, who serves it, what it takes."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grasp import UserError
from grasp.schedulers.base import FloatArray
from grasp.schedulers.consolidation.bounds import all_on, just_enough
from grasp.schedulers.consolidation.demand import SERVICES, Demand, Held, daily, demand, pulses, sudden
from grasp.schedulers.consolidation.hosting import Failure, Hosted, Site, host
from grasp.schedulers.consolidation.machines import SLEEPS, fleet, sleep
from grasp.schedulers.consolidation.policy import AllOn, Consolidation, Policy, Tuning
from grasp.schedulers.consolidation.verify import verify

SAMPLE_S = 300.0
SCENARIOS = ("day", "sudden load", "failing servers", "pulses", "held sessions")
ATTACKS = SCENARIOS[3:]

Row = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """What is simulated; the names are those of the command line. `rate` is requests a second by minute."""

    servers: tuple[tuple[str, int], ...] = (("new", 4), ("middle", 4), ("old", 4))
    rate: tuple[float, ...] = tuple(daily(10).tolist())
    sleeps: tuple[str, ...] = tuple(SLEEPS)
    step: int = 20
    idle: float = 0.4
    report_s: float = 10.0
    seed: int = 0
    trace: str | None = None  # name of the file that the rates are from


@dataclass(frozen=True)
class Task:
    """A scenario and who hosts it: all servers on (`sleep` is None), or consolidation."""

    settings: Settings
    scenario: str
    sleep: str | None
    idle: float


def tasks(settings: Settings, idles: Sequence[float]) -> list[Task]:
    """Return all simulations: every scenario with all on and each way to sleep, then the idle thresholds."""
    hosts = [None, *settings.sleeps]
    found = [Task(settings, scenario, host, settings.idle) for scenario in SCENARIOS for host in hosts]
    return found + [Task(settings, "day", settings.sleeps[-1], idle) for idle in idles]


def read_trace(path: Path) -> tuple[float, ...]:
    """Return the column `requests_per_s` of a CSV file, a row for each minute."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            if "requests_per_s" not in (rows.fieldnames or ()):
                raise UserError(f"--trace {path}: has no column requests_per_s")
            rate = []
            for row in rows:
                try:
                    value = float(row["requests_per_s"])
                except (TypeError, ValueError):
                    value = -1.0
                if not 0 <= value <= MOST_RATE:
                    raise UserError(
                        f"--trace {path}: line {rows.line_num}: requests_per_s must be 0 to {MOST_RATE:g}"
                    )
                rate.append(value)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"--trace {path}: {getattr(error, 'strerror', None) or error}") from None
    if not LEAST_MINUTES <= len(rate) <= MOST_MINUTES:
        raise UserError(f"--trace {path}: has {len(rate)} minutes; give {LEAST_MINUTES} to {MOST_MINUTES}")
    if 60 * sum(rate) < LEAST_REQUESTS:
        raise UserError(f"--trace {path}: has {60 * sum(rate):.3g} requests; give at least {LEAST_REQUESTS}")
    return tuple(rate)


MOST_RATE = 10_000.0
MOST_REQUESTS = 10_000_000  # in memory at once, some 260 bytes each
LEAST_MINUTES, MOST_MINUTES = 30, 7 * 1440
LEAST_REQUESTS = 100


def measure(task: Task) -> Row:
    """Simulate a task and return the row of the document; raises SimulationError if it went wrong."""
    settings = task.settings
    machines = fleet(settings.servers)
    speeds = [machine.speed for machine in machines]
    asleep = sleep(task.sleep or settings.sleeps[0])
    scene = _scene(task)
    site = Site(machines, asleep, SERVICES, settings.report_s, scene.failures)
    policy: Policy = AllOn(speeds, len(SERVICES))
    if task.sleep is not None:
        policy = Consolidation(len(SERVICES), Tuning(step=settings.step, idle=task.idle))
    seen = host(site, policy, scene.demand, settings.seed, SAMPLE_S)
    verify(site, scene.demand, seen)
    hours = scene.demand.seconds / 3600
    least = just_enough(machines, asleep, scene.load)
    return {
        "scenario": task.scenario,
        "policy": "all on" if task.sleep is None else task.sleep,
        "idle": None if task.sleep is None else task.idle,
        "energy_wh": seen.total_wh,
        "just_enough_wh": float(least.mean()) * hours,
        "all_on_wh": float(all_on(machines, scene.load).mean()) * hours,
        **_served(scene.demand, seen),
        "wakes": len(seen.wakes),
        "woken_servers": [server for _, server in seen.wakes],
        "series": _series(scene.load, seen) | {"just_enough_w": _sampled(least)},
    }


@dataclass(frozen=True)
class _Scene:
    """What happens in a scenario: `load` is the work a second that is expected, by minute."""

    demand: Demand
    load: FloatArray
    failures: tuple[Failure, ...] = ()


def _scene(task: Task) -> _Scene:
    settings = task.settings
    rate = np.array(settings.rate)
    minutes, peak = len(rate), float(rate.max())
    hostile, held = None, None
    failures: tuple[Failure, ...] = ()
    if task.scenario == "sudden load":  # three times as much for a quarter of an hour
        rate = sudden(rate, int(minutes * 0.4), 15, 3)
    elif task.scenario == "failing servers":  # the most efficient ones, for an hour each
        failures = tuple(
            Failure(minutes * 60 * part, server, 3600)
            for server, part in enumerate((0.3, 0.5, 0.7))
            if server < sum(count for _, count in settings.servers)
        )
    elif task.scenario == "pulses":  # as many requests again as half the peak, 4 minutes of every 20
        hostile = pulses(minutes, minutes // 24, 20, 4, peak / 2)
    elif task.scenario == "held sessions":  # opened where all are still on, kept alive within the timeout
        shop = next(number for number, service in enumerate(SERVICES) if service.timeout_s)
        held = Held(shop, 400, 0.0, SERVICES[shop].timeout_s * 0.8)
    work = sum(service.share * service.work for service in SERVICES)
    load = rate * work + (0 if hostile is None else hostile * SERVICES[0].work)
    return _Scene(demand(rate, SERVICES, settings.seed, hostile, held), load, failures)


def _served(asked: Demand, seen: Hosted) -> Row:
    honest = ~asked.hostile
    requests = int(honest.sum())
    answered = seen.response_s[honest & np.isfinite(seen.response_s)]
    return {
        "requests": requests,
        "hostile_requests": int(asked.hostile.sum()),
        "late": seen.late,
        "lost": seen.lost,
        "violations": (seen.late + seen.lost) / max(requests, 1),
        "causes": seen.causes,
        "mean_response_s": float(answered.mean()) if len(answered) else None,
        "p99_response_s": float(np.quantile(answered, 0.99)) if len(answered) else None,
        "sessions": seen.sessions,
        "sessions_cut_by_stops": seen.sessions_cut_by_stops,
        "sessions_cut_by_failures": seen.sessions_cut_by_failures,
    }


def _series(load: FloatArray, seen: Hosted) -> Row:
    energy = np.diff(seen.energy_wh, prepend=0.0)
    return {
        "hours": (seen.samples_s / 3600).tolist(),
        "power_w": (energy * 3600 / SAMPLE_S).tolist(),
        "load": _sampled(load),
        "states": seen.states.tolist(),
    }


def _sampled(by_minute: FloatArray) -> list[float]:
    """Means over the samples' intervals."""
    each = int(SAMPLE_S / 60)
    whole = len(by_minute) // each
    return [float(part.mean()) for part in np.split(by_minute[: whole * each], whole)]
