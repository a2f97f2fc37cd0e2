# SPDX-License-Identifier: Apache-2.0
"""The price study's figures."""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from grasp.schedulers.price.power import LADDER
from grasp.topo.studies.output import Document, Plot
from grasp.topo.studies.price.measure import ELASTIC
from grasp.topo.year import style

PLOTS = (
    Plot(
        "ladder",
        "Savings by power model",
        "From servers that idle at most of their power to fully elastic ones (idle share, PUE), without and "
        "with the rule that no 95th percentile of traffic rises.",
    ),
    Plot(
        "distance",
        "Savings and how far requests may go",
        f"Above: cost over that of the closest cluster, {ELASTIC}. Below: how far requests went.",
    ),
    Plot(
        "prices",
        "Prices of the five days around the dearest hour",
        "One hub of each market. Sharp, short, and seldom in several markets at once.",
    ),
    Plot(
        "correlation",
        "Correlation of hourly prices",
        "Each mark is a pair of hubs, over all hours of the source.",
    ),
    Plot(
        "delay",
        "When routes follow prices late",
        f"Cost over that of routes without delay, {ELASTIC}. A day late, the daily profile is right again.",
    ),
    Plot(
        "signals",
        "Cost and carbon",
        f"What routing by price, by carbon intensity and by both saves, {ELASTIC}; the numbers are carbon "
        "prices in $/t.",
    ),
    Plot(
        "join",
        "Prices and green headroom",
        f"Plants beside the clusters; energy that they do not give is paid for, {ELASTIC}.",
    ),
)

_FREE, _BOUND = style.LINES[0], style.LINES[1]


def draw(found: Document, folder: Path) -> None:
    """Draw all figures into the folder."""
    with matplotlib.rc_context(style.STYLE):
        figures = (ladder, distance, prices, correlation, delay, signals, join)
        for plot, figure in zip(PLOTS, figures, strict=True):
            style.save(figure(found), folder / plot.name)


def ladder(found: Document) -> Figure:
    """Savings by power model, two bars each (the source's figure 15)."""
    figure = Figure(figsize=(9, 3.4))
    axes = figure.subplots()
    rows = found["ladder"]
    places = np.arange(len(rows))
    for offset, key, look, hatch, label in (
        (-0.2, "saved", _FREE, "", "no constraint"),
        (0.2, "saved_95_5", _BOUND, "///", "with 95/5"),
    ):
        bars = axes.bar(
            places + offset,
            [row[key] for row in rows],
            width=0.38,
            color=look[0],
            edgecolor="white",
            hatch=hatch,
            label=label,
        )
        axes.bar_label(bars, [f"{row[key]:.1%}" for row in rows], padding=2, fontsize=7)
    axes.set_xticks(places, [f"({row['idle']:.0%}, {row['pue']:.1f})" for row in rows])
    axes.set_xlabel("(idle power over peak power, PUE)")
    axes.set_ylabel("cost saved")
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.grid(False, axis="x")
    axes.margins(y=0.1)
    axes.legend(loc="upper left")
    return figure


def distance(found: Document) -> Figure:
    """Cost, mean and 99th percentile of the distance over the threshold (the source's figures 16 and 17)."""
    figure = Figure(figsize=(9, 5))
    above, below = figure.subplots(2, 1, sharex=True)
    rows, place = found["distances"], LADDER.index(ELASTIC)
    reach = [row["km"] for row in rows]
    for key, look, label in (("saved", _FREE, "no constraint"), ("saved_95_5", _BOUND, "with 95/5")):
        _line(above, reach, [1 - row[key][place] for row in rows], look, label)
    for key, look, label in (
        ("mean_km", _FREE, "mean"),
        ("mean_km_95_5", _BOUND, "mean, with 95/5"),
        ("p99_km", style.LINES[2], "99th percentile"),
        ("p99_km_95_5", style.LINES[3], "99th percentile, with 95/5"),
    ):
        _line(below, reach, [row[key] for row in rows], look, label)
    above.set_ylabel("cost, normalized")
    above.legend(loc="lower left")
    below.set(ylabel="client to cluster, km", xlabel="distance threshold, km")
    below.set_ylim(bottom=0)
    below.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def prices(found: Document) -> Figure:
    """Some days of prices, a hub of each market."""
    figure = Figure(figsize=(9, 3.2))
    axes = figure.subplots()
    series = found["series"]
    table = np.asarray(series["price"])
    seen: dict[str, int] = {}
    for index, row in enumerate(found["hubs"]):
        seen.setdefault(row["market"], index)
    for (market, index), look in zip(seen.items(), style.LINES, strict=False):
        axes.plot(
            np.arange(len(table)),
            table[:, index],
            color=look[0],
            linestyle=look[1],
            linewidth=1.2,
            label=f"{found['hubs'][index]['title']} ({market})",
        )
    axes.axhline(0, color=style.INK, linewidth=0.8)
    axes.set_xticks(range(0, len(table) + 1, 24))
    axes.set(xlabel=f"hours from {series['first_hour']}", ylabel="$/MWh")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def correlation(found: Document) -> Figure:
    """Correlation over distance, within markets and between them (the source's figure 8)."""
    figure = Figure(figsize=(9, 3.2))
    axes = figure.subplots()
    for same, look, label in ((True, _FREE, "same market"), (False, _BOUND, "two markets")):
        pairs = [pair for pair in found["correlations"] if pair["same_market"] == same]
        axes.plot(
            [pair["km"] for pair in pairs],
            [pair["r"] for pair in pairs],
            color=look[0],
            marker=look[2],
            linestyle="none",
            label=label,
        )
    axes.axhline(0, color=style.INK, linewidth=0.8)
    axes.set(xlabel="distance between the hubs, km", ylabel="correlation", ylim=(-0.25, 1))
    axes.set_xlim(left=0)
    axes.legend(loc="upper right")
    return figure


