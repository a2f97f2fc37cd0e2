# SPDX-License-Identifier: Apache-2.0
"""The replica study's figures."""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from grasp.topo.studies.output import Document, Plot
from grasp.topo.year import style

PLOTS = (
    Plot(
        "gain",
        "Gain over random assignment",
        "Mean wait of random assignment over that of replicas, without delay; bars: 95 % confidence. "
        "Horizontal lines: the published gains. Left: from empty queues on. Right: after the warm-up, "
        "with the limit of many servers as thin lines, where it says something of so many.",
    ),
    Plot(
        "waits",
        "Mean wait and its tail",
        "After the warm-up, without delay, in mean service times. Not shown: no job waited.",
    ),
    Plot(
        "delay",
        "When the signal takes its time",
        "Above: gain in mean wait over random assignment; below 1, replicas do not pay. "
        "Below: load on the servers, duplicates included; at 1 they are overloaded.",
    ),
    Plot(
        "join",
        "Replicas and green energy",
        "Jobs on green energy against the mean wait, by replicas. Towards the upper left is better.",
    ),
)

_Cell = dict[str, Any]


def draw(found: Document, folder: Path) -> None:
    """Draw all figures into the folder."""
    with matplotlib.rc_context(style.STYLE):
        for plot, figure in zip(PLOTS, (gain, waits, delay, join), strict=True):
            style.save(figure(found), folder / plot.name)


