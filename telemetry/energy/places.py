# SPDX-License-Identifier: Apache-2.0
"""How far apart places are."""

import numpy as np
from numpy.typing import ArrayLike

from grasp.telemetry.energy.weather import FloatArray

EARTH_RADIUS_KM = 6371.0


def distances_km(origins: ArrayLike, places: ArrayLike) -> FloatArray:
    """Great-circle distances in km, of shape (origins, places), between latitudes and longitudes in degrees.

    Both arguments have shape (..., 2): degrees north and east. The earth is taken as a sphere (0.5 %).
    """
    latitude_a, longitude_a = np.radians(np.asarray(origins, dtype=np.float64)).T[..., np.newaxis]
    latitude_b, longitude_b = np.radians(np.asarray(places, dtype=np.float64)).T
    # The haversine formula, which keeps its digits for near places.
    haversine = (
        np.sin((latitude_b - latitude_a) / 2) ** 2
        + np.cos(latitude_a) * np.cos(latitude_b) * np.sin((longitude_b - longitude_a) / 2) ** 2
    )
    distance: FloatArray = 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(haversine))
    return distance
