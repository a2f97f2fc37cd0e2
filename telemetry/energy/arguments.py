# SPDX-License-Identifier: Apache-2.0
"""The options by which a command asks for energy."""

import argparse

from grasp import UserError


def add_energy(parser: argparse.ArgumentParser, several: bool = False) -> None:
    """Declare the options; `several` lets the source be given several times, and seeds be a list."""
    group = parser.add_argument_group("energy")
    group.add_argument(
        "--energy",
        metavar="SOURCE",
        default=None if several else "synthetic",
        action="append" if several else "store",
        help="synthetic (default), tmy3:DIR, epw:DIR, psm:DIR, pvgis, csv:FILE or parquet:FILE"
        + ("; may be given several times" if several else ""),
    )
    group.add_argument(
        "--model", default="grasp2018", metavar="NAME", help="grasp2018 (default), pvwatts or wind"
    )
    group.add_argument("--alignment", choices=("utc", "published"), default="utc", help="(default: utc)")
    group.add_argument(
        "--fill", choices=("none", "interpolate"), default="none", help="of missing values (default: none)"
    )
    group.add_argument(
        "--seed",
        default="0",
        metavar="LIST" if several else "N",
        help="of the synthetic year (default: 0)" + ("; a list or range: several years" if several else ""),
    )
    group.add_argument("--sites", metavar="NAMES", help="some of the source's sites, separated by commas")
    group.add_argument(
        "--columns", metavar="FILE", help="CSV or Parquet file with prices or carbon intensities of the sites"
    )
    group.add_argument(
        "--time-zone", metavar="ZONE", help="of stamps in one's own files that have no offset from UTC"
    )


def seed(text: str) -> int:
    """Return the seed that was given; raises UserError for what is none."""
    if not (text.isdecimal() and int(text) < 2**32):
        raise UserError(f"--seed {text}: must be a whole number from 0 to {2**32 - 1}")
    return int(text)


def sites(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the sites that were asked for; none stands for all."""
    return tuple(args.sites.split(",")) if args.sites else ()
