# SPDX-License-Identifier: Apache-2.0
"""The price study: what it must show, its inputs and its mistakes."""

import argparse
import json
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grasp import UserError
from grasp.telemetry.energy.weather import typical_hours
from grasp.telemetry.prices.hubs import HUBS
from grasp.topo.studies.price import benchmark, command, plots
from grasp.topo.studies.price.clients import MEAN_RATE, requests
from grasp.topo.studies.price.states import STATES

SHORT = ("--days", "4", "--distances", "0,1000", "--delays", "0,1", "--carbon-prices", "50")


def call(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run the command; return its standard output."""
    parser = argparse.ArgumentParser()
    command.configure(parser)
    assert command.run(parser.parse_args(words)) == 0
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The study at its default size."""
    parser = argparse.ArgumentParser()
    command.configure(parser)
    kept: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "finish", lambda _, result: kept.append(result.document))
        assert command.run(parser.parse_args([])) == 0
    document: dict[str, Any] = json.loads(json.dumps(kept[0]))
    return document


def test_savings_are_in_the_published_order(found: dict[str, Any]) -> None:
    for key in ("saved", "saved_95_5"):
        savings = [row[key] for row in found["ladder"]]
        assert all(less < more for less, more in pairwise(savings))
        assert savings[0] > 0
        assert savings[-1] > 10 * savings[0]
    assert all(row["saved_95_5"] < row["saved"] / 1.5 for row in found["ladder"])
    assert found["ladder"][-2]["saved"] > 0.15
    assert found["ladder"][0]["saved"] < 0.05


def test_savings_rise_with_the_distance(found: dict[str, Any]) -> None:
    rows = found["distances"]
    assert [row["km"] for row in rows] == list(range(0, 1401, 100))
    for key in ("saved", "saved_95_5"):
        savings = np.array([row[key] for row in rows])
        assert (np.diff(savings, axis=0) > -0.003).all()
        assert (savings[-1] > 5 * savings[0]).all()
    assert all(near["mean_km"] <= far["mean_km"] for near, far in pairwise(rows))
    assert all(row["p99_km"] < 1500 for row in rows)


def test_late_prices_save_less(found: dict[str, Any]) -> None:
    saved = {row["hours"]: row["saved"] for row in found["delays"]}
    assert saved[0] > saved[1] > saved[3] > saved[12] > 0
    assert saved[24] > saved[18] or saved[24] > saved[36]


def test_each_signal_saves_most_of_its_own(found: dict[str, Any]) -> None:
    for constrained in (False, True):
        rows = [row for row in found["signals"] if row["constrained"] == constrained]
        assert max(rows, key=lambda row: row["carbon_saved"])["signal"] == "carbon"
        both = [row for row in rows if row["signal"] == "both"]
        assert all(a["carbon_saved"] < b["carbon_saved"] for a, b in pairwise(both))
        (price,) = (row for row in rows if row["signal"] == "price")
        (carbon,) = (row for row in rows if row["signal"] == "carbon")
        assert price["cost_saved"] > both[-1]["cost_saved"] > carbon["cost_saved"]


def test_green_first_and_then_by_price_beats_each_alone(found: dict[str, Any]) -> None:
    rows = {(row["rule"], row["constrained"]): row for row in found["join"]}
    for constrained in (False, True):
        joined = rows["green, then price", constrained]
        for rule in ("closest", "price", "green, then closest"):
            assert joined["cost_saved"] > rows[rule, constrained]["cost_saved"]
            assert joined["green_share"] > rows[rule, constrained]["green_share"]


def test_every_routing_was_verified(found: dict[str, Any]) -> None:
    checked = found["verified"]
    assert checked["routings"] == 60 + 10
    assert checked["requests_each"] == pytest.approx(MEAN_RATE * 24 * 86400)
    assert checked["fullest"] <= 1 + 1e-6
    assert checked["percentile_95_5"] <= 1 + 1e-6 < 1.5 < checked["percentile"]


def test_the_rule_is_near_the_optimum(found: dict[str, Any]) -> None:
    for gap in found["optimum"]:
        assert gap["steps"] == 48
        assert gap["beyond_least"] <= gap["beyond"] < 0.1
        assert -0.01 < gap["excess"] < 0.03


def test_loads_add_up(found: dict[str, Any]) -> None:
    assert [row["hub"] for row in found["hubs"]] == [hub.name for hub in HUBS]
    for key in ("load_before", "load", "load_95_5"):
        assert sum(row[key] for row in found["hubs"]) == pytest.approx(1, abs=1e-3)


