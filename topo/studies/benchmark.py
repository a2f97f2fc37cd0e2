# SPDX-License-Identifier: Apache-2.0
"""How fast the studies' simulators are, beside plain loops that give the same answers.

Requests routed by price are placed group by group, replicas and queues job by job, the least power is found
by trying every selection of servers. Hosted requests are told with an event for each response, by a loop that
does less than the simulator: it has no reports, states, energy or causes. All answers are compared. Both take
turns; times are medians, of one processor.

  grasp bench studies
  grasp bench studies --size 100000 --rounds 3 --json
"""

import argparse
import gc
import json
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from grasp import UserError

if TYPE_CHECKING:
    from grasp.schedulers.base import FloatArray

HELP = "time the simulators of the studies beside plain loops"

MEASURED = ("price", "consolidation", "replicas")
"""Studies whose module `benchmark` has ``cases(size) -> Iterable[Case]``."""

LEAST, MOST = 1000, 10_000_000
TOLERANCE = 1e-4
"""Of answers, which are of the order of 1: waits are stored with 7 digits."""

Work = Callable[[], "FloatArray"]
"""Does something once, and returns an answer for each job."""


@dataclass(frozen=True)
class Case:
    """Something to time in two ways, each of which returns the answers of its jobs.

    `jobs` says how many those are (an answer may stand for several); `way` is what `plain` does, in words.
    """

    study: str
    name: str
    jobs: int
    work: Work
    way: str
    plain: Work


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--size", type=int, default=1_000_000, metavar="N", help="jobs of each (default: 1000000)"
    )
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="turns of each (default: 1)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Measure, report, and return the exit status: 1 if answers differ."""
    if not LEAST <= args.size <= MOST:
        raise UserError(f"--size {args.size}: must be from {LEAST} to {MOST}")
    if not 1 <= args.rounds <= 100:
        raise UserError(f"--rounds {args.rounds}: must be from 1 to 100")
    from grasp.topo.studies.parallel import each

    cases: list[Case] = []
    for study in MEASURED:
        cases += import_module(f"grasp.topo.studies.{study}.benchmark").cases(args.size)
    rows = each(
        lambda case: measure(case, args.rounds),
        cases,
        workers=1,
        heading="simulators, and plain loops beside them",
        name=lambda case: f"{case.study}: {case.name}",
    )
    if args.json:
        print(json.dumps(rows, indent=1))
    else:
        show(rows)
    return 0 if all(row["same_answer"] for row in rows) else 1


def measure(case: Case, rounds: int) -> dict[str, Any]:
    """Time both ways so many times, in turns; return the row of the result."""
    import numpy as np

    fast, plain, same = [], [], True
    for _ in range(rounds):
        seconds, answers = clock(case.work)
        fast.append(seconds)
        seconds, others = clock(case.plain)
        plain.append(seconds)
        same &= bool(np.allclose(answers, others, rtol=TOLERANCE, atol=TOLERANCE))
    fast_s, plain_s = statistics.median(fast) / case.jobs, statistics.median(plain) / case.jobs
    return {
        "study": case.study,
        "name": case.name,
        "jobs": case.jobs,
        "seconds": round(fast_s * case.jobs, 6),
        "jobs_per_s": round(1 / fast_s),
        "plain": case.way,
        "plain_seconds": round(plain_s * case.jobs, 6),
        "plain_jobs_per_s": round(1 / plain_s),
        "times_faster": float(f"{plain_s / fast_s:.3g}"),
        "same_answer": same,
    }


def clock(work: Work) -> "tuple[float, FloatArray]":
    """Seconds of the processor that the work takes, other programs' turns not counted, and its answers.

    Garbage is not looked for meanwhile, as in `timeit`: it would cost more where others left more objects.
    """
    gc.collect()
    gc.disable()
    try:
        begun = time.process_time()
        answers = work()
        return max(time.process_time() - begun, 1e-9), answers
    finally:
        gc.enable()


def show(rows: Iterable[dict[str, Any]]) -> None:
    """Print the result for people: jobs a second in both ways, and their ratio."""
    print(f"{'':56} {'a second':>12} {'plainly':>12} {'times faster':>13}")
    for row in rows:
        print(
            f"{row['study']:13} {row['name']:42} {row['jobs_per_s']:>12,} {row['plain_jobs_per_s']:>12,} "
            f"{row['times_faster']:>13g}"
        )
        answer = "the same answers" if row["same_answer"] else "DIFFERENT answers"
        print(f"{'':13}   plainly: {row['plain']}; {answer}")
