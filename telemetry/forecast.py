# SPDX-License-Identifier: Apache-2.0
"""What a site believes, before an hour begins, that the hour's green energy will be."""

import numpy as np
from numpy.typing import NDArray

from grasp import UserError

FloatArray = NDArray[np.float64]

METHODS = ("perfect", "persistence")
"""`perfect` knows the hour; `persistence` takes the hour before for it."""


def forecast(energy_wh: FloatArray, method: str = "perfect", error: float = 0.0, seed: int = 0) -> FloatArray:
    """Return the forecast of every hour, in Wh, of shape (hours, sites) as the energy itself.

    The hours are taken as a circle, which a typical year is: `persistence` begins with the last hour. `error`
    is the standard deviation of the logarithm of a seeded random factor on each value, about the relative
    error; it leaves nights dark, and its mean is 1. Raises UserError for an unknown method, a negative error
    or a negative seed.
    """
    if method not in METHODS:
        raise UserError(f"forecast method {method!r} is not known; choose one of {', '.join(METHODS)}")
    if not 0 <= error < 10:
        raise UserError(f"forecast error {error}: must be 0 or more and below 10")
    if seed < 0:
        raise UserError(f"seed {seed}: must be 0 or more")
    believed = np.roll(energy_wh, 1, axis=0) if method == "persistence" else energy_wh.copy()
    if error:
        normal = np.random.default_rng(seed).standard_normal(energy_wh.shape)
        believed *= np.exp(error * normal - error**2 / 2)
    return believed
