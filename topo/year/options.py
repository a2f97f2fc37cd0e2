# SPDX-License-Identifier: Apache-2.0
"""Options that the studies share, and lists and ranges as people write them."""

import argparse
import math
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from grasp import UserError

if TYPE_CHECKING:
    from grasp.telemetry.energy.sources import Source
    from grasp.topo.year.sweep import Span

MOST_VALUES = 1_000_000
_MOST_DIGITS = 12

CLIENTS = "40.71,-74.01;25.76,-80.19;34.05,-118.24"
"""New York, Miami and Los Angeles: where the clients of the paper's three switches may be."""


def numbers(option: str, text: str) -> tuple[Decimal, ...]:
    """Return the numbers of a list: ``1,20,50``, ``1:200`` (both ends), ``9:9000:9``, or a mixture.

    They are decimals, so that the steps of 0:1:0.1 are what they look like. Raises UserError, naming the
    option, for anything else.
    """
    values: list[Decimal] = []
    for part in text.split(","):
        try:
            bounds = [_decimal(bound) for bound in part.split(":")]
            first, last, step = bounds[0], bounds[1] if len(bounds) > 1 else bounds[0], Decimal(1)
            if len(bounds) > 2:
                (step,) = bounds[2:]
        except (InvalidOperation, ValueError):
            raise UserError(
                f"{option} {text}: give numbers such as 1,20,50 or a range such as 1:200 or 9:9000:9"
            ) from None
        if step <= 0 or last < first:
            raise UserError(f"{option} {text}: the range {part} has nothing in it")
        if len(values) + (last - first) / step >= MOST_VALUES:
            raise UserError(f"{option} {text}: more than {MOST_VALUES} values")
        values += [first + step * index for index in range(int((last - first) / step) + 1)]
    return tuple(dict.fromkeys(values))


def _decimal(text: str) -> Decimal:
    value = Decimal(text)
    # Beyond any use, and beyond what can be divided.
    if not value.is_finite() or (value and abs(value.adjusted()) > _MOST_DIGITS):
        raise ValueError(text)
    return value


def whole_numbers(option: str, text: str, least: int, most: int) -> tuple[int, ...]:
    """As `numbers`, all whole and from `least` to `most`."""
    values = numbers(option, text)
    for value in values:
        if value != int(value) or not least <= value <= most:
            raise UserError(f"{option} {text}: {value} is not a whole number from {least} to {most}")
    return tuple(int(value) for value in values)


def job_energies(text: str) -> tuple[float, ...]:
    """Return the job energies in Wh that --k names."""
    values = numbers("--k", text)
    for value in values:
        if not Decimal("0.001") <= value <= 1_000_000:
            raise UserError(f"--k {text}: {value} is not an energy from 0.001 to 1000000 Wh")
    return tuple(float(value) for value in values)


def weights(text: str) -> tuple[tuple[str, float], ...]:
    """Return parameters and weights of a list such as ``green_energy=1,price=-20``."""
    pairs = []
    for part in text.split(","):
        parameter, _, value = part.partition("=")
        try:
            weight = float(value)
        except ValueError:
            weight = math.nan
        if not math.isfinite(weight):
            raise UserError(f"--weights {text}: give weights such as green_energy=1,price=-20")
        pairs.append((parameter.strip(), weight))
    return tuple(pairs)


def positions(text: str) -> tuple[tuple[float, float], ...]:
    """Return the degrees north and east of a list such as ``40.7,-74.0;34.0,-118.2``."""
    found = []
    for part in text.split(";"):
        try:
            latitude, longitude = (float(number) for number in part.split(","))
        except ValueError:
            latitude = longitude = float("nan")
        if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
            raise UserError(f"--clients {text}: give degrees north and east, such as 40.7,-74.0;34.0,-118.2")
        found.append((latitude, longitude))
    return tuple(found)


def add_span(parser: argparse.ArgumentParser) -> None:
    """Declare the options that choose the hours."""
    group = parser.add_argument_group("hours")
    group.add_argument("--year", action="store_true", help="the whole year (default)")
    group.add_argument("--date", metavar="MM-DD", help="from this date on instead, in UTC-5")
    group.add_argument("--start-hour", type=int, metavar="H", help="of the date (default: 0)")
    group.add_argument("--hours", type=int, metavar="N", help="from there on (default: 24)")


def sources(args: argparse.Namespace) -> "tuple[Source, ...]":
    """Return the energy sources that were asked for; only the synthetic year differs by its seed."""
    from grasp.telemetry.energy.sources import Source

    seeds = whole_numbers("--seed", args.seed, 0, 2**32 - 1)
    found = []
    for text in [args.energy] if isinstance(args.energy, str) else args.energy or ["synthetic"]:
        differing = seeds if text == "synthetic" else seeds[:1]
        found += [
            Source(text, args.model, args.alignment, seed, args.fill, args.columns, args.time_zone)
            for seed in differing
        ]
    return tuple(dict.fromkeys(found))


def one_source(args: argparse.Namespace) -> "Source":
    """Return the energy source that was asked for, where there can be only one."""
    source, *more = sources(args)
    if more:
        raise UserError(f"--seed {args.seed}: give one")
    return source


def span(args: argparse.Namespace) -> "Span":
    """Return the hours that were asked for."""
    from grasp.topo.year.sweep import Span

    if args.year and args.date:
        raise UserError("--year and --date exclude each other")
    if args.date is None and (args.start_hour is not None or args.hours is not None):
        raise UserError("--start-hour and --hours need a --date")
    start_hour, hours = args.start_hour, args.hours
    return Span(args.date, 0 if start_hour is None else start_hour, 24 if hours is None else hours)
