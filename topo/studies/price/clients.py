# SPDX-License-Identifier: Apache-2.0
"""Makes up the requests of the client groups: the traces of the study's source are not public.

Each group's rate follows its population and the clock of its place, with weekends, and noise of its own and
of all groups; now and then a group's rate jumps for an hour or so. Seeded: the same seed gives the same span.
"""

from collections.abc import Sequence

import numpy as np
from scipy.signal import lfilter

from grasp.schedulers.base import FloatArray
from grasp.schedulers.price.system import STEPS_PER_HOUR
from grasp.telemetry.energy.weather import HourArray
from grasp.topo.studies.price.states import State

MEAN_RATE = 1e6
"""Requests/s of all groups together, in the mean."""

_NOISE_MEMORY = 12 * 2.0  # steps: two hours
_CROWDS_A_DAY = 0.02
_TRAFFIC = 3  # no other random numbers of the study come from this stream


def requests(hours: HourArray, states: Sequence[State], seed: int) -> FloatArray:
    """Return requests/s of every 5 minutes, of shape (12 x hours, states)."""
    random = np.random.default_rng([seed, _TRAFFIC])
    steps = len(hours) * STEPS_PER_HOUR
    offset = np.array([state.longitude for state in states]) / 15
    since = (hours[0] - np.datetime64("1970-01-05T00", "h")).astype(int)  # a Monday
    local = since + np.arange(steps)[:, np.newaxis] / STEPS_PER_HOUR + offset
    clock, weekday = local % 24, local // 24 % 7
    # Least before five in the morning, most about twenty past eight in the evening.
    profile = 1 + 0.42 * np.cos(2 * np.pi * (clock - 18) / 24) + 0.16 * np.cos(4 * np.pi * (clock - 22) / 24)
    profile *= np.where(weekday >= 5, 0.94, 1.0)
    noise = np.exp(0.03 * _wander(random, steps, 1) + 0.05 * _wander(random, steps, len(states)))
    population = np.array([state.population for state in states], dtype=np.float64)
    weight = population * profile * noise * _crowds(random, steps, len(states))
    rate: FloatArray = weight * (MEAN_RATE / weight.sum(axis=1).mean())
    return rate


def _wander(random: np.random.Generator, steps: int, groups: int) -> FloatArray:
    """Return a stationary first-order autoregressive process of variance 1; shape (steps, groups)."""
    kept = np.exp(-1 / _NOISE_MEMORY)
    innovations = random.standard_normal((steps, groups)) * np.sqrt(1 - kept**2)
    innovations[0] /= np.sqrt(1 - kept**2)
    path: FloatArray = lfilter([1.0], [1.0, -kept], innovations, axis=0)
    return path


def _crowds(random: np.random.Generator, steps: int, groups: int) -> FloatArray:
    """Return factors of 1, and of more where a crowd has come; shape (steps, groups)."""
    factor = np.ones((steps, groups))
    expected = _CROWDS_A_DAY * groups * steps / (24 * STEPS_PER_HOUR)
    for _ in range(random.poisson(expected)):
        group, start = int(random.integers(groups)), int(random.integers(steps))
        length = int(random.integers(STEPS_PER_HOUR // 2, 2 * STEPS_PER_HOUR))
        rise = random.uniform(0.3, 1.0) * np.hanning(length + 2)[1:-1]
        stop = min(start + length, steps)
        factor[start:stop, group] += rise[: stop - start]
    return factor
