# SPDX-License-Identifier: Apache-2.0
"""From what the user names to a table of green energy: hours x sites, in Wh, on the UTC hour grid."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from grasp import UserError
from grasp.telemetry.energy import synthetic, tmy3
from grasp.telemetry.energy.models import model
from grasp.telemetry.energy.stations import STATIONS, Station
from grasp.telemetry.energy.weather import (
    TYPICAL_YEAR,
    YEAR_HOURS,
    FlagArray,
    FloatArray,
    HourArray,
    Quality,
    Weather,
    typical_hours,
)

CLOCK_OFFSET_H = -5
"""Dates and hours that a user picks are in UTC-5, Eastern Standard Time, as the paper's figures have them."""

_YEAR_START = datetime(TYPICAL_YEAR, 1, 1, tzinfo=UTC)

ALIGNMENTS = ("utc", "published")
"""`utc` puts every hour where it was. `published` reproduces the published study, which read all files as
Eastern time and moved those of California by three hours, but to earlier instead of later."""


@dataclass(frozen=True)
class Energy:
    """Green energy of the sites.

    `wh` and `quality` (`Quality` bits) have shape (hours, sites); `hours` has shape (hours,), datetime64[h]:
    the start of each hour in UTC. `sites` are the short names in order, `positions` their degrees north and
    east, of shape (sites, 2), not a number where the source does not say. `source` is what the user named,
    `description` one line about the data for reports and plots. `others` are further parameters by name, of
    the shape of `wh`.
    """

    wh: FloatArray
    quality: FlagArray
    hours: HourArray
    sites: tuple[str, ...]
    source: str
    description: str
    positions: FloatArray
    others: Mapping[str, FloatArray] = field(default_factory=dict)

    @property
    def reports(self) -> dict[str, FloatArray]:
        """Everything that the sites can report, by parameter: green energy in Wh first."""
        return {"green_energy": self.wh, **self.others}

    def select(self, sites: Sequence[str]) -> "Energy":
        """Keep only these sites, in this order; raises UserError for one that is not there or named twice."""
        for site in sites:
            if site not in self.sites:
                raise UserError(f"site {site!r} is not in {self.source}; it has {', '.join(self.sites)}")
        if len(set(sites)) < len(sites):
            raise UserError(f"sites {','.join(sites)}: one is named twice")
        columns = [self.sites.index(site) for site in sites]
        return replace(
            self,
            wh=self.wh[:, columns],
            quality=self.quality[:, columns],
            sites=tuple(sites),
            positions=self.positions[columns],
            others={name: table[:, columns] for name, table in self.others.items()},
        )

    def day(self, date: str, start_hour: int = 0, hours: int = 24) -> "Energy":
        """Select `hours` hours from an hour of a date (MM-DD) on; both are counted in UTC-5.

        The typical year is a circle: its end is followed by its beginning. Raises UserError for a date that
        it has not.
        """
        if not re.fullmatch(r"\d\d-\d\d", date):
            raise UserError(f"date {date!r}: must be MM-DD, such as 06-21")
        try:
            start = datetime.fromisoformat(f"{TYPICAL_YEAR}-{date}")
        except ValueError:
            raise UserError(f"date {date!r}: the typical year has no such day") from None
        if not 0 <= start_hour <= 23:
            raise UserError(f"start hour {start_hour}: must be from 0 to 23")
        if not 1 <= hours <= YEAR_HOURS:
            raise UserError(f"hours {hours}: must be from 1 to {YEAR_HOURS}")
        first = np.datetime64(start, "h") + (start_hour - CLOCK_OFFSET_H)
        rows = (int((first - self.hours[0]).astype(int)) + np.arange(hours)) % YEAR_HOURS
        return replace(
            self,
            wh=self.wh[rows],
            quality=self.quality[rows],
            hours=first + np.arange(hours),
            others={name: table[rows] for name, table in self.others.items()},
        )


def parse_energy(
    text: str,
    model_name: str = "grasp2018",
    alignment: str = "utc",
    seed: int = 0,
    fill: str = "none",
    stations: Sequence[Station] = STATIONS,
) -> Energy:
    """Return the typical year of the stations from the source that `text` names.

    `text` is "synthetic" (made up from `seed`) or "tmy3:DIR" (a folder with the stations' TMY3 files; `fill`
    says what to do about missing values). `model_name` is one of `models.MODELS`, `alignment` one of
    `ALIGNMENTS`. Raises UserError for anything else and for files that are not as they should be.
    """
    if alignment not in ALIGNMENTS:
        raise UserError(f"alignment {alignment!r} is not known; choose one of {', '.join(ALIGNMENTS)}")
    weather, origin = _weather(text, seed, fill)
    generate = model(model_name)
    wh = np.empty((YEAR_HOURS, len(stations)))
    quality = np.empty((YEAR_HOURS, len(stations)), dtype=np.uint8)
    for column, place in enumerate(stations):
        year = weather(place)
        raw = generate(place, year)
        # A plant cannot take energy from the sun. Models stray below nothing where they were not fitted: the
        # pvwatts inverter at night, the paper's curve far outside its temperatures.
        clipped = np.where(raw < 0, Quality.CLIPPED, 0).astype(np.uint8)
        shift = _published_shift(place) if alignment == "published" else 0
        wh[:, column] = np.roll(np.maximum(raw, 0), shift)
        quality[:, column] = np.roll(year.quality | clipped, shift)
    return Energy(
        wh=wh,
        quality=quality,
        hours=typical_hours(),
        sites=tuple(place.name for place in stations),
        source=text,
        description=f"{origin}, model {model_name}, alignment {alignment}",
        positions=np.array([(place.latitude, place.longitude) for place in stations]),
    )


def typical_row(epoch: int) -> int:
    """Return the typical year's row for an hour since 1970-01-01 UTC; 29 February counts as the 28th."""
    hour = datetime.fromtimestamp(epoch * 3600, UTC)
    day = 28 if (hour.month, hour.day) == (2, 29) else hour.day
    return int((hour.replace(year=TYPICAL_YEAR, day=day) - _YEAR_START) / timedelta(hours=1))


def _weather(text: str, seed: int, fill: str) -> tuple[Callable[[Station], Weather], str]:
    kind, _, rest = text.partition(":")
    if text == "synthetic":
        if seed < 0:
            raise UserError(f"seed {seed}: must be 0 or more")
        return lambda place: synthetic.synthesize(place, seed), f"synthetic year, seed {seed}"
    if kind == "tmy3" and rest:
        folder = Path(rest).expanduser()
        return lambda place: tmy3.read(tmy3.find(folder, place), place, fill), "NSRDB TMY3 typical year"
    raise UserError(f"energy source {text!r} is not known; give synthetic or tmy3:DIR")


def _published_shift(place: Station) -> int:
    """Hours by which the published study has a place later (negative: earlier) than it was in UTC."""
    as_eastern = place.utc_offset_h - CLOCK_OFFSET_H
    return as_eastern - 3 if place.state == "CA" else as_eastern
