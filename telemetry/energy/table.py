# SPDX-License-Identifier: Apache-2.0
"""Reads columns of one's own, CSV or Parquet: energy, prices and carbon intensities of any sites.

One row for each site and hour. The first column's name says what its stamps mean:

- ``hour_start`` or ``hour_end``: ISO 8601, full hours, 24:00 allowed. With an offset from UTC (or Z), or
  local time of one zone that is named beside the file, with or without daylight saving. A local end is the
  clock at the beginning and one hour more, as hours ending are counted;
- ``site``: its name;
- ``green_energy_wh``, ``price_usd_per_mwh``, ``carbon_average_g_per_kwh``, ``carbon_marginal_g_per_kwh``: at
  least one of them.

The hours of each site are one year without a gap, on which a leap year's 29 February (UTC) is left out.
"""

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta, timezone, tzinfo
from pathlib import Path
from types import MappingProxyType
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from grasp import UserError
from grasp.telemetry.energy import grid
from grasp.telemetry.energy.weather import (
    TYPICAL_YEAR,
    YEAR_HOURS,
    FlagArray,
    FloatArray,
    HourArray,
    Quality,
)

COLUMNS: Mapping[str, tuple[str, float, float]] = MappingProxyType(
    {
        "green_energy_wh": ("green_energy", 0, 1e9),
        "price_usd_per_mwh": ("price", -1e5, 1e6),
        "carbon_average_g_per_kwh": ("carbon_average", 0, 5000),
        "carbon_marginal_g_per_kwh": ("carbon_marginal", 0, 5000),
    }
)
"""Columns, the parameters that they give, and between what their values can be."""

CLOCKS = ("hour_start", "hour_end")

_HOUR = np.timedelta64(1, "h")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d):00(?::00(?:\.0+)?)?\s*(Z|[+-]\d\d(?::?\d\d)?)?")


@dataclass(frozen=True)
class Columns:
    """Parameters of one's own: tables of shape (8760, sites) on the UTC hour grid, and their quality."""

    sites: tuple[str, ...]
    parameters: Mapping[str, FloatArray]
    quality: FlagArray


