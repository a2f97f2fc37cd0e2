# SPDX-License-Identifier: Apache-2.0
"""Simulate schedulers over a year of energy: which part of the jobs runs on green energy.

Every scheduler meets every job energy k and number of jobs an hour, hour by hour and job after job, exactly.
`limit` among the schedulers is the most that any could reach which decides at once. `deferrable` and
`battery` move energy in time, and may reach more.

  grasp simulate
  grasp simulate --energy tmy3:weather --schedulers green,round-robin,limit --k 1:200 --out results/year
  grasp simulate --energy tmy3:weather --date 06-21 --jobs 9:9000:9 --csv > day.csv
  grasp simulate --schedulers limit,deferrable,deferrable-optimum --k 50 --share 0.3 --wait 4
  grasp simulate --seed 0:99 --k 1:200 --workers 4 --json > years.json
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grasp import UserError
from grasp.telemetry.energy import arguments
from grasp.topo import results
from grasp.topo.year import options

if TYPE_CHECKING:
    from grasp.topo.year.sweep import Row, Sweep, Task

HELP = "compare schedulers over a year of energy"

MOST_WORKERS = 256


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    what = parser.add_argument_group("what is simulated")
    what.add_argument(
        "--schedulers",
        default="green,round-robin",
        metavar="NAMES",
        help="of green, round-robin, nearest, weighted, persistence, limit, those below, and your own "
        "(default: green,round-robin)",
    )
    what.add_argument("--k", default="20", metavar="LIST", help="Wh of a job: 1,20,50 or 1:200 (default: 20)")
    what.add_argument("--jobs", default="900", metavar="LIST", help="jobs an hour: 9:9000:9 (default: 900)")
    what.add_argument(
        "--count",
        choices=("integer", "real"),
        default="integer",
        help="whole jobs (default), or divisible ones as in the paper's arithmetic",
    )
    weigh = what.add_mutually_exclusive_group()
    weigh.add_argument(
        "--weights", metavar="LIST", help="of the scheduler weighted: green_energy=1,price=-20"
    )
    weigh.add_argument(
        "--config", type=Path, metavar="FILE", help="take the weights of a controller's configuration"
    )
    what.add_argument(
        "--clients",
        default=options.CLIENTS,
        metavar="PLACES",
        help="of the scheduler nearest, degrees north and east (default: New York, Miami, Los Angeles)",
    )
    time_shift = parser.add_argument_group(
        "energy moved in time",
        "deferrable, battery and deferrable-battery among the schedulers; with -optimum behind, the most "
        "that they could reach, knowing all hours. Jobs are divisible there.",
    )
    time_shift.add_argument(
        "--share", type=float, default=0.5, metavar="X", help="part of the jobs that may wait (default: 0.5)"
    )
    time_shift.add_argument(
        "--wait", type=int, default=6, metavar="D", help="hours that they may wait (default: 6)"
    )
    time_shift.add_argument(
        "--battery-capacity", type=float, default=20_000, metavar="WH", help="of each site (default: 20000)"
    )
    time_shift.add_argument(
        "--battery-power", type=float, default=5_000, metavar="W", help="in and out (default: 5000)"
    )
    time_shift.add_argument(
        "--battery-efficiency", type=float, default=0.9, metavar="X", help="out over in (default: 0.9)"
    )
    time_shift.add_argument(
        "--forecast",
        choices=("yesterday", "perfect"),
        default="yesterday",
        help="what is believed of the hours to come (default: as yesterday)",
    )
    arguments.add_energy(parser, several=True)
    options.add_span(parser)
    where = parser.add_argument_group("where it runs")
    where.add_argument("--workers", type=int, default=1, metavar="N", help="processes (default: 1)")
    where.add_argument("--dask", metavar="ADDRESS", help="a Dask scheduler instead, such as tcp://host:8786")
    output = parser.add_argument_group("output")
    form = output.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the result as JSON")
    form.add_argument("--csv", action="store_true", help="print the rows as CSV")
    output.add_argument(
        "--out",
        type=results.folder,
        metavar="DIR",
        help="folder, new or empty, for plots, rows.csv and simulate.json",
    )


def run(args: argparse.Namespace) -> int:
    """Simulate, report, and return the exit status."""
    from grasp.topo.year import output
    from grasp.topo.year.sweep import cut, load, tasks

    sweep = _sweep(args)
    if args.out is not None:
        results.make(args.out)
    begun = time.perf_counter()
    rows = [row for part in _follow(args, tasks(sweep)) for row in part]
    wall_s = time.perf_counter() - begun
    hours = cut(load(sweep.sources[0], sweep.study.sites), sweep.study.span)
    result = output.document(sweep, rows, len(hours.wh), hours.sites, wall_s)
    results.deliver(
        lambda: _write(args.out, sweep, rows, output.as_json(result), output.as_csv(rows)),
        lambda: _print(args, sweep, rows, result),
    )
    return 0


def _sweep(args: argparse.Namespace) -> "Sweep":
    """Return the sweep that was asked for, having refused what cannot be meant."""
    from grasp.schedulers.registry import scheduler
    from grasp.schedulers.shifting import Battery, Waiting
    from grasp.topo.year.sweep import LIMIT, Study, Sweep, cut, forecast, is_policy, load, setting

    names = tuple(args.schedulers.split(","))
    if len(set(names)) < len(names):
        raise UserError(f"--schedulers {args.schedulers}: one is named twice")
    if not 1 <= args.workers <= MOST_WORKERS:
        raise UserError(f"--workers {args.workers}: must be from 1 to {MOST_WORKERS}")
    if args.dask and args.workers > 1:
        raise UserError("--workers and --dask exclude each other")
    sweep = Sweep(
        sources=options.sources(args),
        schedulers=names,
        job_wh=options.job_energies(args.k),
        jobs=options.whole_numbers("--jobs", args.jobs, 1, 10**9),
        study=Study(
            span=options.span(args),
            sites=arguments.sites(args),
            divisible=args.count == "real",
            weights=_weights(args),
            clients=options.positions(args.clients),
            waiting=Waiting(args.share, args.wait),
            battery=Battery(args.battery_capacity, args.battery_power, args.battery_efficiency),
            forecast=args.forecast,
        ),
    )
    if len(sweep.jobs) * len(sweep.job_wh) > options.MOST_VALUES:
        raise UserError(f"--k and --jobs: more than {options.MOST_VALUES} cases")
    # Mistakes show here, in one line, before anything is spread over processes.
    year = load(sweep.sources[0], sweep.study.sites)
    cut(year, sweep.study.span)
    for name in names:
        if name != LIMIT and not is_policy(name):
            forecast(scheduler(name, setting(sweep.study, year)), year)
    return sweep


def _weights(args: argparse.Namespace) -> tuple[tuple[str, float], ...]:
    """Return the weights that were asked for; none stands for green energy alone."""
    if args.config is not None:
        from grasp.control.config import load

        return tuple((each.name, each.weight) for each in load(args.config).parameters if each.weight)
    return options.weights(args.weights) if args.weights else ()


def _follow(args: argparse.Namespace, work: "list[Task]") -> "Iterator[list[Row]]":
    """Reckon where it was asked for, with a progress bar on standard error."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from grasp.console import console
    from grasp.topo.year.sweep import here, in_processes, on_cluster

    if args.dask:
        parts = on_cluster(work, args.dask)
    elif args.workers > 1:
        parts = in_processes(work, args.workers)
    else:
        parts = here(work)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    terminal = console(stderr=True)
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as progress:
        cases = progress.add_task("cases", total=sum(len(task.jobs) for task in work))
        for rows in parts:
            progress.advance(cases, len(rows))
            yield rows


def _print(args: argparse.Namespace, sweep: "Sweep", rows: "list[Row]", result: dict[str, Any]) -> None:
    from grasp.topo.year import output

    if args.json:
        sys.stdout.write(output.as_json(result))
    elif args.csv:
        sys.stdout.write(output.as_csv(rows))
    else:
        output.show(sweep, result)


def _write(folder: Path | None, sweep: "Sweep", rows: "list[Row]", json_text: str, csv_text: str) -> None:
    from grasp.topo.year import curves

    if folder is None:
        return
    with results.whole(folder) as unfinished:
        (unfinished / "simulate.json").write_text(json_text, encoding="utf-8")
        (unfinished / "rows.csv").write_text(csv_text, encoding="utf-8")
        curves.draw(sweep, rows, unfinished)
