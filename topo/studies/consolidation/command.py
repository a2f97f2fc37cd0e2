# SPDX-License-Identifier: Apache-2.0
"""Study consolidation: services packed onto the most efficient servers, while the others sleep.

A day's load is served by a fleet of unequal servers, with all of them on and with consolidation, in which
servers are off, in hibernation or in standby when they are not needed. Beside the quiet day: a sudden load,
servers that fail, and two attacks. Late and lost requests are told with their cause.

  grasp study consolidation
  grasp study consolidation --trace load.csv --sleep standby --out results/consolidation
  sudo grasp study consolidation --wake-on-lan --json
"""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from grasp import UserError
from grasp.topo import results
from grasp.topo.studies.checks import add_workers, numbers, one_of, within, workers
from grasp.topo.studies.output import add_output, finish

if TYPE_CHECKING:
    from grasp.topo.studies.consolidation.measure import Settings

HELP = "services packed onto the most efficient servers, while the others sleep"

MOST_SERVERS = 500


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    load = parser.add_argument_group("load")
    rate = load.add_mutually_exclusive_group()
    rate.add_argument(
        "--peak", type=float, default=10.0, metavar="RATE", help="requests a second at 16 h (default: 10)"
    )
    rate.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="instead: CSV with a column requests_per_s, a row for each minute",
    )
    load.add_argument("--seed", type=int, default=0, metavar="N", help="of the requests (default: 0)")
    servers = parser.add_argument_group("servers")
    servers.add_argument(
        "--servers",
        default="new=4,middle=4,old=4",
        metavar="LIST",
        help="kinds and numbers (default: %(default)s)",
    )
    servers.add_argument(
        "--sleep",
        default="off,hibernate,standby",
        metavar="LIST",
        help="how they sleep, each a run (default: %(default)s)",
    )
    rule = parser.add_argument_group("consolidation")
    rule.add_argument(
        "--step", type=float, default=0.02, metavar="DP", help="probability moved at once (default: 0.02)"
    )
    rule.add_argument(
        "--idle", type=float, default=0.4, metavar="SHARE", help="of one that may take more (default: 0.4)"
    )
    rule.add_argument(
        "--idles",
        default="0.2:0.6:0.1",
        metavar="LIST",
        help="idle shares to compare, last way to sleep (default: %(default)s)",
    )
    rule.add_argument(
        "--report-every", type=float, default=10.0, metavar="S", help="node managers' interval (default: 10)"
    )
    add_workers(parser)
    parser.add_argument(
        "--wake-on-lan",
        action="store_true",
        help="send the day's wake-ups as real packets in a network of its own (needs root)",
    )
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Simulate, report, and return the exit status."""
    from grasp.topo.studies.consolidation import measure, report
    from grasp.topo.studies.parallel import each

    settings = _settings(args)
    idles = numbers("--idles", args.idles, 0, 0.99)
    processes = workers(args)
    if args.out is not None:
        args.out = results.make(args.out, isolated=args.wake_on_lan)
    if args.wake_on_lan:
        from grasp.topo.isolation import enter

        enter()
    begun = time.perf_counter()
    work = measure.tasks(settings, idles)
    rows = each(
        measure.measure, work, processes, "runs", lambda task: f"{task.scenario}, {task.sleep or 'all on'}"
    )
    runs, sweep = rows[: len(rows) - len(idles)], rows[len(rows) - len(idles) :]
    woken = None
    if args.wake_on_lan:
        from grasp.topo.studies.consolidation.rehearsal import rehearse

        woken = rehearse(
            [server for row in runs if row["scenario"] == "day" for server in row["woken_servers"]]
        )
    found = report.document(settings, runs, sweep, woken, time.perf_counter() - begun)
    finish(args, report.result(found))
    return 0


def _settings(args: argparse.Namespace) -> "Settings":
    """Return what is to be simulated, having refused what cannot be."""
    from grasp.schedulers.consolidation.demand import daily
    from grasp.schedulers.consolidation.dispatcher import UNITS
    from grasp.schedulers.consolidation.machines import SLEEPS
    from grasp.telemetry.energy.names import readable
    from grasp.topo.studies.consolidation.measure import MOST_RATE, MOST_REQUESTS, Settings, read_trace

    within("--peak", args.peak, 0.01, MOST_RATE)
    within("--seed", args.seed, 0, 2**32 - 1)
    within("--step", args.step, 1 / UNITS, 1)
    within("--idle", args.idle, 0, 0.99)
    within("--report-every", args.report_every, 0.1, 3600)
    sleeps = tuple(name.strip() for name in args.sleep.split(","))
    for name in sleeps:
        one_of("--sleep", name, SLEEPS)
    if len(set(sleeps)) < len(sleeps):
        raise UserError(f"--sleep {args.sleep}: one is named twice")
    rate = read_trace(args.trace) if args.trace is not None else tuple(daily(args.peak).tolist())
    requests = 60 * sum(rate)
    if requests > MOST_REQUESTS:
        option = "--peak" if args.trace is None else "--trace"
        raise UserError(
            f"{option}: {requests:,.0f} requests do not fit into memory; give at most {MOST_REQUESTS:,}"
        )
    return Settings(
        _fleet(args.servers),
        rate,
        sleeps,
        round(args.step * UNITS),
        args.idle,
        args.report_every,
        args.seed,
        None if args.trace is None else readable(args.trace.name),
    )


def _fleet(text: str) -> tuple[tuple[str, int], ...]:
    from grasp.schedulers.consolidation.machines import KINDS

    counts = []
    for part in text.split(","):
        kind, _, number = part.partition("=")
        if not number.isdecimal():
            raise UserError(f"--servers {text}: give kinds and numbers such as new=4,old=2")
        one_of("--servers", kind.strip(), KINDS)
        counts.append((kind.strip(), int(number)))
    within("--servers: their number", sum(number for _, number in counts), 1, MOST_SERVERS)
    return tuple(counts)
