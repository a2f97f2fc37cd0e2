# SPDX-License-Identifier: Apache-2.0
"""From what the user names to a table of green energy: hours x sites, in Wh, on the UTC hour grid."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from grasp import UserError
from grasp.telemetry.energy import epw, psm, pvgis, sun, synthetic, table, tmy3
from grasp.telemetry.energy.folder import discover
from grasp.telemetry.energy.models import Model, model
from grasp.telemetry.energy.names import readable, to_path
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

KINDS = "synthetic, tmy3:DIR, epw:DIR, psm:DIR, pvgis or pvgis:DIR, csv:FILE or parquet:FILE"

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
        check_sites(sites, self.sites, self.source)
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
            raise UserError(f"--date {date}: must be MM-DD, such as 06-21")
        try:
            start = datetime.fromisoformat(f"{TYPICAL_YEAR}-{date}")
        except ValueError:
            raise UserError(f"--date {date}: the typical year has no such day") from None
        if not 0 <= start_hour <= 23:
            raise UserError(f"--start-hour {start_hour}: must be from 0 to 23")
        if not 1 <= hours <= YEAR_HOURS:
            raise UserError(f"--hours {hours}: must be from 1 to {YEAR_HOURS}")
        first = np.datetime64(start, "h") + np.timedelta64(start_hour - CLOCK_OFFSET_H, "h")
        rows = (int((first - self.hours[0]).astype(int)) + np.arange(hours)) % YEAR_HOURS
        return replace(
            self,
            wh=self.wh[rows],
            quality=self.quality[rows],
            hours=first + np.arange(hours).astype("timedelta64[h]"),
            others={name: table[rows] for name, table in self.others.items()},
        )


def check_sites(wanted: Sequence[str], there: Sequence[str], source: str) -> None:
    """Raise a UserError for a site that the source has not, or that is named twice."""
    for site in wanted:
        if site not in there:
            raise UserError(f"site {site!r} is not in {source}; it has {', '.join(there)}")
    if len(set(wanted)) < len(wanted):
        raise UserError(f"sites {','.join(wanted)}: one is named twice")


@dataclass(frozen=True)
class Source:
    """What the user asks for: `text` names a source of `KINDS`, the rest says how it is read.

    `columns` is a file of one's own whose parameters are added, `time_zone` that of its stamps.
    """

    text: str = "synthetic"
    model: str = "grasp2018"
    alignment: str = "utc"
    seed: int = 0
    fill: str = "none"
    columns: str | None = None
    time_zone: str | None = None

    def load(self, sites: Sequence[str] = ()) -> Energy:
        """Return the typical year of all sites of the source, or of these, in this order.

        Only the files of the sites that are asked for need be there.
        Raises UserError for what is not known and for files that are not as they should be.
        """
        if self.alignment not in ALIGNMENTS:
            raise UserError(f"--alignment {self.alignment}: must be one of {', '.join(ALIGNMENTS)}")
        generate = model(self.model)
        kind, _, rest = self.text.partition(":")
        if kind in ("csv", "parquet") and rest:
            energy = self._own(kind, rest)
            energy = energy.select(sites) if sites else energy
        else:
            energy = self._generated(generate, sites)
        return energy if self.columns is None else self._joined(energy)

    def _generated(self, generate: Model, sites: Sequence[str]) -> Energy:
        """Green energy from weather, by a generation model."""
        weathers = _weathers(self)
        if sites:
            there = {place.name: place for place in weathers.places}
            check_sites(sites, tuple(there), self.text)
            weathers = replace(weathers, places=[there[site] for site in sites])
        if self.alignment == "published" and not (weathers.study and _all_published(weathers.places)):
            raise UserError(
                "--alignment published: is about the study's nine stations, from TMY3 files or synthetic; "
                "take utc"
            )
        shape = (YEAR_HOURS, len(weathers.places))
        wh, quality = np.empty(shape), np.empty(shape, dtype=np.uint8)
        for column, place in enumerate(weathers.places):
            year = weathers.read(place)
            late = 0 if self.text == "synthetic" else sun.hours_late(place, year)
            if late:
                side = "behind" if late > 0 else "before"
                raise UserError(
                    f"{self.text}: the irradiance of {place.name} is {abs(late)} h {side} the sun; "
                    f"its stamps or its time zone are wrong"
                )
            raw = generate(place, year)
            # A plant cannot take energy from the sun. Models stray below nothing where they were not fitted:
            # the pvwatts inverter at night, the paper's curve far outside its temperatures.
            clipped = np.where(raw < 0, Quality.CLIPPED, 0).astype(np.uint8)
            shift = _published_shift(place) if self.alignment == "published" else 0
            wh[:, column] = np.roll(np.maximum(raw, 0), shift)
            quality[:, column] = np.roll(year.quality | clipped, shift)
        return Energy(
            wh=wh,
            quality=quality,
            hours=typical_hours(),
            sites=tuple(place.name for place in weathers.places),
            source=self.text,
            description=f"{weathers.origin}, model {self.model}, alignment {self.alignment}",
            positions=np.array([(place.latitude, place.longitude) for place in weathers.places]),
        )

    def _own(self, kind: str, rest: str) -> Energy:
        """Green energy as the user's file has it."""
        if self.alignment == "published":
            raise UserError("--alignment published: is about the study's TMY3 files; take utc")
        path = to_path(rest)
        columns = table.read(path, kind, self.time_zone, self.fill)
        if "green_energy" not in columns.parameters:
            raise UserError(
                f"{path}: has no column green_energy_wh; name the file by --columns to add to a source"
            )
        known = {place.name: (place.latitude, place.longitude) for place in STATIONS}
        return Energy(
            wh=columns.parameters["green_energy"],
            quality=columns.quality,
            hours=typical_hours(),
            sites=columns.sites,
            source=self.text,
            description=f"own energy from {readable(path.name)}",
            positions=np.array([known.get(site, (np.nan, np.nan)) for site in columns.sites]),
            others={name: values for name, values in columns.parameters.items() if name != "green_energy"},
        )

    def _joined(self, energy: Energy) -> Energy:
        """Add the parameters of the user's file for the same sites."""
        path = to_path(str(self.columns))
        kind = "parquet" if path.suffix.lower() == ".parquet" else "csv"
        columns = table.read(path, kind, self.time_zone, self.fill)
        for site in energy.sites:
            if site not in columns.sites:
                raise UserError(f"{path}: has no rows of site {site}")
        order = [columns.sites.index(site) for site in energy.sites]
        taken = {name: values[:, order] for name, values in columns.parameters.items()}
        wh = taken.pop("green_energy", None)
        if wh is not None:
            raise UserError(f"{path}: has a column green_energy_wh, which {self.text} gives already")
        return replace(
            energy,
            quality=energy.quality | columns.quality[:, order],
            description=f"{energy.description}, columns from {readable(path.name)}",
            others={**energy.others, **taken},
        )


