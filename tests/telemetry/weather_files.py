# SPDX-License-Identifier: Apache-2.0
"""Small weather files of each kind, whose temperature names the hour that a row stands for."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from grasp.telemetry.energy.stations import Station


def mark(start: datetime) -> float:
    """A temperature that names an hour: no two hours of a year share it. Months 1 to 12 fit its limits."""
    return round(start.month + start.day / 100 + start.hour / 10_000, 4)


def hours(leap: bool = False) -> Iterator[datetime]:
    """The beginnings of a year's hours, local."""
    first = datetime(2000 if leap else 2001, 1, 1)
    for hour in range(8784 if leap else 8760):
        yield first + timedelta(hours=hour)


def epw(place: Station, leap: bool = False, minute: int = 60) -> list[str]:
    """An EPW file: eight header lines, hours named by their end."""
    position = f"{place.latitude},{place.longitude},{place.utc_offset_h:.1f}"
    lines = [
        f"LOCATION,{place.title},{place.state},USA,TMY3,{place.id},{position},{place.altitude}",
        "DESIGN CONDITIONS,0",
        "TYPICAL/EXTREME PERIODS,0",
        "GROUND TEMPERATURES,0",
        "HOLIDAYS/DAYLIGHT SAVINGS,No,0,0,0",
        "COMMENTS 1,made",
        "COMMENTS 2,made",
        "DATA PERIODS,1,1,Data,Sunday,1/ 1,12/31",
    ]
    for start in hours(leap):
        row = [str(1990 + start.month), *map(str, (start.month, start.day, start.hour + 1, minute)), "?9"]
        row += ["0"] * 29
        row[6], row[13], row[14], row[15], row[21] = f"{mark(start)}", "100", "50", "40", "3.5"
        lines.append(",".join(row))
    return lines


def psm(
    place: Station, leap: bool = False, in_utc: bool = False, minutes: tuple[int, ...] = (30,)
) -> list[str]:
    """A PSM file: three header lines; rows at these minutes, in local standard time or UTC.

    If not all rows are at minute 30, temperatures do not name the hour but rise evenly through the day.
    """
    position = f"{place.latitude},{place.longitude},{0 if in_utc else place.utc_offset_h}"
    lines = [
        "Source,Location ID,City,State,Country,Latitude,Longitude,Time Zone,Elevation,Local Time Zone",
        f"NSRDB,{place.id},-,-,-,{position},{place.altitude:.0f},{place.utc_offset_h}",
        "Year,Month,Day,Hour,Minute,GHI,DNI,DHI,Temperature,Wind Speed,Fill Flag",
    ]
    for start in hours(leap):
        for minute in minutes:
            clock = f"{start.year},{start.month},{start.day},{start.hour},{minute}"
            temperature = mark(start) if minutes == (30,) else start.hour + minute / 60
            lines.append(f"{clock},100,50,40,{temperature},3.5,{int(start.hour == 3)}")
    return lines


def pvgis(place: Station) -> dict[str, Any]:
    """What PVGIS answers for a typical year: hours in UTC."""
    return {
        "inputs": {
            "location": {
                "latitude": place.latitude,
                "longitude": place.longitude,
                "elevation": place.altitude,
            }
        },
        "outputs": {
            "months_selected": [{"month": month, "year": 2000 + month} for month in range(1, 13)],
            "tmy_hourly": [
                {
                    "time(UTC)": start.replace(year=2000 + start.month).strftime("%Y%m%d:%H00"),
                    "T2m": mark(start),
                    "G(h)": 100.0,
                    "Gb(n)": 50.0,
                    "Gd(h)": 40.0,
                    "WS10m": 3.5,
                }
                for start in hours()
            ],
        },
        "meta": {"inputs": {}},
    }


def write(path: Path, content: list[str] | dict[str, Any]) -> Path:
    """Write a file's lines or JSON."""
    text = json.dumps(content) if isinstance(content, dict) else "\n".join(content) + "\n"
    path.write_text(text, encoding="utf-8")
    return path
