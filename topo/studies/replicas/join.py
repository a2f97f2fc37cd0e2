# SPDX-License-Identifier: Apache-2.0
"""Replicas joined with green headroom: sites with hours of green energy, and which replica is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grasp import UserError
from grasp.schedulers.base import FloatArray
from grasp.schedulers.ratio import green_ratio_limit
from grasp.schedulers.replicas.events import Jobs, tell
from grasp.schedulers.replicas.green import Charged, Cheapest, Sites, assign_to_greenest
from grasp.schedulers.replicas.inputs import distinct, service_time
from grasp.topo.studies.replicas.measure import interval

MOST_JOBS = 5_000_000  # of the join, event by event


@dataclass(frozen=True)
class Setting:
    """Sites and their jobs. `energy_wh` has shape (hours, sites); `hour` is in mean service times."""

    energy_wh: FloatArray
    job_wh: float
    servers: int
    hour: float
    load: float
    seeds: int
    service: str


@dataclass(frozen=True)
class Kept:
    """Which replica is kept: `greenest` is chosen at arrival; `patience` is None for the first to start."""

    name: str
    d: int
    patience: float | None = None
    greenest: bool = False


@dataclass(frozen=True)
class Task:
    """A policy in a setting."""

    kept: Kept
    setting: Setting


def tasks(setting: Setting, d: Sequence[int], patience: Sequence[float]) -> list[Task]:
    """Return random assignment, the switches' choice, and replicas of which one or another is kept."""
    sites = setting.energy_wh.shape[1]
    for number in d:
        if number > sites:
            raise UserError(
                f"--replicas {number}: the join puts them at different sites; the energy source has {sites}"
            )
    jobs = jobs_an_hour(setting) * len(setting.energy_wh)
    if not len(setting.energy_wh) <= jobs <= MOST_JOBS:
        raise UserError(
            f"--hour, --join-load, --site-servers: they make {jobs_an_hour(setting):,} jobs an hour, and "
            f"{jobs:,} in all; at least one an hour, and at most {MOST_JOBS:,} in all, are simulated"
        )
    wanted = [Kept("random", 1), Kept("greenest", 1, greenest=True)]
    for number in d:
        wanted.append(Kept("first to start", number))
        wanted += [Kept(f"cheapest within {limit:g}", number, limit) for limit in patience]
        wanted.append(Kept("cheapest", number, np.inf))
    return [Task(kept, setting) for kept in wanted]


def measure(task: Task) -> dict[str, Any]:
    """Simulate a task over all seeds; return the row of the document."""
    seen = [_once(task, seed) for seed in range(task.setting.seeds)]
    ratio, wait, tail = (np.array(values) for values in zip(*seen, strict=True))
    (ratio_mean, ratio_half), (wait_mean, wait_half) = interval(ratio), interval(wait)
    return {
        "policy": task.kept.name,
        "d": task.kept.d,
        "green_ratio": ratio_mean,
        "green_ratio_ci": ratio_half,
        "mean_wait": wait_mean,
        "mean_wait_ci": wait_half,
        "p99_wait": float(tail.mean()),
        "brown_wh_per_job": task.setting.job_wh * (1 - ratio_mean),
    }


def limit(setting: Setting) -> float:
    """Return the largest green ratio that any distribution of the jobs could reach in each hour."""
    return float(green_ratio_limit(setting.energy_wh, setting.job_wh, jobs_an_hour(setting)))


def jobs_an_hour(setting: Setting) -> int:
    """Return the number of jobs that make the load."""
    return round(setting.load * setting.servers * int(setting.energy_wh.shape[1]) * setting.hour)


def _once(task: Task, seed: int) -> tuple[float, float, float]:
    """Return green ratio, mean wait and its 99 % quantile for one seed."""
    setting, kept = task.setting, task.kept
    hours, places = setting.energy_wh.shape
    servers = places * setting.servers
    draw = np.random.default_rng((seed, 0))
    # Poisson arrivals, given their number in each hour.
    each = jobs_an_hour(setting)
    count = each * hours
    moments = np.arange(hours)[:, np.newaxis] + np.sort(draw.random((hours, each)), axis=1)
    arrivals = np.asarray(moments.ravel() * setting.hour, dtype=np.float64)
    lengths = service_time(setting.service)(np.random.default_rng((seed, 1)), count)
    choose = np.random.default_rng((seed, 2))
    chosen_sites = distinct(choose, count, kept.d, places)
    chosen_servers = choose.integers(setting.servers, size=(count, kept.d))
    sites = Sites(setting.energy_wh, setting.job_wh, setting.hour, setting.servers)
    if kept.greenest:
        told = tell(
            Jobs(arrivals, lengths, assign_to_greenest(sites, arrivals, chosen_servers[:, 0])), servers
        )
    else:
        rule = Charged(sites) if kept.patience is None else Cheapest(sites, kept.patience)
        told = tell(
            Jobs(arrivals, lengths, chosen_sites * setting.servers + chosen_servers), servers, 0, rule
        )
    ratio = sites.green_wh / (setting.job_wh * count)
    return ratio, float(told.waits.mean()), float(np.quantile(told.waits, 0.99))
