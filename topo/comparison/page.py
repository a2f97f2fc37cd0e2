# SPDX-License-Identifier: Apache-2.0
"""The comparison as one HTML page, and the lines of its table, which the terminal shows as well."""

from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

from grasp.topo.comparison.figures import FIGURES, Figure
from grasp.topo.comparison.report import Comparison
from grasp.topo.document import card, definitions, document, figure, section, table

P4, OPENFLOW = "P4", "OpenFlow"

_CAPTIONS = {
    "first_packets": (
        "What a first packet waits for",
        (
            "Thick: from a connection's SYN to its SYN-ACK. Thin: from a later byte of the same connection"
            " to its acknowledgement by the site's kernel. Kernel time stamps at the client's interface."
        ),
    ),
    "rates": (
        "New connections in a second",
        (
            "Left: the share of SYNs that no SYN-ACK answered within 0.2 s; up to 1 %, the line, a rate"
            " counts as sustained. Right: how long the answered ones waited. A line for each round."
        ),
    ),
    "costs": (
        "What 1,000 jobs take",
        (
            "Medians of the rounds, with the lowest and the highest. Heartbeats, reports and discovery, which"
            " go on whether there are jobs or not, are part of packets, bytes and processor time."
        ),
    ),
    "changes": (
        "When something changes",
        "Medians of the rounds, with the lowest and the highest.",
    ),
}

_LIMITS = """
Everything ran on one machine, whose cores switches, controller, agents, servers, clients and the generator
shared: a control plane that needs more processor time takes it from the others. Links are virtual and have no
length, so what a far controller would add to each first packet is missing here, to the baseline's advantage.

The OpenFlow side is os-ken, a controller in Python, on Open vSwitch; a controller in a compiled language
would decide faster, a switch with OpenFlow in hardware would install entries slower. The P4 side ran on a
software target; hardware would forward faster still. Open vSwitch's datapath here is the one in {datapath}.

The rates are those of connections whose first packet is answered and which are reset at once: they say how
fast connections can be decided about, not how much data the network carries.
"""


def write_page(result: Comparison, figures: Mapping[str, Path], path: Path) -> None:
    """Write the page; `figures` are SVG files by the names that `plots.draw_all` gives them."""
    hours = "1 hour" if result["hours"] == 1 else f"{result['hours']} hours"
    text = document(
        "GRASP: the switches decide, or a controller does",
        f"{rounds(result)} of {' and '.join(', '.join(result['sides']).rsplit(', ', 1))} in turn; "
        f"{result['energy_source']}, {result['date']} from {result['start_hour']}:00 (UTC-5), "
        f"{hours} of {result['seconds_per_hour']:g} s with {result['jobs_per_hour']} jobs of "
        f"{result['job_energy_wh']:g} Wh; scheduler {result['scheduler']}.",
        f'<div class="cards">{"".join(card(*fact) for fact in _facts(result))}</div>',
        *(figure(name, *_CAPTIONS[name], file) for name, file in figures.items()),
        section("All figures", _tables(result)),
        section("How each was measured", definitions((item.name, item.how) for item in FIGURES)),
        section("What this cannot say", _paragraphs(result)),
        section("What was run", definitions(_settings(result))),
    )
    path.write_text(text, encoding="utf-8")


def show(figure: Figure, found: Mapping[str, Any]) -> str:
    """Return a figure of one side as text: the median, and the spread where there is one."""
    if found["median"] is None:
        return "none"
    median, low, high = (f"{found[key]:,.{figure.decimals}f}" for key in ("median", "low", "high"))
    return median if low == high else f"{median} ({low} to {high})"


def rows(result: Comparison) -> Iterable[tuple[str, ...]]:
    """Yield the table's lines: heading, name with unit, and a text for each side."""
    for item in FIGURES:
        found = result["figures"][item.key]
        texts = [
            show(item, side)
            + ("*" if item.key == "sustained" and result["limited_by_generator"][name] else "")
            for name, side in found.items()
        ]
        yield item.group, f"{item.name}, {item.unit}" if item.unit else item.name, *texts


