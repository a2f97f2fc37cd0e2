# SPDX-License-Identifier: Apache-2.0
"""A sweep's curves: green ratio over the job energy, or over the number of jobs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from grasp.topo.year import style
from grasp.topo.year.sweep import Row, Sweep

Axis = Literal["k", "jobs_per_hour"]

_LABELS = {"k": "energy of a job (k), Wh", "jobs_per_hour": "jobs an hour"}
_PANELS = 3


def draw(sweep: Sweep, rows: Sequence[Row], folder: Path) -> list[str]:
    """Draw a figure for each thing that varies; return the files' names without suffix."""
    axes: list[tuple[Axis, Axis, tuple[float, ...], tuple[float, ...]]] = [
        ("k", "jobs_per_hour", sweep.job_wh, sweep.jobs),
        ("jobs_per_hour", "k", sweep.jobs, sweep.job_wh),
    ]
    names = []
    with matplotlib.rc_context(style.STYLE):
        for along, fixed, values, others in axes:
            if len(values) > 1:
                chosen = [others[round(i * (len(others) - 1) / (_PANELS - 1))] for i in range(_PANELS)]
                figure = _panels(sweep.schedulers, rows, along, fixed, sorted(set(chosen)))
                names.append(f"green_ratio_by_{along}")
                style.save(figure, folder / names[-1])
    return names


def _panels(
    schedulers: Sequence[str], rows: Sequence[Row], along: Axis, fixed: Axis, values: Sequence[float]
) -> Figure:
    figure = Figure(figsize=(3.2 * len(values) + 2.2, 3.4))
    panels = figure.subplots(1, len(values), sharey=True, squeeze=False)[0]
    for axes, value in zip(panels, values, strict=True):
        here = [row for row in rows if row[fixed] == value]
        for index, name in enumerate(schedulers):
            curve(axes, [row for row in here if row["scheduler"] == name], along, name, index)
        axes.set_title(f"{value:g} jobs an hour" if fixed == "jobs_per_hour" else f"k = {value:g} Wh")
        axes.set_xlabel(_LABELS[along])
        axes.yaxis.set_major_formatter(PercentFormatter(1))
    panels[0].set_ylabel("jobs on green energy")
    panels[0].set_ylim(bottom=0)
    panels[-1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def curve(axes: Axes, rows: Sequence[Row], along: Axis, name: str, index: int) -> None:
    """Draw the mean over the sources, and a band from the least to the largest if there are several."""
    table: dict[float, list[float]] = {}
    for row in rows:
        table.setdefault(row[along], []).append(row["green_ratio"])
    x = np.array(list(table))
    y = np.array(list(table.values()))
    colour, line, marker = style.LINES[index % len(style.LINES)]
    step = max(len(x) // 10, 1)
    axes.plot(
        x,
        y.mean(axis=1),
        color=colour,
        linestyle=line,
        marker=marker,
        markevery=(3 * index % step, step),  # curves that coincide, such as green and limit, both show
        label=name,
    )
    if y.shape[1] > 1:
        axes.fill_between(x, y.min(axis=1), y.max(axis=1), color=colour, alpha=0.15, linewidth=0)
