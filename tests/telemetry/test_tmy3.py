# SPDX-License-Identifier: Apache-2.0
"""The TMY3 reader puts every row on the hour it stands for, or says which line is wrong."""

import gzip
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grasp import UserError
from grasp.telemetry.energy import tmy3
from grasp.telemetry.energy.stations import STATIONS, Station, station
from grasp.telemetry.energy.weather import Quality, typical_hours

ELMIRA, TYNDALL, MARCH = station("elmira"), station("tyndall"), station("march")


def stamp(start: datetime) -> float:
    """A temperature that names the local hour: no two neighbouring hours, days or months share it."""
    return float(start.month + start.day / 100 + start.hour / 10_000)


def marked(start: datetime) -> tuple[object, ...]:
    return (start.hour * 10, 5, 5, f"{stamp(start):.4f}", 1)


@pytest.mark.parametrize("place", [ELMIRA, TYNDALL, MARCH], ids=lambda place: str(place.name))
def test_every_row_lands_on_its_utc_hour(
    tmp_path: Path, write_tmy3: Callable[..., Path], place: Station
) -> None:
    weather = tmy3.read(write_tmy3(tmp_path, place, marked), place)
    zone = timezone(timedelta(hours=place.utc_offset_h))
    for hour, temperature in zip(typical_hours(), weather.temperature, strict=True):
        local = hour.astype(datetime).replace(tzinfo=UTC).astimezone(zone)
        assert temperature == pytest.approx(stamp(local)), hour  # the year's ends wrap around by themselves


def test_summer_rows_are_standard_time(tmp_path: Path, write_tmy3: Callable[..., Path]) -> None:
    weather = tmy3.read(write_tmy3(tmp_path, MARCH, marked), MARCH)
    # What wall clocks in California called 12:00 on 1 July is the hour that began at 11:00 standard time.
    wall = datetime(2001, 7, 1, 12, tzinfo=ZoneInfo("America/Los_Angeles")).astimezone(UTC)
    row = int((wall - datetime(2001, 1, 1, tzinfo=UTC)) / timedelta(hours=1))
    assert weather.temperature[row] == pytest.approx(stamp(datetime(2001, 7, 1, 11)))


def test_year_without_leap_day_goes_from_28_february_to_1_march(
    tmp_path: Path, write_tmy3: Callable[..., Path]
) -> None:
    weather = tmy3.read(write_tmy3(tmp_path, ELMIRA, marked), ELMIRA)
    row = (31 + 28) * 24 + 5
    assert weather.temperature[row - 1] == pytest.approx(stamp(datetime(2001, 2, 28, 23)))
    assert weather.temperature[row] == pytest.approx(stamp(datetime(2001, 3, 1, 0)))


def test_compressed_and_lower_case_files_are_found(tmp_path: Path, write_tmy3: Callable[..., Path]) -> None:
    plain = write_tmy3(tmp_path, ELMIRA, marked)
    packed = tmp_path / "725156tya.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    with pytest.raises(UserError, match="more than one file 725156TYA"):
        tmy3.find(tmp_path, ELMIRA)
    whole = tmy3.read(plain, ELMIRA)
    plain.unlink()
    assert np.array_equal(tmy3.read(tmy3.find(tmp_path, ELMIRA), ELMIRA).ghi, whole.ghi)


def test_missing_folder_and_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere: no such folder"):
        tmy3.find(tmp_path / "nowhere", ELMIRA)
    with pytest.raises(UserError, match=r"no file 725156TYA\.CSV.*Elmira"):
        tmy3.find(tmp_path, ELMIRA)


def test_a_word_in_place_of_a_number_is_one_error_and_no_warning(
    tmp_path: Path, write_tmy3: Callable[..., Path]
) -> None:
    def worded(start: datetime) -> tuple[object, ...]:
        return ("abc", *marked(start)[1:]) if start == datetime(2001, 6, 21, 10) else marked(start)

    path = write_tmy3(tmp_path, ELMIRA, worded)
    station_line, names, *rows = path.read_text().splitlines()
    names += "".join(
        f",more {number}" for number in range(60)
    )  # as wide as real ones: pandas reads in pieces
    path.write_text("\n".join([station_line, names, *(row + ",0" * 60 for row in rows)]))
    with warnings.catch_warnings(action="error"), pytest.raises(UserError, match="ghi is 'abc'"):
        tmy3.read(path, ELMIRA)


def test_missing_value_is_an_error_or_a_named_fill(tmp_path: Path, write_tmy3: Callable[..., Path]) -> None:
    gap = {datetime(2001, 6, 21, 10), datetime(2001, 6, 21, 11)}

    def holed(start: datetime) -> tuple[object, ...]:
        return (-9900 if start in gap else start.hour * 10, 5, 5, 20, 1)

    path = write_tmy3(tmp_path, ELMIRA, holed)
    line = 3 + (31 + 28 + 31 + 30 + 31 + 20) * 24 + 10
    with pytest.raises(UserError, match=f"line {line}: ghi is missing"):
        tmy3.read(path, ELMIRA)
    weather = tmy3.read(path, ELMIRA, fill="interpolate")
    row = line - 3 + 5
    assert weather.ghi[row - 1 : row + 3].tolist() == pytest.approx([90, 100, 110, 120])
    assert np.flatnonzero(weather.quality).tolist() == [row, row + 1]
    assert weather.quality[row] == Quality.FILLED
    with pytest.raises(UserError, match="--fill zero: must be one of none, interpolate"):
        tmy3.read(path, ELMIRA, fill="zero")


