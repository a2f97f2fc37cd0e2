# SPDX-License-Identifier: Apache-2.0
"""An energy source as a table in the terminal, as JSON and as CSV."""

import csv
import io
import json
from typing import TypedDict

import numpy as np
from rich import box
from rich.table import Table

from grasp.console import console
from grasp.telemetry.energy.sources import Energy
from grasp.telemetry.energy.table import COLUMNS
from grasp.telemetry.energy.weather import Quality

UNITS = {"price": "$/MWh", "carbon_average": "gCO2/kWh", "carbon_marginal": "gCO2/kWh"}


class SiteSummary(TypedDict):
    """One site: its energy in Wh, how many hours have any, values' quality, and means of other parameters."""

    site: str
    energy_wh: float
    largest_hour_wh: float
    hours_with_energy: int
    filled: int
    clipped: int
    means: dict[str, float]


def summary(energy: Energy) -> list[SiteSummary]:
    """Summarise each site."""
    return [
        SiteSummary(
            site=site,
            energy_wh=round(float(energy.wh[:, index].sum()), 3),
            largest_hour_wh=round(float(energy.wh[:, index].max()), 3),
            hours_with_energy=int((energy.wh[:, index] > 0).sum()),
            filled=int(((energy.quality[:, index] & Quality.FILLED) > 0).sum()),
            clipped=int(((energy.quality[:, index] & Quality.CLIPPED) > 0).sum()),
            means={name: round(float(values[:, index].mean()), 3) for name, values in energy.others.items()},
        )
        for index, site in enumerate(energy.sites)
    ]


def as_json(energy: Energy) -> str:
    """The summary of every site, and where the data are from."""
    document = {
        "energy_source": energy.description,
        "hours": len(energy.wh),
        "first_hour": f"{energy.hours[0]}Z",
        "sites": summary(energy),
    }
    return json.dumps(document, indent=1) + "\n"


def as_csv(energy: Energy) -> str:
    """Every hour of every site, with the columns that the reader of one's own files knows."""
    parameters = energy.reports
    columns = {column: parameter for column, (parameter, _, _) in COLUMNS.items() if parameter in parameters}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["hour_start", "site", *columns])
    for row, hour in enumerate(energy.hours):
        for index, site in enumerate(energy.sites):
            values = [float(parameters[parameter][row, index]) for parameter in columns.values()]
            writer.writerow([f"{hour}:00Z", site, *values])
    return text.getvalue()


def show(energy: Energy) -> None:
    """Print a table with one line for each site."""
    terminal = console()
    last = energy.hours[-1] + np.timedelta64(1, "h")
    terminal.print(f"{energy.description}: {len(energy.wh)} hours, {energy.hours[0]}Z to {last}Z")
    table = Table(box=box.SIMPLE, header_style="bold", pad_edge=False)
    table.add_column("site")
    for heading in ("energy, kWh", "largest hour, Wh", "hours with energy", "filled", "clipped"):
        table.add_column(heading, justify="right")
    for name in energy.others:
        table.add_column(f"mean {name.replace('_', ' ')}, {UNITS[name]}", justify="right")
    for site in summary(energy):
        table.add_row(
            site["site"],
            f"{site['energy_wh'] / 1000:,.1f}",
            f"{site['largest_hour_wh']:,.0f}",
            str(site["hours_with_energy"]),
            str(site["filled"]),
            str(site["clipped"]),
            *(f"{mean:,.1f}" for mean in site["means"].values()),
        )
    terminal.print(table)