def test_requests_follow_population_and_clock() -> None:
    hours = np.arange("2024-06-03T00", "2024-07-01T00", dtype="datetime64[h]")
    rate = requests(hours, STATES, 3)
    assert rate.shape == (28 * 288, 51)
    assert rate.sum(axis=1).mean() == pytest.approx(MEAN_RATE)
    people = np.array([state.population for state in STATES])
    assert people.sum() == 308_745_538  # the census's total of the states and the District of Columbia
    assert rate.mean(axis=0) / rate.mean() == pytest.approx(people / people.mean(), rel=0.05)
    for state, column in zip(STATES, rate.T, strict=True):
        day = column.reshape(28, 24, 12).mean(axis=(0, 2))
        clock = (np.arange(24) + 0.5 + state.longitude / 15) % 24
        assert 17 < clock[day.argmax()] < 24
        assert 2 < clock[day.argmin()] < 8
    for state, column in zip(STATES, rate.T, strict=True):
        begun = datetime(2024, 6, 3) + timedelta(hours=state.longitude / 15)
        days = np.array([(begun + timedelta(minutes=5 * n)).weekday() for n in range(len(column))])
        mean = [column[days == day].mean() for day in range(7)]
        working = np.mean(mean[:4])
        assert mean[4] > 0.965 * working, state.code  # Friday
        assert max(mean[5:]) < 0.975 * working, state.code
    assert (requests(hours, STATES, 3) == rate).all()
    assert (requests(hours, STATES, 4) != rate).any()


def test_the_same_words_give_the_same_numbers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = (*SHORT, "--days", "2", "--json")
    first = json.loads(call(capsys, *words, "--seed", "2", "--out", str(tmp_path / "a" / "b")))
    again = json.loads(call(capsys, *words, "--seed", "2"))
    del first["wall_s"], again["wall_s"]
    assert first == again
    folder = tmp_path / "a" / "b"
    assert json.loads((folder / "price.json").read_text())["ladder"] == first["ladder"]
    page = (folder / "index.html").read_text()
    for plot in plots.PLOTS:
        assert (folder / f"{plot.name}.png").stat().st_size > 1000
        assert f'id="{plot.name}"' in page
    assert json.loads(call(capsys, *words, "--seed", "3"))["ladder"] != first["ladder"]


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    text = call(capsys, *SHORT, "--hubs", "CA1,NY,IL", "--start", "06-21")
    assert "synthetic prices, seed 0" in text
    assert "06-21T00Z" in text
    assert "IL, Chicago (PJM)" in text
    assert "Austin" not in text


