# SPDX-License-Identifier: Apache-2.0
"""How fast the simulator is, beside a plain greedy that gives the same answer.

The greedy keeps the sites' headrooms in a heap and deals out the jobs one by one, as one would at first.
It is timed on a few job energies of the sweep, and its counts are compared with the simulator's, all of them.
Both take turns, several times; times are medians, of one processor.

  grasp bench simulate --energy tmy3:weather
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from heapq import heapify, heapreplace
from typing import TYPE_CHECKING, Any

from grasp import UserError
from grasp.telemetry.energy import arguments
from grasp.topo.year import options

if TYPE_CHECKING:
    from grasp.schedulers.base import FloatArray

HELP = "time the simulator of schedulers beside a plain greedy"

SIZES = (9, 36, 144)  # sites, to see how the cost grows


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    arguments.add_energy(parser)
    parser.add_argument("--k", default="1:200", metavar="LIST", help="Wh of a job (default: 1:200)")
    parser.add_argument("--jobs", type=int, default=900, metavar="N", help="jobs an hour (default: 900)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="turns of each (default: 3)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Measure, report, and return the exit status: 1 if the answers differ."""
    from grasp.topo.year.sweep import load

    k = options.job_energies(args.k)
    if not 1 <= args.jobs <= 10**6:
        raise UserError(f"--jobs {args.jobs}: must be from 1 to 1000000")
    if not 1 <= args.rounds <= 100:
        raise UserError(f"--rounds {args.rounds}: must be from 1 to 100")
    year = load(options.one_source(args), arguments.sites(args))
    result = {"energy_source": year.description, **measure(year.wh, k, args.jobs, args.rounds)}
    if args.json:
        print(json.dumps(result, indent=1))
    else:
        show(result)
    return 0 if result["same_answer"] else 1


def measure(energy_wh: "FloatArray", k: tuple[float, ...], jobs: int, rounds: int) -> dict[str, Any]:
    """Return times in seconds, whether the answers are the same, and what the time goes to."""
    from grasp.schedulers.registry import scheduler
    from grasp.schedulers.simulate import green_ratios

    rules = [scheduler(name) for name in ("green", "round-robin")]
    sampled = sorted({k[0], k[len(k) // 2], k[-1]})
    fast, plain, same = [], [], True
    for _ in range(rounds):
        fast.append(
            clock(
                lambda: [
                    green_ratios(rule, rule.forecast({"green_energy": energy_wh}), energy_wh, k, jobs)
                    for rule in rules
                ]
            )
        )
        for rule in rules:
            for job in sampled:
                counts: list[list[int]] = []
                plain.append(clock(lambda: counts.extend(greedy(rule.budgets(energy_wh), job, jobs))))  # noqa: B023
                same &= counts == rule.allocate(energy_wh, job, jobs).tolist()
    sweep_s, greedy_s = statistics.median(fast), statistics.median(plain)
    year_s = sweep_s / (len(k) * len(rules))
    return {
        "hours": len(energy_wh),
        "sites": energy_wh.shape[1],
        "job_energies": len(k),
        "jobs_per_hour": jobs,
        "same_answer": same,
        "sweep_s": round(sweep_s, 4),
        "year_per_k_ms": round(year_s * 1e3, 3),
        "greedy_year_per_k_ms": round(greedy_s * 1e3, 1),
        "times_faster": round(greedy_s / year_s),
        "growth": growth(energy_wh, jobs),
        "profile": profile(energy_wh, k, jobs),
    }


def greedy(budgets_wh: "FloatArray", job_wh: float, jobs: int) -> list[list[int]]:
    """Deal out the jobs of every hour one by one, from a heap of (headroom, site), in whole mWh."""
    job = round(job_wh * 1000)
    table = []
    for hour in budgets_wh.tolist():
        heap = [(-round(budget * 1000), site) for site, budget in enumerate(hour)]
        heapify(heap)
        counts = [0] * len(hour)
        for _ in range(jobs):
            used, site = heap[0]
            counts[site] += 1
            heapreplace(heap, (used + job, site))
        table.append(counts)
    return table


def growth(energy_wh: "FloatArray", jobs: int) -> list[dict[str, float]]:
    """Time of green's counts of a year for more hours, more sites and more jobs, in milliseconds."""
    import numpy as np

    from grasp.schedulers.registry import scheduler

    rule, random = scheduler("green"), np.random.default_rng(0)
    hours = len(energy_wh)
    cases = [(hours, sites, jobs) for sites in SIZES] + [
        (hours * 4, SIZES[0], jobs),
        (hours, SIZES[0], jobs * 100),
    ]
    found = []
    for rows, sites, count in cases:
        table = random.choice(energy_wh.ravel(), (rows, sites))
        times = [clock(lambda: rule.allocate(table, 20.0, count)) for _ in range(5)]  # noqa: B023
        found.append(
            {"hours": rows, "sites": sites, "jobs_per_hour": count, "ms": round(1e3 * min(times), 3)}
        )
    return found


def profile(energy_wh: "FloatArray", k: tuple[float, ...], jobs: int) -> list[dict[str, Any]]:
    """Return the functions in which green's sweep spends its time, with their share of it, largest first."""
    import cProfile
    import pstats

    from grasp.schedulers.registry import scheduler
    from grasp.schedulers.simulate import green_ratios

    recorder = cProfile.Profile()
    recorder.runcall(green_ratios, scheduler("green"), energy_wh, energy_wh, k, jobs)
    entries = pstats.Stats(recorder).get_stats_profile()
    ranked = sorted(entries.func_profiles.items(), key=lambda entry: -entry[1].tottime)
    return [
        {"function": name, "share": round(entry.tottime / entries.total_tt, 3)} for name, entry in ranked[:8]
    ]


def clock(work: Callable[[], object]) -> float:
    """Seconds of the processor that the work takes: other programs' turns do not count."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def show(result: dict[str, Any]) -> None:
    """Print the result for people."""
    answer = "the same counts" if result["same_answer"] else "DIFFERENT counts"
    print(f"{result['energy_source']}: {result['hours']} hours, {result['sites']} sites")
    print(
        f"sweep of {result['job_energies']} job energies, 2 schedulers, {result['jobs_per_hour']} jobs an "
        f"hour: {result['sweep_s']:.3f} s"
    )
    print(f"  one year, one k:  {result['year_per_k_ms']:9.3f} ms")
    print(f"  greedy by a heap: {result['greedy_year_per_k_ms']:9.1f} ms, {answer}")
    print(f"  {result['times_faster']} times faster")
    print("green's counts of a year, which grow with hours and with sites x log sites, not with jobs:")
    for case in result["growth"]:
        print("  {hours:6} hours {sites:4} sites {jobs_per_hour:6} jobs: {ms:8.2f} ms".format(**case))
    print("where the time of green's sweep goes:")
    for entry in result["profile"]:
        print("  {share:6.1%}  {function}".format(**entry))
    sys.stdout.flush()
