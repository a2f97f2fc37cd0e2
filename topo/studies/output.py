# SPDX-License-Identifier: Apache-2.0
"""What the studies leave behind: JSON or tables on standard output, and a folder with plots and a page."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grasp.topo import results

Document = dict[str, Any]
"""What --json prints: ready for `json.dumps`."""


@dataclass(frozen=True)
class Table:
    """Rows under a title; every cell is text, the first column is left-aligned."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class Plot:
    """A figure's name, heading and caption."""

    name: str
    title: str
    caption: str


Draw = Callable[[Document, Path], None]
"""Draws a study's figures into a folder, as <name>.png and <name>.svg."""


@dataclass(frozen=True)
class Result:
    """A study's result in all its forms; `facts` are value, name and note of the page's cards."""

    name: str
    title: str
    subtitle: str
    document: Document
    facts: Sequence[tuple[str, str, str]]
    tables: Sequence[Table]
    plots: Sequence[Plot]
    draw: Draw


def add_output(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say where the result goes."""
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print the result as JSON")
    group.add_argument(
        "--out",
        type=results.folder,
        metavar="DIR",
        help="folder, new or empty, for the plots, the numbers and a page",
    )


def finish(args: argparse.Namespace, result: Result) -> None:
    """Write the folder, if one was asked for, and print: also when it cannot be written."""
    text = json.dumps(result.document, indent=1) + "\n"
    results.deliver(lambda: _write(result, text, args.out), lambda: _print(result, text, args.json))
    if args.out is not None and not args.json:
        print(f"{args.out}/index.html")


def _write(result: Result, text: str, out: Path | None) -> None:
    if out is not None:
        from grasp.topo.studies.page import write_page
        from grasp.topo.studies.parallel import phase

        phase("drawing")
        with results.whole(out) as folder:
            (folder / f"{result.name}.json").write_text(text, encoding="utf-8")
            result.draw(result.document, folder)
            write_page(result, folder)


def _print(result: Result, text: str, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(text)
    else:
        _show(result)


def _show(result: Result) -> None:
    from rich import box
    from rich.table import Table as Shown

    from grasp.console import console

    terminal = console()
    terminal.print(result.title, style="bold")
    terminal.print(result.subtitle)
    for table in result.tables:
        shown = Shown(title=table.title, title_justify="left", box=box.SIMPLE, pad_edge=False)
        for index, name in enumerate(table.head):
            shown.add_column(name, justify="right" if index else "left", no_wrap=not index)
        for row in table.rows:
            shown.add_row(*row)
        terminal.print(shown)
        if table.note:
            terminal.print(table.note)


def many(number: int, noun: str) -> str:
    """Return how many, in words that fit: 1 day, 24 days, 12,300 jobs, 2.5 million jobs, 286 million jobs."""
    if number == 1:
        return f"1 {noun}"
    if number < 1_000_000:
        return f"{number:,} {noun}s"
    return f"{number / 1e6:.{0 if number >= 10_000_000 else 1}f} million {noun}s"


def duration(seconds: float) -> str:
    """Return how long, in whole seconds where they are many: 0.4 s, 23 s."""
    return f"{seconds:.{0 if seconds >= 10 else 1}f} s"


def as_lists(settings: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, tuples as lists: ready for JSON."""
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in asdict(settings).items()
    }


def as_settings(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return settings as words and values, for a page."""
    return [
        (name.replace("_", " "), ", ".join(map(str, value)) if isinstance(value, list) else str(value))
        for name, value in settings.items()
    ]
