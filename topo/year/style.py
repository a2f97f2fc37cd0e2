# SPDX-License-Identifier: Apache-2.0
"""How the studies' plots look: readable in grey and by colour-blind eyes, and the same bytes every time.

Colours are those of Okabe and Ito (2008), whose lightness differs as well; line style and marker say what
colour says.
"""

from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

LINES = (
    ("#0072B2", "-", "o"),
    ("#D55E00", "--", "s"),
    ("#009E73", "-.", "^"),
    ("#CC79A7", ":", "D"),
    ("#000000", (0, (5, 1, 1, 1, 1, 1)), "v"),
    ("#56B4E9", (0, (3, 1)), "P"),
)
INK = "#222222"
HALO = (withStroke(linewidth=2, foreground="white"),)
"""Path effects of words that lines may run through."""

STYLE: Any = {
    "figure.constrained_layout.use": True,
    "figure.dpi": 150,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.edgecolor": "#888888",
    "axes.titlesize": 10,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 4,
    "svg.fonttype": "path",
    "svg.hashsalt": "grasp",
}


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG and SVG; `path` has no suffix."""
    for form, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
        drawn = BytesIO()  # written in one go: of a full disk the image library would not say so
        figure.savefig(drawn, format=form, metadata=metadata)
        path.with_suffix(f".{form}").write_bytes(drawn.getvalue())