def gain(found: Document) -> Figure:
    """Gain over the load, with the published values."""
    figure = Figure(figsize=(9, 3.8))
    panels = figure.subplots(1, 2, sharey=True)
    for axes, window, title in zip(
        panels, ("from_empty", "after_warmup"), ("from empty queues", "after the warm-up"), strict=True
    ):
        for d, look in zip(found["settings"]["d"], style.LINES * len(found["gains"]), strict=False):
            mine = [cell for cell in found["gains"] if cell["d"] == d]
            loads = [cell["load"] for cell in mine]
            _line(axes, loads, mine, window, look, f"{d} replicas", f"{window}_ci")
            for limit in found["limits"]:
                if window == "after_warmup" and limit["d"] == d:
                    axes.plot(limit["loads"], limit["gains"], color=look[0], linewidth=0.7)
        for row in found["published"]:
            axes.axhline(row["published"], color=style.INK, linewidth=0.8, linestyle=(0, (1, 2)))
        axes.set(title=title, xlabel="load", yscale="log")
        axes.yaxis.set_major_formatter("{x:g}")
    for row in found["published"]:  # beside the panels, where no line runs through the words
        panels[1].annotate(
            f"published for {row['d']}: {row['published']:g}",
            (1, row["published"]),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            fontsize=7,
            va="center",
        )
    panels[0].set_ylabel("gain in mean wait")
    figure.legend(*panels[1].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return figure


def waits(found: Document) -> Figure:
    """Mean and 99 % quantile of the wait over the load, for all policies."""
    figure = Figure(figsize=(9, 3.8))
    panels = figure.subplots(1, 2, sharey=True)
    names = list(dict.fromkeys((row["policy"], row["d"]) for row in found["waits"]))
    for axes, key, title in zip(panels, ("mean", "p99"), ("mean", "99 % of the jobs wait less"), strict=True):
        for (policy, d), look in zip(names, style.LINES + _MORE, strict=False):
            rows = [row for row in found["waits"] if (row["policy"], row["d"]) == (policy, d)]
            cells = [row["after_warmup"] for row in rows]
            seen = [index for index, cell in enumerate(cells) if cell[key] > 1e-4]
            label = policy if d == 1 else f"{policy} ({d})"
            _line(axes, [rows[i]["load"] for i in seen], [cells[i] for i in seen], key, look, label)
        axes.set(title=title, xlabel="load", yscale="log")
        axes.yaxis.set_major_formatter("{x:g}")
    panels[0].set_ylabel("wait, mean service times")
    panels[0].set_ylim(bottom=1e-4)
    panels[1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


_MORE = (("#E69F00", "-", "X"), ("#999999", "--", "*"), ("#7F3C8D", "-.", "h"), ("#A5AA99", ":", "<"))


def delay(found: Document) -> Figure:
    """Gain and work done over the delay, a column for each load."""
    loads = found["settings"]["delay_loads"]
    figure = Figure(figsize=(3 * max(len(loads), 2) + 1, 4.8))
    grid = figure.subplots(2, len(loads), sharex=True, sharey="row", squeeze=False)
    lasts = [value for value in found["settings"]["delays"] if value > 0]
    for column, load in enumerate(loads):
        for d, look in zip(found["settings"]["d"], style.LINES * 10, strict=False):
            mine = [cell for cell in found["delays"] if (cell["d"], cell["load"]) == (d, load)]
            delays = [cell["delay"] for cell in mine]
            _line(grid[0, column], delays, mine, "gain", look, f"{d} replicas", "gain_ci")
            _line(grid[1, column], delays, mine, "work_done", look, f"{d} replicas")
        for axes in grid[:, column]:
            axes.axhline(1, color=style.INK, linewidth=0.8)
            if lasts:
                axes.set_xscale("symlog", linthresh=lasts[0], linscale=0.5)
            axes.set_xticks(found["settings"]["delays"], _labels(found["settings"]["delays"]))
            axes.minorticks_off()
        grid[0, column].set(title=f"load {load:g}", yscale="log")
        grid[0, column].yaxis.set_major_formatter("{x:g}")
        grid[1, column].set_xlabel("delay, mean service times")
    grid[0, 0].set_ylabel("gain in mean wait")
    grid[1, 0].set_ylabel("load with duplicates")
    grid[0, -1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _labels(delays: list[float]) -> list[str]:
    """Label delays on a logarithmic axis, but none that is close to the one before it."""
    labels, last = [], 0.0
    for value in delays:
        far = value == 0 or value > 1.6 * last
        labels.append((f"{value:g}".removeprefix("0") or "0") if far else "")
        last = value if far else last
    return labels


def join(found: Document) -> Figure:
    """Green ratio against mean wait."""
    figure = Figure(figsize=(9, 3.8))
    axes = figure.subplots()
    rows = found["join"]["rows"]
    names = list(dict.fromkeys(row["policy"] for row in rows))
    for name, (colour, line, marker) in zip(names, style.LINES + _MORE, strict=False):
        mine = [row for row in rows if row["policy"] == name]
        axes.errorbar(
            [row["mean_wait"] for row in mine],
            [row["green_ratio"] for row in mine],
            xerr=_bars(mine, "mean_wait_ci"),
            yerr=_bars(mine, "green_ratio_ci"),
            color=colour,
            linestyle=line,
            linewidth=0.8,
            marker=marker,
            elinewidth=0.6,
            label=name,
        )
        for row in mine:
            if row["d"] > 1:
                axes.annotate(
                    str(row["d"]),
                    (row["mean_wait"], row["green_ratio"]),
                    xytext=(4, 4),
                    textcoords="offset points",
                    fontsize=7,
                    path_effects=style.HALO,
                )
    axes.axhline(found["join"]["green_ratio_limit"], color=style.INK, linewidth=0.8, linestyle=(0, (1, 2)))
    axes.annotate(
        "most possible",
        (0, found["join"]["green_ratio_limit"]),
        xycoords=("axes fraction", "data"),
        xytext=(4, -10),
        textcoords="offset points",
    )
    axes.set(xscale="log", xlabel="mean wait, mean service times", ylabel="jobs on green energy")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), title="replica kept")
    return figure


def _bars(rows: list[_Cell], key: str) -> list[float] | None:
    values = [row[key] for row in rows]
    return None if None in values else values


def _line(
    axes: Axes,
    x: list[float],
    cells: list[_Cell],
    key: str,
    look: tuple[Any, ...],
    label: str,
    half: str = "",
) -> None:
    colour, line, marker = look
    axes.errorbar(
        x,
        np.array([cell[key] for cell in cells], dtype=np.float64),  # none becomes not a number
        yerr=_bars(cells, half) if half else None,
        color=colour,
        linestyle=line,
        marker=marker,
        elinewidth=0.8,
        label=label,
    )
