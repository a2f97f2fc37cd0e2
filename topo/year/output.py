# SPDX-License-Identifier: Apache-2.0
"""A sweep's result as JSON, as CSV, and as a table in the terminal."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table

from grasp.console import console
from grasp.topo.year.sweep import DIGITS, LIMIT, OPTIMUM, Row, Sweep, is_policy

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
        "gaps": gaps(sweep, rows),
        "rows": list(rows),
        "wall_s": round(wall_s, 3),
    }


def gaps(sweep: Sweep, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """How far each policy over time stays below its optimum, where the sweep has both."""
    found = []
    for line in _lines(rows):
        ratio = {row["scheduler"]: row["green_ratio"] for row in line}
        found += [
            {
                "energy_source": line[0]["energy_source"],
                "policy": name,
                "k": line[0]["k"],
                "jobs_per_hour": line[0]["jobs_per_hour"],
                "gap": round(ratio[name + OPTIMUM] - ratio[name], DIGITS),
            }
            for name in sweep.schedulers
            if name + OPTIMUM in ratio
        ]
    return found


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
    writer = csv.DictWriter(text, fieldnames=list(Row.__annotations__), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def show(sweep: Sweep, result: dict[str, Any]) -> None:
    """Print the green ratios in tables: schedulers side by side, policies over time beside their optimum."""
    terminal = console()
    terminal.print(
        f"Jobs on green energy, {result['hours']} hours, {len(result['sites'])} sites: "
        f"{result['energy_source']}"
    )
    lines = _lines(result["rows"])
    shown = spread(lines, TABLE_LINES)
    terminal.print(_side_by_side(sweep, shown))
    policies = list(dict.fromkeys(name.removesuffix(OPTIMUM) for name in sweep.schedulers if is_policy(name)))
    if policies:
        terminal.print(_over_time(sweep, shown, policies))
    if len(shown) < len(lines):
        terminal.print(f"{len(shown)} of {len(lines)} cases; --csv or --json gives all.")
    terminal.print(f"{result['wall_s']:.2f} s")


def _side_by_side(sweep: Sweep, lines: list[list[Row]]) -> Table:
    """A line for each case, a column for each scheduler and one for the limit."""
    names = [name for name in sweep.schedulers if not is_policy(name) and name != LIMIT]
    table = _table(sweep, (*names, "limit"))
    for line in lines:
        ratio = {row["scheduler"]: row["green_ratio"] for row in line}
        cells = [f"{ratio[name]:.2%}" for name in names] + [f"{line[0]['green_ratio_limit']:.2%}"]
        table.add_row(*_case(sweep, line), *cells)
    return table


def _over_time(sweep: Sweep, lines: list[list[Row]], policies: list[str]) -> Table:
    """A line for each case and policy."""
    table = _table(sweep, ("policy", "reached", "optimum", "gap, points", "mean wait, h"))
    for line in lines:
        row = {row["scheduler"]: row for row in line}
        for name in policies:
            reached, best = row.get(name), row.get(name + OPTIMUM)
            gap = 100 * (best["green_ratio"] - reached["green_ratio"]) if reached and best else None
            table.add_row(
                *_case(sweep, line),
                name,
                f"{reached['green_ratio']:.2%}" if reached else "",
                f"{best['green_ratio']:.2%}" if best else "",
                f"{gap:.3f}" if gap is not None else "",
                f"{reached['mean_wait_h']:.2f}" if reached else "",
            )
    return table


def _table(sweep: Sweep, columns: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE, header_style="bold", pad_edge=False)
    if len(sweep.sources) > 1:
        table.add_column("energy", overflow="fold")
    for name in ("jobs/h", "k, Wh", *columns):
        table.add_column(name, justify="left" if name == "policy" else "right")
    return table


def _case(sweep: Sweep, line: list[Row]) -> list[str]:
    first = line[0]
    where = [first["energy_source"]] if len(sweep.sources) > 1 else []
    return [*where, str(first["jobs_per_hour"]), f"{first['k']:g}"]


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
