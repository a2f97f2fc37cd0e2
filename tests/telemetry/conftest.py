# SPDX-License-Identifier: Apache-2.0
"""Weather files for tests: small made ones, and the real ones where they are at hand."""

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from grasp.telemetry.energy.stations import Station

COLUMNS = ("GHI (W/m^2)", "DNI (W/m^2)", "DHI (W/m^2)", "Dry-bulb (C)", "Wspd (m/s)")

Row = Callable[[datetime], tuple[object, ...]]
Write = Callable[[Path, Station, Row], Path]


def tmy3_lines(place: Station, row: Row) -> list[str]:
    """A TMY3 file; `row` takes the start of the hour in local standard time and gives the five columns."""
    lines = [
        f"{place.id},{place.title},{place.state},{place.utc_offset_h},{place.latitude},{place.longitude},1",
        "Date (MM/DD/YYYY),Time (HH:MM)," + ",".join(COLUMNS),
    ]
    for hour in range(8760):
        start = datetime(2001, 1, 1) + timedelta(hours=hour)
        # Months of a typical year come from different years.
        stamp = f"{start.month:02}/{start.day:02}/{1990 + start.month},{start.hour + 1:02}:00"
        lines.append(",".join([stamp, *(str(value) for value in row(start))]))
    return lines


@pytest.fixture(scope="session")
def write_tmy3() -> Write:
    """Write a made TMY3 file into a folder, under its station's usual name."""

    def write(folder: Path, place: Station, row: Row) -> Path:
        path = folder / f"{place.id}TYA.CSV"
        path.write_text("\n".join(tmy3_lines(place, row)) + "\n", encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def lines_of() -> Callable[[Station, Row], list[str]]:
    """The lines of a made TMY3 file."""
    return tmy3_lines


@pytest.fixture(scope="session")
def real_tmy3() -> Path:
    """The folder of the nine real files."""
    named = os.environ.get("GRASP_TMY3")
    folder = Path(named) if named else Path(__file__).parents[2].parent / "shared" / "nsrdb-tmy3"
    if not folder.is_dir():
        pytest.skip(f"no TMY3 files at {folder}; name their folder in GRASP_TMY3")
    return folder
