# SPDX-License-Identifier: Apache-2.0
"""The generation models against independent reckonings, and the made-up weather against the sun's limits."""

import numpy as np
import pandas as pd
import pvlib
import pytest

from grasp.telemetry.energy.models import grasp2018, pvwatts
from grasp.telemetry.energy.stations import STATIONS, station
from grasp.telemetry.energy.synthetic import synthesize
from grasp.telemetry.energy.weather import FloatArray, Weather, typical_hours


def weather(ghi: FloatArray, temperature: FloatArray) -> Weather:
    zeros = np.zeros_like(ghi)
    return Weather(ghi, zeros, zeros, temperature, zeros, zeros.astype(np.uint8))


def test_grasp2018_by_hand() -> None:
    made = weather(np.array([1000.0, 1000.0, 0.0, 500.0]), np.array([0.0, 25.0, 10.0, -10.0]))
    expected = [18913.32140625, 17112.22650, 0.0, 9811.0272]
    assert grasp2018(STATIONS[0], made).tolist() == pytest.approx(expected, abs=0.001)


@pytest.mark.parametrize("name", ["watertown", "travis"])
def test_pvwatts_is_what_pvlibs_model_chain_gives(name: str) -> None:
    place = station(name)
    made = synthesize(place, 5)
    middle = pd.DatetimeIndex(typical_hours()).tz_localize("UTC") + pd.Timedelta(minutes=30)
    plant = pvlib.pvsystem.PVSystem(
        arrays=[
            pvlib.pvsystem.Array(
                pvlib.pvsystem.FixedMount(20, 180),
                module_parameters={"pdc0": 20_000, "gamma_pdc": -0.0047},
                temperature_model_parameters=pvlib.temperature.TEMPERATURE_MODEL_PARAMETERS["sapm"][
                    "open_rack_glass_polymer"
                ],
            )
        ],
        inverter_parameters={"pdc0": 20_000 / 1.1 / 0.96, "eta_inv_nom": 0.96},
    )
    chain = pvlib.modelchain.ModelChain.with_pvwatts(
        plant,
        pvlib.location.Location(place.latitude, place.longitude, "UTC", place.altitude),
        transposition_model="haydavies",
        losses_model="pvwatts",
    )
    columns = {"ghi": made.ghi, "dni": made.dni, "dhi": made.dhi}
    chain.run_model(pd.DataFrame({**columns, "temp_air": made.temperature, "wind_speed": made.wind}, middle))
    ours = pvwatts(place, made)
    # The chain bends the sun's light by the hour's own temperature, which moves a rising sun a little.
    assert ours.sum() > 1e7
    assert np.nan_to_num(chain.results.ac.to_numpy()) == pytest.approx(np.nan_to_num(ours), abs=1)


@pytest.mark.parametrize("place", STATIONS, ids=lambda place: str(place.name))
def test_synthetic_weather_stays_below_the_clear_sky_and_in_the_climate(place: object) -> None:
    assert isinstance(place, type(STATIONS[0]))
    made = synthesize(place, 1)
    middle = pd.DatetimeIndex(typical_hours()).tz_localize("UTC") + pd.Timedelta(minutes=30)
    up = pvlib.solarposition.get_solarposition(middle, place.latitude, place.longitude)[
        "elevation"
    ].to_numpy()
    assert (made.ghi[up < -1] == 0).all()
    assert (made.ghi >= 0).all()
    assert (made.ghi <= 1361 * 1.04 * np.maximum(np.sin(np.radians(up)), 0.05)).all()
    closed = made.dhi + made.dni * np.maximum(np.sin(np.radians(up)), 0)
    assert np.abs(closed - made.ghi)[up > 10].max() < 1
    assert 3.0 < made.ghi.sum() / 365 / 1000 < 6.5  # kWh/m2 a day, as the US have
    assert -40 < made.temperature.min() < made.temperature.max() < 50


def test_synthetic_years_are_seeded() -> None:
    first, again, other = (synthesize(STATIONS[0], seed) for seed in (1, 1, 2))
    assert np.array_equal(first.ghi, again.ghi)
    assert not np.array_equal(first.ghi, other.ghi)
    assert not np.array_equal(first.temperature, synthesize(STATIONS[1], 1).temperature)
