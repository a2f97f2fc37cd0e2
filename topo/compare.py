# SPDX-License-Identifier: Apache-2.0
"""Run the P4 system and the OpenFlow baseline in turn, on the same energy and jobs, and show both.

Several rounds, one network after the other: each is built anew, does the hours of a run, and is then asked
what a first packet waits for, how many connections a second it takes, and what it does when a site dies,
a forecast comes, and the controller is killed. The results folder gets comparison.json, plots and index.html.
Three rounds take seven to eight minutes. A busy machine makes the figures worse, the baseline's most of all.

  grasp compare                            three rounds of each
  grasp compare --rounds 1 --hours 2       a first look, in two minutes
  grasp compare --target bmv2 --rounds 2   P4 on BMv2 as well, in a third column
"""

import argparse
import sys
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from grasp import UserError
from grasp.topo import results
from grasp.topo.command import add_options, check, results_folder

if TYPE_CHECKING:
    from grasp.topo.comparison.report import Comparison
    from grasp.topo.report import Settings

HELP = "run the P4 system and the OpenFlow baseline side by side"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options: those of a run, with hours that leave time for several rounds."""
    add_options(
        parser,
        target="what P4 runs on in a third column; P4 on v1model is there in any case",
        document="comparison.json",
        pcap="every port of the P4 switches",
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="of each side (default: 3)")
    parser.set_defaults(
        start_hour=5, hours=12, seconds_per_hour=2.0, jobs_per_hour=120, job_energy=300.0, log_level="warning"
    )


def run(args: argparse.Namespace) -> int:
    """Compare, report, and return the exit status."""
    from grasp.topo.report import Settings

    given = {item.name: getattr(args, item.name) for item in fields(Settings) if item.name != "control"}
    settings = Settings(**given)
    check(settings)
    if not 1 <= args.rounds <= 100:
        raise UserError(f"--rounds {args.rounds}: must be between 1 and 100")
    begun = time.monotonic()
    from grasp.topo.isolation import enter
    from grasp.topo.planes import check_scheduler

    for side in _sides(settings).values():
        check_scheduler(side.control, side.scheduler)
    enter()
    return _compare(settings, args, begun)


def _sides(settings: "Settings") -> dict[str, "Settings"]:
    """Return what is compared, by name: P4 on the embedded target, OpenFlow, P4 on another target."""
    sides = {
        "P4": replace(settings, control="p4", target="v1model"),
        "OpenFlow": replace(settings, control="openflow", target="openvswitch"),
    }
    if settings.target != "v1model":
        sides[f"P4 on {settings.target}"] = replace(settings, control="p4")
    return sides


def _compare(settings: "Settings", args: argparse.Namespace, begun: float) -> int:
    import asyncio

    from grasp.telemetry.energy.sources import parse_energy
    from grasp.topo.comparison import openings, report
    from grasp.topo.comparison.trial import Trial
    from grasp.topo.comparison.trial import run as run_trial
    from grasp.topo.configuration import Files
    from grasp.topo.emulation import Recording
    from grasp.topo.isolation import SCRATCH
    from grasp.topo.planes import builder, control_ports
    from grasp.topo.processes import RunError
    from grasp.topo.ring import Ring
    from grasp.topo.terminal import Progression

    sides = _sides(settings)
    openings.library()  # compiled before anything is built
    builders = {name: builder(side.control, side.target) for name, side in sides.items()}
    year = parse_energy(settings.energy, settings.model, settings.alignment, settings.seed)
    day = year.day(settings.date, settings.start_hour, settings.hours)
    topology = Ring(year.sites)
    folder = results_folder(args.out, replace(settings, target="comparison"))
    trials: dict[str, list[Trial]] = {name: [] for name in sides}
    failure: RunError | OSError | None = None
    try:
        for number in range(1, args.rounds + 1):
            # Every other round the other way round, so that none is always the one that comes first.
            order = list(sides) if number % 2 else list(reversed(sides))
            for name in order:
                place = f"round-{number}-{name.lower().replace(' ', '-')}"
                (folder / place).mkdir()
                (SCRATCH / place).mkdir()
                pcap = args.pcap and sides[name].control == "p4"
                recording = Recording(folder / place, pcap, args.log_level)
                with Progression(sides[name], day.wh, f"round {number} of {args.rounds}, {name}: ") as shown:
                    found = asyncio.run(
                        run_trial(
                            sides[name],
                            topology,
                            builders[name],
                            day,
                            Files(SCRATCH / place),
                            recording,
                            control_ports(sides[name].control, topology),
                            shown,
                        )
                    )
                trials[name].append(found)
    except (RunError, OSError) as error:
        failure = error
    status = 0
    if isinstance(failure, RunError):
        print(f"grasp: {failure}", file=sys.stderr)
        status = 1
    complete = report.complete_rounds(trials)  # one that failed takes nothing from those before it
    if complete:
        result = report.build(settings, complete, time.monotonic() - begun)
        _deliver(result, folder, args.json)
        status = status if report.is_complete(result) else 1
    if isinstance(failure, OSError):
        raise failure
    return status


def _deliver(result: "Comparison", folder: Path, as_json: bool) -> None:
    from grasp.topo.comparison import page, plots, report, terminal

    def write() -> None:
        print("drawing", file=sys.stderr)
        with results.named(folder):
            report.write(result, folder / "comparison.json")
            figures = plots.draw_all(result, folder / "plots")
            page.write_page(result, figures, folder / "index.html")

    def show() -> None:
        terminal.show(result)
        if as_json:
            sys.stdout.write(report.to_json(result))

    results.deliver(write, show)
    print(f"Results: {folder}/index.html ({result['wall_s']:.0f} s)", file=sys.stderr)
