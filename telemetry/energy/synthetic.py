# SPDX-License-Identifier: Apache-2.0
"""Makes up a plausible year of weather for a station, for when no weather files are at hand.

The sun is exact (pvlib's solar position and clear sky); clouds and temperature are seeded random processes
whose means are round figures of each station's climate. Fit for trying things out, not for statements about
these places.
"""

import math

import numpy as np
import pandas as pd
import pvlib

from grasp.telemetry.energy.stations import Station
from grasp.telemetry.energy.weather import YEAR_HOURS, FloatArray, Quality, Weather, typical_hours

# Mean temperature and its yearly amplitude in C, and the mean share of the sky under clouds.
_CLIMATES: dict[str, tuple[float, float, float]] = {
    "elmira": (8.5, 13.0, 0.62),
    "watertown": (7.5, 13.5, 0.62),
    "westhampton": (11.0, 11.5, 0.57),
    "homestead": (24.5, 4.0, 0.50),
    "orlando": (22.5, 6.0, 0.50),
    "tyndall": (20.5, 8.0, 0.47),
    "lompoc": (13.5, 2.5, 0.40),
    "march": (17.5, 7.0, 0.28),
    "travis": (16.0, 7.0, 0.33),
}

TURBIDITY = 3.0
"""Linke turbidity of the clear sky, as over rural land in summer; given, so that no table is needed."""


def synthesize(place: Station, seed: int) -> Weather:
    """Return a made-up year of a station; the same seed gives the same year, whatever is made beside it."""
    random = np.random.default_rng([seed, place.id])
    mean, amplitude, cloudiness = _CLIMATES[place.name]
    middle = pd.DatetimeIndex(typical_hours()).tz_localize("UTC") + pd.Timedelta(minutes=30)
    here = pvlib.location.Location(place.latitude, place.longitude, "UTC", place.altitude)
    sun = here.get_solarposition(middle)
    sky = here.get_clearsky(middle, model="ineichen", solar_position=sun, linke_turbidity=TURBIDITY)
    cover = _cloud_cover(random, cloudiness)
    # Kasten and Czeplak, Solar Energy 24 (1980): what N of cloud cover leave of the clear sky's irradiance.
    ghi = sky["ghi"].to_numpy() * (1 - 0.75 * cover**3.4)
    split = pvlib.irradiance.erbs(ghi, sun["zenith"], middle)
    return Weather(
        ghi=ghi,
        dni=np.asarray(split["dni"]),
        dhi=np.asarray(split["dhi"]),
        temperature=_temperature(random, place, mean, amplitude, cover),
        wind=np.abs(3.5 + 1.5 * _wander(random, 6)),
        quality=np.full(YEAR_HOURS, Quality.SYNTHETIC, dtype=np.uint8),
    )


def _wander(random: np.random.Generator, memory_h: float) -> FloatArray:
    """Return a year of a stationary first-order autoregressive process of mean 0 and variance 1."""
    kept = math.exp(-1 / memory_h)
    steps = random.standard_normal(YEAR_HOURS) * math.sqrt(1 - kept**2)
    value = float(random.standard_normal())
    path = np.empty(YEAR_HOURS)
    for hour, step in enumerate(steps):
        value = kept * value + step
        path[hour] = value
    return path


def _cloud_cover(random: np.random.Generator, mean: float) -> FloatArray:
    """Weather fronts of about a day and a half, with passing clouds on them; 0 is clear, 1 overcast."""
    state = 1.6 * _wander(random, 36) + 0.8 * _wander(random, 3)
    return 1 / (1 + np.exp(-(state + math.log(mean / (1 - mean)))))


def _temperature(
    random: np.random.Generator, place: Station, mean: float, amplitude: float, cover: FloatArray
) -> FloatArray:
    """Coldest in mid-January and an hour before sunrise or so; clouds halve the day's swing."""
    hour = np.arange(YEAR_HOURS)
    season = -amplitude * np.cos(2 * np.pi * (hour / 24 - 15) / 365)
    solar_hour = hour + 0.5 + place.longitude / 15
    day = (6 - 3 * cover) * np.cos(2 * np.pi * (solar_hour - 15) / 24)
    return mean + season + day + 2.5 * _wander(random, 48)
