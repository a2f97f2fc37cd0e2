# SPDX-License-Identifier: Apache-2.0
"""grasp data: what it prints is what the sources hold, and can be read again."""

import argparse
import json
import os
from pathlib import Path

import numpy as np
import pytest

from grasp import UserError
from grasp.telemetry.energy import command, pvgis
from grasp.telemetry.energy.sources import parse_energy
from grasp.telemetry.energy.stations import STATIONS, Station


def call(*words: str) -> int:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return command.run(parser.parse_args(words))


def test_csv_is_read_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("show", "--csv", "--seed", "3", "--sites", "march,elmira") == 0
    (tmp_path / "year.csv").write_text(capsys.readouterr().out)
    again = parse_energy(f"csv:{tmp_path / 'year.csv'}")
    whole = parse_energy("synthetic", seed=3).select(["march", "elmira"])
    assert again.sites == whole.sites
    assert np.array_equal(again.wh, whole.wh)
    assert np.array_equal(again.positions, whole.positions)


def test_json_and_table_sum_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("show", "--json", "--date", "06-21") == 0
    shown = json.loads(capsys.readouterr().out)
    day = parse_energy("synthetic").day("06-21")
    assert shown["hours"] == 24
    assert [site["energy_wh"] for site in shown["sites"]] == pytest.approx(day.wh.sum(axis=0), abs=0.001)
    assert call("show", "--date", "06-21") == 0
    text = capsys.readouterr().out
    assert "synthetic year, seed 0" in text
    assert all(place.name in text for place in STATIONS)


def test_plots(tmp_path: Path) -> None:
    rows = [f"{hour}:00Z,here,5,{row % 50}" for row, hour in enumerate(parse_energy("synthetic").hours)]
    own = tmp_path / "own.csv"
    own.write_text("\n".join(["hour_start,site,green_energy_wh,price_usd_per_mwh", *rows]))
    for words in ((), ("--date", "06-21")):
        folder = tmp_path / f"plots{len(words)}"
        assert call("show", "--energy", f"csv:{own}", "--out", str(folder), *words) == 0
        names = sorted(path.name for path in folder.iterdir())
        assert names == ["green_energy.png", "green_energy.svg", "price.png", "price.svg"]


def test_names_are_shown_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the terminal's library would take for markup and for the name of a picture, and bytes."""
    own = tmp_path / os.fsdecode(b"g[bold]:smile:\xff.csv")
    rows = [f"{hour}:00Z,here,5" for hour in parse_energy("synthetic").hours]
    own.write_text("\n".join(["hour_start,site,green_energy_wh", *rows]))
    for words in ((), ("--json",), ("--out", str(tmp_path / "plots"))):
        assert call("show", "--energy", f"csv:{own}", *words) == 0
        shown = capsys.readouterr().out.replace("\\\\", "\\").replace("\n", "")
        assert r"own energy from g[bold]:smile:\xff.csv" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show", "--seed", "x"), "--seed x"),
        (("show", "--sites", "atlantis"), "site 'atlantis'"),
        (("show", "--energy", "csv:/nowhere.csv"), "/nowhere.csv: cannot be read"),
        (("show", "--out", "/proc/none"), "--out /proc/none"),
        (("fetch", "--stations", "atlantis"), "station 'atlantis'"),
    ],
)
def test_mistakes_are_named(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        call(*words)


def test_fetch_names_each_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fetched = []

    def fetch(place: Station, folder: Path) -> Path:
        fetched.append(place.name)
        return pvgis.file(folder, place)

    (tmp_path / "march.json").touch()
    monkeypatch.setattr(pvgis, "fetch", fetch)
    words = ("fetch", "--stations", "march,travis", "--out", str(tmp_path))
    assert call(*words, "--again") == 0
    assert fetched == ["march", "travis"]
    capsys.readouterr()
    fetched.clear()
    assert call(*words) == 0
    assert fetched == ["travis"]  # what is there is kept
    assert capsys.readouterr().out.splitlines() == [
        f"march: {tmp_path}/march.json",
        f"travis: {tmp_path}/travis.json",
    ]
