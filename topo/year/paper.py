# SPDX-License-Identifier: Apache-2.0
"""The GRASP paper's figures 3, 4, 6 and 7, drawn from any energy source, with what was found in a line.

Source: Grigoryan et al., "GRASP: a GReen energy Aware SDN Platform", arXiv:1804.09542.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill as wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from grasp.schedulers.base import FloatArray
from grasp.schedulers.registry import scheduler
from grasp.schedulers.simulate import green_ratios
from grasp.telemetry.energy.sources import CLOCK_OFFSET_H, Energy
from grasp.telemetry.energy.stations import STATIONS
from grasp.topo.year import style

PUBLISHED_DAY = "06-21"
PUBLISHED_DAY_WH = (65076, 49143, 112154, 117034, 55066, 114682, 81270, 115058, 142283)
PUBLISHED_JOBS = 900

_STATES = {"NY": "New York", "FL": "Florida", "CA": "California"}
_SITES_A_PANEL = 3
_CLOCK = "hour of the day (UTC-5)"


@dataclass(frozen=True)
class Finding:
    """A figure's name and drawing, what the paper reports, what was found, and the numbers behind that."""

    name: str
    title: str
    figure: Figure
    paper: str
    found: str
    numbers: dict[str, object]


def energy_by_hour(day: Energy) -> Finding:
    """Figure 3: green energy of each site by hour."""
    figure, panels = _by_group(day)
    for axes, members in panels:
        _lines(axes, day, members, day.wh / 1000)
    panels[0][0].set_ylabel("green energy in the hour, kWh")
    panels[0][0].set_ylim(0, 1.3 * max(float(day.wh.max()) / 1000, 0.001))
    totals = [round(float(total)) for total in day.wh.sum(axis=0)]
    return Finding(
        "figure-3",
        f"Green energy of each site by hour, {_date(day)}",
        figure,
        f"its nine stations yield {_list(PUBLISHED_DAY_WH)} Wh on June 21",
        f"{_list(totals)} Wh",
        {"sites": list(day.sites), "energy_wh": totals},
    )


def load_by_hour(day: Energy, job_wh: float, jobs: int) -> Finding:
    """Figure 4: the share of the hour's jobs that each site gets from green."""
    counts = scheduler("green").allocate(day.wh, job_wh, jobs)
    figure, panels = _by_group(day)
    for axes, members in panels:
        _lines(axes, day, members, counts / jobs)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
    panels[0][0].set_ylabel("share of the hour's jobs")
    panels[0][0].set_ylim(0, 1.3 * max(float(counts.max()) / jobs, 0.01))
    dark = (day.wh == 0).all(axis=1)
    spread = int(np.ptp(counts[dark], axis=1).max()) if dark.any() else 0
    lit = day.wh.sum(axis=1) > 0
    followed = [
        float(np.corrcoef(day.wh[hour], counts[hour])[0, 1])
        for hour in np.flatnonzero(lit)
        if np.ptp(counts[hour]) > 0 and np.ptp(day.wh[hour]) > 0
    ]
    correlation = float(np.mean(followed)) if followed else float("nan")
    return Finding(
        "figure-4",
        f"Load share of each site by hour, {jobs} jobs of {job_wh:g} Wh an hour, {_date(day)}",
        figure,
        "the load follows the energy, and is even where there is none",
        f"shares and energies of the sunny hours correlate by {correlation:.2f} on average; in "
        f"{dark.sum()} dark hours two sites differ by {spread} job{'s' * (spread != 1)} at most",
        {"correlation": round(correlation, 4), "dark_hours": int(dark.sum()), "dark_difference_jobs": spread},
    )


def gain_by_job_energy(year: Energy) -> Finding:
    """Figure 6: green ratio over the job energy k at 900 jobs an hour."""
    k = np.arange(1.0, 201.0)
    green, even = _both(year, k, PUBLISHED_JOBS)
    figure = _curves(k, green, even, f"energy of a job (k), Wh; {PUBLISHED_JOBS} jobs an hour")
    gain = 100 * (green - even)
    return Finding(
        "figure-6",
        f"Green ratio over the energy of a job, {PUBLISHED_JOBS} jobs an hour",
        figure,
        "nearly 15 points more than round robin at k = 1 Wh, none at 200 Wh",
        f"{gain[0]:.2f} points at k = 1 Wh, {gain[-1]:.2f} at 200 Wh",
        {"points_k_1": round(float(gain[0]), 4), "points_k_200": round(float(gain[-1]), 4)},
    )


