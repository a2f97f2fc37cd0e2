# SPDX-License-Identifier: Apache-2.0
"""EPW, PSM and PVGIS files: every row on the hour it stands for, or one line that says what is wrong."""

import copy
import gzip
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pvlib
import pytest
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.telemetry import weather_files

from grasp import UserError
from grasp.telemetry.energy import epw, psm, pvgis, sun
from grasp.telemetry.energy.sources import parse_energy
from grasp.telemetry.energy.stations import Station, station
from grasp.telemetry.energy.weather import FloatArray, Quality, Weather, typical_hours

ELMIRA, MARCH = station("elmira"), station("march")
KATHMANDU = Station(444540, "kathmandu", "Kathmandu", "-", 27.7, 85.37, 1337, 6)


def expected(offset_h: int) -> FloatArray:
    """The marks of the local hours, in the order of the UTC grid."""
    zone = timezone(timedelta(hours=offset_h))
    utc = (hour.astype(datetime).replace(tzinfo=UTC) for hour in typical_hours())
    return np.array([weather_files.mark(hour.astimezone(zone)) for hour in utc])


def check(weather: Weather, offset_h: int) -> None:
    np.testing.assert_allclose(weather.temperature, expected(offset_h))
    assert (set(weather.ghi), set(weather.dni), set(weather.dhi)) == ({100.0}, {50.0}, {40.0})
    assert set(weather.wind) == {3.5}


@pytest.mark.parametrize("place", [ELMIRA, MARCH, KATHMANDU], ids=lambda place: str(place.name))
@pytest.mark.parametrize("leap", [False, True])
@pytest.mark.parametrize("minute", [0, 60])
def test_epw_rows_land_on_their_hour(tmp_path: Path, place: Station, leap: bool, minute: int) -> None:
    path = weather_files.write(tmp_path / f"{place.name}.epw", weather_files.epw(place, leap, minute))
    assert epw.place(path) == place
    check(epw.read(path, place), place.utc_offset_h)


@pytest.mark.parametrize("place", [ELMIRA, MARCH, KATHMANDU], ids=lambda place: str(place.name))
@pytest.mark.parametrize("leap", [False, True])
@pytest.mark.parametrize("in_utc", [False, True])
def test_psm_rows_land_on_their_hour(tmp_path: Path, place: Station, leap: bool, in_utc: bool) -> None:
    path = weather_files.write(tmp_path / f"{place.name}.csv", weather_files.psm(place, leap, in_utc))
    found = psm.place(path)
    offset = 0 if in_utc else place.utc_offset_h
    assert (found.name, found.utc_offset_h, found.latitude) == (place.name, offset, place.latitude)
    weather = psm.read(path, found)
    check(weather, offset)
    # The hour that the database filled: from 3:00 to 4:00 by the file's clock.
    filled = np.flatnonzero(weather.quality == Quality.FILLED)
    assert set(filled % 24) == {(3 - offset) % 24}
    assert len(filled) == 365


@pytest.mark.parametrize("minutes", [(0,), (0, 30)])
@pytest.mark.parametrize("leap", [False, True])
def test_means_are_taken_of_what_the_satellite_saw(
    tmp_path: Path, minutes: tuple[int, ...], leap: bool
) -> None:
    lines = weather_files.psm(MARCH, leap, in_utc=True, minutes=minutes)
    path = weather_files.write(tmp_path / "march.csv", lines)
    weather = psm.read(path, psm.place(path))
    days = weather.temperature.reshape(365, 24)
    np.testing.assert_allclose(days[:, :23], np.broadcast_to(np.arange(23) + 0.5, (365, 23)))
    assert set(weather.ghi) == {100.0}


@pytest.mark.parametrize("minutes", [(0, 5), (15, 45), (0, 15, 30, 45)])
def test_other_intervals_are_refused(tmp_path: Path, minutes: tuple[int, ...]) -> None:
    path = weather_files.write(tmp_path / "march.csv", weather_files.psm(MARCH, minutes=minutes))
    with pytest.raises(UserError, match=rf"line 5: rows at minutes {minutes[0]} and {minutes[1]}; ask NSRDB"):
        psm.read(path, psm.place(path))


def test_line_numbers_of_half_hourly_rows(tmp_path: Path) -> None:
    lines = weather_files.psm(MARCH, minutes=(0, 30))
    for number, old, new, message in (
        (21, ",100,", ",x,", "x"),
        (21, ",100,", ",-7,", "line 21: ghi is '-7"),
        (20, ",8,0,", ",9,0,", "line 20: 1/1 9:00, where the hour 1/1 8:00"),
    ):
        path = weather_files.write(tmp_path / "march.csv", edited(number, old, new)(lines))
        with pytest.raises(UserError, match=message):
            psm.read(path, psm.place(path))


