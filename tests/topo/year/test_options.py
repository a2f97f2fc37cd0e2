# SPDX-License-Identifier: Apache-2.0
"""Lists and ranges mean what they look like, or are refused by the option's name."""

import argparse
from decimal import Decimal

import pytest

from grasp import UserError
from grasp.telemetry.energy import arguments
from grasp.telemetry.energy.sources import Source
from grasp.topo.year import options


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("20", ["20"]),
        ("1,20,50", ["1", "20", "50"]),
        ("1:4", ["1", "2", "3", "4"]),
        ("9:30:9", ["9", "18", "27"]),
        ("0.1:0.3:0.1", ["0.1", "0.2", "0.3"]),
        ("1:2,7", ["1", "2", "7"]),
        ("5:5", ["5"]),
        ("2,1:3,2.0", ["2", "1", "3"]),
    ],
)
def test_lists_and_ranges(text: str, values: list[str]) -> None:
    assert options.numbers("--k", text) == tuple(map(Decimal, values))


@pytest.mark.parametrize(
    "text", ["", "a", "1,", "1:", ":5", "1:2:3:4", "nan", "inf", "1:inf", "1:5:0", "5:1", "1:9:-1", "1:1e30"]
)
def test_what_is_not_a_list_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"^--k .*"):
        options.numbers("--k", text)


@pytest.mark.parametrize("text", ["0", "1.5", "101", "1:101"])
def test_whole_numbers_have_bounds(text: str) -> None:
    with pytest.raises(UserError, match=r"--jobs .* is not a whole number from 1 to 100"):
        options.whole_numbers("--jobs", text, 1, 100)


@pytest.mark.parametrize("text", ["0", "0.0001", "2e6", "-1"])
def test_job_energies_have_bounds(text: str) -> None:
    with pytest.raises(UserError, match="--k"):
        options.job_energies(text)


def test_weights_and_positions() -> None:
    assert options.weights("green_energy=1,price=-20.5") == (("green_energy", 1.0), ("price", -20.5))
    assert options.positions("40.7,-74;34,118.5") == ((40.7, -74.0), (34.0, 118.5))
    for wrong in ("green_energy", "price=much", "price=nan", ""):
        with pytest.raises(UserError, match="--weights"):
            options.weights(wrong)
    for wrong in ("40.7", "40.7,-74,3", "91,0", "0,181", "nan,0", "a,b"):
        with pytest.raises(UserError, match="--clients"):
            options.positions(wrong)


def test_only_synthetic_years_differ_by_their_seed() -> None:
    parser = argparse.ArgumentParser()
    arguments.add_energy(parser, several=True)
    args = parser.parse_args(["--energy", "synthetic", "--energy", "tmy3:here", "--seed", "3:4"])
    assert options.sources(args) == (
        Source("synthetic", seed=3),
        Source("synthetic", seed=4),
        Source("tmy3:here", seed=3),
    )
    assert options.sources(parser.parse_args([])) == (Source("synthetic"),)
