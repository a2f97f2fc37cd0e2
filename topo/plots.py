# SPDX-License-Identifier: Apache-2.0
"""A report's figures. Readable in grey and by colour-blind eyes: shape and line style say what colour says.

Colours are those of Okabe and Ito (2008), whose lightness differs as well.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, PercentFormatter
from numpy.typing import ArrayLike

from grasp.topo.drawing import draw_network
from grasp.topo.report import Report
from grasp.topo.topology import Topology

_LINES = (("#0072B2", "-", "o"), ("#E69F00", "--", "s"), ("#009E73", "-.", "^"))
_GREEN, _BROWN, _INK = "#009E73", "#D9C3A5", "#222222"

STYLE: Any = {
    "figure.constrained_layout.use": True,
    "figure.dpi": 150,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.edgecolor": "#888888",
    "axes.titlesize": 10,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 3.5,
    "svg.fonttype": "path",  # looks the same wherever it is opened
    "svg.hashsalt": "grasp",  # the same report gives the same bytes
}


def draw_all(report: Report, topology: Topology, connect_us: Sequence[int], folder: Path) -> dict[str, Path]:
    """Draw every figure into `folder`, as PNG and SVG; return the SVG files by name."""
    folder.mkdir(exist_ok=True)
    with matplotlib.rc_context(STYLE):
        figures = {
            "network": draw_network(report, topology),
            "energy": energy(report, topology),
            "load_share": load_share(report, topology),
            "load_map": load_map(report),
            "green_jobs": green_jobs(report),
        }
        if connect_us:
            figures["connect"] = connect_times(connect_us)
        for name, figure in figures.items():
            figure.savefig(folder / f"{name}.png", metadata={"Software": None})
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
    return {name: folder / f"{name}.svg" for name in figures}


def energy(report: Report, topology: Topology) -> Figure:
    """Green energy of each site by hour (the GRASP paper's figure 3)."""
    figure, panels = _panels(report, topology)
    table = np.asarray(report["energy_wh"]) / 1000
    for axes, members in panels:
        _lines(axes, report, members, table)
        axes.legend(loc="upper left")
    panels[0][0].set_ylim(top=1.35 * max(table.max(), 0.001))
    panels[0][0].set_ylabel("green energy in the hour, kWh")
    return figure


def load_share(report: Report, topology: Topology) -> Figure:
    """Share of the hour's jobs that each site served (the GRASP paper's figure 4), and what it should be."""
    figure, panels = _panels(report, topology)
    jobs = report["jobs_per_hour"]
    expected = np.asarray(report["jobs_per_site_expected"]) / jobs
    for axes, members in panels:
        for site in members:
            axes.plot(_hours(report), expected[:, site], color=_INK, linewidth=0.7, zorder=3)
        _lines(axes, report, members, np.asarray(report["jobs_per_site"]) / jobs)
        axes.plot([], [], color=_INK, linewidth=0.7, label="job after job")
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.legend(loc="upper left")
    panels[0][0].set_ylim(top=1.4 * max(expected.max(), 0.01))
    panels[0][0].set_ylabel("share of the hour's jobs")
    return figure


def load_map(report: Report) -> Figure:
    """Load share of all sites and hours at one glance."""
    share = np.asarray(report["jobs_per_site"]).T / report["jobs_per_hour"]
    hours, sites = _hours(report), report["sites"]
    figure = Figure(figsize=(9, 3.2))
    axes = figure.subplots()
    image = axes.imshow(share, aspect="auto", cmap="cividis", vmin=0, interpolation="nearest")
    axes.set_xticks(range(0, len(hours), 2), [str(hour % 24) for hour in hours[::2]])
    axes.set_yticks(range(len(sites)), [site.capitalize() for site in sites])
    axes.set_xlabel(_HOUR_LABEL)
    axes.grid(False)
    figure.colorbar(image, ax=axes, label="share of the hour's jobs", format=PercentFormatter(1))
    return figure


def green_jobs(report: Report) -> Figure:
    """Jobs of each hour that green energy served, against the most it could have served."""
    jobs, k = report["jobs_per_hour"], report["job_energy_wh"]
    powered = np.asarray(report["energy_wh"]) / k
    counts = np.asarray(report["jobs_per_site"])
    hours = _hours(report)
    green = np.minimum(counts, powered).sum(axis=1)
    limit = np.minimum(jobs, powered.sum(axis=1))
    even = np.minimum(jobs / counts.shape[1], powered).sum(axis=1)
    figure = Figure(figsize=(9, 3.2))
    axes = figure.subplots()
    axes.bar(hours, green, color=_GREEN, width=0.8, label="on green energy")
    axes.bar(
        hours,
        counts.sum(axis=1) - green,
        bottom=green,
        color=_BROWN,
        edgecolor="white",
        hatch="///",
        width=0.8,
        label="on other energy",
    )
    axes.plot(hours, limit, color=_INK, marker="_", markersize=11, linestyle="none", label="most possible")
    axes.plot(hours, even, color="#D55E00", marker="D", linestyle=":", linewidth=1, label="round robin")
    axes.set_ylabel("jobs")
    axes.set_ylim(0, jobs * 1.3)
    axes.legend(loc="upper center", ncols=4)
    _hour_axis(axes, report)
    return figure


def connect_times(connect_us: Sequence[int]) -> Figure:
    """How long the TCP handshakes took, as a distribution function."""
    values = np.sort(np.asarray(connect_us)) / 1000
    figure = Figure(figsize=(9, 2.8))
    axes = figure.subplots()
    axes.plot(values, np.arange(1, len(values) + 1) / len(values), color=_LINES[0][0])
    for share, name in ((0.5, "median"), (0.99, "99 %")):
        value = float(np.quantile(values, share))
        axes.plot([value], [share], "o", color=_INK)
        axes.annotate(f"{name}: {value:.2f} ms", (value, share), xytext=(8, -10), textcoords="offset points")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("SYN to SYN-ACK at the client, ms")
    axes.set_ylabel("share of connections")
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    return figure


_HOUR_LABEL = "hour of the day (UTC-5)"


def _hours(report: Report) -> range:
    return range(report["start_hour"], report["start_hour"] + report["hours"])


def _panels(report: Report, topology: Topology) -> tuple[Figure, list[tuple[Axes, list[int]]]]:
    """One panel for each switch, with the indices of its sites."""
    figure = Figure(figsize=(9, 3.2))
    row = figure.subplots(1, len(topology.switches), sharey=True, squeeze=False)[0]
    panels = []
    for axes, switch in zip(row, topology.switches, strict=True):
        axes.set_title(switch.label)
        _hour_axis(axes, report)
        panels.append((axes, [i for i, site in enumerate(topology.sites) if site.switch == switch]))
    return figure, panels


def _hour_axis(axes: Axes, report: Report) -> None:
    hours = _hours(report)
    step = max(len(hours) // 6, 1)
    axes.set_xticks(hours[::step], [str(hour % 24) for hour in hours[::step]])
    axes.set_xlabel(_HOUR_LABEL)
    axes.set_axisbelow(True)


def _lines(axes: Axes, report: Report, members: Sequence[int], table: ArrayLike) -> None:
    values = np.asarray(table)
    for site, (colour, style, marker) in zip(members, _LINES * len(members), strict=False):
        axes.plot(
            _hours(report),
            values[:, site],
            color=colour,
            linestyle=style,
            marker=marker,
            label=report["sites"][site].capitalize(),
        )