@pytest.mark.parametrize(("first", "hours", "filled"), [(100, 5, True), (100, 6, False), (8758, 5, True)])
def test_long_gaps_are_not_filled(
    tmp_path: Path, write_tmy3: Callable[..., Path], first: int, hours: int, filled: bool
) -> None:
    holes = {(first + hour) % 8760 for hour in range(hours)}

    def holed(start: datetime) -> tuple[object, ...]:
        hour = int((start - datetime(2001, 1, 1)) / timedelta(hours=1))
        return (0, 0, 0, -9900 if hour in holes else 20, 1)

    path = write_tmy3(tmp_path, ELMIRA, holed)
    if filled:
        assert set(tmy3.read(path, ELMIRA, fill="interpolate").temperature) == {20.0}
    else:
        with pytest.raises(UserError, match="temp_air is missing for 6 hours or more"):
            tmy3.read(path, ELMIRA, fill="interpolate")


@pytest.fixture(scope="module")
def good(lines_of: Callable[..., list[str]]) -> list[str]:
    return lines_of(ELMIRA, marked)


def replaced(lines: list[str], number: int, old: str, new: str) -> list[str]:
    """The lines with text replaced in the one of that number, counted from 1."""
    assert old in lines[number - 1]
    return [*lines[: number - 1], lines[number - 1].replace(old, new), *lines[number:]]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda lines: lines[:5000], "line 5000: the file ends after 4998 of 8760 hours"),
        (lambda lines: [*lines, lines[-1]], "line 8763: .*one more"),
        (lambda lines: lines[:99] + lines[100:], "line 100: .*expected"),
        (lambda lines: lines[:100] + lines[99:], "line 101: .*expected"),
        (lambda lines: [*lines[:5], "", *lines[5:]], "line 6: not a date"),
        (lambda lines: replaced(lines, 20, ":00", ":30"), "line 20: not a date and full hour"),
        (lambda lines: replaced(lines, 1418, "02/28", "02/29"), "line 1418: 2/29"),
        (
            lambda lines: replaced(lines, 26, "24:00", "00:00"),
            "line 26: 1/1 0:00, where .*24:00 was expected",
        ),
        (lambda lines: replaced(lines, 1, "725156", "726227"), "line 1: station 726227"),
        (lambda lines: replaced(lines, 1, ",-5,", ",-8,"), "line 1: UTC-8"),
        (lambda lines: replaced(lines, 1, "725156,", ""), "line 1: not the station line"),
        (lambda lines: replaced(lines, 2, "GHI (W/m^2)", "Sun"), "line 2: no column for ghi"),
        (lambda lines: replaced(lines, 7, ",5,5,", ",5,"), "line 7: 6 columns"),
        (lambda lines: replaced(lines, 7, ",5,5,", ",x,5,"), "line 7: dni is 'x'"),
        (lambda lines: replaced(lines, 7, ",5,5,", ",5,,"), "line 7: dhi"),
        (lambda lines: replaced(lines, 7, ",5,5,", ",5,-1,"), "line 7: dhi is '-1'"),
        (lambda lines: replaced(lines, 7, ",5,5,", ",9999,5,"), "line 7: dni is '9999'"),
        (lambda lines: replaced(lines, 7, ",5,5,", ",nan,5,"), "line 7: dni"),
        (lambda lines: [], "line 1: not the station line"),
        (lambda lines: lines[:1], "line 2: the file ends after 0 of 8760"),
    ],
)
def test_faults_are_named_with_file_and_line(
    tmp_path: Path, good: list[str], fault: Callable[[list[str]], list[str]], message: str
) -> None:
    path = tmp_path / "725156TYA.CSV"
    path.write_text("\n".join(fault(good)), encoding="utf-8")
    with pytest.raises(UserError, match=rf"725156TYA\.CSV, {message}"):
        tmy3.read(path, ELMIRA)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b"725156," * 9999)[:-9], "cut short or damaged"),
        (b"not gzip at all", "cannot be read"),
        (gzip.compress(b"\xff\xfe\x00"), "not a text file"),
    ],
)
def test_damaged_archives_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "725156TYA.CSV.gz"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        tmy3.read(path, ELMIRA)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_shuffled_lines_never_pass(tmp_path: Path, good: list[str], data: st.DataObject) -> None:
    """Any line removed, doubled or moved is noticed."""
    lines = list(good)
    where = data.draw(st.integers(0, len(lines) - 1), "line")
    match data.draw(st.sampled_from(["remove", "double", "move"]), "fault"):
        case "remove":
            del lines[where]
        case "double":
            lines.insert(where, lines[where])
        case "move":
            to = data.draw(st.integers(0, len(lines) - 1).filter(lambda to: to != where), "to")
            lines.insert(to, lines.pop(where))
    path = tmp_path / "725156TYA.CSV"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(UserError, match="line"):
        tmy3.read(path, ELMIRA)


def test_real_files_are_whole(real_tmy3: Path) -> None:
    for place in STATIONS:
        weather = tmy3.read(tmy3.find(real_tmy3, place), place)
        assert not weather.quality.any()
        assert 600 < weather.ghi.max() < 1200
