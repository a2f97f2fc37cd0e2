# SPDX-License-Identifier: Apache-2.0
"""A source's hours as pictures: each site's hours of the day by day of the year, or the hours of a day.

The colour map (cividis) rises evenly in lightness: it reads the same in grey and by colour-blind eyes.
"""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from grasp.telemetry.energy.sources import CLOCK_OFFSET_H, Energy
from grasp.telemetry.energy.weather import FloatArray

_STYLE: Any = {
    "figure.constrained_layout.use": True,
    "figure.dpi": 150,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "grasp",
}
_MONTHS = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_LABELS = {
    "green_energy": "green energy, Wh in the hour",
    "price": "price, $/MWh",
    "carbon_average": "average carbon intensity, gCO2/kWh",
    "carbon_marginal": "marginal carbon intensity, gCO2/kWh",
}
_CLOCK = "hour of the day (UTC-5)"


def draw(energy: Energy, folder: Path) -> list[str]:
    """Draw a figure for each parameter as PNG and SVG; return the files' names without suffix."""
    with matplotlib.rc_context(_STYLE):
        for name, table in energy.reports.items():
            whole_days = len(table) % 24 == 0 and len(table) > 24
            figure = _year(energy, table, name) if whole_days else _hours(energy, table, name)
            figure.savefig(folder / f"{name}.png", metadata={"Software": None})
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
    return list(energy.reports)


def _grid(sites: int) -> tuple[int, int]:
    columns = min(sites, 3)
    return -(-sites // columns), columns


def _year(energy: Energy, table: FloatArray, name: str) -> Figure:
    """Days from left to right, hours from bottom to top, a panel for each site."""
    rows, columns = _grid(len(energy.sites))
    figure = Figure(figsize=(3.3 * columns + 0.8, 1.9 * rows + 0.5))
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    local = np.roll(table, CLOCK_OFFSET_H, axis=0)
    image = None
    for index, axes in enumerate(panels.flat):
        if index >= len(energy.sites):
            axes.set_visible(False)
            continue
        days = local[:, index].reshape(-1, 24).T
        image = axes.imshow(
            days, aspect="auto", origin="lower", cmap="cividis", vmin=min(0, table.min()), vmax=table.max()
        )
        axes.set_title(energy.sites[index].capitalize(), fontsize=9)
        axes.set_yticks((0, 6, 12, 18))
        axes.set_xticks(_MONTHS[::3], ("Jan", "Apr", "Jul", "Oct"))
    figure.supylabel(_CLOCK, fontsize=9)
    if image is not None:
        figure.colorbar(image, ax=panels, label=_LABELS.get(name, name))
    return figure


def _hours(energy: Energy, table: FloatArray, name: str) -> Figure:
    """The hours of a day, a panel for each site."""
    rows, columns = _grid(len(energy.sites))
    figure = Figure(figsize=(3.0 * columns + 0.4, 1.7 * rows + 0.5))
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    clock = (energy.hours.astype(int) + CLOCK_OFFSET_H) % 24
    ticks = range(0, len(clock), 6)
    for index, axes in enumerate(panels.flat):
        if index >= len(energy.sites):
            axes.set_visible(False)
            continue
        axes.bar(np.arange(len(clock)), table[:, index], color="#0072B2", width=0.85)
        axes.set_title(energy.sites[index].capitalize(), fontsize=9)
        axes.set_xticks(ticks, [str(clock[tick]) for tick in ticks])
    figure.supxlabel(_CLOCK, fontsize=9)
    figure.supylabel(_LABELS.get(name, name), fontsize=9)
    return figure
