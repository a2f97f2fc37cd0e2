# SPDX-License-Identifier: Apache-2.0
"""The GRASP paper's rule (algorithm 2): the most unused green energy first."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from grasp.schedulers.base import FloatArray, Scheduler


class Green(Scheduler):
    """The next job goes to the largest E/k - n: forecast E, job energy k, n jobs given in this hour.

    The budget is the forecast, since E - k n orders the sites as E/k - n does, and without a division.

    Source: Grigoryan et al., "GRASP: a GReen energy Aware SDN Platform", arXiv:1804.09542, algorithm 2.
    """

    name: ClassVar[str] = "green"

    def budgets(self, forecast_wh: ArrayLike) -> FloatArray:
        """Return the forecast."""
        return np.asarray(forecast_wh, dtype=np.float64)
