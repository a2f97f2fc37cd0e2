# SPDX-License-Identifier: Apache-2.0
"""The weather of one place over one typical year, on the UTC hour grid that everything shares."""

from dataclasses import dataclass
from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
HourArray = NDArray[np.datetime64]
FlagArray = NDArray[np.uint8]

TYPICAL_YEAR = 2001
"""Label of the typical year: not a leap year, as weather files of typical years have no 29 February."""

YEAR_HOURS = 8760


class Quality(IntFlag):
    """What is to be known about one value; 0 is a value as its source gives it."""

    FILLED = 1  # missing in the source, filled by the rule that was asked for
    CLIPPED = 2  # the generation model gave less than nothing, which was taken as 0
    SYNTHETIC = 4  # made up


@dataclass(frozen=True, slots=True)
class Weather:
    """Hourly means of one typical year; arrays of shape (8760,), element 0 starts at 00:00 UTC, 1 January.

    Irradiances in W/m2 (global horizontal, direct normal, diffuse horizontal), dry-bulb temperature in C,
    wind speed in m/s; `quality` holds `Quality` bits.
    """

    ghi: FloatArray
    dni: FloatArray
    dhi: FloatArray
    temperature: FloatArray
    wind: FloatArray
    quality: FlagArray


def typical_hours() -> HourArray:
    """Return the starts of the hours of the typical year in UTC; shape (8760,), datetime64[h]."""
    return np.datetime64(f"{TYPICAL_YEAR}-01-01T00", "h") + np.arange(YEAR_HOURS)
