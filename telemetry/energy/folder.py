# SPDX-License-Identifier: Apache-2.0
"""Folders of weather files that say which place they are of: EPW and PSM, one file for each site."""

from collections.abc import Callable
from pathlib import Path

from grasp import UserError
from grasp.telemetry.energy.stations import STATIONS, Station


def discover(folder: Path, suffix: str, place: Callable[[Path], Station]) -> dict[str, tuple[Station, Path]]:
    """Return the sites of a folder by name: the paper's stations in their order, then others by name.

    Raises UserError for a folder without such files, and for two files of one site.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder of weather files")
    paths = sorted(
        path for path in folder.iterdir() if path.name.lower().removesuffix(".gz").endswith(suffix)
    )
    if not paths:
        raise UserError(f"{folder}: no file that ends in {suffix} or {suffix}.gz")
    found: dict[str, tuple[Station, Path]] = {}
    for path in paths:
        where = place(path)
        if where.name in found:
            raise UserError(f"{path}: is of site {where.name}, as {found[where.name][1].name} is")
        found[where.name] = where, path
    order = [station.name for station in STATIONS if station.name in found]
    return {name: found[name] for name in [*order, *(name for name in found if name not in order)]}
