# SPDX-License-Identifier: Apache-2.0
"""Reads prices in the columns in which gridstatus gives locational marginal prices, CSV or Parquet.

Needed are ``Interval Start``, ``Interval End``, ``Location`` and ``LMP`` ($/MWh), or ``SPP``, which ERCOT
has in its place. PJM's places are numbers, so their ``Location Name`` is taken where there is one. ``Market``
tells the day-ahead market from the real-time one where a file has both, other columns are passed over. The
hosted service's names, such as ``interval_start_utc``, are the same columns. Stamps have an offset from UTC
unless the column's name says UTC. Intervals shorter than an hour are averaged over the hour. Hours without a
price, doubled ones, and prices that are no numbers are errors.
"""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from grasp import UserError
from grasp.telemetry.energy import grid
from grasp.telemetry.energy.names import readable
from grasp.telemetry.energy.weather import FloatArray, HourArray
from grasp.telemetry.prices.hubs import Hub
from grasp.telemetry.prices.series import Series

LIMITS = (-1e5, 1e6)
"""$/MWh that can be true, as for columns of one's own."""

_START, _END, _MARKET, _LOCATION, _PRICE = "interval start", "interval end", "market", "location", "lmp"
_SETTLED = "spp"  # ERCOT's settlement point price
_NAME = "location name"  # PJM's, of which `location` is the number, and of late is not there
_HOUR = pd.Timedelta(hours=1)
_OFFSET = r"(?:Z|[+-]\d\d:?\d\d)$"


def read(
    paths: Sequence[Path],
    hubs: Sequence[Hub],
    locations: Mapping[str, str] | None = None,
    market: str | None = None,
) -> Series:
    """Return the prices of the hubs for the hours that all of them have.

    `locations` maps hubs to the files' locations where they differ from the hubs' own, `market` is the one
    to take. Raises UserError, naming file and row, for what is missing or cannot be.
    """
    named = {hub.name: (locations or {}).get(hub.name, hub.location) for hub in hubs}
    for hub in locations or {}:
        if hub not in named:
            raise UserError(f"--locations {hub}: there is no such hub; there are {', '.join(named)}")
    files = ", ".join(readable(path.name) for path in paths)
    rows = pd.concat([_rows(path, market) for path in paths])
    columns = [_hourly(files, rows, hub, location) for hub, location in named.items()]
    first = max(hours[0] for hours, _ in columns)
    last = min(hours[-1] for hours, _ in columns)
    if first > last:
        raise UserError(f"{files}: the hubs have no hour in common")
    values = [prices[(first <= hours) & (hours <= last)] for hours, prices in columns]
    hours = np.arange(first, last + np.timedelta64(1, "h"))
    return Series(np.column_stack(values), hours, tuple(named), False, f"prices from {files}")


def _rows(path: Path, market: str | None) -> pd.DataFrame:
    """Return start, length in hours, location and price of a file's intervals, each of which is checked."""
    frame = _table(path)
    utc = f"{_START} utc" in frame
    frame = frame.rename(columns={f"{name} utc": name for name in (_START, _END)})
    if _PRICE not in frame:
        frame = frame.rename(columns={_SETTLED: _PRICE})
    if _NAME in frame:
        frame = frame.drop(columns=_LOCATION, errors="ignore").rename(columns={_NAME: _LOCATION})
    if frame.columns.has_duplicates:
        raise UserError(f"{path}: two columns have the same name")
    for name in (_START, _END, _LOCATION, _PRICE):
        if name not in frame:
            shown = "LMP" if name == _PRICE else name.title()
            raise UserError(f"{path}: no column {shown!r}, as gridstatus has it")
    if market is not None:
        if _MARKET not in frame:
            raise UserError(f"{path}: no column 'Market' to find {market} in")
        mine = frame[_MARKET].astype(str) == market
        if not mine.any():
            raise UserError(f"{path}: --market {market}: must be one of {', '.join(_markets(frame))}")
        frame = frame[mine]
    elif _MARKET in frame and len(_markets(frame)) > 1:
        raise UserError(f"{path}: has the markets {', '.join(_markets(frame))}; name one of them (--market)")
    start, end = _times(path, frame[_START], utc), _times(path, frame[_END], utc)
    within = (end > start) & (end <= start.dt.floor("h") + _HOUR)
    _refuse(path, ~within, "the interval is not within an hour")
    prices = pd.to_numeric(frame[_PRICE], errors="coerce").astype(np.float64)
    _refuse(path, ~prices.between(*LIMITS), f"LMP is not a number from {LIMITS[0]:g} to {LIMITS[1]:g}")
    location = frame[_LOCATION].astype("string").str.strip()
    return pd.DataFrame(
        {"start": start, "length": (end - start) / _HOUR, "location": location, "price": prices}
    )


