# SPDX-License-Identifier: Apache-2.0
"""A study's page: one HTML file that needs nothing else, in the style of the runs' pages."""

from html import escape
from pathlib import Path

from grasp.topo.document import card, definitions, document, figure, section, table
from grasp.topo.studies.output import Result, as_settings


def write_page(result: Result, folder: Path) -> None:
    """Write index.html beside the plots that it shows."""
    text = document(
        result.title,
        result.subtitle,
        f'<div class="cards">{"".join(card(*fact) for fact in result.facts)}</div>',
        *(figure(plot.name, plot.title, plot.caption, folder / f"{plot.name}.svg") for plot in result.plots),
        *(
            section(part.title, table(part.head, part.rows) + f'<p class="note">{escape(part.note)}</p>')
            for part in result.tables
        ),
        section("Settings", definitions(as_settings(result.document["settings"]))),
    )
    (folder / "index.html").write_text(text, encoding="utf-8")