def shifted(content: dict[str, Any], late: int) -> dict[str, Any]:
    """The same with the sun's light in it, so many hours late."""
    light = 1000 * np.roll(sun.elevation_sine(MARCH), late)
    for index, hour in enumerate(content["outputs"]["tmy_hourly"]):
        hour["G(h)"] = float(light[index])
    return content


@pytest.mark.parametrize(
    ("late", "side"), [(0, None), (1, "1 h behind"), (-1, "1 h before"), (8, "8 h behind")]
)
def test_light_at_the_wrong_time_is_found_out(tmp_path: Path, late: int, side: str | None) -> None:
    weather_files.write(tmp_path / "march.json", shifted(weather_files.pvgis(MARCH), late))
    if side is None:
        assert parse_energy(f"pvgis:{tmp_path}", stations=[MARCH]).wh.max() > 1000
    else:
        with pytest.raises(UserError, match=rf"irradiance of march is {side} the sun"):
            parse_energy(f"pvgis:{tmp_path}", stations=[MARCH])


def test_elevation_of_the_sun() -> None:
    """Against pvlib's precise position, by day, to a degree and a half."""
    middle = pd.DatetimeIndex(typical_hours()).tz_localize("UTC") + pd.Timedelta(minutes=30)
    precise = pvlib.solarposition.get_solarposition(middle, MARCH.latitude, MARCH.longitude)["elevation"]
    here = np.degrees(np.arcsin(sun.elevation_sine(MARCH)))
    assert np.abs(here - np.maximum(precise.to_numpy(), 0)).max() < 1.5


def test_pvgis_rows_land_on_their_hour(tmp_path: Path) -> None:
    path = weather_files.write(tmp_path / "march.json", weather_files.pvgis(MARCH))
    check(pvgis.read(path, MARCH), 0)


def test_sites_are_the_files_of_a_folder(tmp_path: Path) -> None:
    weather_files.write(tmp_path / "USA_CA_March.AP.722860_TMY3.epw", weather_files.epw(MARCH))
    weather_files.write(tmp_path / "A town.epw", weather_files.epw(KATHMANDU))
    packed = gzip.compress("\n".join(weather_files.epw(ELMIRA)).encode())
    (tmp_path / "elmira.epw.gz").write_bytes(packed)
    energy = parse_energy(f"epw:{tmp_path}")
    assert energy.sites == ("elmira", "march", "a-town")
    assert energy.positions.tolist() == [[42.167, -76.9], [33.9, -117.25], [27.7, 85.37]]
    assert "EPW" in energy.description
    alone = parse_energy(f"epw:{tmp_path}", stations=[MARCH])
    assert np.array_equal(alone.wh[:, 0], energy.wh[:, 1])
    weather_files.write(tmp_path / "again.epw", weather_files.epw(MARCH))
    with pytest.raises(UserError, match=r"again\.epw|TMY3\.epw: is of site march, as"):
        parse_energy(f"epw:{tmp_path}")


def test_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere: no such folder"):
        parse_energy(f"psm:{tmp_path / 'nowhere'}")
    with pytest.raises(UserError, match=r"no file that ends in \.csv"):
        parse_energy(f"psm:{tmp_path}")
    weather_files.write(tmp_path / "march.csv", weather_files.psm(MARCH))
    with pytest.raises(UserError, match=r"site 'elmira' is not in psm:.*; it has march"):
        parse_energy(f"psm:{tmp_path}", stations=[ELMIRA])
    with pytest.raises(UserError, match=r"march\.json: not there; `grasp data fetch`"):
        parse_energy(f"pvgis:{tmp_path}", stations=[MARCH])
    with pytest.raises(UserError, match="--alignment published"):
        parse_energy(f"psm:{tmp_path}", alignment="published")


Lines = list[str]


def edited(number: int, old: str, new: str) -> Callable[[Lines], Lines]:
    """Replace text in the line of that number, counted from 1."""

    def edit(lines: Lines) -> Lines:
        assert old in lines[number - 1]
        return [*lines[: number - 1], lines[number - 1].replace(old, new, 1), *lines[number:]]

    return edit


