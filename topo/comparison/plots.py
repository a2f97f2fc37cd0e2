# SPDX-License-Identifier: Apache-2.0
"""The comparison's drawings. Readable in grey and by colour-blind eyes: line style says what colour says."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, PercentFormatter

from grasp.topo.comparison.report import Comparison
from grasp.topo.comparison.trial import FAILING
from grasp.topo.plots import STYLE

_SIDES = (("#0072B2", "-", "o", ""), ("#D55E00", "--", "s", "///"), ("#009E73", "-.", "^", "..."))
_COSTS = (
    ("job_packets", "job packets\nat the controller", ""),
    ("segments", "packets to and\nfrom the controller", ""),
    ("bytes", "bytes to and\nfrom the controller", "kB"),
    ("controller_cpu_s", "controller's\nprocessor time", "s"),
    ("switches_cpu_s", "switches'\nprocessor time", "s"),
)
_CHANGES = (
    ("follow_ms", "until a new forecast\nis followed", "ms"),
    ("last_after_death_ms", "last job to\na dead site", "ms"),
    ("orphans_connected", "new connections\nwithout a controller", "%"),
    ("running_survived", "connections that\nsurvive its death", "%"),
)


def draw_all(result: Comparison, folder: Path) -> dict[str, Path]:
    """Draw every figure into `folder`, as PNG and SVG; return the SVG files by name."""
    folder.mkdir(exist_ok=True)
    with matplotlib.rc_context(STYLE):
        figures = {
            "first_packets": first_packets(result),
            "rates": rates(result),
            "costs": bars(result, _COSTS),
            "changes": bars(result, _CHANGES),
        }
        for name, figure in figures.items():
            figure.savefig(folder / f"{name}.png", metadata={"Software": None})
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
    return {name: folder / f"{name}.svg" for name in figures}


def first_packets(result: Comparison) -> Figure:
    """What first packets waited for, and later ones of the same connections, as distribution functions."""
    figure = Figure(figsize=(9, 3.8))
    axes = figure.subplots()
    for (name, trials), (colour, line, _, _) in zip(result["sides"].items(), _SIDES, strict=False):
        for key, label, width in (("first_us", "first packets", 2.2), ("later_us", "later packets", 0.8)):
            values = np.sort([value for trial in trials for value in trial[key]]) / 1000
            share = np.arange(1, len(values) + 1) / max(len(values), 1)
            axes.plot(values, share, color=colour, linestyle=line, linewidth=width, label=f"{name}, {label}")
    _logarithmic(axes)
    axes.set_xlabel("until the answer is at the client's interface, ms")
    axes.set_ylabel("share of packets")
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    # Above, where no curve is: a column for each side.
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(result["sides"]))
    return figure


def rates(result: Comparison) -> Figure:
    """What share of new connections failed, and how long the others took, by their rate."""
    figure = Figure(figsize=(9, 3.6))
    left, right = figure.subplots(1, 2)
    for (name, trials), (colour, line, marker, _) in zip(result["sides"].items(), _SIDES, strict=False):
        for number, trial in enumerate(trials):
            steps = sorted((step for step in trial["steps"] if step["sent"]), key=lambda step: step["sent"])
            style: Mapping[str, Any] = {
                "color": colour,
                "linestyle": line,
                "linewidth": 0.8,
                "marker": marker,
                "label": "" if number else name,
            }
            left.plot([step["sent"] for step in steps], [step["failed"] for step in steps], **style)
            answered = [step for step in steps if step["p50_us"] is not None]
            right.plot(
                [step["sent"] for step in answered], [step["p50_us"] / 1000 for step in answered], **style
            )
    left.axhline(FAILING, color="#888888", linewidth=0.8)
    left.set_yscale("symlog", linthresh=FAILING, linscale=0.4)
    left.set_ylim(-0.001, 1.2)
    left.set_yticks([0, 0.01, 0.1, 1], ["0 %", "1 %", "10 %", "100 %"])
    left.set_ylabel("unanswered")
    if np.isfinite(right.dataLim.minposy):
        right.set_yscale("log")
    right.set_ylabel("until the SYN-ACK, median, ms")
    right.yaxis.set_major_formatter("{x:g}")
    for axes in (left, right):
        _logarithmic(axes)
        axes.set_xlabel("new connections in a second")
        axes.legend()
    return figure


def bars(result: Comparison, wanted: Sequence[tuple[str, str, str]]) -> Figure:
    """Medians of some figures side by side, with the rounds' spread."""
    figure = Figure(figsize=(9, 2.9))
    panels = figure.subplots(1, len(wanted), squeeze=False)[0]
    for axes, (key, title, unit) in zip(panels, wanted, strict=True):
        found = result["figures"][key]
        heights = [side["median"] or 0.0 for side in found.values()]
        highest = max([side["high"] or 0.0 for side in found.values()] + [1e-9])
        for place, (side, height, (colour, _, _, hatch)) in enumerate(
            zip(found.values(), heights, _SIDES, strict=False)
        ):
            axes.bar(place, height, color=colour, hatch=hatch, edgecolor="white", width=0.7)
            if side["median"] is not None:
                spread = [[height - side["low"]], [side["high"] - height]]
                axes.errorbar(place, height, yerr=spread, color="#222222", capsize=3, linewidth=1)
            top = side["high"] if side["high"] is not None else 0.0
            text = (
                "none" if side["median"] is None else f"{height:,.3g}" if height < 1000 else f"{height:,.0f}"
            )
            axes.annotate(text, (place, top), xytext=(0, 3), textcoords="offset points", ha="center")
        axes.set_title(title, fontsize=8.5)
        axes.set_ylim(0, 1.25 * highest)
        axes.set_xticks(range(len(found)), [name.replace(" on ", "\non ") for name in found], fontsize=8)
        axes.set_ylabel(unit)
        axes.grid(visible=False, axis="x")
        axes.set_axisbelow(True)
    return figure


def _logarithmic(axes: Axes) -> None:
    """Make the horizontal axis logarithmic, with plain numbers, if there is anything to show."""
    if np.isfinite(axes.dataLim.minposx):
        axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
