# SPDX-License-Identifier: Apache-2.0
"""Reads EnergyPlus weather files (EPW).

A row is stamped with the END of its hour, 1 to 24, in local standard time; the minute, 0 or 60 by custom,
says nothing. Files of leap years may have 29 February. Each column has its own mark for a missing value.

Source: EnergyPlus documentation, "Auxiliary Programs", chapter on EPW, U.S. Department of Energy.
"""

import io
import re
from pathlib import Path

import pvlib

from grasp import UserError
from grasp.telemetry.energy import grid
from grasp.telemetry.energy.stations import Station, named
from grasp.telemetry.energy.weather import Weather

MISSING = {"ghi": 9999.0, "dni": 9999.0, "dhi": 9999.0, "temp_air": 99.9, "wind_speed": 999.0}
_FIRST_LINE = 9  # of the year's first hour, after eight header lines
_WIDTH = 34  # commas of a row
_STAMP = re.compile(r"\d{4},(\d{1,2}),(\d{1,2}),(\d{1,2}),(?:0|00|60),")


def place(path: Path) -> Station:
    """Return the place of a file from its first line; raises UserError for what is no EPW file."""
    lines = grid.read_lines(path)
    fields = lines[0].split(",") if lines else []
    try:
        if fields[0] != "LOCATION":
            raise ValueError
        latitude, longitude, offset, altitude = (float(field) for field in fields[6:10])
    except (IndexError, ValueError):
        raise UserError(f"{path}, line 1: not the LOCATION line of an EPW file") from None
    number = int(fields[5]) if fields[5].isdecimal() else 0
    return named(
        path,
        number,
        fields[1],
        fields[2],
        latitude,
        longitude,
        altitude,
        grid.whole_offset(path, offset, longitude),
    )


def read(path: Path, where: Station, fill: str = "none") -> Weather:
    """Read the year of a place and put it on the UTC hour grid; errors as for TMY3 files."""
    grid.check_fill(fill)
    lines = grid.read_lines(path)
    if len(lines) < _FIRST_LINE or not lines[_FIRST_LINE - 2].startswith("DATA PERIODS"):
        raise UserError(
            f"{path}, line {_FIRST_LINE - 1}: no DATA PERIODS; an EPW file has eight header lines"
        )
    periods = lines[_FIRST_LINE - 2].split(",")
    if periods[1:3] != ["1", "1"]:
        raise UserError(f"{path}, line {_FIRST_LINE - 1}: not one period with one row an hour")
    kept = grid.check_hours(
        path,
        lines[_FIRST_LINE - 1 :],
        _FIRST_LINE,
        _stamp,
        end_stamped=True,
        form="year,month,day,hour,minute with full hours",
        width=_WIDTH,
    )
    try:
        table, _ = pvlib.iotools.read_epw(io.StringIO("\n".join(lines)))
    except (ValueError, KeyError, IndexError) as error:
        raise UserError(f"{path}: not an EPW file ({error})") from error
    return grid.to_weather(path, table, kept, _FIRST_LINE, where, MISSING, fill)


def _stamp(line: str) -> grid.Stamp | None:
    match = _STAMP.match(line)
    if match is None:
        return None
    month, day, hour = (int(part) for part in match.groups())
    return month, day, hour
