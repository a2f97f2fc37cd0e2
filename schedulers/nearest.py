# SPDX-License-Identifier: Apache-2.0
"""What a service without energy in mind does: every client to the site that is nearest to it."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grasp import UserError
from grasp.schedulers.base import FloatArray, IntArray, Scheduler, Setting
from grasp.schedulers.filling import job_count


class Nearest(Scheduler):
    """A job goes to the ready site nearest to where it comes from, the lower of equals.

    In `allocate` and `divide` the jobs of an hour come from the origins in turn, the first from origin 0.
    Raises UserError if the setting has no distances.
    """

    name: ClassVar[str] = "nearest"

    def __init__(self, setting: Setting | None = None) -> None:
        super().__init__(setting)
        if self.setting.distance_km is None:
            raise UserError(
                "scheduler 'nearest': the distances from clients to sites are not known here; "
                "grasp simulate knows them"
            )
        self._distance = np.atleast_2d(self.setting.distance_km)

    @property
    def origins(self) -> int:
        """The places from which distances are known."""
        return len(self._distance)

    def budgets(self, forecast_wh: ArrayLike) -> FloatArray:
        """Refuse: a budget says nothing about where a job comes from."""
        raise UserError(
            "scheduler 'nearest' goes by each client's place, which the sites' budgets cannot express; "
            "switches that decide by headroom cannot run it"
        )

    def choose(
        self,
        forecast_wh: ArrayLike,
        spent_wh: ArrayLike,
        ready: NDArray[np.bool_] | None = None,
        origin: int = 0,
    ) -> int | None:
        """Return the nearest ready site, or None when no site is ready."""
        distance = self._distance[origin]
        if ready is not None:
            if not ready.any():
                return None
            distance = np.where(ready, distance, np.inf)
        return int(distance.argmin())

    def allocate(self, forecast_wh: ArrayLike, job_wh: ArrayLike, jobs: ArrayLike) -> IntArray:
        """Count each origin's jobs at its nearest site."""
        whole, rest = np.divmod(job_count(jobs)[..., np.newaxis], self.origins)
        return self._collect(forecast_wh, job_wh, whole + (np.arange(self.origins) < rest))

    def divide(self, forecast_wh: ArrayLike, job_wh: ArrayLike, jobs: ArrayLike) -> FloatArray:
        """Give an equal part of the jobs to each origin's nearest site."""
        part = np.asarray(jobs, dtype=np.float64)[..., np.newaxis] / self.origins
        collected = self._collect(forecast_wh, job_wh, np.repeat(part, self.origins, axis=-1))
        return collected.astype(np.float64)

    def _collect(
        self, forecast_wh: ArrayLike, job_wh: ArrayLike, sent: "NDArray[np.float64] | IntArray"
    ) -> NDArray[Any]:
        """Add up at the sites what the origins send, in its type; `sent` has shape (..., origins)."""
        forecast = np.asarray(forecast_wh)
        sites = self._distance.shape[1]
        if forecast.ndim == 0 or forecast.shape[-1] != sites:
            raise UserError(f"scheduler 'nearest': distances are to {sites} sites, not as many as forecasts")
        counts: NDArray[Any] = sent @ np.eye(sites, dtype=sent.dtype)[self._distance.argmin(axis=1)]
        hours = np.broadcast_shapes(forecast.shape[:-1], np.shape(job_wh), counts.shape[:-1])
        return np.broadcast_to(counts, (*hours, sites))