EPW_FAULTS = [
    (edited(1, "LOCATION", "PLACE"), "line 1: not the LOCATION line"),
    (edited(1, "-8.0", "-8.5"), "UTC-8.5; its hours do not begin"),
    (edited(1, "-8.0", "8.0"), r"UTC\+8 is not the time zone of a place -117.25 degrees east"),
    (edited(1, "-8.0", "-7.0"), "UTC-7, where March is in UTC-8"),
    (edited(1, "33.9", "133.9"), "not a place on earth"),
    (edited(8, "1,1,Data", "1,2,Data"), "line 8: not one period with one row an hour"),
    (edited(8, "DATA PERIODS", "DATA"), "line 8: no DATA PERIODS"),
    (lambda lines: lines[:7], "line 8: no DATA PERIODS"),
    (lambda lines: lines[:100], "line 100: the file ends after 92 of 8760"),
    (lambda lines: lines[:50] + lines[51:], "line 51: 1/2 20:00, where the hour that ends at 1/2 19:00"),
    (lambda lines: lines[:50] + lines[49:], "line 51: 1/2 18:00, where .* 1/2 19:00"),
    (edited(32, ",24,60,", ",0,60,"), "line 32: 1/1 0:00, where .*1/1 24:00"),
    (edited(20, ",60,", ",30,"), "line 20: not year,month,day,hour,minute with full hours"),
    (edited(20, ",100,", ",9999,"), "line 20: ghi is missing"),
    (edited(20, ",3.5,", ",-1,"), "line 20: wind_speed is '-1"),
    (edited(20, ",100,", ",sun,"), "line 20: ghi is 'sun'"),
    (edited(20, ",100,", ","), "line 20: 34 columns"),
]

PSM_FAULTS = [
    (edited(1, "Time Zone", "Zone"), "lines 1 and 2: not the header"),
    (edited(2, ",-8,", ",-7,"), "line 2: rows are in UTC-7, which is neither"),
    (edited(2, ",-8,462,-8", ",0,462,3"), r"UTC\+3 is not the time zone"),
    (edited(3, "Minute", "Second"), "line 3: the columns do not begin with Year,Month"),
    (edited(3, "GHI", "Sun"), "line 3: no column for ghi"),
    (lambda lines: lines[:2], "line 3: the columns"),
    (lambda lines: lines[:4000], "line 4000: the file ends after 3997 of 8760"),
    (lambda lines: [*lines, lines[-1]], "line 8764: .*one more"),
    (lambda lines: lines[:60] + lines[61:], "line 61: 1/3 10:00, where the hour 1/3 9:00"),
    (edited(20, ",30,", ",0,"), "line 20: not Year,Month,Day,Hour,30"),
    (edited(20, ",100,", ",1e9,"), "line 20: ghi is"),
    (edited(20, ",100,", ",sun,"), "not a PSM file .*sun"),
    (edited(20, ",100,", ","), "line 20: 10 columns"),
]


@pytest.mark.parametrize(("fault", "message"), EPW_FAULTS)
def test_epw_faults_are_named(tmp_path: Path, fault: Callable[[Lines], Lines], message: str) -> None:
    path = weather_files.write(tmp_path / "march.epw", fault(weather_files.epw(MARCH)))
    with pytest.raises(UserError, match=rf"march\.epw.*{message}") as caught:
        epw.read(path, epw.place(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("fault", "message"), PSM_FAULTS)
def test_psm_faults_are_named(tmp_path: Path, fault: Callable[[Lines], Lines], message: str) -> None:
    path = weather_files.write(tmp_path / "march.csv", fault(weather_files.psm(MARCH)))
    with pytest.raises(UserError, match=rf"march\.csv.*{message}") as caught:
        psm.read(path, psm.place(path))
    assert "\n" not in str(caught.value)


def row(index: int, **values: object) -> Callable[[dict[str, Any]], object]:
    return lambda content: content["outputs"]["tmy_hourly"][index].update(values)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda content: content.pop("inputs"), "not a typical year of PVGIS"),
        (lambda content: content["outputs"].update(tmy_hourly=3), "not a typical year of PVGIS"),
        (lambda content: content["inputs"]["location"].update(latitude=50), "of 50 N .* not March"),
        (
            lambda content: content["outputs"]["tmy_hourly"].pop(7),
            "line 8: 1/1 8:00, where the hour 1/1 7:00",
        ),
        (lambda content: content["outputs"]["tmy_hourly"].pop(), "ends after 8759 of 8760"),
        (row(7, **{"time(UTC)": "20010101:0730"}), "line 8: not a full hour"),
        (row(7, **{"G(h)": None}), "line 8: ghi is 'nan'"),
        (row(7, **{"G(h)": -3.0}), "line 8: ghi is '-3"),
    ],
)
def test_pvgis_faults_are_named(
    tmp_path: Path, fault: Callable[[dict[str, Any]], object], message: str
) -> None:
    content = weather_files.pvgis(MARCH)
    fault(content)
    path = weather_files.write(tmp_path / "march.json", content)
    with pytest.raises(UserError, match=rf"march\.json.*{message}"):
        pvgis.read(path, MARCH)


