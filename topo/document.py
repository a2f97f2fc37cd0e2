# SPDX-License-Identifier: Apache-2.0
"""Parts of a page that needs nothing else: figures and styles are inside it, and no scripts."""

import base64
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

_STYLE = """
:root {
  --ink: #1d2521; --soft: #5b6862; --rule: #dfe5e1;
  --green: #00734f; --paper: #fff; --ground: #f4f6f4;
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
}
main { max-width: 1020px; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
header { border-left: 6px solid var(--green); padding-left: 1.1rem; margin-bottom: 2rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.25rem; margin: 0 0 .6rem; }
p { margin: 0 0 .8rem; }
header p, .note { color: var(--soft); }
section, .card { background: var(--paper); border: 1px solid var(--rule); border-radius: 10px; }
section { padding: 1.4rem 1.5rem; margin: 0 0 1.3rem; }
.cards {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(270px, 1fr));
  gap: .9rem; margin: 0 0 1.3rem;
}
.cards:has(> :nth-child(4):last-child) { grid-template-columns: repeat(auto-fit, minmax(210px, 1fr)); }
.card { padding: 1rem 1.1rem; }
.card b { display: block; font-size: 1.65rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.card span { display: block; font-weight: 600; margin-top: .15rem; }
.card small { color: var(--soft); display: block; line-height: 1.4; margin-top: .3rem; font-size: .82rem; }
figure { margin: 0 0 .4rem; }
figure img { width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: .9rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; width: 100%; }
th, td { padding: .22rem .55rem; text-align: right; border-bottom: 1px solid var(--rule); }
th, td { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 2px solid var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; }
details summary { cursor: pointer; font-weight: 600; }
details > * + * { margin-top: .7rem; }
@media print { body { background: #fff; } section, .card { break-inside: avoid; } }
"""


def document(title: str, subtitle: str, *parts: str) -> str:
    """Return a whole page."""
    head = f"<header><h1>{escape(title)}</h1><p>{escape(subtitle)}</p></header>"
    body = "\n".join((head, *parts))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def section(title: str, content: str) -> str:
    """Return a part with a heading."""
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def definitions(pairs: Iterable[tuple[str, object]]) -> str:
    """Return names and what they stand for."""
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>" for name, value in pairs)
    return f"<dl>{rows}</dl>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts, the first column to the left."""

    def cells(kind: str, row: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in row) + "</tr>"

    lines = "".join(cells("td", row) for row in rows)
    return f'<div class="wide"><table><thead>{cells("th", head)}</thead><tbody>{lines}</tbody></table></div>'


def card(value: str, name: str, note: str) -> str:
    """Return a number that stands out: its name, and what it means."""
    lines = f"<b>{escape(value)}</b><span>{escape(name)}</span><small>{escape(note)}</small>"
    return f'<div class="card">{lines}</div>'


def figure(name: str, title: str, caption: str, file: Path) -> str:
    """Return a drawing from an SVG file, with a heading and a caption."""
    data = base64.b64encode(file.read_bytes()).decode()
    return section(
        title,
        f'<figure id="{name}"><img alt="{escape(title)}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>",
    )