def _markets(frame: pd.DataFrame) -> list[str]:
    return sorted(set(frame[_MARKET].dropna().astype(str)))  # as text: a Parquet file may hold lists


def _table(path: Path) -> pd.DataFrame:
    """Return a file's table; columns in small letters with spaces, rows numbered from 1."""
    data = io.BytesIO(grid.read_bytes(path))
    if path.suffix.lower() == ".parquet":
        frame = _parquet(path, data)
    else:
        try:
            frame = pd.read_csv(data, dtype=str)
        except (ValueError, pd.errors.ParserError) as error:  # UnicodeDecodeError is a ValueError
            raise UserError(f"{path}: not a CSV table ({str(error).splitlines()[0]})") from None
        if not isinstance(frame.index, pd.RangeIndex):  # pandas took the first column for row names
            raise UserError(f"{path}, row 1: more cells than the header has")
    frame.columns = pd.Index([str(name).strip().lower().replace("_", " ") for name in frame.columns])
    frame.index = pd.RangeIndex(1, len(frame) + 1)
    return frame


def _parquet(path: Path, data: io.BytesIO) -> pd.DataFrame:
    try:
        import pyarrow
    except ImportError:
        raise UserError("parquet files need the package pyarrow: pip install 'grasp-p4[parquet]'") from None
    try:
        return pd.read_parquet(data)
    except (ValueError, OSError, pyarrow.ArrowException) as error:
        raise UserError(f"{path}: not a Parquet table ({str(error).splitlines()[0]})") from None


def _times(path: Path, stamps: "pd.Series[str]", utc: bool) -> "pd.Series[pd.Timestamp]":
    """Return stamps as times in UTC without a zone."""
    if not isinstance(stamps.dtype, pd.DatetimeTZDtype) and not utc:
        bare = ~stamps.astype("string").str.strip().str.contains(_OFFSET, na=False)
        _refuse(path, bare, f"{str(stamps.name).title()} has no offset from UTC")
    times = pd.to_datetime(stamps, utc=True, format="ISO8601", errors="coerce")
    _refuse(path, times.isna(), f"{str(stamps.name).title()} is no time")
    return times.dt.tz_localize(None)


def _refuse(path: Path, wrong: "pd.Series[bool]", reason: str) -> None:
    if wrong.any():
        raise UserError(f"{path}, row {wrong.index[np.asarray(wrong)][0]}: {reason}")


def _hourly(files: str, rows: pd.DataFrame, hub: str, location: str) -> tuple[HourArray, FloatArray]:
    """Return the hours of a location, without a gap, and their prices: the intervals' means by length."""
    mine = rows[rows["location"] == location].sort_values("start", kind="stable")
    if not len(mine):
        raise UserError(f"{files}: no prices of {location}, the location of {hub} (--locations)")
    end = mine["start"] + mine["length"] * _HOUR
    if (end.iloc[:-1].to_numpy() > mine["start"].iloc[1:].to_numpy()).any():
        twice = mine["start"].iloc[1:][end.iloc[:-1].to_numpy() > mine["start"].iloc[1:].to_numpy()].iloc[0]
        raise UserError(f"{files}: {location} has two prices at {twice:%Y-%m-%dT%H:%M}Z")
    hour = mine["start"].dt.floor("h")
    covered = mine["length"].groupby(hour).sum()
    means = (mine["price"] * mine["length"]).groupby(hour).sum() / covered
    every = pd.date_range(hour.iloc[0], hour.iloc[-1], freq="h")
    lacking = (covered.reindex(every, fill_value=0.0) < 1 - 1e-6).to_numpy()
    if lacking.any():
        raise UserError(f"{files}: {location} lacks prices in the hour {every[lacking][0]:%Y-%m-%dT%H:%M}Z")
    hours: HourArray = every.to_numpy().astype("datetime64[h]")
    return hours, means.to_numpy()
