# SPDX-License-Identifier: Apache-2.0
"""From the rows of a weather file to the UTC hour grid, strictly: an hour off is easily overlooked.

What every reader of weather files shares: each hour of the year once and in order, values that can be, and
missing ones refused or filled by a named rule.
"""

import gzip
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from grasp import UserError
from grasp.telemetry.energy.stations import Station
from grasp.telemetry.energy.weather import TYPICAL_YEAR, YEAR_HOURS, FloatArray, Quality, Weather

BoolArray = NDArray[np.bool_]

FILLS = ("none", "interpolate")
"""What to do about missing values: refuse, or go straight between neighbours at most `GAP_HOURS` apart."""

MEND = "mend the file or give --fill interpolate; grasp data show --fill interpolate --csv writes a whole one"
"""What helps where values are missing; a run has no such option, and takes the written file."""

GAP_HOURS = 6

MOST_FROM_SUN_H = 3.5  # no standard time is further from the sun's

LEAP_YEAR = 2000
LEAP_HOURS = 8784

RANGES: Mapping[str, tuple[float, float]] = {
    "ghi": (0, 1500),
    "dni": (0, 1500),
    "dhi": (0, 1000),
    "temp_air": (-90, 60),
    "wind_speed": (0, 110),
}
"""pvlib's name of each column that is used, and the values that can be true: a wrong column shows here."""

Stamp = tuple[int, int, int]
"""Month, day and hour as a file has them."""


def check_fill(fill: str) -> None:
    """Raise a UserError unless `fill` is one of `FILLS`."""
    if fill not in FILLS:
        raise UserError(f"--fill {fill}: must be one of {', '.join(FILLS)}")


