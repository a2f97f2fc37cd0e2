# SPDX-License-Identifier: Apache-2.0
"""The baseline of the GRASP paper: every site in turn, whatever the sun does."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from grasp.schedulers.base import FloatArray, IntArray, Scheduler


class RoundRobin(Scheduler):
    """The next job goes to the site that was given least in this epoch, the lower of equals."""

    name: ClassVar[str] = "round-robin"

    def budgets(self, forecast_wh: ArrayLike) -> FloatArray:
        """Return zeros: headrooms then differ only by what was spent."""
        return np.zeros_like(np.asarray(forecast_wh, dtype=np.float64))

    def allocate(self, forecast_wh: ArrayLike, job_wh: ArrayLike, jobs: ArrayLike) -> IntArray:
        """Allocate as every scheduler does; hours of as many jobs are alike, whatever their forecasts."""
        shape = np.shape(forecast_wh)
        alike = super().allocate(np.zeros(shape[-1:]), job_wh, jobs)
        return np.broadcast_to(alike, np.broadcast_shapes(shape, alike.shape))
