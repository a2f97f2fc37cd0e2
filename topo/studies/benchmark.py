# SPDX-License-Identifier: Apache-2.0
"""How fast the studies' simulators are: a million jobs and requests each.

One process, one after another; times are medians of the rounds. Of the replicas told in the two ways, all at
once and event by event, every wait is compared.

  grasp bench studies
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from grasp import UserError

HELP = "time the simulators of the studies"

MEASURED = ("price", "consolidation", "replicas")
"""Studies whose module `benchmark` has ``cases(size) -> Iterable[Case]``."""

LEAST, MOST = 1000, 10_000_000


@dataclass(frozen=True)
class Case:
    """Something to time: `work` does it once and returns how many jobs or requests it was."""

    study: str
    name: str
    work: Callable[[], int]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--size", type=int, default=1_000_000, metavar="N", help="jobs (default: 1000000)")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="turns of each (default: 1)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Measure, report, and return the exit status."""
    if not LEAST <= args.size <= MOST:
        raise UserError(f"--size {args.size}: must be from {LEAST} to {MOST}")
    if not 1 <= args.rounds <= 100:
        raise UserError(f"--rounds {args.rounds}: must be from 1 to 100")
    cases: list[Case] = []
    for study in MEASURED:
        cases += import_module(f"grasp.topo.studies.{study}.benchmark").cases(args.size)
    rows = list(measure(cases, args.rounds))
    if args.json:
        print(json.dumps(rows, indent=1))
        return 0
    for row in rows:
        text = f"{row['study']:14} {row['name']:44} {row['jobs']:>10,} in {row['seconds']:7.2f} s"
        print(f"{text}: {row['jobs_per_s']:>11,} a second")
    return 0


def measure(cases: Iterable[Case], rounds: int) -> Iterable[dict[str, Any]]:
    """Time each case so many times, in turns; yield a row for each."""
    ordered = list(cases)
    times: list[list[float]] = [[] for _ in ordered]
    jobs = [0] * len(ordered)
    for _ in range(rounds):
        for number, case in enumerate(ordered):
            begun = time.perf_counter()
            jobs[number] = case.work()
            times[number].append(time.perf_counter() - begun)
    for number, case in enumerate(ordered):
        seconds = statistics.median(times[number])
        yield {
            "study": case.study,
            "name": case.name,
            "jobs": jobs[number],
            "seconds": round(seconds, 6),
            "jobs_per_s": round(jobs[number] / seconds),
        }