def rounds(result: Comparison) -> str:
    """Return how many rounds there were, in words."""
    return "1 round" if result["rounds"] == 1 else f"{result['rounds']} rounds"


def footnote(result: Comparison) -> str:
    """Return what the star says, or nothing if there is none."""
    if not any(result["limited_by_generator"].values()):
        return ""
    return "* the generator's own limit, in a round at least: there no rate failed that it could send."


def _facts(result: Comparison) -> Iterable[tuple[str, str, str]]:
    def median(key: str, side: str) -> float | None:
        value: float | None = result["figures"][key][side]["median"]
        return value

    def both(key: str, form: str, between: str = "against") -> str:
        shown = ["none" if (v := median(key, side)) is None else f"{v:{form}}" for side in (P4, OPENFLOW)]
        return f" {between} ".join(shown)

    added = [_milliseconds(median("added_p50_us", side)) for side in (P4, OPENFLOW)]
    yield (
        f"{' against '.join(added)} ms",
        "added to a first packet",
        "in the median, over later packets of the same connection; P4 against OpenFlow",
    )
    rate = median("sustained", P4) or 0.0, median("sustained", OPENFLOW) or 0.0
    limit = ", where the generator ends" if result["limited_by_generator"][P4] else ""
    yield (
        f"{_times(rate[0], rate[1])}",
        "as many new connections",
        f"P4 sustains {_number(rate[0])} a second{limit}; OpenFlow {_number(rate[1])}",
    )
    yield both("job_packets", ",.0f"), "job packets at the controller", "for 1,000 jobs: P4 against OpenFlow"
    yield (
        f"{both('orphans_connected', '.0f')} %",
        "connect without a controller",
        "of the new connections opened after it was killed: P4 against OpenFlow",
    )
    yield (
        both("green_ratio", ".3f", between="and"),
        "green ratio",
        f"P4 and OpenFlow; at most {result['green_ratio_limit']:.3f} was possible",
    )
    yield (
        f"{both('follow_ms', '.1f')} ms",
        "until a forecast is followed",
        "after the beginning of an hour in which another site has the energy; P4 against OpenFlow",
    )


def _milliseconds(microseconds: float | None) -> str:
    """Return a difference of two medians as far as it tells anything: later packets vary by 0.01 ms."""
    if microseconds is None:
        return "none"
    return f"{microseconds / 1000:.2f}" if microseconds >= 10 else "less than 0.01"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value > 0 else "none that was tried"


def _times(large: float, small: float) -> str:
    """Return how many times as large one number is; only whether it is more, where the other is no number."""
    if not small > 0 or not large > 0:
        return "more" if large > 0 else "none"
    return f"{large / small:,.0f} times" if large / small >= 10 else f"{large / small:.1f} times"


def _tables(result: Comparison) -> str:
    """Return the one table, with a line for each heading."""
    lines: list[tuple[str, ...]] = []
    group = ""
    for heading, *cells in rows(result):
        if heading != group:
            group = heading
            lines.append((heading.upper(), *("" for _ in result["sides"])))
        lines.append(tuple(cells))
    notes = ("Median of the rounds, in parentheses the lowest and the highest.", footnote(result))
    return table(("", *result["sides"]), lines) + "".join(
        f'<p class="note">{escape(note)}</p>' for note in notes if note
    )


def _paragraphs(result: Comparison) -> str:
    text = _LIMITS.format(datapath=result["machine"]["openvswitch_datapath"].replace("kernel", "the kernel"))
    return "".join(f"<p>{escape(' '.join(part.split()))}</p>" for part in text.strip().split("\n\n"))


def _settings(result: Comparison) -> Iterable[tuple[str, object]]:
    machine = result["machine"]
    yield "Machine", f"{machine['cores']} cores, Linux {machine['kernel']}"
    for label, key in (
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
        ("Rounds", "rounds"),
        ("Duration, s", "wall_s"),
    ):
        yield label, result[key]
