# SPDX-License-Identifier: Apache-2.0
"""Columns of one's own: every value on the hour that its stamp means, or one line that says what is wrong."""

import calendar
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grasp import UserError
from grasp.telemetry.energy import table
from grasp.telemetry.energy.sources import Source, parse_energy
from grasp.telemetry.energy.table import Columns
from grasp.telemetry.energy.weather import Quality, typical_hours

Stamp = Callable[[datetime], str]


def value(hour: datetime) -> float:
    """An energy that names an hour in UTC, whatever its year."""
    return hour.month * 10_000 + hour.day * 100 + hour.hour


EXPECTED = np.array([value(hour.astype(datetime)) for hour in typical_hours()])


def year(of: int, first: datetime | None = None) -> list[datetime]:
    """The beginnings of a year's hours in UTC."""
    start = first or datetime(of, 1, 1, tzinfo=UTC)
    return [start + timedelta(hours=hour) for hour in range(8784 if calendar.isleap(of) else 8760)]


def lines(hours: list[datetime], clock: str, stamp: Stamp, site: str = "here") -> list[str]:
    return [
        f"{clock},site,green_energy_wh",
        *(f"{stamp(hour)},{site},{value(hour)}" for hour in hours),
    ]


def read(path: Path, content: list[str], zone: str | None = None, fill: str = "none") -> Columns:
    path = path / "own.csv"
    path.write_text("\n".join(content) + "\n", encoding="utf-8")
    return table.read(path, "csv", zone, fill)


def local(zone: tzinfo, offset: bool = False) -> Stamp:
    """The wall clock at the beginning of the hour."""
    form = "%Y-%m-%d %H:%M%z" if offset else "%Y-%m-%d %H:%M"
    return lambda hour: hour.astimezone(zone).strftime(form)


def local_end(zone: tzinfo) -> Stamp:
    """The hour ending, as utilities count: the clock at its beginning and one more, up to 24:00."""

    def stamp(hour: datetime) -> str:
        begin = hour.astimezone(zone)
        return f"{begin:%Y-%m-%d} {begin.hour + 1:02}:00"

    return stamp


NEW_YORK, ADELAIDE = ZoneInfo("America/New_York"), ZoneInfo("Australia/Adelaide")

GOOD = [
    ("hour_start", lambda hour: f"{hour:%Y-%m-%dT%H}:00Z", None),
    ("hour_start", lambda hour: f"{hour:%Y-%m-%d %H}:00:00+00:00", None),
    ("hour_end", lambda hour: f"{hour + timedelta(hours=1):%Y-%m-%dT%H}:00Z", None),
    ("hour_end", lambda hour: f"{hour:%Y-%m-%d} {hour.hour + 1:02}:00Z", None),  # to 24:00
    ("hour_start", local(NEW_YORK, offset=True), None),  # offsets that change with daylight saving
    ("hour_start", local(NEW_YORK), "America/New_York"),
    ("hour_end", local_end(NEW_YORK), "America/New_York"),
    ("hour_start", lambda hour: f"{hour - timedelta(hours=5):%Y-%m-%d %H}:00", "UTC-5"),
    ("hour_start", lambda hour: f"{hour:%Y-%m-%d %H}:00", "UTC"),
]


@pytest.mark.parametrize(("clock", "stamp", "zone"), GOOD)
@pytest.mark.parametrize("of", [2023, 2024])
def test_every_row_lands_on_its_hour(
    tmp_path: Path, clock: str, stamp: Stamp, zone: str | None, of: int
) -> None:
    columns = read(tmp_path, lines(year(of), clock, stamp), zone)
    assert columns.sites == ("here",)
    assert columns.parameters["green_energy"][:, 0].tolist() == EXPECTED.tolist()
    assert not columns.quality.any()


def test_a_year_may_begin_anywhere(tmp_path: Path) -> None:
    hours = year(2023, datetime(2022, 7, 1, 5, tzinfo=UTC))
    columns = read(tmp_path, lines(hours, "hour_start", GOOD[0][1]))
    assert columns.parameters["green_energy"][:, 0].tolist() == EXPECTED.tolist()


def test_a_year_with_29_february_is_whole_without_it(tmp_path: Path) -> None:
    hours = [datetime(2023, 7, 1, tzinfo=UTC) + timedelta(hours=hour) for hour in range(8784)]
    columns = read(tmp_path, lines(hours, "hour_start", GOOD[0][1]))
    assert columns.parameters["green_energy"][:, 0].tolist() == EXPECTED.tolist()


