# SPDX-License-Identifier: Apache-2.0
"""Whether a year's irradiance fits the sun: files with a wrong zone or shifted stamps are found out here."""

import numpy as np

from grasp.telemetry.energy.stations import Station
from grasp.telemetry.energy.weather import FloatArray, Weather, typical_hours

CLEARLY = 0.005
"""By so much a shifted year must fit better (in correlation) before the unshifted one is doubted."""


def elevation_sine(place: Station) -> FloatArray:
    """Sine of the sun's elevation in the middle of each hour of the typical year, 0 below the horizon.

    Good to a degree or so. Source: Spencer, "Fourier series representation of the position of the sun",
    Search 2 (1971).
    """
    hours = typical_hours()
    day = (hours.astype("datetime64[D]") - hours[0].astype("datetime64[D]")).astype(float)
    x = 2 * np.pi * day / 365
    declination = (
        0.006918
        - 0.399912 * np.cos(x)
        + 0.070257 * np.sin(x)
        - 0.006758 * np.cos(2 * x)
        + 0.000907 * np.sin(2 * x)
        - 0.002697 * np.cos(3 * x)
        + 0.00148 * np.sin(3 * x)
    )
    equation_min = 229.18 * (
        0.0000075
        + 0.001868 * np.cos(x)
        - 0.032077 * np.sin(x)
        - 0.014615 * np.cos(2 * x)
        - 0.040849 * np.sin(2 * x)
    )
    utc = hours.astype(int) % 24 + 0.5
    angle = np.radians(15 * (utc - 12) + place.longitude + equation_min / 4)
    latitude = np.radians(place.latitude)
    sine = np.sin(latitude) * np.sin(declination) + np.cos(latitude) * np.cos(declination) * np.cos(angle)
    risen: FloatArray = np.maximum(sine, 0)
    return risen


def hours_late(place: Station, weather: Weather) -> int:
    """By how many whole hours the irradiance is behind the sun (before it: negative); 0 if it fits."""
    sun = elevation_sine(place)
    if np.ptp(weather.ghi) == 0 or np.ptp(sun) == 0:
        return 0
    lags = np.arange(-11, 13)
    fits = [float(np.corrcoef(np.roll(weather.ghi, -lag), sun)[0, 1]) for lag in lags]
    best = int(np.argmax(fits))
    return int(lags[best]) if fits[best] > fits[int(np.flatnonzero(lags == 0)[0])] + CLEARLY else 0
