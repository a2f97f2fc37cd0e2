# SPDX-License-Identifier: Apache-2.0
"""Energy tables: the published numbers, the right hours, and what is refused."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pvlib
import pytest

from grasp import UserError
from grasp.schedulers.ratio import green_ratio, green_ratio_limit
from grasp.schedulers.registry import scheduler
from grasp.telemetry.energy.sources import Energy, parse_energy, typical_row
from grasp.telemetry.energy.stations import STATIONS, Station, station
from grasp.telemetry.energy.weather import TYPICAL_YEAR, Quality

JUNE_21_WH = [65076, 49143, 112154, 117034, 55066, 114682, 81270, 115058, 142283]


@pytest.fixture(scope="module")
def published(real_tmy3: Path) -> Energy:
    return parse_energy(f"tmy3:{real_tmy3}", alignment="published")


@pytest.fixture(scope="module")
def utc(real_tmy3: Path) -> Energy:
    return parse_energy(f"tmy3:{real_tmy3}")


@pytest.fixture(scope="module")
def made_up() -> Energy:
    return parse_energy("synthetic", seed=3)


def centroid_errors(energy: Energy) -> list[float]:
    """Hours from solar noon to the centre of the year's energy, by site."""
    days = pd.date_range(f"{TYPICAL_YEAR}-01-01", periods=365, tz="UTC")
    errors = []
    for column, place in enumerate(STATIONS):
        noon = pvlib.solarposition.sun_rise_set_transit_spa(days, place.latitude, place.longitude)["transit"]
        at = noon.dt.hour + noon.dt.minute / 60
        shifted = np.roll(energy.wh[:, column], -int(at.mean() - 12))  # noon to the middle of a row of 24
        weights = shifted.reshape(365, 24).sum(axis=0)
        centre = (weights * (np.arange(24) + 0.5)).sum() / weights.sum() + int(at.mean() - 12)
        errors.append(float(centre - at.mean()))
    return errors


@pytest.mark.parametrize("alignment", ["published", "utc"])
def test_june_21_is_as_published(request: pytest.FixtureRequest, alignment: str) -> None:
    """The day counted in UTC-5 has all of the sun of every station, however the hours are aligned."""
    energy: Energy = request.getfixturevalue(alignment)
    assert np.rint(energy.day("06-21").wh.sum(axis=0)).tolist() == JUNE_21_WH


@pytest.mark.parametrize(("job", "jobs", "points"), [(1, 900, 14.24), (1, 9, 16.31), (200, 900, 0.0)])
def test_gain_over_round_robin_is_as_published(
    published: Energy, job: float, jobs: int, points: float
) -> None:
    """Percentage points between green and round-robin over the year, jobs being divisible as in the paper."""
    green = green_ratio_limit(published.wh, job, jobs)
    equal = green_ratio(np.full_like(published.wh, jobs / 9), published.wh, job)
    assert 100 * float(green - equal) == pytest.approx(points, abs=0.005)


def test_green_reaches_the_limit_but_for_whole_jobs(utc: Energy) -> None:
    counts = scheduler("green").allocate(utc.wh, 20, 900)
    gap = float(green_ratio_limit(utc.wh, 20, 900) - green_ratio(counts, utc.wh, 20))
    assert 0 <= gap < 9 / 900


@pytest.mark.parametrize("name", ["green", "persistence", "round-robin"])
def test_whole_hours_are_job_after_job_in_200_real_hours(utc: Energy, name: str) -> None:
    rule = scheduler(name)
    forecast = rule.forecast({"green_energy": utc.wh})
    random = np.random.default_rng(11)
    hours = random.choice(len(utc.wh), 200, replace=False)
    job, jobs = random.integers(1, 400, 200) / 2, random.integers(0, 200, 200)
    counts = rule.allocate(forecast[hours], job, jobs)
    for row, hour in enumerate(hours):
        given = np.zeros(9)
        for _ in range(jobs[row]):
            given[rule.choose(forecast[hour], given * job[row])] += 1
        assert counts[row].tolist() == given.tolist()


def test_utc_alignment_follows_the_sun(utc: Energy) -> None:
    """Solar position knows nothing of the files; clouds shift the centre by less than half an hour."""
    assert max(np.abs(centroid_errors(utc))) < 0.5


def test_published_alignment_is_off_by_six_hours_in_california(published: Energy) -> None:
    errors = centroid_errors(published)
    assert [round(error) for error in errors] == [0, 0, 0, 0, 0, -1, -6, -6, -6]


