# SPDX-License-Identifier: Apache-2.0
"""From what was measured to report.json: pure arithmetic, no I/O but the file itself.

Tables are hour x site. Jobs per site are counted at the sites' servers; whether a job went well, and how long
its handshake took, is the client's word.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from grasp.schedulers.base import FloatArray, IntArray
from grasp.schedulers.ratio import green_ratio, green_ratio_limit
from grasp.schedulers.registry import scheduler
from grasp.topo.traffic import Outcome

Report = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """What a run was asked to do; the names are those of the command line."""

    control: str = "p4"
    target: str = "v1model"
    scheduler: str = "green"
    energy: str = "synthetic"
    model: str = "grasp2018"
    alignment: str = "utc"
    date: str = "06-21"
    start_hour: int = 0
    hours: int = 24
    seconds_per_hour: float = 3.0
    jobs_per_hour: int = 180
    job_energy: float = 200.0
    seed: int = 0


@dataclass
class Measurements:
    """What a run saw. Shapes: `energy_wh` and `jobs_per_site` (hours, sites)."""

    sites: Sequence[str]
    switches: Sequence[str]
    energy_wh: FloatArray
    energy_source: str
    jobs_per_site: IntArray
    offered: int
    outcomes: Sequence[Outcome]
    resets: int
    strays: int
    repeated: int
    controller_packets: dict[str, int]
    drops: dict[str, int]
    forecast_ms: Sequence[float]
    wall_s: float = 0.0
    notes: list[str] = field(default_factory=list)


def build(settings: Settings, seen: Measurements) -> Report:
    """Return the report: the keys of report.json, ready for `json.dumps`."""
    jobs, energy, k = settings.jobs_per_hour, seen.energy_wh, settings.job_energy
    expected = scheduler(settings.scheduler).allocate(energy, k, jobs)
    even = np.full(energy.shape, jobs / len(seen.sites))
    difference = np.abs(seen.jobs_per_site / jobs - expected / jobs).max(axis=1)
    night = (energy == 0).all(axis=1)
    failed = [outcome for outcome in seen.outcomes if outcome.error is not None]
    connect = [outcome.connect_us for outcome in seen.outcomes if outcome.connect_us is not None]
    moved = sum(len(outcome.sites) > 1 for outcome in seen.outcomes)
    return {
        **{name: value for name, value in asdict(settings).items() if name not in ("energy", "job_energy")},
        "energy_source": seen.energy_source,
        "job_energy_wh": k,
        "sites": list(seen.sites),
        "switches": list(seen.switches),
        "energy_wh": np.round(energy, 3).tolist(),
        "jobs_per_site": seen.jobs_per_site.tolist(),
        "jobs_per_site_expected": expected.tolist(),
        "load_share_difference": np.round(difference, 4).tolist(),
        "night_difference_jobs": (
            round(float(np.abs(seen.jobs_per_site - even)[night].max()), 2) if night.any() else None
        ),
        "jobs": {
            "offered": seen.offered,
            "completed": len(seen.outcomes) - len(failed),
            "failed": seen.offered - len(seen.outcomes) + len(failed),
            "repeated": seen.repeated,
            "errors": dict(Counter(str(outcome.error) for outcome in failed)),
        },
        "green_ratio": _ratio(seen.jobs_per_site, energy, k),
        "green_ratio_limit": round(float(green_ratio_limit(energy, k, jobs)), 6),
        "green_ratio_round_robin": _ratio(even, energy, k),
        "affinity_violations": moved + seen.strays,
        "resets": seen.resets,
        "controller_packets": seen.controller_packets,
        "drops": seen.drops,
        "connect_us": _percentiles(connect),
        "forecast_ms": _percentiles(seen.forecast_ms),
        "wall_s": round(seen.wall_s, 2),
        "notes": seen.notes,
    }


def to_json(report: Report) -> str:
    """Return report.json's text."""
    return json.dumps(report, indent=1) + "\n"


def write(report: Report, path: Path) -> None:
    """Write report.json."""
    path.write_text(to_json(report))


def jobs_table(outcomes: Sequence[Outcome]) -> str:
    """Every job as a line of CSV; `opened` and `closed` are seconds of CLOCK_MONOTONIC."""
    lines = ["hour,job,sites,connect_us,slowest_us,opened,closed,error"]
    for job in sorted(outcomes, key=lambda outcome: outcome.job):
        sites = " ".join(map(str, job.sites))
        connect = "" if job.connect_us is None else job.connect_us
        error = job.error or ""
        times = f"{connect},{job.slowest_us},{job.opened:.6f},{job.closed:.6f}"
        lines.append(f"{job.hour},{job.job},{sites},{times},{error}")
    return "\n".join(lines) + "\n"


def _ratio(counts: FloatArray | IntArray, energy: FloatArray, k: float) -> float | None:
    """Green ratio, or None when not one job was served."""
    return round(float(green_ratio(counts, energy, k)), 6) if counts.sum() else None


def _percentiles(values: Sequence[float]) -> dict[str, int | None]:
    """Median and 99th percentile, rounded, or None without values."""
    if not values:
        return {"p50": None, "p99": None}
    p50, p99 = np.percentile(values, (50, 99))
    return {"p50": round(float(p50)), "p99": round(float(p99))}