def parse_energy(
    text: str,
    model_name: str = "grasp2018",
    alignment: str = "utc",
    seed: int = 0,
    fill: str = "none",
    stations: Sequence[Station] = (),
) -> Energy:
    """Return a source's year for all its sites, or for these stations: `Source.load` in one call."""
    return Source(text, model_name, alignment, seed, fill).load([place.name for place in stations])


def typical_row(epoch: int) -> int:
    """Return the typical year's row for an hour since 1970-01-01 UTC; 29 February counts as the 28th."""
    hour = datetime.fromtimestamp(epoch * 3600, UTC)
    day = 28 if (hour.month, hour.day) == (2, 29) else hour.day
    return int((hour.replace(year=TYPICAL_YEAR, day=day) - _YEAR_START) / timedelta(hours=1))


@dataclass(frozen=True)
class _Weathers:
    """Places, how to read the weather of one, where it is from, and whether the published study used it."""

    places: Sequence[Station]
    read: Callable[[Station], Weather]
    origin: str
    study: bool = False


def _weathers(source: Source) -> _Weathers:
    kind, _, rest = source.text.partition(":")
    folder = to_path(rest)
    if source.text == "synthetic":
        if source.seed < 0:
            raise UserError(f"--seed {source.seed}: must be 0 or more")
        origin = f"synthetic year, seed {source.seed}"
        return _Weathers(STATIONS, lambda place: synthetic.synthesize(place, source.seed), origin, study=True)
    if kind == "tmy3" and rest:
        return _Weathers(
            STATIONS,
            lambda place: tmy3.read(tmy3.find(folder, place), place, source.fill),
            "NSRDB TMY3 typical year",
            study=True,
        )
    if kind == "pvgis":
        kept = folder if rest else pvgis.cache()
        return _Weathers(
            STATIONS,
            lambda place: pvgis.read(pvgis.find(kept, place), place, source.fill),
            "PVGIS typical year",
        )
    if kind in ("epw", "psm") and rest:
        reader = epw if kind == "epw" else psm
        found = discover(folder, ".epw" if kind == "epw" else ".csv", reader.place)
        return _Weathers(
            [place for place, _ in found.values()],
            lambda place: reader.read(found[place.name][1], place, source.fill),
            "EPW weather" if kind == "epw" else "NSRDB PSM weather",
        )
    raise UserError(f"--energy {source.text}: must be {KINDS}")


def _all_published(places: Sequence[Station]) -> bool:
    return all(place in STATIONS for place in places)


def _published_shift(place: Station) -> int:
    """Hours by which the published study has a place later (negative: earlier) than it was in UTC."""
    as_eastern = place.utc_offset_h - CLOCK_OFFSET_H
    return as_eastern - 3 if place.state == "CA" else as_eastern
