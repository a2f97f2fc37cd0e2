# SPDX-License-Identifier: Apache-2.0
"""A sweep's result as JSON, as CSV, and as a table in the terminal."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from grasp.topo.study.sweep import Row, Sweep

TABLE_LINES = 24


def document(
    sweep: Sweep, rows: Sequence[Row], hours: int, sites: Sequence[str], wall_s: float
) -> dict[str, Any]:
    """Return what --json prints; everything but `wall_s` is the same wherever the sweep ran."""
    descriptions = list(dict.fromkeys(row["energy_source"] for row in rows))
    return {
        "energy_source": "; ".join(descriptions),
        "model": sweep.sources[0].model,
        "alignment": sweep.sources[0].alignment,
        "count": "real" if sweep.study.divisible else "integer",
        "hours": hours,
        "sites": list(sites),
        "rows": list(rows),
        "wall_s": round(wall_s, 3),
    }


def as_json(result: dict[str, Any]) -> str:
    """One row a line, so that the text can be compared and searched."""
    head = json.dumps(
        {key: value for key, value in result.items() if key not in ("rows", "wall_s")}, indent=1
    )
    rows = ",\n".join("  " + json.dumps(row) for row in result["rows"])
    return f'{head[:-2]},\n "rows": [\n{rows}\n ],\n "wall_s": {result["wall_s"]}\n}}\n'


def as_csv(rows: Sequence[Row]) -> str:
    """A header and one line a row."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(Row.__annotations__), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def show(sweep: Sweep, result: dict[str, Any]) -> None:
    """Print a table: a line for each case, a column for each scheduler, green ratios in per cent."""
    console = Console()
    table = Table(box=box.SIMPLE, header_style="bold", pad_edge=False)
    lines = _lines(result["rows"])
    several = len(sweep.sources) > 1
    if several:
        table.add_column("energy", overflow="fold")
    table.add_column("jobs/h", justify="right")
    table.add_column("k, Wh", justify="right")
    for name in sweep.schedulers:
        table.add_column(name, justify="right")
    table.add_column("limit", justify="right")
    shown = spread(lines, TABLE_LINES)
    for line in shown:
        first = line[0]
        cells = [f"{row['green_ratio']:.2%}" for row in line] + [f"{first['green_ratio_limit']:.2%}"]
        where = [first["energy_source"]] if several else []
        table.add_row(*where, str(first["jobs_per_hour"]), f"{first['k']:g}", *cells)
    console.print(
        f"Jobs on green energy, {result['hours']} hours, {len(result['sites'])} sites: "
        f"{result['energy_source']}"
    )
    console.print(table)
    if len(shown) < len(lines):
        console.print(f"{len(shown)} of {len(lines)} cases; --csv or --json gives all.")
    console.print(f"{result['wall_s']:.2f} s")


def spread(lines: list[list[Row]], most: int) -> list[list[Row]]:
    """At most so many of the lines, evenly spread, the first and the last among them."""
    if len(lines) <= most:
        return lines
    return [lines[round(index * (len(lines) - 1) / (most - 1))] for index in range(most)]


def _lines(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows of the same case on one line, in the schedulers' order."""
    cases: dict[tuple[str, float, int], list[Row]] = {}
    for row in rows:
        cases.setdefault((row["energy_source"], row["k"], row["jobs_per_hour"]), []).append(row)
    return list(cases.values())
