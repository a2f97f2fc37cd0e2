# SPDX-License-Identifier: Apache-2.0
"""A report as one HTML page that needs nothing else: figures and styles are inside it, and no scripts."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from grasp.topo.report import Report

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

_CAPTIONS = {
    "network": (
        "The network",
        "Switches, sites (circles, with the share of all jobs that each served) and clients (triangles).",
    ),
    "energy": ("Green energy", "Energy of each site by hour: the forecast that its agent reported."),
    "load_share": (
        "Load share",
        (
            "Share of each hour's jobs that each site served, counted at the servers. The thin line is the "
            "scheduler's rule, applied job after job to the same energy with complete knowledge."
        ),
    ),
    "load_map": ("Where the jobs went", "The same shares, of all sites at one glance."),
    "green_jobs": (
        "Jobs on green energy",
        (
            "A site's green energy of an hour serves jobs of that hour only. Dashes: the most that any "
            "distribution could serve. Diamonds: every site in turn."
        ),
    ),
    "connect": (
        "Time to connect",
        "From SYN to SYN-ACK, as the clients' kernels measured it: through every switch on the way and back.",
    ),
}


def write_page(report: Report, figures: Mapping[str, Path], path: Path) -> None:
    """Write the page of a report; `figures` are SVG files by the names that `plots.draw_all` gives them."""
    title = f"GRASP: {report['hours']} hours, {len(report['sites'])} sites, scheduler {report['scheduler']}"
    body = "\n".join(
        (
            f"<header><h1>{escape(title)}</h1><p>{escape(_subtitle(report))}</p></header>",
            _cards(report),
            *(_figure(name, *_CAPTIONS[name], file) for name, file in figures.items()),
            _section("What was run", _definitions(_settings(report))),
            _section("How it was measured", _method(report)),
            _section("Packets", _packets(report)),
            _section("Tables", _tables(report)),
        )
    )
    path.write_text(
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n",
        encoding="utf-8",
    )


def _subtitle(report: Report) -> str:
    return (
        f"{report['energy_source']}, {report['date']} from {report['start_hour']}:00 (UTC-5); each hour "
        f"takes {report['seconds_per_hour']:g} s and brings {report['jobs_per_hour']} jobs of "
        f"{report['job_energy_wh']:g} Wh. Target: {report['target']}."
    )


def _cards(report: Report) -> str:
    jobs, connect = report["jobs"], report["connect_us"]
    limit, even = _percent(report["green_ratio_limit"]), _percent(report["green_ratio_round_robin"])
    difference = max(report["load_share_difference"]) * 100
    cards = (
        (
            _percent(report["green_ratio"]),
            "green ratio",
            f"jobs served by green energy; at most {limit} was possible, every site in turn gives {even}",
        ),
        (
            f"{difference:.1f} points",
            "largest difference",
            "of a site's share of an hour from the scheduler's rule with complete knowledge",
        ),
        (
            str(report["affinity_violations"]),
            "affinity violations",
            "packets of a connection that reached another site than its own",
        ),
        (f"{jobs['completed']} of {jobs['offered']}", "jobs completed", f"{jobs['failed']} failed"),
        (
            str(report["controller_packets"]["job"]),
            "job packets at the controller",
            "the switches decide; the controller is on no job's path"
            if report["control"] == "p4"
            else "the controller decides about every job",
        ),
        (
            _milliseconds(connect["p50"]),
            "to connect, median",
            f"99 % within {_milliseconds(connect['p99'])}",
        ),
    )
    return f'<div class="cards">{"".join(_card(*card) for card in cards)}</div>'


def _card(value: str, name: str, note: str) -> str:
    lines = f"<b>{escape(value)}</b><span>{escape(name)}</span><small>{escape(note)}</small>"
    return f'<div class="card">{lines}</div>'


def _figure(name: str, title: str, caption: str, file: Path) -> str:
    data = base64.b64encode(file.read_bytes()).decode()
    return _section(
        title,
        f'<figure id="{name}"><img alt="{escape(title)}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>",
    )


def _settings(report: Report) -> Iterable[tuple[str, object]]:
    for label, key in (
        ("Control plane", "control"),
        ("Target", "target"),
        ("Scheduler", "scheduler"),
        ("Energy", "energy_source"),
        ("Generation model", "model"),
        ("Alignment", "alignment"),
        ("Date", "date"),
        ("First hour (UTC-5)", "start_hour"),
        ("Hours", "hours"),
        ("Seconds for an hour", "seconds_per_hour"),
        ("Jobs an hour", "jobs_per_hour"),
        ("Energy of a job, Wh", "job_energy_wh"),
        ("Seed", "seed"),
        ("Duration, s", "wall_s"),
    ):
        yield label, report[key]


_METHOD = """
Every host is a network namespace of its own; jobs are real TCP connections to one service address, spread
over the hour with a seeded jitter.

Jobs per site are counted by the sites' servers, by the hour that the client wrote into the job. The green
ratio is the sum over hours and sites of min(jobs, E/k), over all jobs, with E the site's green energy of the
hour and k the energy of a job.

A violation of affinity is a job that two sites answered, or a TCP reset that a site sent because a segment of
a connection that was not its own had reached it.

The time to connect is the first sample of the client kernel's round-trip estimate (TCP_INFO).
"""


def _method(report: Report) -> str:
    forecast = report["forecast_ms"]
    start = (
        "An hour's jobs start when its forecasts are in the switches: "
        f"after {forecast['p50']} ms in the median, {forecast['p99']} ms at the 99th percentile."
    )
    lines = (*_METHOD.strip().split("\n\n"), start, *report["notes"])
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


def _packets(report: Report) -> str:
    controller = _table(
        ("packets to the controller", "number"),
        [(name, str(count)) for name, count in report["controller_packets"].items()],
    )
    drops = [(name, str(count)) for name, count in report["drops"].items() if count]
    return controller + (
        _table(("dropped in the switches", "packets"), drops)
        if drops
        else '<p class="note">No switch dropped a packet.</p>'
    )


def _tables(report: Report) -> str:
    hours = [(report["start_hour"] + hour) % 24 for hour in range(report["hours"])]
    head = ("hour", *(site.capitalize() for site in report["sites"]))
    energy = [
        (f"{hour:02}", *(f"{value:,.0f}" for value in row))
        for hour, row in zip(hours, report["energy_wh"], strict=True)
    ]
    jobs = [
        (f"{hour:02}", *(f"{count} ({want})" for count, want in zip(row, expected, strict=True)))
        for hour, row, expected in zip(
            hours, report["jobs_per_site"], report["jobs_per_site_expected"], strict=True
        )
    ]
    return (
        f"<details open><summary>Jobs served, and in parentheses what the rule gives</summary>"
        f"{_table(head, jobs)}</details>"
        f"<details><summary>Green energy, Wh</summary>{_table(head, energy)}</details>"
    )


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def _definitions(pairs: Iterable[tuple[str, object]]) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>" for name, value in pairs)
    return f"<dl>{rows}</dl>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def cells(kind: str, row: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in row) + "</tr>"

    lines = "".join(cells("td", row) for row in rows)
    return f'<div class="wide"><table><thead>{cells("th", head)}</thead><tbody>{lines}</tbody></table></div>'


def _percent(value: float | None) -> str:
    return "none" if value is None else f"{value:.1%}"


def _milliseconds(microseconds: int | None) -> str:
    return "none" if microseconds is None else f"{microseconds / 1000:.2f} ms"
