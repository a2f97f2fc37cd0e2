# SPDX-License-Identifier: Apache-2.0
"""From trials to comparison.json: each figure of each side by round, its median and its spread."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from grasp.topo.comparison.figures import FIGURES, is_limited_by_the_generator
from grasp.topo.comparison.trial import Trial
from grasp.topo.ovs import datapath_type
from grasp.topo.report import Settings

Comparison = dict[str, Any]
Trials = Mapping[str, Sequence[Trial]]


def build(settings: Settings, trials: Trials, wall_s: float) -> Comparison:
    """Return comparison.json's content, ready for `json.dumps`."""
    first = next(iter(trials.values()))[0].report
    return {
        **{
            name: value
            for name, value in asdict(settings).items()
            if name not in ("control", "target", "energy", "job_energy")
        },
        "energy_source": first["energy_source"],
        "job_energy_wh": settings.job_energy,
        "green_ratio_limit": first["green_ratio_limit"],
        "rounds": len(next(iter(trials.values()))),
        "machine": {
            "cores": os.cpu_count(),
            "kernel": platform.release(),
            "openvswitch_datapath": {"netdev": "user space", "system": "kernel"}[datapath_type()],
        },
        "figures": {
            figure.key: {
                name: _summary([figure.value(trial) for trial in found]) for name, found in trials.items()
            }
            for figure in FIGURES
        },
        "measured": {
            figure.key: {"name": figure.name, "unit": figure.unit, "how": figure.how} for figure in FIGURES
        },
        "limited_by_generator": {
            name: any(is_limited_by_the_generator(trial.steps) for trial in found)
            for name, found in trials.items()
        },
        "sides": {name: [_trial(trial) for trial in found] for name, found in trials.items()},
        "wall_s": round(wall_s, 1),
    }


def complete_rounds(trials: Trials) -> Trials:
    """Return the trials of the rounds in which every side had its own, nothing if there is none."""
    rounds = min(map(len, trials.values()))
    return {name: found[:rounds] for name, found in trials.items()} if rounds else {}


def to_json(result: Comparison) -> str:
    """Return comparison.json's text."""
    return json.dumps(result, indent=1) + "\n"


def write(result: Comparison, path: Path) -> None:
    """Write comparison.json."""
    path.write_text(to_json(result))


def is_complete(result: Comparison) -> bool:
    """Whether every side completed every job of the hours in every round."""
    return all(
        trial["report"]["jobs"]["failed"] == 0 for trials in result["sides"].values() for trial in trials
    )


def _summary(values: Sequence[float | None]) -> dict[str, Any]:
    known = [value for value in values if value is not None]
    return {
        "median": round(float(np.median(known)), 5) if known else None,
        "low": round(min(known), 5) if known else None,
        "high": round(max(known), 5) if known else None,
        "rounds": [None if value is None else round(value, 5) for value in values],
    }


def _trial(trial: Trial) -> dict[str, Any]:
    content = asdict(trial)
    for name in ("first_us", "later_us", "added_us", "follow_ms"):
        content[name] = [round(value, 1) for value in content[name]]
    return content
