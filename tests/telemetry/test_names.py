# SPDX-License-Identifier: Apache-2.0
"""Files' names that a user may write: other people's homes, bytes that are no text."""

import os
from pathlib import Path

import pytest

from grasp import UserError
from grasp.telemetry.energy.names import readable, to_path
from grasp.telemetry.energy.sources import Source
from grasp.telemetry.prices import hubs, sources

NOBODY = "~nobodyhere/x: ~nobodyhere is nobody's home here; write the path out"


def test_homes_are_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert to_path("~/a.csv") == Path("/home/someone/a.csv")
    assert to_path("a~b") == Path("a~b")


@pytest.mark.parametrize("energy", ["csv", "parquet", "tmy3", "epw", "psm", "pvgis"])
def test_nobodys_home_of_energy(energy: str) -> None:
    with pytest.raises(UserError, match=NOBODY):
        Source(f"{energy}:~nobodyhere/x").load()
    with pytest.raises(UserError, match=NOBODY):
        Source("synthetic", columns="~nobodyhere/x").load()


@pytest.mark.parametrize(
    "prices", ["csv:~nobodyhere/x", "parquet:~nobodyhere/x", "gridstatus:a,~nobodyhere/x"]
)
def test_nobodys_home_of_prices(prices: str) -> None:
    with pytest.raises(UserError, match=NOBODY):
        sources.prices(prices, hubs.HUBS)


def test_any_name_can_be_written() -> None:
    assert readable("größe[1].csv") == "größe[1].csv"
    assert readable(os.fsdecode(b"a\xff\xc3\xa9.csv")) == r"a\xffé.csv"
