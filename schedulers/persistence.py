# SPDX-License-Identifier: Apache-2.0
"""The simplest forecast there is: this hour will be as the last one was."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from grasp.schedulers.base import FloatArray
from grasp.schedulers.green import Green


class Persistence(Green):
    """As green, on the energy of the hour before; what it costs not to know the hour.

    In a running system the forecasts are made at the sites, so there it is green with what they report.
    """

    name: ClassVar[str] = "persistence"

    def forecast(self, reports: Mapping[str, ArrayLike]) -> FloatArray:
        """Return each hour's predecessor; the hours are a circle, as a typical year is."""
        return np.roll(super().forecast(reports), 1, axis=0)