def _gridstatus(path: Path, days: int) -> None:
    head = "Interval Start,Interval End,Market,Location,LMP"
    rows = []
    for hub, location in (("IL", "CHICAGO HUB"), ("NY", "N.Y.C.")):
        for hour in range(24 * days):
            start = np.datetime64("2024-02-27T05", "h") + np.timedelta64(hour, "h")
            price = 20 if (hour // 6) % 2 == (hub == "NY") else 60
            end = start + np.timedelta64(1, "h")
            rows.append(f"{start}:00:00+00:00,{end}:00:00+00:00,DAY_AHEAD_HOURLY,{location},{price}")
    path.write_text("\n".join([head, *rows]))


def test_prices_from_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "lmp.csv"
    _gridstatus(path, 5)
    words = (*SHORT, "--hubs", "IL,NY", "--prices", f"gridstatus:{path}", "--distance", "5000")
    found = json.loads(call(capsys, *words, "--json"))
    assert found["prices"] == "prices from lmp.csv"
    assert found["settings"]["first_hour"] == "2024-02-27T06Z"
    assert [row["mean"] for row in found["hubs"]] == [40, 40]
    assert found["correlations"][0]["r"] == -1
    # Every hour the one costs a third of the other: what is known an hour late is wrong for one hour in six.
    saved = {row["hours"]: row["saved"] for row in found["delays"]}
    assert saved[0] > 1.2 * saved[1] > 0
    with pytest.raises(UserError, match=r"lmp\.csv: has the hours from 2024-02-27T05Z to 2024-03-03T04Z"):
        call(capsys, *words, "--days", "5")
    with pytest.raises(UserError, match="no prices of LZ_AEN, the location of TX1"):
        call(capsys, *words, "--hubs", "IL,TX1")


def _own(path: Path, column: str, value: float) -> None:
    """A year that is the same in every hour, of two hubs."""
    rows = [f"{hour}:00Z,{hub},{value}" for hub in ("IL", "NY") for hour in typical_hours()]
    path.write_text("\n".join([f"hour_start,site,{column}", *rows]))


@pytest.mark.parametrize(
    ("option", "column", "value", "message"),
    [
        ("--prices", "price_usd_per_mwh", 0, "own.csv: the closest clusters cost nothing"),
        ("--prices", "price_usd_per_mwh", -3, "own.csv: the closest clusters cost nothing, or are paid for"),
        ("--carbon", "carbon_average_g_per_kwh", 0, "own.csv: the closest clusters cost nothing"),
        ("--green", "green_energy_wh", 1e9, "what the plants do not give costs nothing"),
    ],
)
def test_nothing_to_save(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    option: str,
    column: str,
    value: float,
    message: str,
) -> None:
    _own(tmp_path / "own.csv", column, value)
    with pytest.raises(UserError, match=message):
        call(capsys, *SHORT, "--days", "1", "--hubs", "IL,NY", option, f"csv:{tmp_path / 'own.csv'}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--days", "0"), "--days 0: must be between 1 and 366"),
        (("--distance", "-1"), "--distance -1"),
        (("--distance", "nan"), "--distance nan"),
        (("--distances", "0:1000"), "--distances: 1001 values; at most 200 are compared"),
        (("--distances", "x"), "--distances x"),
        (("--delay", "200"), "--delay 200"),
        (("--delays", "0.5"), "--delays 0.5"),
        (("--carbon-prices", "-5"), "--carbon-prices -5"),
        (("--price-threshold", "inf"), "--price-threshold inf"),
        (("--utilization", "0"), "--utilization 0"),
        (("--plant", "-1"), "--plant -1"),
        (("--seed", "-1"), "--seed -1"),
        (("--hubs", "NY"), "one cluster leaves nothing to choose"),
        (("--hubs", "NY,XX"), "--hubs NY,XX: 'XX' is not known"),
        (("--start", "02-30"), "--start 02-30: give a day as MM-DD"),
        (("--start", ""), "--start : give a day"),
        (("--start", "2024-01-01"), "give a day as MM-DD"),
        (("--prices", "moon"), "--prices moon: must be synthetic"),
        (("--prices", "gridstatus:/nowhere.csv"), "/nowhere.csv: cannot be read"),
        (("--carbon", "moon"), "--carbon moon: must be synthetic"),
        (("--green", "moon"), "--green moon: must be synthetic"),
        (("--carbon", "csv:/nowhere.csv"), "/nowhere.csv: cannot be read"),
        (("--locations", "NY=WEST"), "--locations and --market are for gridstatus"),
        (("--locations", ""), "--locations : give each hub once"),
        (("--market", ""), "--locations and --market are for gridstatus"),
        (("--time-zone", "UTC-5"), "--time-zone UTC-5: is of own columns"),
        (("--fill", "interpolate"), "--fill interpolate: is of own columns"),
        (("--plant", "2", "--green", "csv:own.csv"), "--plant 2: is of made-up plants; csv:own.csv has"),
        (("--locations", "NY"), "--locations NY: give each hub once"),
        (("--out", "/proc/none"), "results folder /proc/none"),
    ],
)
def test_mistakes_are_named(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        call(capsys, *SHORT, *words)


def test_the_million_in_small() -> None:
    cases = list(benchmark.cases(2 * 51 * 288))
    assert [case.name for case in cases] == [
        "by price, 2 days of 5 minutes",
        "by price, with 95/5, 2 days of 5 minutes",
    ]
    assert [case.jobs for case in cases] == [2 * 51 * 288] * 2
    for case in cases:
        assert case.work().shape == (2 * 288, 9)
        np.testing.assert_allclose(case.work(), case.plain(), rtol=1e-9)
    assert (cases[0].plain() != cases[1].plain()).any()


def test_options_of_the_rule_have_their_effect(capsys: pytest.CaptureFixture[str]) -> None:
    """Larger thresholds, later prices and routes that are kept save less and move fewer requests."""
    words = ("--days", "4", "--distances", "0", "--delays", "0", "--carbon-prices", "50", "--json")
    signals = ("price", "carbon", "both")

    def rows(*options: str) -> dict[str, dict[str, Any]]:
        found = json.loads(call(capsys, *words, *options))
        return {row["signal"]: row for row in found["signals"] if not row["constrained"]}

    plain, kept, late = rows(), rows("--update", "12"), rows("--delay", "8")
    dear, dirty, near = (
        rows(*option)
        for option in (("--price-threshold", "30"), ("--carbon-threshold", "150"), ("--distance", "600"))
    )
    for signal in signals:
        assert kept[signal]["moves"] < 0.5 * plain[signal]["moves"]
        assert near[signal]["mean_km"] < plain[signal]["mean_km"]
    for signal in ("price", "both"):
        assert kept[signal]["cost_saved"] < plain[signal]["cost_saved"]
        assert late[signal]["cost_saved"] < plain[signal]["cost_saved"]
        assert dear[signal]["cost_saved"] < plain[signal]["cost_saved"]
        assert dear[signal]["moves"] < plain[signal]["moves"]
    assert dear["carbon"] == plain["carbon"]
    assert dirty["carbon"]["carbon_saved"] < plain["carbon"]["carbon_saved"]
    assert dirty["price"] == plain["price"]
