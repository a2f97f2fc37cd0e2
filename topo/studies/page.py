# SPDX-License-Identifier: Apache-2.0
"""A study's page: one HTML file that needs nothing else, in the style of the runs' pages."""

from html import escape
from pathlib import Path

from grasp.topo.page import _STYLE as STYLE
from grasp.topo.page import _card as card
from grasp.topo.page import _definitions as definitions
from grasp.topo.page import _figure as figure
from grasp.topo.page import _section as section
from grasp.topo.page import _table as table
from grasp.topo.studies.output import Result, as_settings


def write_page(result: Result, folder: Path) -> None:
    """Write index.html beside the plots that it shows."""
    body = "\n".join(
        (
            f"<header><h1>{escape(result.title)}</h1><p>{escape(result.subtitle)}</p></header>",
            f'<div class="cards">{"".join(card(*fact) for fact in result.facts)}</div>',
            *(
                figure(plot.name, plot.title, plot.caption, folder / f"{plot.name}.svg")
                for plot in result.plots
            ),
            *(
                section(part.title, table(part.head, part.rows) + f'<p class="note">{escape(part.note)}</p>')
                for part in result.tables
            ),
            section("Settings", definitions(as_settings(result.document["settings"]))),
        )
    )
    (folder / "index.html").write_text(
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(result.title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n",
        encoding="utf-8",
    )
