# SPDX-License-Identifier: Apache-2.0
"""Reads NSRDB TMY3 files.

A row is stamped with the END of its hour in local standard time, 1:00 to 24:00, and the year has no
29 February. -9900 marks a missing value.

Source: Wilcox and Marion, "Users Manual for TMY3 Data Sets", NREL/TP-581-43156, 2008.
"""

import io
import re
import warnings
from pathlib import Path

import pvlib
from pandas.errors import DtypeWarning

from grasp import UserError
from grasp.telemetry.energy import grid
from grasp.telemetry.energy.stations import Station
from grasp.telemetry.energy.weather import Weather

MISSING = -9900
_FIRST_LINE = 3  # of the year's first hour, after two header lines

# Date and end of the hour; spreadsheets that files went through have turned 24:00 into 24:00:00.
_STAMP = re.compile(r"(\d{1,2})/(\d{1,2})/\d{4},(\d{1,2}):00(?::00)?,")


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
    values that cannot be, and for missing ones unless `fill` (one of `grid.FILLS`) says how to fill them.
    """
    grid.check_fill(fill)
    lines = grid.read_lines(path)
    _check_station(path, lines, place)
    kept = grid.check_hours(
        path,
        lines[_FIRST_LINE - 1 :],
        _FIRST_LINE,
        _stamp,
        end_stamped=True,
        form="a date and full hour, MM/DD/YYYY,HH:00",
        width=lines[1].count(",") if len(lines) > 1 else 0,
    )
    try:
        with warnings.catch_warnings(action="ignore", category=DtypeWarning):  # `to_weather` names the line
            table, _ = pvlib.iotools.read_tmy3(io.StringIO("\n".join(lines)), map_variables=True)
    except (ValueError, KeyError, IndexError) as error:
        raise UserError(f"{path}: not a TMY3 file ({error})") from error
    return grid.to_weather(
        path, table, kept, _FIRST_LINE, place, dict.fromkeys(grid.RANGES, float(MISSING)), fill
    )


def _stamp(line: str) -> grid.Stamp | None:
    match = _STAMP.match(line)
    if match is None:
        return None
    month, day, hour = (int(part) for part in match.groups())
    return month, day, hour


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
