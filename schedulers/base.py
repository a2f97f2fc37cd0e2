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
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grasp import UserError
from grasp.schedulers.filling import MWH_LIMIT, FloatArray, IntArray, fill, milliwatt_hours, pour

__all__ = [
    "GREEN_ENERGY",
    "MWH_LIMIT",
    "FloatArray",
    "IntArray",
    "Reports",
    "Scheduler",
    "Setting",
    "milliwatt_hours",
]

GREEN_ENERGY = "green_energy"
"""The parameter that every site reports, in Wh."""


@dataclass(frozen=True)
class Setting:
    """What a rule may have to know beside the sites' reports.

    `weights` by parameter are the configuration's; `distance_km`, of shape (origins, sites), is how far each
    place that jobs come from is from each site.
    """

    weights: Mapping[str, float] = field(default_factory=lambda: {GREEN_ENERGY: 1.0})
    distance_km: FloatArray | None = None


class Reports(dict[str, ArrayLike]):
    """What the sites report, for one rule; a parameter that is not there raises a UserError naming both."""

    def __init__(self, rule: str, reports: Mapping[str, ArrayLike]) -> None:
        super().__init__(reports)
        self._rule = rule

    def __missing__(self, parameter: str) -> ArrayLike:
        raise UserError(
            f"scheduler {self._rule!r} needs the parameter {parameter!r}; "
            f"the energy source has {', '.join(self)}"
        )


class Scheduler(ABC):
    """A scheduling rule; subclasses name themselves and define `budgets`.

    A rule that is not "largest headroom" overrides `choose`, `allocate` and `divide`, all of them or none.
    """

    name: ClassVar[str]

    def __init__(self, setting: Setting | None = None) -> None:
        self.setting = setting or Setting()

    @property
    def origins(self) -> int:
        """How many places the jobs come from, if that matters to the rule: in turn, the first job from 0."""
        return 1

    def forecast(self, reports: Mapping[str, ArrayLike]) -> FloatArray:
        """Return what the rule goes by, in Wh: by default the reported green energy.

        `reports` maps parameters to what the sites report for each hour, of shape (hours, sites).
        """
        return np.asarray(self._reported(reports, GREEN_ENERGY), dtype=np.float64)

    @abstractmethod
    def budgets(self, forecast_wh: ArrayLike) -> FloatArray:
        """Budget in Wh of each site for the epoch; shape (..., sites), as the forecast in Wh has it."""

    def choose(
        self,
        forecast_wh: ArrayLike,
        spent_wh: ArrayLike,
        ready: NDArray[np.bool_] | None = None,
        origin: int = 0,
    ) -> int | None:
        """Return the index of the site that gets the next job, or None when no site is ready.

        `forecast_wh` and `spent_wh` (energy of the jobs charged in this epoch) have shape (sites,);
        `ready` masks sites that are drained or not heard from (default: all are ready); `origin` is where
        the job comes from.
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
        budget = milliwatt_hours(self.budgets(forecast_wh), "budget")
        return fill(budget, milliwatt_hours(job_wh, "job energy"), jobs)

    def divide(self, forecast_wh: ArrayLike, job_wh: ArrayLike, jobs: ArrayLike) -> FloatArray:
        """Share out divisible jobs: as `allocate`, in real numbers, of which no part is too small."""
        return pour(self.budgets(forecast_wh), job_wh, jobs)

    def _reported(self, reports: Mapping[str, ArrayLike], parameter: str) -> ArrayLike:
        return Reports(self.name, reports)[parameter]
