# SPDX-License-Identifier: Apache-2.0
"""Reads hourly files of the National Solar Radiation Database's physical solar model (PSM).

A row is stamped with the MIDDLE of its hour (minute 30), in the zone that the header names: local standard
time or UTC. Files of leap years may have 29 February.

Source: Sengupta et al., "The National Solar Radiation Data Base (NSRDB)", Renewable and Sustainable Energy
Reviews 89 (2018).
"""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pvlib

from grasp import UserError
from grasp.telemetry.energy import grid
from grasp.telemetry.energy.stations import Station, named
from grasp.telemetry.energy.weather import Weather

_FIRST_LINE = 4  # of the year's first hour, after three header lines
_STAMP = re.compile(r"\d{4},(\d{1,2}),(\d{1,2}),(\d{1,2}),30,")
_CLOCK = ["Year", "Month", "Day", "Hour", "Minute"]


def place(path: Path) -> Station:
    """Return the place of a file, in the zone of its rows; raises UserError for what is no PSM file."""
    lines = grid.read_lines(path)
    try:
        header = dict(zip(*csv.reader(lines[:2]), strict=False))
        number = int(header["Location ID"]) if header["Location ID"].isdecimal() else 0
        latitude, longitude, altitude = (float(header[key]) for key in ("Latitude", "Longitude", "Elevation"))
        offset, local = float(header["Time Zone"]), float(header["Local Time Zone"])
        title, state = header.get("City", ""), header.get("State", "")
    except (KeyError, ValueError, TypeError):
        raise UserError(f"{path}, lines 1 and 2: not the header of a PSM file") from None
    if offset not in (0, local):
        raise UserError(f"{path}, line 2: rows are in UTC{offset:+g}, which is neither UTC nor local time")
    grid.whole_offset(path, local, longitude)
    # The location's number is a cell of the satellite's grid, not a weather station.
    return replace(
        named(path, 0, title, state, latitude, longitude, altitude, int(offset)),
        id=number,
    )


def read(path: Path, where: Station, fill: str = "none") -> Weather:
    """Read the year of a place and put it on the UTC hour grid; errors as for TMY3 files.

    Values that the database filled (Fill Flag) are marked as filled.
    """
    grid.check_fill(fill)
    lines = grid.read_lines(path)
    header = lines[_FIRST_LINE - 2].split(",") if len(lines) >= _FIRST_LINE else []
    if header[:5] != _CLOCK:
        raise UserError(f"{path}, line {_FIRST_LINE - 1}: the columns do not begin with {','.join(_CLOCK)}")
    kept = grid.check_hours(
        path,
        lines[_FIRST_LINE - 1 :],
        _FIRST_LINE,
        _stamp,
        end_stamped=False,
        form="Year,Month,Day,Hour,30; ask NSRDB for hourly rows, an interval of 60 minutes",
        width=len(header) - 1,
    )
    try:
        table, _ = pvlib.iotools.read_nsrdb_psm4(io.StringIO("\n".join(lines)), map_variables=True)
    except (ValueError, KeyError, IndexError) as error:
        raise UserError(f"{path}: not a PSM file ({error})") from error
    marked = np.asarray(table["Fill Flag"] != 0) if "Fill Flag" in table else None
    return grid.to_weather(path, table, kept, _FIRST_LINE, where, {}, fill, marked)


def _stamp(line: str) -> grid.Stamp | None:
    match = _STAMP.match(line)
    if match is None:
        return None
    month, day, hour = (int(part) for part in match.groups())
    return month, day, hour
