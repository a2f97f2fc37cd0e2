# SPDX-License-Identifier: Apache-2.0
"""A report as one HTML page that needs nothing else: figures and styles are inside it, and no scripts."""

from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path

from grasp.topo.document import card, definitions, document, figure, section, table
from grasp.topo.report import Report

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
    text = document(
        title,
        _subtitle(report),
        _cards(report),
        *(figure(name, *_CAPTIONS[name], file) for name, file in figures.items()),
        section("What was run", definitions(_settings(report))),
        section("How it was measured", _method(report)),
        section("Packets", _packets(report)),
        section("Tables", _tables(report)),
    )
    path.write_text(text, encoding="utf-8")


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
    facts = (
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
    return f'<div class="cards">{"".join(card(*fact) for fact in facts)}</div>'


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
a connection that it never had reached it. (A late copy of a segment, when its connection is over, is answered
with a reset too; that is TCP as it should be.)

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
    controller = table(
        ("packets to the controller", "number"),
        [(name, str(count)) for name, count in report["controller_packets"].items()],
    )
    drops = [(name, str(count)) for name, count in report["drops"].items() if count]
    return controller + (
        table(("dropped in the switches", "packets"), drops)
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
        f"{table(head, jobs)}</details>"
        f"<details><summary>Green energy, Wh</summary>{table(head, energy)}</details>"
    )


def _percent(value: float | None) -> str:
    return "none" if value is None else f"{value:.1%}"


def _milliseconds(microseconds: int | None) -> str:
    return "none" if microseconds is None else f"{microseconds / 1000:.2f} ms"
