# SPDX-License-Identifier: Apache-2.0
"""The simulator against the published numbers and a plain greedy; the same bytes wherever it runs."""

import argparse
import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grasp import UserError
from grasp.schedulers.green import Green
from grasp.telemetry.energy.sources import parse_energy
from grasp.topo.year import simulate


def call(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run the command; return its standard output."""
    parser = argparse.ArgumentParser()
    simulate.configure(parser)
    assert simulate.run(parser.parse_args(words)) == 0
    return capsys.readouterr().out


def result(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(call(capsys, *words, "--json"))
    return document


def without_time(text: str) -> str:
    """All but the line of the time that it took."""
    lines = text.splitlines()
    kept = [line for line in lines if not line.startswith(' "wall_s": ')]
    assert len(kept) == len(lines) - 1
    return "\n".join(kept)


def test_the_published_gains(capsys: pytest.CaptureFixture[str], real_tmy3: Path) -> None:
    document = result(
        capsys,
        *("--energy", f"tmy3:{real_tmy3}", "--alignment", "published", "--count", "real"),
        *("--k", "1,200", "--jobs", "9,900"),
    )
    ratio = {(r["scheduler"], r["k"], r["jobs_per_hour"]): r["green_ratio"] for r in document["rows"]}
    points = {
        case: 100 * (ratio["green", *case] - ratio["round-robin", *case]) for case in ((1, 900), (1, 9))
    }
    assert points[1, 900] == pytest.approx(14.24, abs=0.005)
    assert points[1, 9] == pytest.approx(16.31, abs=0.005)
    assert ratio["green", 200, 900] == pytest.approx(ratio["round-robin", 200, 900], abs=1e-8)
    assert (document["hours"], document["model"], document["alignment"]) == (8760, "grasp2018", "published")


def test_green_is_the_limit_for_every_k(capsys: pytest.CaptureFixture[str], real_tmy3: Path) -> None:
    words = (
        "--energy",
        f"tmy3:{real_tmy3}",
        "--schedulers",
        "green,limit",
        "--k",
        "1:200",
        "--count",
        "real",
    )
    rows = result(capsys, *words)["rows"]
    assert len(rows) == 400
    assert all(row["green_ratio"] == pytest.approx(row["green_ratio_limit"], abs=2e-9) for row in rows)


def test_a_day_by_a_plain_greedy(capsys: pytest.CaptureFixture[str]) -> None:
    """Each hour and job in turn, in whole mWh; persistence goes by the hour before, also at midnight."""
    words = ("--date", "03-01", "--hours", "30", "--k", "70", "--jobs", "55", "--seed", "4")
    rows = result(capsys, *words, "--schedulers", "green,persistence")["rows"]
    year = parse_energy("synthetic", seed=4)
    first = year.hours.tolist().index(year.day("03-01").hours[0].item())
    for row, lag in zip(rows, (0, 1), strict=True):
        served = 0.0
        for hour in range(first, first + 30):
            left = np.rint(year.wh[hour - lag] * 1000)
            counts = np.zeros(9)
            for _ in range(55):
                site = int(left.argmax())
                counts[site] += 1
                left[site] -= 70_000
            served += np.minimum(counts, year.wh[hour] / 70).sum()
        assert row["green_ratio"] == pytest.approx(served / (30 * 55), abs=2e-9)


def test_every_scheduler_is_between_nothing_and_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    names = "green,round-robin,nearest,weighted,persistence,limit"
    rows = result(capsys, "--schedulers", names, "--k", "5,60", "--jobs", "100,900")["rows"]
    assert len(rows) == 6 * 4
    assert all(0 < row["green_ratio"] <= row["green_ratio_limit"] for row in rows)
    ratio = {row["scheduler"]: row["green_ratio"] for row in rows if row["k"] == 60}
    assert ratio["green"] > ratio["persistence"] > ratio["round-robin"] > ratio["nearest"]
    assert ratio["weighted"] == ratio["green"]


def test_two_processes_give_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--k", "1:40", "--schedulers", "green,limit", "--json")
    assert without_time(call(capsys, *words)) == without_time(call(capsys, *words, "--workers", "2"))


def test_a_dask_cluster_gives_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    distributed = pytest.importorskip("distributed")
    words = ("--k", "1:40", "--schedulers", "green,round-robin", "--json")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=None,
        processes=False,
        protocol="tcp",
    ) as cluster:
        there = call(capsys, *words, "--dask", cluster.scheduler_address)
    assert without_time(call(capsys, *words)) == without_time(there)


def test_folder_and_csv(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    text = call(capsys, "--k", "1:3", "--jobs", "9,90", "--date", "06-21", "--csv", "--out", str(folder))
    assert (folder / "rows.csv").read_text() == text
    assert [row["k"] for row in csv.DictReader(io.StringIO(text))] == ["1.0", "2.0", "3.0"] * 4
    assert json.loads((folder / "simulate.json").read_text())["hours"] == 24
    for name in ("green_ratio_by_k", "green_ratio_by_jobs_per_hour"):
        assert (folder / f"{name}.png").stat().st_size > 1000
        assert "<svg" in (folder / f"{name}.svg").read_text()


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    text = call(capsys, "--k", "1:100", "--date", "06-21", "--sites", "march,elmira")
    assert "24 of 100 cases" in text
    assert "2 sites" in text
    assert "synthetic" in text


def test_several_years_and_a_file_of_ones_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Each source has its rows, and prices from a file reach the scheduler that weighs them."""
    words = ("--sites", "march,elmira", "--date", "06-21", "--k", "30")
    rows = result(capsys, *words, "--seed", "0:2")["rows"]
    assert len({row["energy_source"] for row in rows}) == 3
    alone = result(capsys, *words, "--seed", "1")["rows"]
    assert [row for row in rows if "seed 1" in row["energy_source"]] == alone
    assert call(capsys, *words, "--seed", "0:2").count("synthetic year, seed") > 3
    prices = tmp_path / "prices.csv"
    lines = [f"{hour}:00Z,march,1e5\n{hour}:00Z,elmira,0" for hour in parse_energy("synthetic").hours]
    prices.write_text("\n".join(["hour_start,site,price_usd_per_mwh", *lines]))
    weighing = (*words, "--columns", str(prices), "--schedulers", "weighted,green", "--weights")
    ratio = {
        row["scheduler"]: row["green_ratio"]
        for row in result(capsys, *weighing, "green_energy=1,price=-1")["rows"]
    }
    assert ratio["weighted"] < ratio["green"]  # march, so dear, gets nothing


def test_weights_of_a_configuration(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    example = (Path(__file__).parents[3] / "docs" / "controller.toml").read_text()
    weighing = tmp_path / "controller.toml"
    weighing.write_text(example.replace("load = 0.0", "load = 3.0"))
    with pytest.raises(UserError, match="'weighted' needs the parameter 'load'"):
        call(capsys, "--schedulers", "weighted", "--config", str(weighing))
    weighing.write_text(example)
    words = ("--schedulers", "weighted,green", "--date", "06-21", "--config", str(weighing))
    weighted, green = result(capsys, *words)["rows"]
    assert weighted["green_ratio"] == green["green_ratio"]


def test_energy_moved_in_time(capsys: pytest.CaptureFixture[str]) -> None:
    names = "deferrable,deferrable-optimum,battery,battery-optimum,green"
    words = ("--date", "06-21", "--hours", "72", "--schedulers", names, "--k", "60")
    document = result(capsys, *words, "--wait", "4", "--share", "0.3")
    ratio = {row["scheduler"]: row["green_ratio"] for row in document["rows"]}
    for name in ("deferrable", "battery"):
        assert ratio["green"] < ratio[name] <= ratio[name + "-optimum"]
    assert [(gap["policy"], gap["gap"]) for gap in document["gaps"]] == [
        (name, pytest.approx(ratio[name + "-optimum"] - ratio[name], abs=1e-8))
        for name in ("deferrable", "battery")
    ]
    knowing = result(capsys, *words, "--wait", "4", "--share", "0.3", "--forecast", "perfect")
    assert knowing["gaps"][0]["gap"] == pytest.approx(0, abs=1e-8)
    text = call(capsys, *words)
    assert "gap, points" in text
    assert "mean wait" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--share", "2"), "share 2"),
        (("--wait", "25"), "wait 25"),
        (("--battery-efficiency", "0"), "battery efficiency 0"),
        (("--schedulers", "green,red"), "scheduler 'red'.*green"),
        (("--schedulers", "green,green"), "--schedulers .*twice"),
        (("--schedulers", "weighted", "--weights", "price=1"), "'weighted' needs the parameter 'price'"),
        (("--k", "0"), "--k 0"),
        (("--jobs", "1.5"), "--jobs 1.5"),
        (("--workers", "0"), "--workers 0"),
        (("--workers", "2", "--dask", "127.0.0.1:1"), "--workers and --dask"),
        (("--date", "02-30"), "--date 02-30"),
        (("--date", "06-21", "--year"), "--year and --date"),
        (("--hours", "12"), "need a --date"),
        (("--date", "06-21", "--hours", "9000"), "--hours 9000"),
        (("--sites", "atlantis"), "site 'atlantis' is not in synthetic.*elmira"),
        (("--sites", "march,march"), "march,march.*twice"),
        (("--energy", "tmy3:/nowhere"), "/nowhere: no such folder"),
        (("--energy", "moon"), "--energy moon"),
        (("--seed", "-1"), "--seed -1"),
        (("--out", "/proc/none"), "results folder /proc/none"),
    ],
)
def test_mistakes_are_named(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        call(capsys, *words)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("reports['price']", "scheduler 'own' needs the parameter 'price'.*has green_energy$"),
        ("reports['green_energy'][:, :3]", r"scheduler 'own': .*shape \(8760, 3\), not \(8760, 9\)"),
    ],
)
def test_a_forecast_of_ones_own_that_cannot_be(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, body: str, message: str
) -> None:
    def forecast(self: Green, reports: Mapping[str, Any]) -> Any:
        return eval(body, {"reports": reports})

    own = type("Own", (Green,), {"name": "own", "forecast": forecast})
    monkeypatch.setattr("grasp.schedulers.registry._KINDS", {"own": own})
    with pytest.raises(UserError, match=message):
        call(capsys, "--schedulers", "own")


def test_nobody_at_the_address(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("grasp.topo.year.sweep.CLUSTER_PATIENCE_S", 0.2)
    with pytest.raises(UserError, match=r"--dask tcp://127\.0\.0\.1:9: no Dask scheduler answers"):
        call(capsys, "--dask", "tcp://127.0.0.1:9")


@pytest.mark.parametrize("address", ["nonsense", "::::", "http://127.0.0.1:9"])
def test_what_is_no_address_is_refused_before_a_client_waits_for_it(
    capsys: pytest.CaptureFixture[str], address: str
) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(UserError, match=f"--dask {address}: not an address such as tcp://host:8786"):
        call(capsys, "--dask", address)
