# SPDX-License-Identifier: Apache-2.0
"""Study price-aware routing: requests go to the cheapest cluster within reach of their clients.

After Qureshi, Weber, Balakrishnan, Guttag, Maggs: Cutting the Electric Bill for Internet-Scale Systems
(SIGCOMM 2009). Client groups are the states of the US, clusters stand at nine market hubs. Savings are those
over the routing to the closest cluster, for the source's power models, with and without its rule that no
site's 95th percentile of 5-minute traffic may rise; by carbon intensity instead of price, and by both; and
with plants beside the clusters, whose green energy is taken first.

  grasp study price
  grasp study price --out results/price
  grasp study price --days 60 --seed 3 --json
  grasp study price --prices gridstatus:caiso.csv,isone.csv,nyiso.csv,pjm.csv,ercot.csv --start 2024-06-01
"""

import argparse
import time
from typing import TYPE_CHECKING

from grasp import UserError
from grasp.topo import results
from grasp.topo.studies.checks import numbers, whole_numbers, within
from grasp.topo.studies.output import add_output, finish

if TYPE_CHECKING:
    from grasp.telemetry.prices.series import Series
    from grasp.topo.studies.price.measure import Data, Settings

HELP = "routing by electricity prices, carbon intensity, or both"

MOST_KM = 20_000
MOST_DAYS = 366
MOST_DELAY_H = 168


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    data = parser.add_argument_group("data")
    data.add_argument(
        "--prices",
        default="synthetic",
        metavar="SOURCE",
        help="synthetic (default), gridstatus:FILE[,FILE...], or own columns as csv:FILE or parquet:FILE",
    )
    data.add_argument(
        "--carbon",
        default="synthetic",
        metavar="SOURCE",
        help="synthetic (default), csv:FILE or parquet:FILE",
    )
    data.add_argument(
        "--green",
        default="synthetic",
        metavar="SOURCE",
        help="energy of plants beside the clusters: synthetic (default), csv:FILE or parquet:FILE",
    )
    data.add_argument(
        "--plant",
        type=float,
        metavar="SHARE",
        help="made-up plant's peak power over that of the cluster's servers (default: 1)",
    )
    data.add_argument("--seed", type=int, default=0, metavar="N", help="of all that is made up (default: 0)")
    data.add_argument(
        "--hubs", metavar="LIST", help="clusters in any order, such as CA1,NY,IL (default: all nine)"
    )
    data.add_argument(
        "--locations", metavar="LIST", help="gridstatus's locations of hubs where they differ: NY=WEST,MA=..."
    )
    data.add_argument("--market", metavar="NAME", help="of gridstatus's files that have several")
    data.add_argument("--time-zone", metavar="NAME", help="of own columns' stamps without an offset from UTC")
    data.add_argument(
        "--fill",
        choices=("none", "interpolate"),
        default="none",
        help="of missing values in own columns (default: none)",
    )
    data.add_argument(
        "--start",
        metavar="DAY",
        help="UTC: MM-DD of a typical year (default: 01-01), YYYY-MM-DD of dated prices (default: first)",
    )
    data.add_argument("--days", type=int, default=24, metavar="N", help="(default: 24)")
    data.add_argument(
        "--utilization",
        type=float,
        default=0.3,
        metavar="SHARE",
        help="of each cluster in the mean, when all requests go to the closest (default: 0.3)",
    )
    rule = parser.add_argument_group("rule")
    rule.add_argument(
        "--distance", type=float, default=1500, metavar="KM", help="how far requests may go (default: 1500)"
    )
    rule.add_argument(
        "--distances", default="0:1400:100", metavar="LIST", help="also these (default: %(default)s)"
    )
    rule.add_argument(
        "--price-threshold",
        type=float,
        default=5,
        metavar="USD",
        help="per MWh: smaller differences are not worth a longer way (default: 5)",
    )
    rule.add_argument(
        "--carbon-threshold", type=float, default=20, metavar="G", help="likewise, per kWh (default: 20)"
    )
    rule.add_argument(
        "--delay", type=int, default=1, metavar="H", help="from a price to its routes (default: 1)"
    )
    rule.add_argument(
        "--update", type=int, default=1, metavar="H", help="routes are kept so long (default: 1)"
    )
    rule.add_argument(
        "--delays", default="0:6,9,12,18,24,36,48", metavar="LIST", help="also these (default: %(default)s)"
    )
    rule.add_argument(
        "--carbon-prices",
        default="20,50,100,200,500",
        metavar="LIST",
        help="$/t, for routing by both (default: %(default)s)",
    )
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Simulate, report, and return the exit status."""
    from grasp.topo.studies.parallel import each
    from grasp.topo.studies.price import join, measure, report

    settings = _settings(args)
    begun = time.perf_counter()
    data, sources = _data(args, settings)
    plants = _plants(args, data)
    green_mw = plants.at(data.hours)
    if args.out is not None:
        results.make(args.out)
    rows = each(
        lambda task: measure.measure(data, settings, task),
        measure.tasks(settings),
        1,
        "routings",
        lambda task: f"by {task.signal}, {task.reach_km:g} km",
    )
    joined = each(
        lambda task: join.measure(data, settings, green_mw, *task),
        [(rule, constrained) for rule in join.RULES for constrained in (False, True)],
        1,
        "routings with plants",
        lambda task: task[0],
    )
    gaps = [measure.gap(data, settings.distance, constrained) for constrained in (False, True)]
    wall_s = time.perf_counter() - begun
    sources["green"] = plants.description
    finish(args, report.result(report.document(settings, data, sources, rows, joined, gaps, wall_s)))
    return 0


def _settings(args: argparse.Namespace) -> "Settings":
    """Return what is to be varied, having refused what cannot be."""
    from grasp.topo.studies.price.measure import Settings

    within("--distance", args.distance, 0, MOST_KM)
    within("--price-threshold", args.price_threshold, 0, 1e5)
    within("--carbon-threshold", args.carbon_threshold, 0, 1e5)
    within("--delay", args.delay, 0, MOST_DELAY_H)
    within("--update", args.update, 1, MOST_DELAY_H)
    return Settings(
        numbers("--distances", args.distances, 0, MOST_KM),
        args.distance,
        args.price_threshold,
        args.carbon_threshold,
        args.delay,
        args.update,
        whole_numbers("--delays", args.delays, 0, MOST_DELAY_H),
        numbers("--carbon-prices", args.carbon_prices, 0, 1e5),
    )


def _data(args: argparse.Namespace, settings: "Settings") -> "tuple[Data, dict[str, str]]":
    """Return the system and its prices, and where they are from."""
    from grasp.telemetry.prices import hubs, sources
    from grasp.topo.studies.price import measure

    within("--seed", args.seed, 0, 2**32 - 1)
    within("--days", args.days, 1, MOST_DAYS)
    within("--utilization", args.utilization, 0.01, 1)
    for option, given in (("--time-zone", args.time_zone), ("--fill", args.fill)):
        if given not in (None, "none") and not any(map(_own, (args.prices, args.carbon, args.green))):
            raise UserError(f"{option} {given}: is of own columns (csv:FILE, parquet:FILE); there are none")
    chosen = hubs.HUBS if args.hubs is None else hubs.choose(args.hubs)
    if len(chosen) < 2:
        raise UserError(f"--hubs {args.hubs}: one cluster leaves nothing to choose")
    prices = sources.prices(
        args.prices, chosen, args.seed, _locations(args.locations), args.market, args.time_zone, args.fill
    )
    carbon = sources.carbon(args.carbon, chosen, args.seed, args.time_zone, args.fill)
    data = measure.gather(
        chosen, prices, carbon, args.start, args.days, settings.before, args.utilization, args.seed
    )
    return data, {"prices": prices.description, "carbon": carbon.description}


def _plants(args: argparse.Namespace, data: "Data") -> "Series":
    """Return the energy of the plants beside the clusters in MWh."""
    from grasp.telemetry.prices import sources

    if args.plant is not None and _own(args.green):
        raise UserError(f"--plant {args.plant:g}: is of made-up plants; {args.green} has its own")
    plant = 1.0 if args.plant is None else args.plant
    within("--plant", plant, 0, 100)
    return sources.green(
        args.green, data.hubs, data.system.peak_mw * plant, args.seed, args.time_zone, args.fill
    )


def _own(source: str) -> bool:
    """Say whether a source is a file with columns of one's own."""
    return source.startswith(("csv:", "parquet:"))


def _locations(text: str | None) -> dict[str, str]:
    """Return the hubs and locations of a list such as ``NY=WEST,MA=.H.INTERNAL_HUB``."""
    found: dict[str, str] = {}
    for part in () if text is None else text.split(","):
        hub, equals, location = (word.strip() for word in part.partition("="))
        if not (hub and equals and location) or hub in found:
            raise UserError(f"--locations {text}: give each hub once, such as NY=WEST,MA=.H.INTERNAL_HUB")
        found[hub] = location
    return found
