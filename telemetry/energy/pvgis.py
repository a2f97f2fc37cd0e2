# SPDX-License-Identifier: Apache-2.0
"""Typical years of any place from the European Commission's PVGIS, fetched once and kept as files.

Rows are in UTC, stamped with the beginning of their hour; a typical year has no 29 February.

Source: Huld, Mueller, Gambardella, "A new solar radiation database for estimating PV performance in
Europe and Africa", Solar Energy 86 (2012), and the PVGIS user manual.
"""

import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pvlib

from grasp import UserError
from grasp.telemetry.energy import grid
from grasp.telemetry.energy.names import to_path
from grasp.telemetry.energy.stations import Station
from grasp.telemetry.energy.weather import Weather

PATIENCE_S = 60
NEAR_DEGREES = 0.05
_STAMP = re.compile(r"\d{4}(\d\d)(\d\d):(\d\d)00,")


def cache() -> Path:
    """Return the folder where fetched years are kept (XDG base directories)."""
    return to_path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "grasp" / "pvgis"


def file(folder: Path, where: Station) -> Path:
    """Return where the year of a station is kept."""
    return folder / f"{where.name}.json"


def find(folder: Path, where: Station) -> Path:
    """Return the file of a station, or raise a UserError that says how to get it."""
    path = file(folder, where)
    if not path.is_file():
        raise UserError(f"{path}: not there; `grasp data fetch` gets it from PVGIS, which needs the internet")
    return path


def fetch(where: Station, folder: Path) -> Path:
    """Download the typical year of a place into the folder, in PVGIS's own JSON; return the file.

    Raises UserError when PVGIS cannot be reached or refuses.
    """
    import requests

    try:
        table, meta = pvlib.iotools.get_pvgis_tmy(
            where.latitude, where.longitude, map_variables=False, coerce_year=None, timeout=PATIENCE_S
        )
    except (requests.RequestException, OSError) as error:
        raise UserError(
            f"PVGIS cannot be reached for {where.name} ({_cause(error)}); try again online, or use "
            f"--energy synthetic or files that you have"
        ) from error
    table = table.assign(**{"time(UTC)": table.index.strftime("%Y%m%d:%H%M")})
    content = {
        "inputs": meta["inputs"],
        "outputs": {"months_selected": meta["months_selected"], "tmy_hourly": table.to_dict("records")},
        "meta": {key: value for key, value in meta.items() if key not in ("inputs", "months_selected")}
        | {"inputs": meta["inputs"].get("descriptions", {})},
    }
    path = file(folder, where)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".part")
        draft.write_text(json.dumps(content), encoding="utf-8")
        draft.replace(path)  # what is interrupted leaves no half file
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror})") from error
    return path


def _cause(error: BaseException) -> str:
    """The innermost reason of a chain of network errors, in one line."""
    while error.__context__ is not None:
        error = error.__context__
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def read(path: Path, where: Station, fill: str = "none") -> Weather:
    """Read the year of a place and put it on the UTC hour grid; errors as for TMY3 files, by row."""
    grid.check_fill(fill)
    try:
        content = json.loads(grid.read_bytes(path))
        location = content["inputs"]["location"]
        position = float(location["latitude"]), float(location["longitude"])
        rows = [f"{row['time(UTC)']}," for row in content["outputs"]["tmy_hourly"]]
        table, _ = pvlib.iotools.read_pvgis_tmy(
            io.StringIO(json.dumps(content)), pvgis_format="json", map_variables=True
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path}: not a typical year of PVGIS in JSON ({type(error).__name__}: {error})"
        ) from None
    if max(abs(position[0] - where.latitude), abs(position[1] - where.longitude)) > NEAR_DEGREES:
        raise UserError(f"{path}: of {position[0]:g} N {position[1]:g} E, which is not {where.title}")
    kept = grid.check_hours(
        path, rows, 1, _stamp, end_stamped=False, form="a full hour, YYYYMMDD:HH00", width=1
    )
    in_utc = Station(
        where.id, where.name, where.title, where.state, where.latitude, where.longitude, where.altitude, 0
    )
    return grid.to_weather(path, table.replace({None: np.nan}), kept, 1, in_utc, {}, fill)


def _stamp(row: str) -> grid.Stamp | None:
    match = _STAMP.fullmatch(row)
    if match is None:
        return None
    month, day, hour = (int(part) for part in match.groups())
    return month, day, hour
