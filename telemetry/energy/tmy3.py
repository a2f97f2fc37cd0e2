# SPDX-License-Identifier: Apache-2.0
"""Reads NSRDB TMY3 files: strict about the hour each row stands for, since an hour off is easily overlooked.

A row is stamped with the END of its hour in local standard time, 1:00 to 24:00, and the year has no
29 February. -9900 marks a missing value.

Source: Wilcox and Marion, "Users Manual for TMY3 Data Sets", NREL/TP-581-43156, 2008.
"""

import gzip
import io
import re
import zlib
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pvlib
from numpy.typing import NDArray

from grasp import UserError
from grasp.telemetry.energy.stations import Station
from grasp.telemetry.energy.weather import TYPICAL_YEAR, YEAR_HOURS, FloatArray, Quality, Weather

BoolArray = NDArray[np.bool_]

FILLS = ("none", "interpolate")
"""What to do about missing values: refuse, or go straight between neighbours at most `GAP_HOURS` apart."""

GAP_HOURS = 6

MISSING = -9900
_FIRST_ROW = 3  # line number of the year's first hour, after two header lines

# Date and end of the hour; spreadsheets that files went through have turned 24:00 into 24:00:00.
_STAMP = re.compile(r"(\d{1,2})/(\d{1,2})/\d{4},(\d{1,2}):00(?::00)?,")

# pvlib's name of each column that is used, and the values that can be true: a wrong column shows itself here.
_RANGES = {
    "ghi": (0, 1500),
    "dni": (0, 1500),
    "dhi": (0, 1000),
    "temp_air": (-90, 60),
    "wind_speed": (0, 110),
}


def find(folder: Path, place: Station) -> Path:
    """Return the file of a station in a folder: 725156TYA.CSV, in any case, perhaps with .gz behind it."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder of TMY3 files")
    pattern = re.compile(rf"{place.id}TYA\.CSV(\.gz)?", re.IGNORECASE)
    found = sorted(path for path in folder.iterdir() if pattern.fullmatch(path.name))
    if len(found) != 1:
        what = "more than one file" if found else "no file"
        raise UserError(f"{folder}: {what} {place.id}TYA.CSV or .CSV.gz of station {place.title}")
    return found[0]


def read(path: Path, place: Station, fill: str = "none") -> Weather:
    """Read the year of a station and put it on the UTC hour grid.

    Raises UserError, naming file and line, for what is not the whole year of this station in order, for
    values that cannot be, and for missing ones unless `fill` (one of `FILLS`) says how to fill them.
    """
    if fill not in FILLS:
        raise UserError(f"fill {fill!r} is not known; choose one of {', '.join(FILLS)}")
    lines = _lines(path)
    _check_station(path, lines, place)
    _check_hours(path, lines)
    try:
        table, _ = pvlib.iotools.read_tmy3(io.StringIO("\n".join(lines)), map_variables=True)
    except (ValueError, KeyError, IndexError) as error:
        raise UserError(f"{path}: not a TMY3 file ({error})") from error
    columns: dict[str, FloatArray] = {}
    filled = np.zeros(YEAR_HOURS, dtype=bool)
    for name, limits in _RANGES.items():
        if name not in table:
            raise UserError(f"{path}, line 2: no column for {name}; is it a TMY3 file?")
        values, missing = _column(path, name, table[name], limits)
        if missing.any():
            values = _interpolate(path, name, values, missing, fill)
        # Row 0 starts at midnight, local standard time. The hours that fall out of the year at one end stand
        # at the other: a typical year is a circle.
        columns[name] = np.roll(values, -place.utc_offset_h)
        filled |= missing
    return Weather(
        ghi=columns["ghi"],
        dni=columns["dni"],
        dhi=columns["dhi"],
        temperature=columns["temp_air"],
        wind=columns["wind_speed"],
        quality=np.roll(filled, -place.utc_offset_h).astype(np.uint8) * Quality.FILLED,
    )


def _lines(path: Path) -> list[str]:
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix.lower() == ".gz" else raw).decode()
    except OSError as error:  # gzip.BadGzipFile is one
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (EOFError, zlib.error) as error:
        raise UserError(f"{path}: compressed file is cut short or damaged ({error})") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not a text file ({error.reason} at byte {error.start})") from error
    return text.splitlines()


def _check_station(path: Path, lines: list[str], place: Station) -> None:
    fields = lines[0].split(",") if lines else []
    try:
        usaf, offset = int(fields[0]), float(fields[3])
    except (IndexError, ValueError):
        raise UserError(f"{path}, line 1: not the station line of a TMY3 file") from None
    if usaf != place.id:
        raise UserError(f"{path}, line 1: station {usaf}, where {place.id} ({place.title}) was expected")
    if offset != place.utc_offset_h:
        raise UserError(
            f"{path}, line 1: UTC{offset:+g}, where {place.title} is in UTC{place.utc_offset_h:+d}"
        )


def _check_hours(path: Path, lines: list[str]) -> None:
    """Every hour of the year once, in order, each row as wide as its header."""
    width = lines[1].count(",") if len(lines) > 1 else 0
    start = datetime(TYPICAL_YEAR, 1, 1)
    rows = lines[_FIRST_ROW - 1 :]
    for row, line in enumerate(rows):
        where = f"{path}, line {row + _FIRST_ROW}"
        if row == YEAR_HOURS:
            raise UserError(f"{where}: a year has {YEAR_HOURS} hours; this is one more")
        match = _STAMP.match(line)
        if match is None:
            raise UserError(f"{where}: not a date and full hour, MM/DD/YYYY,HH:00")
        month, day, hour = (int(part) for part in match.groups())
        expected = start + timedelta(hours=row)
        if (month, day, hour) != (expected.month, expected.day, expected.hour + 1):
            raise UserError(
                f"{where}: {month}/{day} {hour}:00, where the hour that ends at "
                f"{expected.month}/{expected.day} {expected.hour + 1}:00 was expected"
            )
        if line.count(",") != width:
            raise UserError(f"{where}: {line.count(',') + 1} columns, where the header has {width + 1}")
    if len(rows) < YEAR_HOURS:
        raise UserError(f"{path}, line {len(lines)}: the file ends after {len(rows)} of {YEAR_HOURS} hours")


def _column(
    path: Path, name: str, column: "pd.Series[float]", limits: tuple[float, float]
) -> tuple[FloatArray, BoolArray]:
    """Return the values and where they are missing; anything else must lie within the limits."""
    values = np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
    missing = values == MISSING
    wrong = ~missing & ~((values >= limits[0]) & (values <= limits[1]))
    if wrong.any():
        row = int(wrong.argmax())
        raise UserError(
            f"{path}, line {row + _FIRST_ROW}: {name} is {str(column.iloc[row])!r}, "
            f"not a number from {limits[0]} to {limits[1]}"
        )
    return values, missing


def _interpolate(path: Path, name: str, values: FloatArray, missing: BoolArray, fill: str) -> FloatArray:
    row = int(missing.argmax())
    if fill == "none":
        raise UserError(
            f"{path}, line {row + _FIRST_ROW}: {name} is missing ({MISSING}); "
            f"mend the file or ask for the fill 'interpolate'"
        )
    hours = np.arange(YEAR_HOURS)
    known = hours[~missing]
    spans = np.diff(known, prepend=known[-1:] - YEAR_HOURS, append=known[:1] + YEAR_HOURS)
    if known.size == 0 or spans.max() > GAP_HOURS:
        raise UserError(f"{path}: {name} is missing for {GAP_HOURS} hours or more in a row; too long to fill")
    return np.interp(hours, known, values[~missing], period=YEAR_HOURS)
