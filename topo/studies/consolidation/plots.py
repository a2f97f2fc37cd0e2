# SPDX-License-Identifier: Apache-2.0
"""The consolidation study's figures."""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from grasp.schedulers.consolidation.hosting import CAUSES, STATES
from grasp.topo.studies.output import Document, Plot
from grasp.topo.year import style

PLOTS = (
    Plot(
        "power",
        "A day of power",
        "Power over the day, and the least that could carry the load at each instant; below, the load.",
    ),
    Plot(
        "servers",
        "Who is awake",
        "Each server's state over the day, the most efficient below. Sudden load and failing servers are "
        "other runs of the same day.",
    ),
    Plot(
        "energy",
        "Energy and violations",
        "Above: energy of each scenario; ticks: just enough servers at each instant. Below: late or lost "
        "requests by cause, the bars in the same order.",
    ),
    Plot(
        "thresholds",
        "Energy against violations",
        "Each point is a day with another idle share from which a server may take more.",
    ),
    Plot(
        "attacks",
        "What an attacker can do",
        "Pulses wake servers and leave them to go to sleep again; sessions that are held keep servers from "
        "going to sleep.",
    ),
)

_Row = dict[str, Any]
_STATE_COLOURS = ("#009E73", "#56B4E9", "#e8e8e8", "#E69F00", "#222222")
_CAUSE_LOOKS = (("#222222", ""), ("#E69F00", "///"), ("#56B4E9", "..."), ("#CC79A7", "xxx"))


def draw(found: Document, folder: Path) -> None:
    """Draw all figures into the folder."""
    figures = (power, servers, energy, thresholds, attacks)
    with matplotlib.rc_context(style.STYLE):
        for plot, figure in zip(PLOTS, figures, strict=True):
            style.save(figure(found), folder / plot.name)


def _of(found: Document, scenario: str, policy: str) -> _Row:
    runs: list[_Row] = found["runs"]
    (row,) = [row for row in runs if (row["scenario"], row["policy"]) == (scenario, policy)]
    return row


def _policies(found: Document) -> list[str]:
    return ["all on", *found["settings"]["sleeps"]]


def power(found: Document) -> Figure:
    """Power of all policies over the day, and the load."""
    figure = Figure(figsize=(9, 4.6))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    for policy, (colour, line, marker) in zip(_policies(found), style.LINES, strict=False):
        series = _of(found, "day", policy)["series"]
        above.plot(
            series["hours"],
            np.array(series["power_w"]) / 1000,
            color=colour,
            linestyle=line,
            marker=marker,
            markevery=24,
            linewidth=1.2,
            label=policy,
        )
    series = _of(found, "day", found["settings"]["sleeps"][0])["series"]
    above.step(
        series["hours"],
        np.array(series["just_enough_w"]) / 1000,
        color=style.INK,
        linewidth=0.8,
        label="just enough",
    )
    above.set(ylabel="power, kW", ylim=(0, None))
    above.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    below.fill_between(series["hours"], series["load"], color="#999999", alpha=0.5, linewidth=0)
    below.set(ylabel="load,\nunits/s", ylim=(0, None))
    _hours(below, series["hours"])
    return figure


def _hours(axes: Any, hours: list[float]) -> None:
    axes.set_xlim(0, hours[-1])
    step = next(step for step in (0.1, 0.25, 0.5, 1, 2, 3, 6, 12, 24) if hours[-1] / step <= 14)
    axes.set_xticks(np.arange(0, hours[-1] + 0.01, step))
    axes.set_xlabel("hour")


