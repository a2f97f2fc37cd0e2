# SPDX-License-Identifier: Apache-2.0
"""Reads hourly files of the National Solar Radiation Database's physical solar model (PSM).

A row is what the satellite saw at its stamp, in the zone that the header names: local standard time or UTC.
Hourly rows at minute 30 stand for their hour; of rows at minute 0, or half-hourly ones, means are taken.
Files of leap years may have 29 February.

Source: Sengupta et al., "The National Solar Radiation Data Base (NSRDB)", Renewable and Sustainable Energy
Reviews 89 (2018).
"""

import csv
import io
import re
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import pvlib

from grasp import UserError
from grasp.telemetry.energy import grid
from grasp.telemetry.energy.stations import Station, named
from grasp.telemetry.energy.weather import Weather

_FIRST_LINE = 4  # of the year's first hour, after three header lines
_STAMP = re.compile(r"\d{4},(\d{1,2}),(\d{1,2}),(\d{1,2}),(\d{1,2}),")
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
    minutes = _minutes(path, lines)
    stride = len(minutes)
    kept = [
        grid.check_hours(
            path,
            lines[_FIRST_LINE + offset - 1 :: stride],
            _FIRST_LINE + offset,
            partial(_stamp, minute),
            end_stamped=False,
            form=f"Year,Month,Day,Hour,{minute}",
            width=len(header) - 1,
            stride=stride,
        )
        for offset, minute in enumerate(minutes)
    ]
    try:
        table, _ = pvlib.iotools.read_nsrdb_psm4(io.StringIO("\n".join(lines)), map_variables=True)
    except (ValueError, KeyError, IndexError) as error:
        raise UserError(f"{path}: not a PSM file ({error})") from error
    marked = np.asarray(table["Fill Flag"] != 0) if "Fill Flag" in table else np.zeros(len(table), dtype=bool)
    samples = [
        grid.to_weather(
            path,
            table.iloc[offset::stride],
            kept[offset],
            _FIRST_LINE + offset,
            where,
            {},
            fill,
            marked[offset::stride],
            stride,
        )
        for offset in range(stride)
    ]
    # The mean of an hour by the trapezoid rule, from values at its middle, at its ends, or at both.
    means = [
        sample if minute == 30 else _mean(sample, _later(sample))
        for minute, sample in zip(minutes, samples, strict=True)
    ]
    return means[0] if len(means) == 1 else _mean(*means)


def _minutes(path: Path, lines: list[str]) -> tuple[int, ...]:
    """Return the minutes of the hour at which there are rows, as the first two have them."""
    found = []
    for number in (_FIRST_LINE, _FIRST_LINE + 1):
        match = _STAMP.match(lines[number - 1]) if len(lines) >= number else None
        if match is None:
            raise UserError(f"{path}, line {number}: not Year,Month,Day,Hour,Minute")
        found.append(int(match[4]))
    if found not in ([30, 30], [0, 0], [0, 30]):
        raise UserError(
            f"{path}, line {_FIRST_LINE + 1}: rows at minutes {found[0]} and {found[1]}; "
            f"ask NSRDB for an interval of 60 or 30 minutes"
        )
    return tuple(dict.fromkeys(found))


def _later(sample: Weather) -> Weather:
    """Return what is measured one hour later, at the end of each hour; the year is a circle."""
    return Weather(*(np.roll(getattr(sample, field.name), -1) for field in fields(Weather)))


def _mean(one: Weather, other: Weather) -> Weather:
    """Return the mean of two; what is to be known about either is to be known about it."""
    return Weather(
        ghi=(one.ghi + other.ghi) / 2,
        dni=(one.dni + other.dni) / 2,
        dhi=(one.dhi + other.dhi) / 2,
        temperature=(one.temperature + other.temperature) / 2,
        wind=(one.wind + other.wind) / 2,
        quality=one.quality | other.quality,
    )


def _stamp(minute: int, line: str) -> grid.Stamp | None:
    match = _STAMP.match(line)
    if match is None or int(match[4]) != minute:
        return None
    return int(match[1]), int(match[2]), int(match[3])