def test_a_spreadsheets_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    content = lines(year(2023), "hour_start", GOOD[0][1])
    content[0] = "\ufeff" + content[0]
    assert (read(tmp_path, content).parameters["green_energy"][:, 0] == EXPECTED).all()


def test_an_empty_file_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_bytes(b"")
    with pytest.raises(UserError, match=r"own\.csv: is empty"):
        table.read(tmp_path / "own.csv", "csv")


def test_rows_may_be_in_any_order_and_sites_mixed(tmp_path: Path) -> None:
    both = [
        line for hour in year(2023) for line in (f"{hour:%Y-%m-%dT%H}:00Z,b,1", f"{hour:%Y-%m-%dT%H}:00Z,a,2")
    ]
    np.random.default_rng(1).shuffle(both[2:])
    columns = read(tmp_path, ["hour_start,site,carbon_marginal_g_per_kwh", *both])
    assert columns.sites == ("b", "a")
    assert columns.parameters["carbon_marginal"].mean(axis=0).tolist() == [1, 2]


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    hours = year(2024)
    naive = [hour.astimezone(NEW_YORK).replace(tzinfo=None) for hour in hours]
    energy = [value(hour) for hour in hours]
    for stamps, zone in ((hours, None), (naive, "America/New_York")):
        path = tmp_path / "own.parquet"
        pd.DataFrame({"hour_start": stamps, "site": "here", "green_energy_wh": energy}).to_parquet(path)
        found = table.read(path, "parquet", zone)
        assert found.parameters["green_energy"][:, 0].tolist() == EXPECTED.tolist()
    with pytest.raises(UserError, match="time zone"):
        table.read(path, "parquet")
    path.write_bytes(b"PAR1 no PAR1")
    with pytest.raises(UserError, match=r"own\.parquet: not a Parquet table"):
        table.read(path, "parquet")


GOOD_LINES = lines(year(2023), "hour_start", GOOD[0][1])
LOCAL_LINES = lines(year(2023), "hour_start", local(NEW_YORK))


def edited(number: int, old: str, new: str) -> Callable[[list[str]], list[str]]:
    def edit(content: list[str]) -> list[str]:
        assert old in content[number]
        return [*content[:number], content[number].replace(old, new), *content[number + 1 :]]

    return edit


FAULTS = [
    (edited(0, "hour_start", "time"), "needs one column hour_start or hour_end"),
    (edited(0, "site", "place"), "needs a column site"),
    (edited(0, "green_energy_wh", "energy"), "column 'energy' is not known; known are green_energy_wh"),
    (edited(0, "site", "hour_start"), "two columns have the same name"),
    (lambda content: content[:1], "has no rows"),
    (lambda content: [], "needs one column hour_start or hour_end"),
    (lambda content: content[:9] + content[10:], "here lacks 1 hours of the year, the first at 01-01T08Z"),
    (lambda content: content[:10] + content[9:], r"row 10: the hour 2023-01-01T08Z of here is there twice"),
    (edited(5, "T04:00", "T04:30"), r"row 5: '2023-01-01T04:30Z' is not a full hour"),
    (edited(5, "T04:00", "T25:00"), r"row 5: '2023-01-01T25:00Z' is not a full hour"),
    (edited(5, "01-01T", "02-30T"), r"row 5: '2023-02-30T.*' is no time"),
    (edited(5, "2023-01-01T04:00Z", "noon"), "row 5: 'noon' is not a full hour"),
    (edited(5, "Z", ""), "some stamps have an offset from UTC and some have none"),
    (edited(5, "here,", ","), "row 5: no site's name"),
    (edited(5, "here,", "here,1,"), "row 5: 4 cells, where the header has 3"),
    (edited(5, "10104", ""), "row 5: green_energy_wh is missing"),
    (edited(5, "10104", "-1"), "row 5: green_energy_wh is '-1', not a number from 0"),
    (edited(5, "10104", "nan"), "row 5: green_energy_wh is 'nan'"),
    (edited(5, "10104", "1e99"), "row 5: green_energy_wh is '1e99'"),
    (edited(5, "2023", "2022"), "here has hours from 2022-.* give one year"),
    (edited(5, "here", "there"), "here lacks 1 hours"),
    (edited(5, ",here", ',"here'), "not a CSV table"),
]


