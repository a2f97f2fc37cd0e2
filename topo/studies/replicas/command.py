# SPDX-License-Identifier: Apache-2.0
"""Study replicas: each job waits in several servers' queues, and its first start cancels the others.

Waits are compared with random assignment, join-shortest-queue, the power of two choices and least work; the
delay of the cancelling signal is varied; and replicas at several sites are joined with green headroom: the
cheapest in brown energy is kept. Times are in mean service times.

  grasp study replicas
  grasp study replicas --out results/replicas
  grasp study replicas --service pareto --loads 0.5,0.8,0.9 --delays 0,0.1,0.5 --json
"""

import argparse
import re
import time
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from grasp import UserError
from grasp.topo import results
from grasp.topo.studies.checks import add_workers, numbers, one_of, whole_numbers, within, workers
from grasp.topo.studies.output import add_output, finish

if TYPE_CHECKING:
    from grasp.topo.studies.replicas.join import Setting
    from grasp.topo.studies.replicas.measure import Settings

HELP = "replicas in several queues, of which the first to start cancels the others"

MOST_JOBS = 10_000_000
MOST_WAITS = 300_000_000  # kept at once, 4 bytes each
MOST_REPLICAS = 100
WEATHER = r"synthetic|pvgis(:.*)?|(tmy3|epw|psm):.+"
"""Sources of the join's energy. A file of one's own is none: its options are those of `grasp simulate`."""
JOIN_SEEDS = 3


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    what = parser.add_argument_group("what is simulated")
    what.add_argument("--servers", type=int, default=100, metavar="N", help="(default: 100)")
    what.add_argument("--jobs", type=int, default=100_000, metavar="N", help="measured (default: 100000)")
    what.add_argument(
        "--warmup", type=int, metavar="N", help="jobs before them (default: as many as are measured)"
    )
    what.add_argument("--seeds", type=int, default=25, metavar="N", help="simulations of each (default: 25)")
    what.add_argument(
        "--loads",
        default="0.5:0.9:0.1,0.92,0.94:0.97:0.01",
        metavar="LIST",
        help="of the servers' capacity (default: %(default)s)",
    )
    what.add_argument("--replicas", default="2,3,5", metavar="LIST", help="of a job (default: 2,3,5)")
    what.add_argument(
        "--service",
        default="exponential",
        metavar="NAME",
        help="times: exponential (default), deterministic, uniform, hyperexponential or pareto",
    )
    what.add_argument(
        "--delays",
        default="0,0.01,0.02,0.05,0.1,0.15,0.2,0.3,0.5,1",
        metavar="LIST",
        help="of the signal, in mean service times (default: %(default)s)",
    )
    what.add_argument(
        "--delay-loads", default="0.5,0.8,0.9", metavar="LIST", help="at these loads (default: %(default)s)"
    )
    join = parser.add_argument_group("the join with green headroom")
    join.add_argument(
        "--energy",
        default="synthetic",
        metavar="SOURCE",
        help="synthetic (default), tmy3:DIR, epw:DIR, psm:DIR, pvgis or pvgis:DIR",
    )
    join.add_argument("--model", default="grasp2018", metavar="NAME", help="(default: grasp2018)")
    join.add_argument(
        "--fill",
        choices=("none", "interpolate"),
        default="none",
        help="of missing values in weather files (default: none)",
    )
    join.add_argument("--energy-seed", type=int, metavar="N", help="of the synthetic year (default: 0)")
    join.add_argument("--date", default="06-21", metavar="MM-DD", help="the day (default: 06-21)")
    join.add_argument("--job-energy", type=float, default=10.0, metavar="WH", help="(default: 10)")
    join.add_argument("--site-servers", type=int, default=11, metavar="N", help="(default: 11)")
    join.add_argument(
        "--hour", type=float, default=30.0, metavar="T", help="an hour in mean service times (default: 30)"
    )
    join.add_argument("--join-load", type=float, default=0.7, metavar="LOAD", help="(default: 0.7)")
    join.add_argument(
        "--patience",
        default="1",
        metavar="LIST",
        help="mean service times that a job waits for the cheapest replica, beside for ever (default: 1)",
    )
    add_workers(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Simulate, report, and return the exit status."""
    from grasp.topo.studies.parallel import each
    from grasp.topo.studies.replicas import join, measure, report

    settings = _settings(args)
    setting, source = _setting(args, settings)
    processes = workers(args)
    joint = join.tasks(setting, settings.d, numbers("--patience", args.patience, 0, 1e6))
    if args.out is not None:
        results.make(args.out)
    begun = time.perf_counter()
    parts = (  # all at once, so that no process waits for a part's last task
        [
            (partial(measure.measure, task), f"{task.policy} {task.d if task.d > 1 else ''}")
            for task in measure.tasks(settings)
        ],
        [(partial(measure.check_by_least_work, settings, d), f"least work of {d}") for d in settings.d],
        [(partial(join.measure, task), f"join, {task.kept.name}") for task in joint],
        [(partial(measure.check_by_events, settings, d), f"{d}, event by event") for d in settings.d],
    )
    tasks = [task for part in parts for task in part]
    answers = iter(each(_call, tasks, processes, "simulations", itemgetter(1)))
    rows, checks, joined, differences = ([next(answers) for _ in part] for part in parts)
    found = report.document(
        settings,
        [row for some in rows for row in some],
        {
            "energy_source": source,
            "job_wh": setting.job_wh,
            "load": setting.load,
            "hour": setting.hour,
            "jobs_an_hour": join.jobs_an_hour(setting),
            "green_ratio_limit": join.limit(setting),
            "rows": joined,
        },
        report.Checks([check for some in checks for check in some], max(differences)),
        time.perf_counter() - begun,
    )
    finish(args, report.result(found))
    return 0


def _call(task: tuple[Callable[[], Any], str]) -> Any:
    work, _ = task
    return work()


def _settings(args: argparse.Namespace) -> "Settings":
    """Return what is to be simulated, having refused what cannot be."""
    from grasp.schedulers.replicas.inputs import SERVICE_TIMES
    from grasp.topo.studies.replicas.measure import Settings

    warmup = args.jobs if args.warmup is None else args.warmup
    within("--servers", args.servers, 2, 10_000)  # one leaves nothing to choose
    within("--jobs", args.jobs, 1, MOST_JOBS)
    within("--warmup", warmup, 0, MOST_JOBS)
    within("--seeds", args.seeds, 1, 1000)
    one_of("--service", args.service, SERVICE_TIMES)
    least = 0.001  # a load of nothing has no waits to compare
    settings = Settings(
        args.servers,
        args.jobs,
        warmup,
        args.seeds,
        numbers("--loads", args.loads, least, 0.999),
        whole_numbers("--replicas", args.replicas, 2, MOST_REPLICAS),
        numbers("--delays", args.delays, 0, 1000),
        numbers("--delay-loads", args.delay_loads, least, 0.999),
        args.service,
    )
    if settings.d[-1] > args.servers:
        raise UserError(
            f"--replicas {settings.d[-1]}: there are only {args.servers} servers; give fewer, or "
            "more --servers"
        )
    waits = (args.jobs + warmup) * args.seeds
    if waits > MOST_WAITS:
        raise UserError(
            f"--jobs, --warmup, --seeds: {waits:,} waits of each policy do not fit into memory; "
            f"give at most {MOST_WAITS:,}"
        )
    return settings


def _setting(args: argparse.Namespace, settings: "Settings") -> "tuple[Setting, str]":
    """Return the setting of the join, and what its energy is."""
    from grasp.telemetry.energy.sources import parse_energy
    from grasp.topo.studies.replicas.join import Setting

    if not re.fullmatch(WEATHER, args.energy):
        raise UserError(
            f"--energy {args.energy}: must be synthetic, tmy3:DIR, epw:DIR, psm:DIR, pvgis or pvgis:DIR"
        )
    if args.fill != "none" and args.energy == "synthetic":
        raise UserError(f"--fill {args.fill}: is of weather files; --energy synthetic has no missing values")
    seed = 0 if args.energy_seed is None else args.energy_seed
    within("--energy-seed", seed, 0, 2**32 - 1)
    if args.energy_seed is not None and args.energy != "synthetic":
        raise UserError(f"--energy-seed {seed}: is of the synthetic year; --energy {args.energy} is none")
    within("--job-energy", args.job_energy, 0.001, 1e6)
    within("--site-servers", args.site_servers, 1, 10_000)
    within("--hour", args.hour, 0.1, 100_000)
    within("--join-load", args.join_load, 0.001, 0.999)
    year = parse_energy(args.energy, args.model, seed=seed, fill=args.fill)
    day = year.day(args.date)
    seeds = min(JOIN_SEEDS, settings.seeds)
    setting = Setting(
        day.wh, args.job_energy, args.site_servers, args.hour, args.join_load, seeds, settings.service
    )
    return setting, year.description
