# SPDX-License-Identifier: Apache-2.0
"""The consolidation study's numbers as a document, and as tables for people."""

from collections.abc import Sequence
from dataclasses import asdict

from grasp.schedulers.consolidation.hosting import CAUSES
from grasp.topo.studies.consolidation import plots
from grasp.topo.studies.consolidation.measure import SCENARIOS, Row, Settings
from grasp.topo.studies.output import Document, Result, Table, duration, many


def document(
    settings: Settings,
    rows: Sequence[Row],
    sweep: Sequence[Row],
    wake_on_lan: dict[str, int] | None,
    wall_s: float,
) -> Document:
    """Return what --json prints; `sweep` varies the idle threshold."""
    packed = [row for row in [*rows, *sweep] if row["policy"] != "all on"]
    for row in [*rows, *sweep]:
        (reference,) = [
            one for one in rows if one["scenario"] == row["scenario"] and one["policy"] == "all on"
        ]
        row["saved"] = 1 - row["energy_wh"] / reference["energy_wh"]
        row["between"] = row["just_enough_wh"] <= row["energy_wh"] <= reference["energy_wh"]
    shown = asdict(settings) | {
        "servers": [f"{count} {kind}" for kind, count in settings.servers],
        "rate": f"{len(settings.rate)} minutes, at most {max(settings.rate):g} requests/s",
        "sleeps": list(settings.sleeps),
    }
    return {
        "study": "consolidation",
        "settings": shown,
        "requests": sum(row["requests"] + row["hostile_requests"] for row in [*rows, *sweep]),
        "verified": {
            "runs": len(rows) + len(sweep),
            "consolidated": len(packed),
            "between": sum(row["between"] for row in packed),
        },
        "runs": list(rows),
        "idle_thresholds": list(sweep),
        "wake_on_lan": wake_on_lan,
        "wall_s": round(wall_s, 2),
    }


def result(found: Document) -> Result:
    """Return the study's result in all its forms."""
    rows, checked = found["runs"], found["verified"]
    day = [row for row in rows if row["scenario"] == "day"]
    reference, best = day[0], min(day[1:], key=lambda row: row["energy_wh"])
    worst = max(day[1:], key=lambda row: row["violations"])
    facts = [
        (
            f"{best['saved']:.0%}",
            f"energy saved, {best['policy']}",
            (
                f"of {reference['energy_wh'] / 1000:.1f} kWh with all servers on; just enough servers at "
                f"each instant would save {max(1 - best['just_enough_wh'] / reference['energy_wh'], 0):.0%}"
            ),
        ),
        (
            f"{worst['violations']:.2%}",
            f"late or lost, {worst['policy']}",
            f"of {worst['requests']:,} requests; {reference['violations']:.2%} with all servers on",
        ),
        (
            str(sum(row["sessions_cut_by_stops"] for row in rows)),
            "sessions cut by a shutdown",
            f"of {sum(row['sessions'] for row in rows):,} in {len(rows)} runs",
        ),
        (
            f"{checked['between']} of {checked['consolidated']}",
            "between just enough and all on",
            (
                f"energy of the consolidated runs; in all {checked['runs']} every request has its fate, "
                "every late or lost one its cause, and the probabilities sum to 1"
            ),
        ),
    ]
    if found["wake_on_lan"]:
        sent, seen = found["wake_on_lan"]["sent"], found["wake_on_lan"]["seen"]
        facts.append(
            (f"{seen} of {sent}", "wake-on-LAN packets", "sent on a real link and seen at its other end")
        )
    return Result(
        "consolidation",
        "Consolidation: services packed onto few servers",
        f"{', '.join(found['settings']['servers'])}; {found['settings']['rate']}; "
        f"{many(found['requests'], 'request')} in {duration(found['wall_s'])}. " + _input(found),
        found,
        facts,
        [_energy_table(rows), _violations_table(rows)],
        plots.PLOTS,
        plots.draw,
    )


def _energy_table(rows: Sequence[Row]) -> Table:
    return Table(
        "Energy, kWh",
        ("scenario, servers", "energy", "saved", "just enough", "wake-ups", "late or lost"),
        [
            (
                f"{row['scenario']}, {row['policy']}",
                f"{row['energy_wh'] / 1000:.2f}",
                f"{row['saved']:.1%}",
                f"{row['just_enough_wh'] / 1000:.2f}",
                str(row["wakes"]),
                f"{row['violations']:.2%}",
            )
            for row in _ordered(rows)
        ],
        "Just enough: of all selections of servers the one of least power at each minute, awake in no time. "
        + _outside(rows),
    )


def _input(found: Document) -> str:
    """Say where the load is from, and what became of the magic packets."""
    trace, woken = found["settings"]["trace"], found["wake_on_lan"]
    source = "Synthetic input." if trace is None else f"Load from {trace}."
    return source if not woken else f"{source} {woken['seen']} of {woken['sent']} wake-ups seen on the link."


def _outside(rows: Sequence[Row]) -> str:
    """Name the runs whose energy is not between just enough and all on."""
    names = [f"{row['scenario']}, {row['policy']}" for row in _ordered(rows) if not row["between"]]
    return (
        f"Not between that and all on: {'; '.join(names)}." if names else "All are between that and all on."
    )


def _violations_table(rows: Sequence[Row]) -> Table:
    return Table(
        "Late and lost requests by cause, of ten thousand requests",
        ("scenario, servers", *CAUSES, "99 %", "cut"),
        [
            (
                f"{row['scenario']}, {row['policy']}",
                *(f"{10_000 * row['causes'][cause] / row['requests']:.1f}" for cause in CAUSES),
                "none" if row["p99_response_s"] is None else f"{row['p99_response_s']:.1f}",
                str(row["sessions_cut_by_failures"]),
            )
            for row in _ordered(rows)
        ],
        "failure: its server failed. waking: a server was on its way up. all on: all were in use. "
        "packed: some were not. 99 %: of the responses came within so many seconds. cut: sessions that a "
        "failure ended; a shutdown ended none. An attacker's own requests are not counted.",
    )


def _ordered(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: SCENARIOS.index(row["scenario"]))
