# SPDX-License-Identifier: Apache-2.0
"""Makes up a year of prices, of carbon intensities and of sunshine for hubs.

Prices have the properties that Qureshi et al. (SIGCOMM 2009) report of real ones: hourly volatility that no
daily profile explains, spikes of several times the mean, hours below zero, and a correlation that is high
within a market and falls with distance, to about 0.2 between California and Virginia. Means and spreads are
round figures. Fit for trying a policy out, not for statements about these markets.
"""

from collections.abc import Callable, Sequence

import numpy as np

from grasp import UserError
from grasp.telemetry.energy.places import distances_km
from grasp.telemetry.energy.weather import YEAR_HOURS, FloatArray, typical_hours
from grasp.telemetry.prices.hubs import Hub, positions
from grasp.telemetry.prices.series import Series

COMMON_SHARE = 0.16
"""Of the variance: what all hubs have in common, such as the price of gas."""

MARKET_SHARE = 0.36
"""What the hubs of a market have in common beyond that, wherever they are."""

DECAY_KM = 1000.0
"""Distance at which the rest of the correlation has fallen to 1/e."""

# Hours that a disturbance lasts, and its share of the variance: passing outages, weather, fuel prices.
_MEMORIES = ((1.5, 0.25), (12.0, 0.35), (150.0, 0.40))

_SPIKES_A_YEAR = 50
_SPIKE_HOURS = 2.0
_SPIKE_SIZE = 2.5  # in the hub's mean price, exponentially distributed
_GLUTS_A_YEAR = 10
_GLUT_HOURS = 2.5

_PRICES, _CARBON, _SUN = 1, 2, 4  # each kind has random numbers of its own


def prices(hubs: Sequence[Hub], seed: int) -> Series:
    """Return a made-up year in $/MWh; the same seed and hubs give the same year."""
    random = _random(seed, _PRICES)
    spread = np.array([hub.spread for hub in hubs])
    mean = np.array([hub.price for hub in hubs], dtype=np.float64)
    clocks = _clocks(hubs)
    # Cheapest before dawn, dearest in the late afternoon, with a shoulder in the morning.
    day = 0.22 * np.cos(2 * np.pi * (clocks - 17) / 24) + 0.08 * np.cos(4 * np.pi * (clocks - 8) / 24)
    summer = 0.10 * np.cos(2 * np.pi * (np.arange(YEAR_HOURS) / 24 - 205) / 365)
    # The spread of a lognormal; spikes bring a part of it.
    sigma = np.sqrt(np.log1p((0.75 * spread) ** 2))
    level = np.exp(day + summer[:, np.newaxis] + sigma * _field(random, hubs))
    level *= mean / level.mean(axis=0)
    spikes = _events(random, hubs, _SPIKES_A_YEAR, _SPIKE_HOURS, lambda: random.exponential(_SPIKE_SIZE))
    glut = _events(random, hubs, _GLUTS_A_YEAR, _GLUT_HOURS, lambda: random.uniform(0.05, 0.6), night=clocks)
    level = np.where(glut > 0, -mean * glut, level + mean * spikes)
    level *= mean / level.mean(axis=0)
    return _series(level, hubs, f"synthetic prices, seed {seed}")


def carbon(hubs: Sequence[Hub], seed: int) -> Series:
    """Return a made-up year of average carbon intensities in gCO2/kWh, in the manner of `prices`."""
    random = _random(seed, _CARBON)
    mean = np.array([hub.carbon for hub in hubs], dtype=np.float64)
    clocks = _clocks(hubs)
    sun = np.maximum(np.cos(2 * np.pi * (clocks - 12.5) / 24), 0) ** 0.8
    season = 1 + 0.25 * np.cos(2 * np.pi * (np.arange(YEAR_HOURS) / 24 - 172) / 365)
    dip = np.array([hub.solar for hub in hubs]) * sun * season[:, np.newaxis]
    level = (1 - np.minimum(dip, 0.9)) * np.exp(0.16 * _field(random, hubs))
    return _series(level * mean / level.mean(axis=0), hubs, f"synthetic carbon intensities, seed {seed}")


