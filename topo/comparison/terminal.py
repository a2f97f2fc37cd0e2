# SPDX-License-Identifier: Apache-2.0
"""The comparison's table in the terminal."""

from rich import box
from rich.table import Table
from rich.text import Text

from grasp.console import console
from grasp.topo.comparison.page import footnote, rounds, rows
from grasp.topo.comparison.report import Comparison


def show(result: Comparison) -> None:
    """Print the table on standard error, so that standard output is left to --json."""
    terminal = console(stderr=True)
    table = Table(box=box.SIMPLE_HEAD, title=result["energy_source"], title_justify="left")
    table.add_column(f"median of {rounds(result)} (lowest to highest)")
    for side in result["sides"]:
        table.add_column(side, justify="right")
    group = ""
    for heading, name, *cells in rows(result):
        if heading != group:
            if group:
                table.add_section()
            table.add_row(Text(heading, style="bold"), *("" for _ in cells))
            group = heading
        table.add_row(f"  {name}", *cells)
    terminal.print(table)
    note = footnote(result)
    if note:
        terminal.print(note)