def read_bytes(path: Path) -> bytes:
    """Return a file's content, unpacked if its name ends in .gz."""
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if path.suffix.lower() == ".gz" else raw
    except OSError as error:  # gzip.BadGzipFile is one
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (EOFError, zlib.error) as error:
        raise UserError(f"{path}: compressed file is cut short or damaged ({error})") from error


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file, perhaps packed by gzip; raises UserError for what is none."""
    try:
        return read_bytes(path).decode("utf-8-sig").splitlines()  # spreadsheets put a mark first
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not a text file ({error.reason} at byte {error.start})") from error


def check_hours(
    path: Path,
    rows: Sequence[str],
    first_line: int,
    stamp: Callable[[str], Stamp | None],
    end_stamped: bool,
    form: str,
    width: int,
    stride: int = 1,
) -> BoolArray:
    """Check that the rows are a whole year's hours in order, and return which to keep: all but 29 February.

    `stamp` reads month, day and hour from a row, or gives None for what is none; `form` says what it expects.
    `end_stamped` hours are named 1 to 24 by their end, others 0 to 23 by their beginning. Every row has
    `width` commas; rows stand `stride` lines apart. Raises UserError with file and line.
    """
    leap = len(rows) == LEAP_HOURS
    start, hours = (
        (datetime(LEAP_YEAR, 1, 1), LEAP_HOURS) if leap else (datetime(TYPICAL_YEAR, 1, 1), YEAR_HOURS)
    )
    kept = np.ones(len(rows), dtype=bool)
    for row, line in enumerate(rows):
        where = f"{path}, line {row * stride + first_line}"
        if row == hours:
            raise UserError(f"{where}: a year has {YEAR_HOURS} hours; this is one more")
        found = stamp(line)
        if found is None:
            raise UserError(f"{where}: not {form}")
        hour = start + timedelta(hours=row)
        expected = (hour.month, hour.day, hour.hour + end_stamped)
        if found != expected:
            raise UserError(
                f"{where}: {show_hour(found)}, where the hour {'that ends at ' * end_stamped}"
                f"{show_hour(expected)} was expected"
            )
        if line.count(",") != width:
            raise UserError(f"{where}: {line.count(',') + 1} columns, where the header has {width + 1}")
        kept[row] = expected[:2] != (2, 29)
    if len(rows) < hours:
        last = first_line + stride * len(rows) - 1
        raise UserError(f"{path}, line {last}: the file ends after {len(rows)} of {YEAR_HOURS} hours")
    return kept


def show_hour(stamp: Stamp) -> str:
    """Return month/day hour:00."""
    month, day, hour = stamp
    return f"{month}/{day} {hour}:00"


def whole_offset(path: Path, offset: float, longitude: float) -> int:
    """Return a time zone's offset from UTC in hours.

    Raises UserError where hours do not begin with UTC's, and where the sun's time at that longitude (degrees
    east) says that the zone cannot be.
    """
    if not (-12 <= offset <= 14 and offset == int(offset)):
        raise UserError(f"{path}: UTC{offset:+g}; its hours do not begin with the hours of UTC")
    if abs((offset - longitude / 15 + 12) % 24 - 12) > MOST_FROM_SUN_H:
        raise UserError(f"{path}: UTC{offset:+g} is not the time zone of a place {longitude:g} degrees east")
    return int(offset)


def to_weather(
    path: Path,
    table: pd.DataFrame,
    kept: BoolArray,
    first_line: int,
    place: Station,
    missing: Mapping[str, float],
    fill: str,
    marked: BoolArray | None = None,
    stride: int = 1,
) -> Weather:
    """Return a year's weather on the UTC grid from rows that start at midnight, local standard time.

    `kept` are the rows of the typical year, `missing` the value that marks a missing one in each column, and
    `marked` the rows that the source says it filled. Rows stand `stride` lines apart.
    """
    columns: dict[str, FloatArray] = {}
    filled = np.zeros(YEAR_HOURS, dtype=bool) if marked is None else marked[kept]
    for name, limits in RANGES.items():
        if name not in table:
            raise UserError(
                f"{path}, line {first_line - 1}: no column for {name}; is it another kind of file?"
            )
        values, holes = _column(path, name, table[name], limits, missing.get(name), first_line, stride)
        if holes.any():
            if fill == "none":
                raise UserError(
                    f"{path}, line {int(holes.argmax()) * stride + first_line}: {name} is missing "
                    f"({missing[name]:g}); {MEND}"
                )
            values[kept] = interpolate(f"{path}: {name}", values[kept], holes[kept])
        # The hours that fall out of the year at one end stand at the other: a typical year is a circle.
        columns[name] = np.roll(values[kept], -place.utc_offset_h)
        filled = filled | holes[kept]
    return Weather(
        ghi=columns["ghi"],
        dni=columns["dni"],
        dhi=columns["dhi"],
        temperature=columns["temp_air"],
        wind=columns["wind_speed"],
        quality=np.roll(filled, -place.utc_offset_h).astype(np.uint8) * Quality.FILLED,
    )


def _column(
    path: Path,
    name: str,
    column: "pd.Series[float]",
    limits: tuple[float, float],
    marker: float | None,
    first_line: int,
    stride: int,
) -> tuple[FloatArray, BoolArray]:
    """Return the values and where they are missing; anything else must lie within the limits."""
    values = np.array(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
    missing = values == marker if marker is not None else np.zeros(values.shape, dtype=bool)
    wrong = ~missing & ~((values >= limits[0]) & (values <= limits[1]))
    if wrong.any():
        row = int(wrong.argmax())
        raise UserError(
            f"{path}, line {row * stride + first_line}: {name} is {str(column.iloc[row])!r}, "
            f"not a number from {limits[0]} to {limits[1]}"
        )
    return values, missing


def interpolate(what: str, values: FloatArray, missing: BoolArray) -> FloatArray:
    """Fill a year's missing values straight between their neighbours, around the year's end as well.

    Raises UserError, naming `what`, for a gap that is too long.
    """
    hours = np.arange(YEAR_HOURS)
    known = hours[~missing]
    spans = np.diff(known, prepend=known[-1:] - YEAR_HOURS, append=known[:1] + YEAR_HOURS)
    if known.size == 0 or spans.max() > GAP_HOURS:
        raise UserError(f"{what} is missing for {GAP_HOURS} hours or more in a row; too long to fill")
    return np.interp(hours, known, values[~missing], period=YEAR_HOURS)
