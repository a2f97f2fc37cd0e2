# SPDX-License-Identifier: Apache-2.0
"""Files in gridstatus's columns: clocks, lengths and markets told apart; faults named, never passed over."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from grasp import UserError
from grasp.telemetry.prices import gridstatus, hubs
from grasp.telemetry.prices.series import Series

NY = hubs.choose("NY")
HEAD = "Time,Interval Start,Interval End,Market,Location,Location Type,LMP,Energy,Congestion,Loss"


def row(
    start: str, end: str, price: object, location: str = "N.Y.C.", market: str = "DAY_AHEAD_HOURLY"
) -> str:
    return f"{start},{start},{end},{market},{location},Zone,{price},20,-1,2"


def hourly(first: str, hours: int, zone: str = "America/New_York") -> Iterator[tuple[str, str]]:
    """Starts and ends as gridstatus writes them: local, with the offset of the moment."""
    stamps = pd.date_range(first, periods=hours + 1, freq="h", tz="UTC").tz_convert(zone)
    yield from zip(map(str, stamps[:-1]), map(str, stamps[1:]), strict=True)


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    def write(*rows: str, head: str = HEAD, name: str = "nyiso.csv") -> Path:
        path = tmp_path / name
        path.write_text("\n".join([head, *rows]) + "\n")
        return path

    return write


def values(series: Series) -> list[float]:
    return series.values[:, 0].tolist()


def test_local_hours_across_both_changes_of_clocks(written: Callable[..., Path]) -> None:
    for first in ("2024-03-09T12:00", "2024-11-02T12:00"):
        path = written(*(row(a, b, n) for n, (a, b) in enumerate(hourly(first, 40))))
        series = gridstatus.read([path], NY)
        assert values(series) == list(range(40))
        assert str(series.hours[0]) == first[:13]
        assert (np.diff(series.hours).astype(int) == 1).all()
        assert (series.hubs, series.typical, series.description) == (("NY",), False, "prices from nyiso.csv")


def test_short_intervals_are_averaged_over_the_hour(written: Callable[..., Path]) -> None:
    stamps = pd.date_range("2024-06-01T00:00Z", periods=25, freq="5min")
    rows = [row(str(a), str(b), n) for n, (a, b) in enumerate(pairwise(stamps))]
    assert values(gridstatus.read([written(*rows[::-1])], NY)) == [5.5, 17.5]


def test_intervals_count_by_their_length(written: Callable[..., Path]) -> None:
    path = written(
        row("2024-06-01T00:00Z", "2024-06-01T00:45Z", 10), row("2024-06-01T00:45Z", "2024-06-01T01:00Z", 50)
    )
    assert values(gridstatus.read([path], NY)) == [20]


def test_several_files_hubs_and_locations(written: Callable[..., Path]) -> None:
    one = written(*(row(a, b, n) for n, (a, b) in enumerate(hourly("2024-06-01T00:00", 5))))
    two = written(
        *(row(a, b, 10 + n, "WEST") for n, (a, b) in enumerate(hourly("2024-06-01T02:00", 5))), name="b.csv"
    )
    series = gridstatus.read([one, two], hubs.choose("NY,MA"), {"MA": "WEST"})
    assert series.values.tolist() == [[2, 10], [3, 11], [4, 12]]
    assert str(series.hours[0]) == "2024-06-01T02"
    assert series.description == "prices from nyiso.csv, b.csv"


def test_markets_are_told_apart(written: Callable[..., Path]) -> None:
    hours = list(hourly("2024-06-01T00:00", 3))
    path = written(
        *(row(a, b, 1) for a, b in hours), *(row(a, b, 2, market="REAL_TIME_HOURLY") for a, b in hours)
    )
    assert values(gridstatus.read([path], NY, market="REAL_TIME_HOURLY")) == [2, 2, 2]
    with pytest.raises(UserError, match="has the markets DAY_AHEAD_HOURLY, REAL_TIME_HOURLY; name one"):
        gridstatus.read([path], NY)
    with pytest.raises(UserError, match="--market REAL_TIME_5_MIN: must be one of DAY_AHEAD_HOURLY, REAL"):
        gridstatus.read([path], NY, market="REAL_TIME_5_MIN")


def test_names_of_the_hosted_service(written: Callable[..., Path]) -> None:
    path = written(
        "2024-06-01 00:00:00,2024-06-01 01:00:00,N.Y.C.,-3.5",
        head="interval_start_utc,interval_end_utc,location,lmp",
    )
    series = gridstatus.read([path], NY)
    assert (values(series), str(series.hours[0])) == ([-3.5], "2024-06-01T00")
    with pytest.raises(UserError, match="no column 'Market'"):
        gridstatus.read([path], NY, market="DAY_AHEAD_HOURLY")


def test_settlement_point_prices(written: Callable[..., Path]) -> None:
    head = "Time,Interval Start,Interval End,Location,Location Type,Market,SPP"
    path = written(f"{A},{A},{B},LZ_AEN,Load Zone,DAY_AHEAD_HOURLY,12.5", head=head)
    assert values(gridstatus.read([path], hubs.choose("TX1"))) == [12.5]
    with pytest.raises(UserError, match="no column 'LMP'"):
        gridstatus.read([written(f"{A},{B},LZ_AEN", head="Interval Start,Interval End,Location")], NY)


@pytest.mark.parametrize(
    ("hub", "head", "cells"),
    [
        ("CA1", "Market,Location,Location Type,LMP,Energy,Congestion,Loss", "TH_NP15_GEN-APND,Trading Hub"),
        ("MA", "Market,Location,Location Id,Location Type,LMP", ".Z.NEMASSBOST,4008,LOAD ZONE"),
        ("NY", "Market,Location,Location Type,LMP,Energy,Congestion,Loss", "N.Y.C.,Zone"),
        (
            "VA",
            "Market,Location Id,Location Name,Location Short Name,Location Type,LMP",
            "34964545,DOMINION HUB,DOMINION HUB,HUB",
        ),
        ("VA", "Market,Location,Location Name,Location Type,LMP", "34964545,DOMINION HUB,HUB"),
        ("TX2", "Market,Location,Location Type,SPP", "HB_NORTH,Trading Hub"),
    ],
)
def test_each_markets_columns(written: Callable[..., Path], hub: str, head: str, cells: str) -> None:
    """The columns in which gridstatus has each market, PJM's of its early and its late versions."""
    columns = ["Time", "Interval Start", "Interval End", *head.split(",")]
    rows = [
        [a, a, b, "DAY_AHEAD_HOURLY", *cells.split(","), str(n), "20", "-1", "2"]
        for n, (a, b) in enumerate(hourly("2024-06-01", 3))
    ]
    path = written(*(",".join(row[: len(columns)]) for row in rows), head=",".join(columns))
    assert values(gridstatus.read([path], hubs.choose(hub))) == [0, 1, 2]


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    start = pd.date_range("2024-06-01", periods=3, freq="h", tz="America/New_York")
    table = pd.DataFrame(
        {
            "Interval Start": start,
            "Interval End": start + pd.Timedelta(hours=1),
            "Location": "N.Y.C.",
            "LMP": 7.0,
        }
    )
    path = tmp_path / "a.parquet"
    table.to_parquet(path)
    series = gridstatus.read([path], NY)
    assert (values(series), str(series.hours[0])) == ([7, 7, 7], "2024-06-01T04")
    table["Market"] = [["DAY_AHEAD", place] for place in "abb"]
    table.to_parquet(path)
    with pytest.raises(UserError, match=r"a\.parquet: has the markets .*DAY_AHEAD.*; name one of them"):
        gridstatus.read([path], NY)
    del table["Market"]
    table["Interval Start"] = table["Interval Start"].dt.tz_localize(None)
    table.to_parquet(path)
    with pytest.raises(UserError, match="row 1: Interval Start has no offset from UTC"):
        gridstatus.read([path], NY)
    path.write_bytes(b"PAR1 but no more")
    with pytest.raises(UserError, match="not a Parquet table"):
        gridstatus.read([path], NY)


