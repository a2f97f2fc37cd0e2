# SPDX-License-Identifier: Apache-2.0
"""What a scheduler is: a rule that turns the sites' forecasts into budgets, with two faces that agree.

Data plane, controller and simulator execute the same policy: the next job goes to the ready site with the
largest headroom (budget minus the energy of the jobs it was given in this epoch), ties to the lower site.
A scheduler only says what the budgets are:

- on the switches, the controller writes ``budgets(forecast_wh)`` and the program's bracket does the rest;
- in the OpenFlow baseline, ``choose`` decides for one job;
- in a simulation, ``allocate`` gives the counts of whole hours at once, equal to ``choose`` job after job.

All three reckon in whole milliwatt-hours, the switches' unit, so that ties are exact everywhere.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grasp import UserError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MWH_LIMIT = 2**46
"""Energies stay below this many mWh (70 GWh): the switches' signed 48 bits, with room for what is spent."""

_LEVEL_LIMIT = 2**62  # keeps sums over 256 sites and the energy of all jobs of an hour within int64


def milliwatt_hours(energy_wh: ArrayLike, what: str = "energy") -> IntArray:
    """Energy in whole mWh, rounded to the nearest, of energy in Wh.

    Raises UserError, naming `what`, for values that are not numbers or too large for the switches.
    """
    energy = np.asarray(energy_wh, dtype=np.float64)
    scaled = np.rint(energy * 1000)
    if not np.all(np.abs(scaled) < MWH_LIMIT):  # also false for NaN
        raise UserError(f"{what}: every value must be a number of magnitude below {MWH_LIMIT / 1e3:.0f} Wh")
    return scaled.astype(np.int64)


class Scheduler(ABC):
    """A scheduling rule; subclasses name themselves and define `budgets`.

    A rule that is not "largest headroom" may override `choose` and `allocate`, both or neither.
    """

    name: ClassVar[str]

    @abstractmethod
    def budgets(self, forecast_wh: ArrayLike) -> FloatArray:
        """Budget in Wh of each site for the epoch; shape (..., sites), as the forecast in Wh has it."""

    def choose(
        self,
        forecast_wh: ArrayLike,
        spent_wh: ArrayLike,
        ready: NDArray[np.bool_] | None = None,
    ) -> int | None:
        """Return the index of the site that gets the next job, or None when no site is ready.

        `forecast_wh` and `spent_wh` (energy of the jobs charged in this epoch) have shape (sites,);
        `ready` masks sites that are drained or not heard from (default: all are ready).
        """
        headroom = milliwatt_hours(self.budgets(forecast_wh), "budget") - milliwatt_hours(spent_wh, "spent")
        if ready is not None:
            if not ready.any():
                return None
            headroom = np.where(ready, headroom, np.iinfo(np.int64).min)
        return int(headroom.argmax())  # the first of equals

    def allocate(self, forecast_wh: ArrayLike, job_wh: ArrayLike, jobs: ArrayLike) -> IntArray:
        """Jobs per site after `jobs` calls of `choose` in each hour, every job costing `job_wh`.

        `forecast_wh` has shape (..., sites); `job_wh` and `jobs` have shape (...) or broadcast to it, so that
        one call does an hour, a year, or a sweep. Returns int64 counts of shape (..., sites).
        """
        return fill(
            milliwatt_hours(self.budgets(forecast_wh), "budget"), milliwatt_hours(job_wh, "job energy"), jobs
        )


def fill(budget: IntArray, job: IntArray, jobs: ArrayLike) -> IntArray:
    """Allocate jobs to sites by water-filling, in whole mWh; return the counts.

    Job after job takes the `jobs` largest of the headrooms ``budget - job * m``, m = 0, 1, ... of all sites.
    The real-valued water level, at which the headrooms above it hold exactly ``jobs * job``, is the largest
    ``(sum of the j largest budgets - jobs * job) / j``. Down to that level every site takes its whole jobs;
    fewer jobs than sites remain, and they go one each to the largest headrooms left, ties to the lower site.

    The cost is that of sorting the sites of each hour.
    """
    count = np.asarray(jobs)
    if not np.issubdtype(count.dtype, np.integer) or np.any(count < 0):
        raise UserError("jobs: must be whole numbers, 0 or more")
    if np.any(job < 1):
        raise UserError("job energy: must be at least 0.001 Wh, the unit of the switches")
    if budget.ndim == 0 or budget.shape[-1] == 0:
        raise UserError("budget: at least one site is needed")
    count = count.astype(np.int64)
    if np.any(count.astype(np.float64) * job > _LEVEL_LIMIT):
        raise UserError("jobs: their energy in one hour exceeds what can be counted")

    sites = budget.shape[-1]
    demand = np.asarray(count * job)[..., np.newaxis]
    pooled = np.cumsum(-np.sort(-budget, axis=-1), axis=-1)
    level = np.max(-((demand - pooled) // np.arange(1, sites + 1)), axis=-1, keepdims=True)  # rounded up

    step = job[..., np.newaxis]
    counts = np.maximum((budget - level) // step, 0)
    left = count[..., np.newaxis] - counts.sum(axis=-1, keepdims=True)
    order = np.argsort(counts * step - budget, axis=-1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(sites), order.shape), axis=-1)
    filled: IntArray = counts + (rank < left)
    return filled