def gain_by_jobs(year: Energy) -> Finding:
    """Figure 7: green ratio over the number of jobs an hour, of 1 Wh each."""
    jobs = np.unique(np.rint(np.geomspace(1, 1000, 61)).astype(int)) * 9
    green, even = _both(year, 1.0, jobs)
    figure = _curves(jobs, green, even, "jobs an hour of 1 Wh each", logarithmic=True)
    gain = 100 * (green - even)
    return Finding(
        "figure-7",
        "Green ratio over the number of jobs, k = 1 Wh",
        figure,
        "16 points more than round robin at 9 jobs an hour, nearly 15 at 900",
        f"{gain[0]:.2f} points at 9 jobs an hour, {gain[jobs == PUBLISHED_JOBS][0]:.2f} at {PUBLISHED_JOBS}",
        {
            "points_9": round(float(gain[0]), 4),
            "points_900": round(float(gain[jobs == PUBLISHED_JOBS][0]), 4),
        },
    )


def caption(finding: Finding, description: str) -> None:
    """Write what the paper reports and what was found below a figure."""
    text = f"The paper: {finding.paper}.\nFound: {finding.found}.\nData: {description}."
    finding.figure.suptitle(finding.title, fontsize=10)
    lines = "\n".join(wrap(line, int(finding.figure.get_figwidth() * 15.5)) for line in text.splitlines())
    finding.figure.supxlabel(lines, fontsize=7.5, x=0.01, ha="left", color=style.INK)


def _both(
    year: Energy, k: FloatArray | float, jobs: "FloatArray | int | np.ndarray"
) -> tuple[FloatArray, FloatArray]:
    """Green ratios of green and round robin, jobs being divisible as in the paper's arithmetic."""
    rules = scheduler("green"), scheduler("round-robin")
    green, even = (green_ratios(rule, year.wh, year.wh, k, jobs, divisible=True) for rule in rules)
    return green, even


def _curves(
    x: "np.ndarray", green: FloatArray, even: FloatArray, label: str, logarithmic: bool = False
) -> Figure:
    figure = Figure(figsize=(6.4, 4.4))
    axes = figure.subplots()
    for (colour, line, marker), values, name in zip(
        style.LINES, (green, even), ("green", "round robin"), strict=False
    ):
        axes.plot(
            x, values, color=colour, linestyle=line, marker=marker, markevery=max(len(x) // 12, 1), label=name
        )
    if logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(label)
    axes.set_ylabel("jobs on green energy")
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower left")
    return figure


def _by_group(day: Energy) -> tuple[Figure, list[tuple[Axes, Sequence[int]]]]:
    """One panel for every three sites; a panel of one state's stations is called by it."""
    members = [
        range(first, min(first + _SITES_A_PANEL, len(day.sites)))
        for first in range(0, len(day.sites), _SITES_A_PANEL)
    ]
    columns = min(len(members), 3)
    rows = -(-len(members) // columns)
    figure = Figure(figsize=(3 * columns + 0.4, 2.6 * rows + 1.2))
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False).flat
    states = {place.name: _STATES[place.state] for place in STATIONS}
    found: list[tuple[Axes, Sequence[int]]] = []
    for axes, group in zip(panels, members, strict=False):
        names = {states.get(day.sites[site], "") for site in group}
        axes.set_title(names.pop() if len(names) == 1 else "", fontsize=9)
        found.append((axes, group))
    for axes in list(panels)[len(members) :]:
        axes.set_visible(False)
    return figure, found


def _lines(axes: Axes, day: Energy, members: Sequence[int], table: FloatArray) -> None:
    clock = (day.hours.astype(int) + CLOCK_OFFSET_H) % 24
    for site, (colour, line, marker) in zip(members, style.LINES, strict=False):
        axes.plot(
            range(len(clock)),
            table[:, site],
            color=colour,
            linestyle=line,
            marker=marker,
            markersize=3,
            label=day.sites[site].capitalize(),
        )
    ticks = range(0, len(clock), max(len(clock) // 6, 1))
    axes.set_xticks(ticks, [str(clock[tick]) for tick in ticks])
    axes.set_xlabel(_CLOCK)
    axes.legend(loc="upper left", fontsize=7.5)


def _date(day: Energy) -> str:
    """Month and day of the first hour, such as June 21."""
    first = day.hours[0] + np.timedelta64(CLOCK_OFFSET_H, "h")
    return f"{first.item():%B} {first.item().day}"


def _list(values: Sequence[int]) -> str:
    return ", ".join(str(value) for value in values)
