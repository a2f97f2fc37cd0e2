# SPDX-License-Identifier: Apache-2.0
"""The nine weather stations of the GRASP paper, in its order: the sites' places."""

import math
import re
from dataclasses import dataclass
from pathlib import Path

from grasp import UserError


@dataclass(frozen=True, slots=True)
class Station:
    """A place: USAF id of the station, short name, title, US state, degrees north and east, metres, and zone.

    `utc_offset_h` is local standard time minus UTC in hours; weather files know no daylight saving.
    """

    id: int
    name: str
    title: str
    state: str
    latitude: float
    longitude: float
    altitude: float
    utc_offset_h: int


STATIONS: tuple[Station, ...] = (
    Station(725156, "elmira", "Elmira Corning", "NY", 42.167, -76.900, 291, -5),
    Station(726227, "watertown", "Watertown", "NY", 44.000, -76.017, 97, -5),
    Station(744865, "westhampton", "Westhampton Gabreski", "NY", 40.850, -72.633, 20, -5),
    Station(722026, "homestead", "Homestead", "FL", 25.483, -80.383, 5, -5),
    Station(722053, "orlando", "Orlando Executive", "FL", 28.550, -81.333, 33, -5),
    Station(747750, "tyndall", "Tyndall", "FL", 30.067, -85.583, 7, -6),
    Station(722895, "lompoc", "Lompoc", "CA", 34.667, -120.467, 27, -8),
    Station(722860, "march", "March", "CA", 33.900, -117.250, 462, -8),
    Station(745160, "travis", "Travis Field", "CA", 38.267, -121.933, 18, -8),
)


def station(key: str) -> Station:
    """Return the station of that short name or USAF id, or raise a UserError that lists the names."""
    for candidate in STATIONS:
        if key.lower() in (candidate.name, str(candidate.id)):
            return candidate
    raise UserError(f"station {key!r} is not known; choose one of {', '.join(s.name for s in STATIONS)}")


def named(
    path: Path,
    number: int,
    title: str,
    state: str,
    latitude: float,
    longitude: float,
    altitude: float,
    utc_offset_h: int,
) -> Station:
    """Return the place of a weather file: one of the paper's stations if it has its number, else a new one.

    A new one is called as the file is. Raises UserError for a place that is not on earth.
    """
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180 and math.isfinite(altitude)):
        raise UserError(f"{path}: {latitude:g} N {longitude:g} E {altitude:g} m is not a place on earth")
    known = next((place for place in STATIONS if place.id == number), None)
    if known and known.utc_offset_h != utc_offset_h:
        raise UserError(f"{path}: UTC{utc_offset_h:+d}, where {known.title} is in UTC{known.utc_offset_h:+d}")
    name = (
        known.name
        if known
        else re.sub(r"[^a-z0-9]+", "-", Path(path.name.lower().removesuffix(".gz")).stem).strip("-")
    )
    return Station(number, name, title or name, state, latitude, longitude, altitude, utc_offset_h)