@pytest.mark.parametrize(("fault", "message"), FAULTS)
def test_faults_are_named(tmp_path: Path, fault: Callable[[list[str]], list[str]], message: str) -> None:
    with pytest.raises(UserError, match=rf"own\.csv.*{message}") as caught:
        read(tmp_path, fault(GOOD_LINES))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "zone", "message"),
    [
        (GOOD_LINES, "UTC", "has offsets from UTC; leave out the time zone"),
        (LOCAL_LINES, None, "has no offset from UTC; name its time zone"),
        (LOCAL_LINES, "Mars/Olympus", "--time-zone Mars/Olympus: give one"),
        (LOCAL_LINES, "UTC+99", r"--time-zone UTC\+99: give one"),
        (LOCAL_LINES, "UTC-5", "is there twice"),  # it has daylight saving after all
        (
            lines(year(2023), "hour_start", lambda hour: f"{hour.astimezone(ADELAIDE):%Y-%m-%d %H}:00"),
            "Australia/Adelaide",
            "do not begin with the hours",
        ),
        # Standard time all the year has hours that a zone with daylight saving has not.
        (
            lines(year(2023), "hour_start", lambda hour: f"{hour - timedelta(hours=5):%Y-%m-%d %H}:00"),
            "America/New_York",
            "do not fit the time zone",
        ),
    ],
)
def test_zones_that_do_not_fit_are_refused(
    tmp_path: Path, content: list[str], zone: str | None, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        read(tmp_path, content, zone)


def test_gaps_are_filled_by_name_and_marked(tmp_path: Path) -> None:
    content = [GOOD_LINES[0], *(line.rpartition(",")[0] + ",60" for line in GOOD_LINES[1:])]
    holed = edited(40, ",60", ",")(content[:20] + content[25:])
    columns = read(tmp_path, holed, fill="interpolate")
    assert set(columns.parameters["green_energy"][:, 0]) == {60.0}
    assert np.flatnonzero(columns.quality == Quality.FILLED).tolist() == [19, 20, 21, 22, 23, 44]
    with pytest.raises(UserError, match="green_energy_wh of here is missing for 6 hours or more"):
        read(tmp_path, content[:20] + content[26:], fill="interpolate")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), zone=st.sampled_from([None, "America/New_York"]))
def test_a_damaged_table_is_refused_or_right(tmp_path: Path, data: st.DataObject, zone: str | None) -> None:
    """Rows removed, doubled, moved or scribbled on: an error, or every value on the hour that it names."""
    content = list(LOCAL_LINES if zone else GOOD_LINES)
    where = data.draw(st.integers(0, len(content) - 1), "row")
    match data.draw(st.sampled_from(["remove", "double", "move", "scribble"]), "fault"):
        case "remove":
            del content[where]
        case "double":
            content.insert(where, content[where])
        case "move":
            content.insert(data.draw(st.integers(0, len(content) - 1), "to"), content.pop(where))
        case "scribble":
            at = data.draw(st.integers(0, len(content[where]) - 1), "at")
            text = data.draw(st.sampled_from(["", "0", "1", ",", "-", "x", "9", "\0", "é", '"']), "text")
            content[where] = content[where][:at] + text + content[where][at + 1 :]
    try:
        columns = read(tmp_path, content, zone)
    except UserError:
        return
    assert (columns.parameters["green_energy"][:, 0] != EXPECTED).sum() <= 1  # a value may still be a number


def test_own_energy_and_added_columns(tmp_path: Path) -> None:
    rows = [f"{hour:%Y-%m-%dT%H}:00Z,{site}" for site in ("march", "mars") for hour in year(2023)]
    own = tmp_path / "own.csv"
    own.write_text(
        "\n".join(["hour_start,site,green_energy_wh,price_usd_per_mwh", *(f"{r},5,-3" for r in rows)])
    )
    energy = parse_energy(f"csv:{own}")
    assert energy.sites == ("march", "mars")
    assert set(energy.reports) == {"green_energy", "price"}
    assert energy.positions[0].tolist() == [33.9, -117.25]
    assert np.isnan(energy.positions[1]).all()
    day = energy.select(["mars"]).day("06-21", hours=3)
    assert day.others["price"].tolist() == [[-3.0]] * 3
    prices = tmp_path / "prices.csv"
    prices.write_text("\n".join(["hour_start,site,price_usd_per_mwh", *(f"{r},7" for r in rows)]))
    with pytest.raises(UserError, match=r"prices\.csv: has no column green_energy_wh"):
        parse_energy(f"csv:{prices}")
    joined = Source(columns=str(prices)).load(["march"])
    assert joined.others["price"].tolist() == [[7.0]] * 8760
    assert "prices.csv" in joined.description
    with pytest.raises(UserError, match=r"prices\.csv: has no rows of site elmira"):
        Source(columns=str(prices)).load()
    with pytest.raises(UserError, match="which synthetic gives already"):
        Source(columns=str(own)).load(["march"])