def servers(found: Document) -> Figure:
    """States of all servers in three scenarios."""
    policy = found["settings"]["sleeps"][0]
    figure = Figure(figsize=(9, 6))
    panels = figure.subplots(3, 1, sharex=True)
    for axes, scenario in zip(panels, ("day", "sudden load", "failing servers"), strict=True):
        series = _of(found, scenario, policy)["series"]
        states = np.array(series["states"]).T
        axes.imshow(
            states,
            aspect="auto",
            origin="lower",
            interpolation="nearest",
            cmap=ListedColormap(_STATE_COLOURS),
            vmin=-0.5,
            vmax=len(STATES) - 0.5,
            extent=(0, series["hours"][-1], 0.5, len(states) + 0.5),
        )
        axes.set(title=f"{scenario}, {policy}", ylabel="server")
        axes.set_yticks(range(1, len(states) + 1, max(1, len(states) // 6)))
        axes.grid(False)
    _hours(panels[-1], series["hours"])
    patches = [
        Patch(facecolor=colour, edgecolor="#888888", label=state.value)
        for colour, state in zip(_STATE_COLOURS, STATES, strict=True)
    ]
    figure.legend(handles=patches, loc="outside right center")
    return figure


def energy(found: Document) -> Figure:
    """Energy and violations of each scenario and policy."""
    names = _policies(found)
    scenarios = list(dict.fromkeys(row["scenario"] for row in found["runs"]))
    figure = Figure(figsize=(9, 5))
    above, below = figure.subplots(2, 1, sharex=True)
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        rows = [_of(found, scenario, name) for scenario in scenarios]
        x = np.arange(len(scenarios)) + (number - (len(names) - 1) / 2) * width
        colour = style.LINES[number % len(style.LINES)][0]
        above.bar(x, [row["energy_wh"] / 1000 for row in rows], width * 0.9, color=colour, label=name)
        if number:
            least = [row["just_enough_wh"] / 1000 for row in rows]
            above.plot(x, least, linestyle="none", marker="_", markersize=9, color=style.INK)
        bottom = np.zeros(len(rows))
        for cause, (fill, hatch) in zip(CAUSES, _CAUSE_LOOKS, strict=True):
            part = np.array([row["causes"][cause] / row["requests"] for row in rows])
            label = cause if number == 0 else None
            below.bar(
                x, part, width * 0.9, bottom=bottom, color=fill, hatch=hatch, edgecolor="white", label=label
            )
            bottom += part
    above.set_ylabel("energy, kWh")
    above.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    below.set_ylabel("late or lost")
    below.yaxis.set_major_formatter(PercentFormatter(1))
    below.legend(loc="center left", bbox_to_anchor=(1, 0.5), title="cause")
    below.set_xticks(range(len(scenarios)), scenarios)
    for axes in (above, below):
        axes.grid(visible=False, axis="x")
    return figure


def thresholds(found: Document) -> Figure:
    """Energy against violations, for several idle thresholds."""
    rows = found["idle_thresholds"]
    figure = Figure(figsize=(9, 3.6))
    axes = figure.subplots()
    axes.plot(
        [row["energy_wh"] / 1000 for row in rows],
        [row["violations"] for row in rows],
        color=style.LINES[0][0],
        marker="o",
        label=f"consolidation, {rows[0]['policy']}, by idle share",
    )
    for row in rows:
        axes.annotate(
            f"{row['idle']:g}",
            (row["energy_wh"] / 1000, row["violations"]),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            path_effects=style.HALO,
        )
    reference = _of(found, "day", "all on")
    axes.plot(
        reference["energy_wh"] / 1000, reference["violations"], "s", color=style.LINES[1][0], label="all on"
    )
    axes.axvline(rows[0]["just_enough_wh"] / 1000, color=style.INK, linewidth=0.8, label="just enough")
    axes.set(xlabel="energy, kWh", ylabel="late requests", ylim=(0, None), xlim=(0, None))
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def attacks(found: Document) -> Figure:
    """Power over the day with and without each attack."""
    policy = found["settings"]["sleeps"][0]
    figure = Figure(figsize=(9, 4.6))
    panels = figure.subplots(2, 1, sharex=True, sharey=True)
    quiet = _of(found, "day", policy)["series"]
    for axes, scenario in zip(panels, ("pulses", "held sessions"), strict=True):
        series = _of(found, scenario, policy)["series"]
        for name, values, (colour, line, _) in (
            ("all on, attacked", _of(found, scenario, "all on")["series"], style.LINES[0]),
            (f"{policy}, attacked", series, style.LINES[1]),
            (f"{policy}, no attack", quiet, style.LINES[2]),
        ):
            axes.plot(
                values["hours"],
                np.array(values["power_w"]) / 1000,
                color=colour,
                linestyle=line,
                linewidth=1.1,
                label=name,
            )
        axes.set(title=scenario, ylabel="power, kW", ylim=(0, None))
    panels[0].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    _hours(panels[1], quiet["hours"])
    return figure