@pytest.mark.parametrize("model", ["grasp2018", "pvwatts"])
def test_synthetic_year_follows_the_sun(model: str) -> None:
    assert max(np.abs(centroid_errors(parse_energy("synthetic", model)))) < 0.25


def test_synthetic_says_so(made_up: Energy) -> None:
    assert "synthetic" in made_up.description
    assert made_up.source == "synthetic"
    assert (made_up.quality & Quality.SYNTHETIC).all()


def test_tables_have_one_shape(made_up: Energy) -> None:
    assert made_up.wh.shape == made_up.quality.shape == (8760, 9)
    assert made_up.sites == tuple(place.name for place in STATIONS)
    assert np.isfinite(made_up.wh).all()
    assert (made_up.wh >= 0).all()
    assert np.array_equal(np.diff(made_up.hours), np.ones(8759, dtype="timedelta64[h]"))


def test_day_counts_in_eastern_standard_time(made_up: Energy) -> None:
    day = made_up.day("06-21", start_hour=6, hours=3)
    assert day.hours.astype(str).tolist() == ["2001-06-21T11", "2001-06-21T12", "2001-06-21T13"]
    row = made_up.hours.tolist().index(datetime(2001, 6, 21, 11))
    assert np.array_equal(day.wh, made_up.wh[row : row + 3])


def test_day_goes_round_the_end_of_the_year(made_up: Energy) -> None:
    day = made_up.day("12-31", start_hour=12, hours=24)
    assert day.hours[-1] == np.datetime64("2002-01-01T16", "h")
    assert np.array_equal(day.wh[-17:], made_up.wh[:17])
    assert np.array_equal(made_up.day("12-31", hours=8760).wh[:5], made_up.wh[8741:8746])


def test_hours_number_epochs(made_up: Energy) -> None:
    """The epoch numbers of a table are hours since 1970, which lead back to its rows."""
    epochs = made_up.day("03-01", hours=48).hours.astype(int)
    assert [typical_row(int(epoch)) for epoch in epochs] == list(range(59 * 24 + 5, 59 * 24 + 53))


def test_leap_day_counts_as_the_28th() -> None:
    leap = int(np.datetime64("2028-02-29T13", "h").astype(int))
    assert typical_row(leap) == typical_row(leap - 24)
    assert typical_row(leap + 24) == typical_row(leap) + 24


@pytest.mark.parametrize("date", ["02-29", "6-21", "06-31", "2001-06-21", "", "summer"])
def test_wrong_dates_are_refused(made_up: Energy, date: str) -> None:
    with pytest.raises(UserError, match=f"--date {date}"):
        made_up.day(date)


@pytest.mark.parametrize(("start", "hours"), [(-1, 24), (24, 24), (0, 0), (0, 8761)])
def test_wrong_hours_are_refused(made_up: Energy, start: int, hours: int) -> None:
    with pytest.raises(UserError, match="must be from"):
        made_up.day("06-21", start, hours)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("solar",), r"--energy solar: .*synthetic, tmy3:DIR"),
        (("tmy3:",), "--energy tmy3:: "),
        (("synthetic:1",), "--energy synthetic:1"),
        (("tmy3:/nowhere/at/all",), "/nowhere/at/all: no such folder"),
        (("synthetic", "sun"), "--model sun.*grasp2018, pvwatts"),
        (("synthetic", "pvwatts", "east"), "--alignment east.*utc, published"),
    ],
)
def test_unknown_names_are_refused(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_energy(*arguments)  # type: ignore[arg-type]


def test_unknown_station_lists_the_known() -> None:
    assert station("725156") is station("Elmira")
    with pytest.raises(UserError, match=r"'atlantis'.*elmira.*travis"):
        station("atlantis")


def test_less_than_nothing_is_taken_as_nothing_and_marked(
    tmp_path: Path, write_tmy3: Callable[..., Path]
) -> None:
    """The pvwatts inverter draws power at low light; the plant's yield is then 0 and the hour marked."""
    place: Station = station("elmira")
    write_tmy3(tmp_path, place, lambda start: (1 if start.hour == 12 else 0, 0, 1, 20, 1))
    energy = parse_energy(f"tmy3:{tmp_path}", "pvwatts", stations=[place])
    assert (energy.wh >= 0).all()
    clipped = (energy.quality & Quality.CLIPPED) > 0
    assert (energy.wh[clipped] == 0).all()