def delay(found: Document) -> Figure:
    """Cost over the delay (the source's figure 20)."""
    figure = Figure(figsize=(9, 3))
    axes = figure.subplots()
    rows = found["delays"]
    least = 1 - rows[0]["saved"]
    _line(axes, [row["hours"] for row in rows], [(1 - row["saved"]) / least - 1 for row in rows], _FREE, "")
    axes.axhline(0, color=style.INK, linewidth=0.8)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set(xlabel="delay, h", ylabel=f"cost above that at {rows[0]['hours']} h")
    return figure


def signals(found: Document) -> Figure:
    """Cost saved against carbon saved."""
    figure = Figure(figsize=(9, 3.8))
    axes = figure.subplots()
    for constrained, look, words in ((False, _FREE, ""), (True, _BOUND, ", with 95/5")):
        rows = [row for row in found["signals"] if row["constrained"] == constrained]
        both = [row for row in rows if row["signal"] == "both"]
        _points(axes, both, look, f"both{words}", look[1])
        for place, row in enumerate(both):
            axes.annotate(
                f"{row['carbon_price']:g}",
                (row["carbon_saved"], row["cost_saved"]),
                xytext=(3, 5 if place % 2 else -11),
                textcoords="offset points",
                fontsize=7,
                path_effects=style.HALO,
            )
        for signal, marker in (("price", "*"), ("carbon", "X")):
            mine = [row for row in rows if row["signal"] == signal]
            _points(axes, mine, (look[0], "none", marker), f"{signal}{words}", "none", size=8)
    axes.axhline(0, color=style.INK, linewidth=0.8)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1))
    axes.set(xlabel="carbon saved", ylabel="cost saved")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def join(found: Document) -> Figure:
    """Cost and green share of each rule."""
    figure = Figure(figsize=(9, 3.2))
    panels = figure.subplots(1, 2, sharey=True)
    rules = list(dict.fromkeys(row["rule"] for row in found["join"]))
    places = np.arange(len(rules))[::-1]
    for axes, key, title in zip(
        panels, ("cost_saved", "green_share"), ("cost saved", "energy from the plants"), strict=True
    ):
        for offset, constrained, look, hatch, label in (
            (0.2, False, _FREE, "", "no constraint"),
            (-0.2, True, _BOUND, "///", "with 95/5"),
        ):
            values = [row[key] for row in found["join"] if row["constrained"] == constrained]
            bars = axes.barh(
                places + offset,
                values,
                height=0.38,
                color=look[0],
                edgecolor="white",
                hatch=hatch,
                label=label,
            )
            axes.bar_label(bars, [f"{value:.1%}" for value in values], padding=2, fontsize=7)
        axes.xaxis.set_major_formatter(PercentFormatter(1))
        axes.set_xlabel(title)
        axes.grid(False, axis="y")
        axes.margins(x=0.2)
    panels[0].set_yticks(places, rules)
    panels[1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _points(
    axes: Axes, rows: list[dict[str, Any]], look: tuple[Any, ...], label: str, line: Any, size: float = 4
) -> None:
    axes.plot(
        [row["carbon_saved"] for row in rows],
        [row["cost_saved"] for row in rows],
        color=look[0],
        linestyle=line,
        linewidth=1,
        marker=look[2],
        markersize=size,
        label=label,
    )


def _line(axes: Axes, x: list[float], y: list[float], look: tuple[Any, ...], label: str) -> None:
    axes.plot(x, y, color=look[0], linestyle=look[1], marker=look[2], label=label)
