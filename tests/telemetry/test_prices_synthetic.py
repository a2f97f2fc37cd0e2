# SPDX-License-Identifier: Apache-2.0
"""The made-up prices have the published properties, whatever the seed; and series of any source."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kurtosis, spearmanr

from grasp import UserError
from grasp.telemetry.energy.places import distances_km
from grasp.telemetry.energy.weather import YEAR_HOURS, typical_hours
from grasp.telemetry.prices import hubs, sources, synthetic
from grasp.telemetry.prices.hubs import HUBS
from grasp.telemetry.prices.series import Series

NAMES = [hub.name for hub in HUBS]
SEEDS = range(5)
YEARS = {seed: synthetic.prices(HUBS, seed).values for seed in SEEDS}


@pytest.mark.parametrize("seed", SEEDS)
def test_means_and_spreads_are_the_hubs(seed: int) -> None:
    year = YEARS[seed]
    assert year.mean(axis=0) == pytest.approx([hub.price for hub in HUBS])
    assert year.std(axis=0) == pytest.approx([hub.price * hub.spread for hub in HUBS], rel=0.35)


@pytest.mark.parametrize("seed", SEEDS)
def test_spikes_and_hours_below_zero(seed: int) -> None:
    year = YEARS[seed]
    assert (year.max(axis=0) > 4 * year.mean(axis=0)).all()
    assert (kurtosis(year, axis=0, fisher=False) > 5).all()
    below = (year < 0).mean(axis=0)
    assert (below > 0).all()
    assert (below < 0.02).all()


def test_correlation_falls_with_distance_and_is_higher_within_a_market() -> None:
    matrix = np.mean([np.corrcoef(year.T) for year in YEARS.values()], axis=0)
    apart = distances_km(hubs.positions(HUBS), hubs.positions(HUBS))
    pairs = [(i, j) for i in range(len(HUBS)) for j in range(i)]
    same = np.array([HUBS[i].market == HUBS[j].market for i, j in pairs])
    r, km = (np.array([table[pair] for pair in pairs]) for table in (matrix, apart))
    assert r[same].min() > 0.6 > r[~same].max()
    assert spearmanr(km[~same], r[~same]).statistic < -0.5
    for california in ("CA1", "CA2"):
        assert matrix[NAMES.index(california), NAMES.index("VA")] == pytest.approx(0.2, abs=0.06)


def test_prices_are_highest_in_the_afternoon_of_the_place() -> None:
    for hub, column in zip(HUBS, np.mean(list(YEARS.values()), axis=0).T, strict=True):
        day = column.reshape(-1, 24).mean(axis=0)
        clock = (np.arange(24) + 0.5 + hub.longitude / 15) % 24
        assert 13 < clock[day.argmax()] < 21
        assert clock[day.argmin()] < 7


def test_the_year_is_a_circle() -> None:
    """The step from its last hour to its first is no larger than others."""
    steps = np.abs(np.diff(np.concatenate([*YEARS.values()]), axis=0))
    seam = np.mean([np.abs(year[0] - year[-1]) for year in YEARS.values()])
    assert seam < 3 * np.median(steps)


def test_seeds_make_the_year() -> None:
    assert (synthetic.prices(HUBS, 1).values == YEARS[1]).all()
    assert (YEARS[1] != YEARS[2]).any()
    assert (synthetic.carbon(HUBS, 1).values == synthetic.carbon(HUBS, 1).values).all()


def test_carbon_intensities() -> None:
    year = synthetic.carbon(HUBS, 0).values
    assert year.mean(axis=0) == pytest.approx([hub.carbon for hub in HUBS])
    assert year.min() > 0
    noon = (np.arange(YEAR_HOURS) + HUBS[1].longitude / 15) % 24
    sunny = year[(noon > 11) & (noon < 14), 1].mean()
    assert sunny < 0.75 * year[(noon > 20) | (noon < 4), 1].mean()


def test_hubs_by_name() -> None:
    assert [hub.title for hub in hubs.choose("NY, CA1")] == ["New York", "Palo Alto"]
    with pytest.raises(UserError, match=r"'XX' is not known.*CA1"):
        hubs.choose("NY,XX")
    with pytest.raises(UserError, match="twice"):
        hubs.choose("NY,NY")


def test_a_typical_year_stands_for_every_year() -> None:
    year = Series(np.arange(YEAR_HOURS * 1.0)[:, np.newaxis], typical_hours(), ("NY",), True, "a year")
    hours = year.span("01-01", hours=3, before=2)
    assert year.at(hours)[:, 0].tolist() == [8758, 8759, 0, 1, 2]
    leap = np.arange("2024-02-28T23", "2024-03-01T01", dtype="datetime64[h]")
    # The 29 February has the values of the 28th.
    assert year.at(leap)[:, 0].tolist() == [58 * 24 + 23, *range(58 * 24, 59 * 24), 59 * 24]


def test_dated_series_hold_only_their_hours() -> None:
    hours = np.arange("2024-06-01T05", "2024-06-04T05", dtype="datetime64[h]")
    dated = Series(np.arange(72.0)[:, np.newaxis], hours, ("NY",), False, "three days")
    assert dated.at(dated.span(None, hours=24, before=2))[:, 0].tolist() == list(range(26))
    assert dated.at(dated.span("2024-06-02", hours=2, before=1))[:, 0].tolist() == [18, 19, 20]
    with pytest.raises(UserError, match="three days: has the hours from 2024-06-01T05Z to 2024-06-04T04Z"):
        dated.span("2024-06-01", hours=24, before=0)
    with pytest.raises(UserError, match="needed are 2024-06-01T05Z to 2024-06-04T05Z"):
        dated.span(None, hours=72, before=1)
    with pytest.raises(UserError, match="no values of CA1; it has NY"):
        dated.select(["CA1"])


@pytest.mark.parametrize("start", ["02-30", "6-21", "2024-06-21", "x"])
def test_days_that_a_typical_year_has_not(start: str) -> None:
    year = synthetic.prices(HUBS[:2], 0)
    with pytest.raises(UserError, match="give a day as MM-DD"):
        year.span(start, 24, 0)


def _write(path: Path, column: str) -> None:
    rows = [
        f"{hour}:00Z,{site},{value}"
        for site, value in (("NY", 40), ("CA1", 30))
        for hour in np.datetime_as_string(typical_hours(), unit="h")
    ]
    path.write_text("\n".join([f"hour_start,site,{column}", *rows]))


def test_columns_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    chosen = hubs.choose("CA1,NY")
    _write(path, "price_usd_per_mwh")
    series = sources.prices(f"csv:{path}", chosen)
    assert (series.hubs, series.description) == (("CA1", "NY"), "price from own.csv")
    assert series.values[0].tolist() == [30, 40]
    with pytest.raises(UserError, match="no column carbon_average_g_per_kwh or carbon_marginal_g_per_kwh"):
        sources.carbon(f"csv:{path}", chosen)
    with pytest.raises(UserError, match="no values of MA; it has NY, CA1"):
        sources.prices(f"csv:{path}", HUBS[2:3])
    _write(path, "carbon_marginal_g_per_kwh")
    assert sources.carbon(f"csv:{path}", chosen).description == "carbon marginal from own.csv"


def test_gaps_in_columns_of_ones_own_are_filled_if_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    _write(path, "price_usd_per_mwh")
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:10] + lines[11:]))
    with pytest.raises(UserError, match=r"NY lacks 1 hours of the year.*give --fill interpolate"):
        sources.prices(f"csv:{path}", hubs.choose("NY,CA1"))
    assert sources.prices(f"csv:{path}", hubs.choose("NY,CA1"), fill="interpolate").values[9, 0] == 40


@pytest.mark.parametrize("names", ["NY,CA1,IL", "IL,NY,CA1", "NY,TX1"])
def test_a_hubs_made_up_year_is_its_own_whatever_other_hubs_there_are(names: str) -> None:
    chosen = hubs.choose(names)
    for make in (sources.prices, sources.carbon):
        every, some = make("synthetic", HUBS, 3), make("synthetic", chosen, 3)
        assert some.hubs == tuple(names.split(","))
        assert (some.values == every.select(some.hubs).values).all()
    plants = np.arange(1.0, len(chosen) + 1)
    every, some = (
        sources.green("synthetic", HUBS, np.ones(9), 3),
        sources.green("synthetic", chosen, plants, 3),
    )
    assert (some.values == every.select(some.hubs).values * plants).all()


@pytest.mark.parametrize("text", ["moon", "gridstatus:", "csv:", "gridstatus"])
def test_sources_that_are_not_known(text: str) -> None:
    with pytest.raises(UserError, match=f"--prices {text}: must be synthetic"):
        sources.prices(text, HUBS)
    with pytest.raises(UserError, match=f"--carbon {text}: must be synthetic"):
        sources.carbon(text, HUBS)


def test_options_of_other_sources() -> None:
    with pytest.raises(UserError, match="--locations and --market"):
        sources.prices("synthetic", HUBS, market="DAY_AHEAD_HOURLY")
    with pytest.raises(UserError, match="seed -1"):
        sources.prices("synthetic", HUBS, seed=-1)
