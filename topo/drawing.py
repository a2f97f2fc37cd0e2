# SPDX-License-Identifier: Apache-2.0
"""The network as a drawing: switches on a circle, their hosts fanned out around them."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from grasp.topo.report import Report
from grasp.topo.topology import Host, Topology

_SWITCHES, _HOSTS = 1.0, 2.15  # radii
_INK, _SITE, _CLIENT, _SWITCH = "#222222", "#009E73", "#E69F00", "#0072B2"

_Point = tuple[float, float]


def draw_network(report: Report, topology: Topology) -> Figure:
    """Switches as squares, clients as triangles, sites as circles whose area is the share of jobs served."""
    figure = Figure(figsize=(9, 5.2))
    axes = figure.subplots()
    axes.set_aspect("equal")
    axes.axis("off")
    counts = np.asarray(report["jobs_per_site"]).sum(axis=0)
    share = counts / max(counts.sum(), 1)
    places, angles = _place_switches(topology)
    for trunk in topology.trunks:
        (one, _), (other, _) = trunk.ends
        _line(axes, places[one.node], places[other.node], 2.2)
    for switch in topology.switches:
        hosts = [host for host in topology.hosts if host.switch == switch]
        fan = 2 * math.pi / len(topology.switches) * 0.86
        for index, host in enumerate(hosts):
            angle = angles[switch.node] + fan * ((index + 0.5) / len(hosts) - 0.5)
            place = (1.5 * _HOSTS * math.cos(angle), _HOSTS * math.sin(angle))
            _line(axes, places[switch.node], place, 0.8)
            _draw_host(axes, host, place, topology, share)
        x, y = places[switch.node]
        axes.plot([x], [y], "s", color=_SWITCH, markersize=20, zorder=4)
        axes.text(x, y, switch.node, color="white", ha="center", va="center", zorder=5, weight="bold")
        axes.annotate(
            switch.label,
            (x, y),
            xytext=(0, -18),
            textcoords="offset points",
            ha="center",
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )
    axes.margins(0.12)
    return figure


def _place_switches(topology: Topology) -> tuple[dict[str, _Point], dict[str, float]]:
    angles = {
        switch.node: math.pi / 2 + 2 * math.pi * index / len(topology.switches)
        for index, switch in enumerate(topology.switches)
    }
    places = {
        node: (1.5 * _SWITCHES * math.cos(angle), _SWITCHES * math.sin(angle))
        for node, angle in angles.items()
    }
    return places, angles


def _line(axes: Axes, one: _Point, other: _Point, width: float) -> None:
    axes.plot([one[0], other[0]], [one[1], other[1]], color="#999999", linewidth=width, zorder=1)


def _draw_host(axes: Axes, host: Host, place: _Point, topology: Topology, share: np.ndarray) -> None:
    x, y = place
    label, colour, marker, size = host.label, _CLIENT, "^", 11.0
    if host in topology.sites:
        part = float(share[topology.sites.index(host)])
        label, colour, marker = f"{host.label.capitalize()}\n{part:.1%}", _SITE, "o"
        size = 10 + 60 * math.sqrt(part) / 2
    axes.plot([x], [y], marker, color=colour, markersize=size, zorder=3, markeredgecolor="white")
    outwards = 1 if x > 0.2 else -1 if x < -0.2 else 0
    axes.annotate(
        label,
        (x, y),
        xytext=(outwards * (size / 2 + 4), 0 if outwards else math.copysign(size / 2 + 9, y)),
        textcoords="offset points",
        ha={1: "left", -1: "right", 0: "center"}[outwards],
        va="center",
        fontsize=8,
        color=_INK,
    )