A, B, C, D = "2024-06-01T00:00Z", "2024-06-01T01:00Z", "2024-06-01T02:00Z", "2024-06-01T03:00Z"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((row(A, B, 1), row(C, D, 1)), "N.Y.C. lacks prices in the hour 2024-06-01T01:00Z"),
        ((row(A, B, 1), row(A, B, 2)), "N.Y.C. has two prices at 2024-06-01T00:00Z"),
        ((row(A, "2024-06-01T00:45Z", 1),), "N.Y.C. lacks prices in the hour 2024-06-01T00:00Z"),
        (
            (row(A, "2024-06-01T00:30Z", 1), row("2024-06-01T00:15Z", B, 2)),
            "N.Y.C. has two prices at 2024-06-01T00:15Z",
        ),
        ((row(A, B, 1), row(B, C, "")), "nyiso.csv, row 2: LMP is not a number"),
        ((row(A, B, "nan"),), "nyiso.csv, row 1: LMP is not a number"),
        ((row(A, B, "1e9"),), "nyiso.csv, row 1: LMP is not a number from -100000 to 1e+06"),
        ((row(B, A, 1),), "nyiso.csv, row 1: the interval is not within an hour"),
        ((row(A, C, 1),), "nyiso.csv, row 1: the interval is not within an hour"),
        ((row("2024-06-01T00:30Z", "2024-06-01T01:30Z", 1),), "nyiso.csv, row 1: the interval is not within"),
        ((row("2024-06-01 00:00", B, 1),), "nyiso.csv, row 1: Interval Start has no offset from UTC"),
        ((row("2024-06-31T00:00Z", B, 1),), "nyiso.csv, row 1: Interval Start is no time"),
        ((row(A, B, 1, "WEST"),), "no prices of N.Y.C., the location of NY"),
        ((row(A, B, 1, ""),), "no prices of N.Y.C., the location of NY"),
        (("1,2,3,4,5,6,7,8,9,10,11,12",), "nyiso.csv, row 1: more cells than the header has"),
        ((row(A, B, 1), row(B, C, 1) + ",x"), "nyiso.csv: not a CSV table"),
        ((row(A, B, 1), "2024-06-01T01:00Z"), "nyiso.csv, row 2: Interval Start has no offset from UTC"),
        ((), "no prices of N.Y.C."),
    ],
)
def test_faults_are_named(written: Callable[..., Path], rows: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        gridstatus.read([written(*rows)], NY)


def test_faulty_tables(written: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no column 'Interval End'"):
        gridstatus.read([written("1,2", head="Interval Start,LMP")], NY)
    with pytest.raises(UserError, match="two columns have the same name"):
        gridstatus.read([written("1,2,3", head="LMP,lmp,Location")], NY)
    with pytest.raises(UserError, match="/nowhere: cannot be read"):
        gridstatus.read([Path("/nowhere")], NY)
    (tmp_path / "empty.csv").touch()
    with pytest.raises(UserError, match=r"empty\.csv: not a CSV table"):
        gridstatus.read([tmp_path / "empty.csv"], NY)
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    with pytest.raises(UserError, match=r"binary\.csv: "):
        gridstatus.read([tmp_path / "binary.csv"], NY)


def test_hubs_without_a_common_hour(written: Callable[..., Path]) -> None:
    path = written(row(A, B, 1), row(C, D, 1, "WEST"))
    with pytest.raises(UserError, match="no hour in common"):
        gridstatus.read([path], hubs.choose("NY,MA"), {"MA": "WEST"})
    with pytest.raises(UserError, match="--locations XX: there is no such hub"):
        gridstatus.read([path], NY, {"XX": "WEST"})
