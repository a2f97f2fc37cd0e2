# SPDX-License-Identifier: Apache-2.0
"""Hourly values of hubs on the UTC hour grid: prices, carbon intensities, green energy."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grasp import UserError
from grasp.telemetry.energy.sources import typical_row
from grasp.telemetry.energy.weather import TYPICAL_YEAR, YEAR_HOURS, FloatArray, HourArray

IndexArray = NDArray[np.intp]


@dataclass(frozen=True)
class Series:
    """Values of consecutive hours, in the unit that their source says.

    `values` has shape (hours, hubs); `hours`, datetime64[h], are the starts of the hours in UTC. A `typical`
    year has 8760 of them and stands for every year: its end is followed by its beginning.
    """

    values: FloatArray
    hours: HourArray
    hubs: tuple[str, ...]
    typical: bool
    description: str

    def __post_init__(self) -> None:
        if self.typical and len(self.hours) != YEAR_HOURS:
            raise ValueError(f"a typical year has {YEAR_HOURS} hours, not {len(self.hours)}")

    def span(self, start: str | None, hours: int, before: int) -> HourArray:
        """Return the hours from a day on, `before` of them earlier; shape (before + hours,), datetime64[h].

        `start` is MM-DD in a typical year, YYYY-MM-DD otherwise, in UTC; by default the year's first day, or
        the first hour that has enough before it. Raises UserError for what the series does not hold.
        """
        if self.typical:
            first = _day(
                f"{TYPICAL_YEAR}-{'01-01' if start is None else start}", start, "MM-DD, such as 06-21"
            )
        elif start is None:
            first = self.hours[0] + np.timedelta64(before, "h")
        else:
            first = _day(start, start, "YYYY-MM-DD, such as 2024-06-21")
        wanted: HourArray = first + np.arange(-before, hours)
        self._rows(wanted)
        return wanted

    def at(self, hours: HourArray) -> FloatArray:
        """Return the values of these hours, of shape (hours, hubs); raises UserError where there are none."""
        return self.values[self._rows(hours)]

    def select(self, hubs: Sequence[str]) -> "Series":
        """Keep these hubs, in this order; raises UserError for one that is not there."""
        for hub in hubs:
            if hub not in self.hubs:
                raise UserError(f"{self.description}: no values of {hub}; it has {', '.join(self.hubs)}")
        columns = [self.hubs.index(hub) for hub in hubs]
        return replace(self, values=self.values[:, columns], hubs=tuple(hubs))

    def scaled(self, factor: ArrayLike) -> "Series":
        """Return the values times a factor for all hubs, or one for each."""
        return replace(self, values=self.values * np.asarray(factor))

    def _rows(self, hours: HourArray) -> IndexArray:
        if self.typical:
            return np.array([typical_row(int(hour)) for hour in hours.astype(np.int64)], dtype=np.intp)
        rows: IndexArray = (hours - self.hours[0]).astype(np.intp)
        if rows[0] < 0 or rows[-1] >= len(self.hours):
            raise UserError(
                f"{self.description}: has the hours from {self.hours[0]}Z to {self.hours[-1]}Z; "
                f"needed are {hours[0]}Z to {hours[-1]}Z (--start, --days, and the longest delay before them)"
            )
        return rows


def _day(text: str, given: str | None, form: str) -> np.datetime64:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        try:
            return np.datetime64(date.fromisoformat(text), "h")
        except ValueError:
            pass
    raise UserError(f"--start {given}: give a day as {form}")
