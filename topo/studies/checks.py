# SPDX-License-Identifier: Apache-2.0
"""Checks of the studies' options: each raises UserError that names the option and what it takes."""

import argparse
from collections.abc import Iterable
from decimal import Decimal
from typing import TypeVar

from grasp import UserError
from grasp.topo.studies.parallel import cores
from grasp.topo.year import options

Number = TypeVar("Number", int, Decimal)

MOST_WORKERS = 256
MOST_VALUES = 200
"""In a list of values to compare: each takes its time, and a row."""


def within(option: str, value: float, least: float, most: float) -> None:
    """Refuse a value that is not between two others, or is not a number."""
    if not least <= value <= most:
        raise UserError(f"{option} {_text(value)}: must be between {_text(least)} and {_text(most)}")


def _text(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.10g}"


def one_of(option: str, value: str, known: Iterable[str]) -> None:
    """Refuse a name that is not known."""
    if value not in (names := tuple(known)):
        raise UserError(f"{option} {value}: must be one of {', '.join(names)}")


def numbers(option: str, text: str, least: float, most: float) -> tuple[float, ...]:
    """Return the numbers of a list such as ``0,100:400:50``, all within limits, in rising order."""
    values = _few(option, options.numbers(option, text))
    for value in values:
        within(option, float(value), least, most)
    return tuple(float(value) for value in values)


def whole_numbers(option: str, text: str, least: int, most: int) -> tuple[int, ...]:
    """As `numbers`, all whole."""
    return _few(option, options.whole_numbers(option, text, least, most))


def _few(option: str, values: tuple[Number, ...]) -> tuple[Number, ...]:
    if len(values) > MOST_VALUES:
        raise UserError(f"{option}: {len(values)} values; at most {MOST_VALUES} are compared")
    return tuple(sorted(values))


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Declare the option that says how many processes work."""
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: one a core)")


def workers(args: argparse.Namespace) -> int:
    """Return how many processes shall work."""
    count: int = cores() if args.workers is None else args.workers
    within("--workers", count, 1, MOST_WORKERS)
    return count
