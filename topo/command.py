# SPDX-License-Identifier: Apache-2.0
"""Emulate a network and let its switches spread jobs over sites by their green energy.

Three switches, nine sites and six clients, in network namespaces that end with the run (needs root). The
results folder gets report.json, plots, logs and index.html, a page that shows all of it.

  grasp run                                      a synthetic June 21, 24 hours of 3 s
  grasp run --energy tmy3:weather --hours 6 --start-hour 9
  grasp run --scheduler round-robin --json > report.json
"""

import argparse
import math
import re
import time
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from grasp import UserError
from grasp.topo import results

if TYPE_CHECKING:
    from grasp.topo.report import Settings

HELP = "emulate a network and spread jobs over its sites by their green energy"

_MOST_JOBS_A_SECOND = 2_000  # real connections, each with a process's share of one machine


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--control",
        choices=("p4", "openflow"),
        default="p4",
        help="who decides about a job: the switches, or an OpenFlow controller (default: p4)",
    )
    add_options(parser, "what runs the P4 program", "report.json", "every switch port")


def add_options(parser: argparse.ArgumentParser, target: str, document: str, pcap: str) -> None:
    """Declare what is the same for every command that emulates; the texts are those that differ in --help."""
    what = parser.add_argument_group("what runs")
    what.add_argument(
        "--target", choices=("v1model", "bmv2"), default="v1model", help=f"{target} (default: v1model)"
    )
    what.add_argument(
        "--scheduler", default="green", metavar="NAME", help="green (default), round-robin, or another"
    )
    energy = parser.add_argument_group("energy")
    energy.add_argument(
        "--energy",
        default="synthetic",
        metavar="SOURCE",
        help="synthetic (default), tmy3:DIR, epw:DIR, csv:FILE or another of those in docs/energy.md",
    )
    energy.add_argument(
        "--model", choices=("grasp2018", "pvwatts"), default="grasp2018", help="(default: grasp2018)"
    )
    energy.add_argument("--alignment", choices=("utc", "published"), default="utc", help="(default: utc)")
    energy.add_argument("--date", default="06-21", metavar="MM-DD", help="first day (default: 06-21)")
    energy.add_argument(
        "--start-hour",
        type=int,
        default=0,
        metavar="H",
        help="first hour of the day, UTC-5 (default: %(default)s)",
    )
    load = parser.add_argument_group("time and load")
    load.add_argument("--hours", type=int, default=24, metavar="N", help="(default: %(default)s)")
    load.add_argument(
        "--seconds-per-hour",
        type=float,
        default=3.0,
        metavar="S",
        help="an hour's length (default: %(default)s)",
    )
    load.add_argument("--jobs-per-hour", type=int, default=180, metavar="N", help="(default: %(default)s)")
    load.add_argument("--job-energy", type=float, default=200.0, metavar="WH", help="(default: %(default)s)")
    load.add_argument(
        "--seed", type=int, default=0, help="of the synthetic year and the jobs (default: %(default)s)"
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "--out",
        type=results.folder,
        metavar="DIR",
        help="results folder, new or empty (default: results/<time>-...)",
    )
    output.add_argument("--json", action="store_true", help=f"print {document} on standard output")
    output.add_argument("--pcap", action="store_true", help=f"keep the packets of {pcap} in pcap/")
    output.add_argument(
        "--log-level",
        choices=("debug", "info", "warning"),
        default="info",
        help="(default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Run, report, and return the exit status."""
    from grasp.topo.report import Settings

    settings = Settings(**{field.name: getattr(args, field.name) for field in fields(Settings)})
    check(settings)
    if settings.control == "openflow":
        if settings.target != "v1model":
            raise UserError(
                f"--target {settings.target}: the switches of --control openflow are Open vSwitch's"
            )
        if args.pcap:
            raise UserError("--pcap: Open vSwitch keeps no packets; leave it out with --control openflow")
        settings = replace(settings, target="openvswitch")
    begun = time.monotonic()
    from grasp.topo.isolation import enter
    from grasp.topo.planes import check_scheduler

    check_scheduler(settings.control, settings.scheduler)
    enter()
    return _run_inside(settings, args, begun)


def check(settings: "Settings") -> None:
    """Raise a UserError that names the option for values that make no run."""
    for option, value, least, most in (
        ("--start-hour", settings.start_hour, 0, 23),
        ("--hours", settings.hours, 1, 8760),
        ("--seconds-per-hour", settings.seconds_per_hour, 0.5, 3600),
        ("--jobs-per-hour", settings.jobs_per_hour, 1, 1_000_000),
        ("--job-energy", settings.job_energy, 0.001, (2**32 - 1) / 1000),
        ("--seed", settings.seed, 0, 2**32 - 1),
    ):
        if not (math.isfinite(value) and least <= value <= most):
            raise UserError(f"{option} {value:g}: must be between {least:g} and {most:g}")
    rate = settings.jobs_per_hour / settings.seconds_per_hour
    if rate > _MOST_JOBS_A_SECOND:
        raise UserError(
            f"--jobs-per-hour {settings.jobs_per_hour}: with --seconds-per-hour "
            f"{settings.seconds_per_hour:g} that is {rate:,.0f} jobs a second; a run's clients open "
            f"{_MOST_JOBS_A_SECOND:,} at most"
        )
    if not re.fullmatch(r"\d\d-\d\d", settings.date):
        raise UserError(f"--date {settings.date}: must be month and day, such as 06-21")


def results_folder(wish: Path | None, settings: "Settings") -> Path:
    """Make the results folder, named after what is run if it has no name, and return it."""
    source = settings.energy.partition(":")[0]
    name = f"{datetime.now():%Y-%m-%d-%H%M%S}-{settings.scheduler}-{source}-{settings.target}"
    return results.make(wish or Path("results") / name, isolated=True, new=wish is None)


def _run_inside(settings: "Settings", args: argparse.Namespace, begun: float) -> int:
    import asyncio
    import sys

    from grasp.telemetry.energy.sources import parse_energy
    from grasp.topo import page, plots, report
    from grasp.topo.emulation import Recording
    from grasp.topo.experiment import measure
    from grasp.topo.planes import builder
    from grasp.topo.processes import RunError
    from grasp.topo.ring import Ring
    from grasp.topo.terminal import Progression, show_summary

    year = parse_energy(settings.energy, settings.model, settings.alignment, settings.seed)
    day = year.day(settings.date, settings.start_hour, settings.hours)
    topology = Ring(year.sites)
    build = builder(settings.control, settings.target)
    folder = results_folder(args.out, settings)
    recording = Recording(folder, args.pcap, args.log_level)
    try:
        with Progression(settings, day.wh) as progression:
            seen = asyncio.run(measure(settings, topology, build, day, recording, progression))
    except RunError as error:
        print(f"grasp: {error}", file=sys.stderr)
        return 1
    seen.wall_s = time.monotonic() - begun
    result = report.build(settings, seen)

    def write() -> None:
        print("drawing", file=sys.stderr)
        connect = [job.connect_us for job in seen.outcomes if job.connect_us is not None]
        with results.named(folder):
            (folder / "jobs.csv").write_text(report.jobs_table(seen.outcomes))
            report.write(result, folder / "report.json")
            figures = plots.draw_all(result, topology, connect, folder / "plots")
            page.write_page(result, figures, folder / "index.html")

    def show() -> None:
        show_summary(result)
        if args.json:
            sys.stdout.write(report.to_json(result))

    results.deliver(write, show)
    print(f"Results: {folder}/index.html", file=sys.stderr)
    return 0