def zone(text: str) -> tzinfo:
    """Return the zone of a name such as America/New_York, UTC or UTC-5; raises UserError for another."""
    match = re.fullmatch(r"UTC(?:([+-])(\d{1,2})(?::(\d\d))?)?", text)
    if match:
        sign, hours, minutes = match.groups()
        offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        if offset < timedelta(hours=24):
            return timezone(-offset if sign == "-" else offset)
    try:
        return ZoneInfo(text)
    except (OSError, ValueError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        raise UserError(f"--time-zone {text}: give one such as America/New_York or UTC-5") from None


def read(path: Path, kind: str, time_zone: str | None = None, fill: str = "none") -> Columns:
    """Read a file of the kind "csv" or "parquet"; the sites are in the order in which they first appear.

    `time_zone` is that of stamps without an offset. Raises UserError, naming file and row, for what is not a
    whole year of each site, for values that cannot be, and for missing ones unless `fill` says how to fill
    them.
    """
    grid.check_fill(fill)
    frame = _csv(path) if kind == "csv" else _parquet(path)
    clock = _check_columns(path, frame)
    names = frame["site"].astype("string").str.strip()
    if names.isna().any() or (names == "").any():
        raise UserError(f"{path}, {_row(frame, names.isna() | (names == ''))}: no site's name")
    local = None if time_zone is None else zone(time_zone)
    sites = tuple(str(name) for name in names.unique())
    tables = {column: np.empty((YEAR_HOURS, len(sites))) for column in COLUMNS if column in frame}
    quality = np.zeros((YEAR_HOURS, len(sites)), dtype=np.uint8)
    for index, site in enumerate(sites):
        rows = frame[names == site]
        hours = _starts(path, rows, clock, local)
        place, kept = _places(path, site, rows, hours, fill)
        for column, table in tables.items():
            values, missing = _values(path, column, rows, fill)
            year = np.full(YEAR_HOURS, np.nan)
            year[place[kept]] = np.where(missing, np.nan, values)[kept]
            holes = np.isnan(year)
            if holes.any():
                year = grid.interpolate(f"{path}: {column} of {site}", year, holes)
            table[:, index] = year
            quality[holes, index] = Quality.FILLED
    return Columns(sites, {COLUMNS[column][0]: table for column, table in tables.items()}, quality)


def _csv(path: Path) -> pd.DataFrame:
    """Return the cells as they stand: what they mean is decided below. Every row is as wide as the header."""
    try:
        cells = list(csv.reader(grid.read_lines(path), strict=True))
    except csv.Error as error:
        raise UserError(f"{path}: not a CSV table ({error})") from None
    if not cells:
        raise UserError(f"{path}: is empty")
    header, *rows = cells
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise UserError(f"{path}, row {number}: {len(row)} cells, where the header has {len(header)}")
    return pd.DataFrame(rows, columns=[name.strip() for name in header], dtype=str)


def _parquet(path: Path) -> pd.DataFrame:
    try:
        import pyarrow
    except ImportError:
        raise UserError("parquet files need the package pyarrow: pip install 'grasp-p4[parquet]'") from None
    try:
        frame = pd.read_parquet(io.BytesIO(grid.read_bytes(path)))
    except (ValueError, OSError, pyarrow.ArrowException) as error:
        raise UserError(f"{path}: not a Parquet table ({str(error).splitlines()[0]})") from None
    return frame.reset_index(drop=frame.index.names == [None])


def _row(frame: pd.DataFrame, wrong: "pd.Series[bool]") -> str:
    """Name the first row where something is wrong, counted from 1."""
    return f"row {int(frame.index[np.asarray(wrong)][0]) + 1}"


def _check_columns(path: Path, frame: pd.DataFrame) -> str:
    """Return the name of the clock's column, having refused columns that nobody would read."""
    if frame.columns.has_duplicates:
        raise UserError(f"{path}: two columns have the same name")
    clocks = [name for name in CLOCKS if name in frame]
    if len(clocks) != 1:
        raise UserError(f"{path}: needs one column hour_start or hour_end, which says what the stamps mean")
    if "site" not in frame:
        raise UserError(f"{path}: needs a column site")
    known = {*clocks, "site", *COLUMNS}
    for name in frame.columns:
        if name not in known:
            raise UserError(f"{path}: column {str(name)!r} is not known; known are {', '.join(COLUMNS)}")
    if not any(name in frame for name in COLUMNS):
        raise UserError(f"{path}: has none of the columns {', '.join(COLUMNS)}")
    if not len(frame):
        raise UserError(f"{path}: has no rows")
    return clocks[0]


def _starts(path: Path, rows: pd.DataFrame, clock: str, local: tzinfo | None) -> HourArray:
    """Return the beginning of each row's hour in UTC."""
    stamps = rows[clock]
    if isinstance(stamps.dtype, pd.DatetimeTZDtype):
        times = pd.DatetimeIndex(stamps)
        aware = True
    elif pd.api.types.is_datetime64_any_dtype(stamps):
        times = pd.DatetimeIndex(stamps)
        aware = False
    else:
        times, aware = _parse(path, rows, stamps.astype(str))
    clocks = times.tz_localize(None)  # without the zone, so that no change of clocks disturbs
    wrong = pd.Series(times.isna() | (clocks != clocks.floor("h")), index=rows.index)
    if wrong.any():
        raise UserError(f"{path}, {_row(rows, wrong)}: {clock} is not a full hour")
    if aware and local is not None:
        raise UserError(f"{path}: {clock} has offsets from UTC; leave out the time zone")
    if not aware:
        if local is None:
            raise UserError(f"{path}: {clock} has no offset from UTC; name its time zone (--time-zone)")
        times = _localize(path, times, clock, local)
    start = times.tz_convert("UTC").tz_localize(None).to_numpy().astype("datetime64[s]")
    if (start != start.astype("datetime64[h]")).any():
        raise UserError(f"{path}: hours of this time zone do not begin with the hours of UTC")
    hours: HourArray = start.astype("datetime64[h]")
    return hours - _HOUR if clock == "hour_end" else hours


def _parse(path: Path, rows: pd.DataFrame, stamps: "pd.Series[str]") -> tuple[pd.DatetimeIndex, bool]:
    """Return the times of stamps in text, in UTC if they have offsets, and whether they have."""
    parts = [_STAMP.fullmatch(stamp.strip()) for stamp in stamps]
    wrong = pd.Series([part is None or int(part[2]) > 24 for part in parts], index=rows.index)
    if wrong.any():
        row = _row(rows, wrong)
        raise UserError(
            f"{path}, {row}: {stamps[wrong].iloc[0]!r} is not a full hour such as 2024-06-21T13:00Z"
        )
    found = [part for part in parts if part is not None]
    offsets = {part[3] is not None for part in found}
    if len(offsets) > 1:
        raise UserError(f"{path}: some stamps have an offset from UTC and some have none")
    # 24:00 is the next day's 0:00.
    texts = [f"{part[1]}T{int(part[2]) % 24:02}:00{part[3] or ''}" for part in found]
    days = pd.to_timedelta([int(part[2]) // 24 for part in found], unit="D")
    times = pd.DatetimeIndex(pd.to_datetime(texts, utc=offsets == {True}, format="ISO8601", errors="coerce"))
    wrong = pd.Series(times.isna(), index=rows.index)
    if wrong.any():
        raise UserError(f"{path}, {_row(rows, wrong)}: {stamps[wrong].iloc[0]!r} is no time")
    return times + days, offsets == {True}


def _localize(path: Path, times: pd.DatetimeIndex, clock: str, local: tzinfo) -> pd.DatetimeIndex:
    """Give local times their zone; rows' order tells the two hours apart that a clock set back has twice."""
    try:
        if clock == "hour_end":
            return _localize(path, times - pd.Timedelta(hours=1), "hour_start", local) + pd.Timedelta(hours=1)
        return times.tz_localize(local, ambiguous="infer", nonexistent="raise")
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            f"{path}: stamps do not fit the time zone {local}, daylight saving: {reason}"
        ) from None


def _places(
    path: Path, site: str, rows: pd.DataFrame, hours: HourArray, fill: str
) -> "tuple[np.ndarray[tuple[int], np.dtype[np.intp]], grid.BoolArray]":
    """Return each row's place in the typical year, and which rows have one: all but those of 29 February."""
    doubled = pd.Series(pd.Index(hours).duplicated(), index=rows.index)
    if doubled.any():
        hour = hours[np.asarray(doubled)][0]
        raise UserError(f"{path}, {_row(rows, doubled)}: the hour {hour}Z of {site} is there twice")
    month = hours.astype("datetime64[M]")
    day = (hours.astype("datetime64[D]") - month).astype(int)
    leap = (month.astype(int) % 12 == 1) & (day == 28)
    first, last = hours.min(), hours.max()
    year = (last - first).astype(int) + 1
    start = np.datetime64(f"{TYPICAL_YEAR}-01", "M")
    place = ((start + month.astype(int) % 12).astype("datetime64[h]") - start.astype("datetime64[h]")).astype(
        int
    )
    place = place + day * 24 + (hours - hours.astype("datetime64[D]")).astype(int)
    if year > YEAR_HOURS + 24 or pd.Index(place[~leap]).has_duplicates:
        raise UserError(f"{path}: {site} has hours from {first}Z to {last}Z; give one year")
    absent = np.setdiff1d(np.arange(YEAR_HOURS), place[~leap])
    if absent.size and fill == "none":
        hour = start.astype("datetime64[h]") + absent[0]
        raise UserError(
            f"{path}: {site} lacks {absent.size} hours of the year, the first at {str(hour)[5:]}Z; "
            f"{grid.MEND}"
        )
    return place, ~leap


def _values(path: Path, column: str, rows: pd.DataFrame, fill: str) -> tuple[FloatArray, grid.BoolArray]:
    """Return a column's values and where they are missing: empty cells, or nulls."""
    cells = rows[column]
    missing = np.asarray(cells.isna() | (cells.astype(str).str.strip() == ""))
    values = np.array(pd.to_numeric(cells, errors="coerce"), dtype=np.float64)
    if missing.any() and fill == "none":
        raise UserError(
            f"{path}, {_row(rows, pd.Series(missing, index=rows.index))}: {column} is missing; {grid.MEND}"
        )
    _, least, most = COLUMNS[column]
    wrong = ~missing & ~((values >= least) & (values <= most))
    if wrong.any():
        series = pd.Series(wrong, index=rows.index)
        raise UserError(
            f"{path}, {_row(rows, series)}: {column} is {str(cells[series].iloc[0])!r}, "
            f"not a number from {least:g} to {most:g}"
        )
    return values, missing