def test_missing_values_of_epw_are_filled_by_name(tmp_path: Path) -> None:
    lines = edited(20, ",100,", ",9999,")(weather_files.epw(MARCH))
    weather = epw.read(weather_files.write(tmp_path / "march.epw", lines), MARCH, fill="interpolate")
    assert set(weather.ghi) == {100.0}
    assert np.flatnonzero(weather.quality).tolist() == [20 - 9 + 8]


EPW_LINES, PSM_LINES = weather_files.epw(MARCH), weather_files.psm(MARCH, leap=True)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), kind=st.sampled_from(["epw", "csv"]))
def test_a_damaged_file_is_refused_or_right(tmp_path: Path, data: st.DataObject, kind: str) -> None:
    """Lines removed, doubled, moved or scribbled on: an error, or every value on the hour that it names."""
    lines = list(EPW_LINES if kind == "epw" else PSM_LINES)
    for _ in range(data.draw(st.integers(1, 2), "faults")):
        where = data.draw(st.integers(0, len(lines) - 1), "line")
        match data.draw(st.sampled_from(["remove", "double", "move", "scribble"]), "fault"):
            case "remove":
                del lines[where]
            case "double":
                lines.insert(where, lines[where])
            case "move":
                lines.insert(data.draw(st.integers(0, len(lines) - 1), "to"), lines.pop(where))
            case "scribble":
                at = data.draw(st.integers(0, max(len(lines[where]) - 1, 0)), "at")
                text = data.draw(st.sampled_from(["", "0", "1", ",", "-", "x", "9", "\0", "é"]), "text")
                lines[where] = lines[where][:at] + text + lines[where][at + 1 :]
    path = weather_files.write(tmp_path / f"march.{kind}", lines)
    reader = epw if kind == "epw" else psm
    try:
        found = reader.place(path)
        weather = reader.read(path, found)
    except UserError:
        return
    # A scribbled value may still be a number; then that one hour alone differs, in that one value.
    assert found.utc_offset_h in (MARCH.utc_offset_h, 0 if kind == "csv" else MARCH.utc_offset_h)
    wrong = ~np.isclose(weather.temperature, expected(found.utc_offset_h))
    assert wrong.sum() <= 2


class Refusal(requests.ConnectionError):
    pass


def test_fetched_years_are_kept_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answer(latitude: float, longitude: float, **options: object) -> tuple[pd.DataFrame, dict[str, Any]]:
        asked.append((latitude, longitude))
        content = copy.deepcopy(weather_files.pvgis(MARCH))
        table, meta = pvlib.iotools.pvgis._parse_pvgis_tmy_json(content)
        return table, meta

    monkeypatch.setattr(pvlib.iotools, "get_pvgis_tmy", answer)
    path = pvgis.fetch(MARCH, tmp_path / "new")
    assert asked == [(MARCH.latitude, MARCH.longitude)]
    check(pvgis.read(path, MARCH), 0)
    assert [entry.name for entry in path.parent.iterdir()] == ["march.json"]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert pvgis.cache() == tmp_path / "grasp" / "pvgis"


def test_offline_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*words: object, **options: object) -> None:
        try:
            raise OSError("Name or service not known")
        except OSError:
            raise Refusal("a long story") from None

    monkeypatch.setattr(pvlib.iotools, "get_pvgis_tmy", refuse)
    with pytest.raises(UserError, match=r"PVGIS cannot be reached for march \(Name or service not known\)"):
        pvgis.fetch(MARCH, tmp_path)
    assert not list(tmp_path.iterdir())


def test_wind_model_follows_the_power_curve() -> None:
    pytest.importorskip("windpowerlib")
    from grasp.telemetry.energy.models import WIND_W, wind

    def energy(speed: float) -> float:
        calm = np.zeros(8760)
        year = Weather(calm, calm, calm, calm + 15, calm + speed, np.zeros(8760, dtype=np.uint8))
        return float(wind(MARCH, year)[100])

    # At the hub a wind of 10 m height is (85 / 10)^(1/7) = 1.36 times as fast: 3 MW from about 13 m/s on,
    # nothing below about 2 m/s and above 25 m/s.
    assert energy(1) == energy(26) == 0
    assert energy(12) == pytest.approx(WIND_W, rel=0.01)
    assert 0 < energy(4) < energy(6) < energy(8) < WIND_W