def sun(hubs: Sequence[Hub], seed: int) -> Series:
    """Return a made-up year of the yield of solar plants, in MWh per MW of the plant: 0 to 1.

    The sun's height is that of the place and the day; clouds are correlated as prices are.
    """
    random = _random(seed, _SUN)
    latitude = np.radians([hub.latitude for hub in hubs])
    days = np.arange(YEAR_HOURS)[:, np.newaxis] / 24
    # Cooper, Solar Energy 12 (1969): the sun's declination over the year.
    declination = np.radians(23.45) * np.sin(2 * np.pi * (days + 284) / 365)
    angle = 2 * np.pi * (_clocks(hubs) - 12) / 24
    height = np.sin(latitude) * np.sin(declination) + np.cos(latitude) * np.cos(declination) * np.cos(angle)
    cloud = 1 / (1 + np.exp(-1.6 * _field(random, hubs)))
    return _series(np.maximum(height, 0) * (1 - 0.75 * cloud**2), hubs, f"synthetic sun, seed {seed}")


def _random(seed: int, kind: int) -> np.random.Generator:
    if seed < 0:
        raise UserError(f"seed {seed}: must be 0 or more")
    return np.random.default_rng([seed, kind])


def _series(values: FloatArray, hubs: Sequence[Hub], description: str) -> Series:
    return Series(values, typical_hours(), tuple(hub.name for hub in hubs), True, description)


def _clocks(hubs: Sequence[Hub]) -> FloatArray:
    """Return the time of day by the sun, in hours; shape (8760, hubs)."""
    offset = np.array([hub.longitude for hub in hubs]) / 15
    clocks: FloatArray = (np.arange(YEAR_HOURS)[:, np.newaxis] + 0.5 + offset) % 24
    return clocks


def _field(random: np.random.Generator, hubs: Sequence[Hub]) -> FloatArray:
    """Return correlated noise of mean 0 and variance 1; shape (8760, hubs)."""
    places = positions(hubs)
    same = np.array([[a.market == b.market for b in hubs] for a in hubs])
    near = np.exp(-distances_km(places, places) / DECAY_KM)
    root = np.linalg.cholesky(COMMON_SHARE + MARKET_SHARE * same + (1 - COMMON_SHARE - MARKET_SHARE) * near)
    paths = sum(
        np.sqrt(share) * _circle(random.standard_normal((YEAR_HOURS, len(hubs))), memory)
        for memory, share in _MEMORIES
    )
    field: FloatArray = np.asarray(paths) @ root.T
    return field


def _circle(noise: FloatArray, memory_h: float) -> FloatArray:
    """First-order autoregressive process of variance 1 on a circle: the year's end joins its beginning."""
    kept = np.exp(-1 / memory_h)
    turns = np.exp(-2j * np.pi * np.arange(YEAR_HOURS // 2 + 1) / YEAR_HOURS)
    response = np.sqrt(1 - kept**2) / (1 - kept * turns)
    spectrum = np.fft.rfft(noise, axis=0) * response[:, np.newaxis]
    return np.fft.irfft(spectrum, YEAR_HOURS, axis=0)


def _events(
    random: np.random.Generator,
    hubs: Sequence[Hub],
    a_year: int,
    hours: float,
    size: Callable[[], float],
    night: FloatArray | None = None,
) -> FloatArray:
    """Return events that hit most hubs of a market for some hours; shape (8760, hubs), 0 between them.

    Given the hubs' clocks as `night`, events begin between midnight and 5:00 there.
    """
    found = np.zeros((YEAR_HOURS, len(hubs)))
    for market in dict.fromkeys(hub.market for hub in hubs):
        members = np.flatnonzero([hub.market == market for hub in hubs])
        starts = np.arange(YEAR_HOURS) if night is None else np.flatnonzero(night[:, members[0]] < 5)
        for start in random.choice(starts, random.poisson(a_year)):
            strength = size() * random.uniform(0.5, 1, len(members)) * (random.random(len(members)) < 0.8)
            rows = (start + np.arange(1 + random.geometric(1 / hours))) % YEAR_HOURS
            cells = np.ix_(rows, members)
            wavering = random.uniform(0.4, 1, (len(rows), 1))
            found[cells] = np.maximum(found[cells], strength * wavering)
    return found
