# SPDX-License-Identifier: Apache-2.0
"""Look at energy data, or fetch some.

grasp data show                                       the synthetic year
grasp data show --energy tmy3:weather --date 06-21    a day of real files
grasp data show --energy csv:mine.csv --out plots     one's own, with plots
grasp data show --csv > year.csv                      as a table that --energy csv:year.csv reads
grasp data fetch --stations march,travis              typical years from PVGIS, for --energy pvgis
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grasp import UserError
from grasp.telemetry.energy import arguments

if TYPE_CHECKING:
    from grasp.telemetry.energy.sources import Energy

HELP = "show energy data, or fetch some"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = actions.add_parser("show", help="print and plot a source")
    arguments.add_energy(show)
    show.add_argument("--date", metavar="MM-DD", help="a day, in UTC-5, instead of the year")
    form = show.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the summary as JSON")
    form.add_argument("--csv", action="store_true", help="print every hour and site as CSV")
    show.add_argument("--out", type=Path, metavar="DIR", help="folder for plots")
    fetch = actions.add_parser("fetch", help="download typical years from PVGIS")
    fetch.add_argument("--stations", metavar="NAMES", help="some of the nine stations (default: all)")
    fetch.add_argument("--out", type=Path, metavar="DIR", help="folder (default: the user's cache)")
    fetch.add_argument("--again", action="store_true", help="also what is there already")


def run(args: argparse.Namespace) -> int:
    """Do what was asked for; return the exit status."""
    return _fetch(args) if args.action == "fetch" else _show(args)


def _fetch(args: argparse.Namespace) -> int:
    from grasp.telemetry.energy import pvgis
    from grasp.telemetry.energy.stations import STATIONS, station

    folder = args.out or pvgis.cache()
    for place in [station(name) for name in args.stations.split(",")] if args.stations else STATIONS:
        path = pvgis.file(folder, place)
        if args.again or not path.exists():
            pvgis.fetch(place, folder)
        print(f"{place.name}: {path}", flush=True)
    return 0


def _show(args: argparse.Namespace) -> int:
    from grasp.telemetry.energy import display
    from grasp.telemetry.energy.sources import Source

    source = Source(
        args.energy,
        args.model,
        args.alignment,
        arguments.seed(args.seed),
        args.fill,
        args.columns,
        args.time_zone,
    )
    year = source.load(arguments.sites(args))
    energy = year.day(args.date) if args.date else year
    if args.out is not None:
        _plot(energy, args.out)
    if args.csv:
        sys.stdout.write(display.as_csv(energy))
    elif args.json:
        sys.stdout.write(display.as_json(energy))
    else:
        display.show(energy)
    return 0


def _plot(energy: "Energy", folder: Path) -> None:
    from grasp.telemetry.energy import plots

    try:
        folder.mkdir(parents=True, exist_ok=True)
        plots.draw(energy, folder)
    except OSError as error:
        raise UserError(f"--out {folder}: {error.strerror}") from None
