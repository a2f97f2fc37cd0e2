# SPDX-License-Identifier: Apache-2.0
"""The replica study's numbers as a document, and as tables for people."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grasp.schedulers.replicas.theory import wait_of_least_loaded, wait_of_many, wait_of_one
from grasp.topo.studies.output import Document, Result, Table, as_lists, duration, many
from grasp.topo.studies.replicas import plots
from grasp.topo.studies.replicas.measure import (
    FEWEST_TO_JUDGE,
    PUBLISHED,
    QUANTILES,
    Check,
    Row,
    Settings,
    Window,
    checked_jobs,
    crossings,
    interval,
)

Cell = dict[str, Any]

_LEAST_WAIT = 1e-9

_LIMIT_POINTS = 201
"""Loads at which the formula for ever more servers is evaluated, between the least and the highest load: its
gain falls and rises again, which the loads that are simulated may step over."""

MANY = 10
"""Servers for each replica from which on the formula for ever more servers is shown: below, a job's servers
are so many of all that their queues are far from independent, as it takes them to be."""


@dataclass(frozen=True)
class Checks:
    """What the simulations were held against.

    `events` is the largest difference of any job's wait between the fast simulation and the one told event by
    event, in mean service times.
    """

    least_work: Sequence[Check]
    events: float


def document(
    settings: Settings, rows: Sequence[Row], join: Document, checks: Checks, wall_s: float
) -> Document:
    """Return what --json prints."""
    prompt = [row for row in rows if not row.late]
    late = [row for row in rows if row.late]
    gains = [_gain(settings, row, _of(prompt, "random", 1, row.case.load)) for row in prompt if _is(row)]
    limits = [_limit(settings, d) for d in settings.d if _limited(settings, d)]
    return {
        "study": "replicas",
        "settings": as_lists(settings),
        "simulated_jobs": sum(len(row.duplicates) * row.jobs for row in rows),
        "waits": [_waits(settings, row) for row in prompt],
        "gains": gains,
        "limits": limits,
        "published": [
            _published(gains, limits, d, value) for d, value in PUBLISHED.items() if d in settings.d
        ],
        "delays": [_late(row, _of(late, "random", 1, row.case.load)) for row in late if _is(row)],
        "break_even": _break_even(settings, late),
        "join": join,
        "least_work_check": [_checked(check) for check in checks.least_work],
        "event_check": {"jobs": checked_jobs(settings), "largest_difference": checks.events},
        "wall_s": round(wall_s, 2),
    }


def _is(row: Row) -> bool:
    return row.policy == "replicas"


def _of(rows: Sequence[Row], policy: str, d: int, load: float) -> Row:
    (found,) = [row for row in rows if (row.policy, row.d, row.case.load) == (policy, d, load)]
    return found


def _waits(settings: Settings, row: Row) -> Cell:
    load = row.case.load
    return {
        "policy": row.policy,
        "d": row.d,
        "load": load,
        "jobs": row.jobs,
        "seeds": len(row.duplicates),
        "from_empty": _window(row.first),
        "after_warmup": _window(row.later),
        "theory_mean": _theory(settings, row),
    }


def _theory(settings: Settings, row: Row) -> float | None:
    """Return the mean wait of theory, where there is one: all of it is for exponential service times."""
    load, servers = row.case.load, settings.servers
    if settings.service != "exponential":
        return None
    if row.policy == "random":
        return wait_of_one(load)
    if row.policy == "least-work" or (row.policy == "replicas" and row.d == servers):
        return wait_of_many(load, servers)
    if row.policy == "replicas" and _limited(settings, row.d):
        return wait_of_least_loaded(load, row.d)
    return None


def _limited(settings: Settings, d: int) -> bool:
    """Say whether the limit of many servers says something of d replicas."""
    return settings.service == "exponential" and settings.servers >= MANY * d


def _limit(settings: Settings, d: int) -> Cell:
    """Return the gain of d replicas in the limit of many servers, at `loads` as close as it takes."""
    loads = np.linspace(min(settings.loads), max(settings.loads), _LIMIT_POINTS).tolist()
    return {
        "d": d,
        "loads": loads,
        "gains": [wait_of_one(load) / wait_of_least_loaded(load, d) for load in loads],
    }


def _window(window: Window) -> Cell:
    mean, half = interval(window.mean)
    names = (f"p{100 * share:g}" for share in QUANTILES)
    return {"mean": mean, "ci": half} | dict(zip(names, window.quantiles.mean(axis=1).tolist(), strict=True))


def _gain(settings: Settings, row: Row, random: Row) -> Cell:
    """Gain of mean waits: each seed's ratio, since both policies met the same jobs.

    `many_servers` is theory's, none where its limit says nothing of so few servers, or of all of them.
    """
    wait = _theory(settings, row) if row.d < settings.servers else None
    first, first_half = _ratio(random.first, row.first)
    later, later_half = _ratio(random.later, row.later)
    return {
        "d": row.d,
        "load": row.case.load,
        "from_empty": first,
        "from_empty_ci": first_half,
        "after_warmup": later,
        "after_warmup_ci": later_half,
        "many_servers": None if wait is None else wait_of_one(row.case.load) / wait,
    }


def _ratio(random: Window, mine: Window) -> tuple[float | None, float | None]:
    """Return the gain and its confidence, or none where with some seed no job waited."""
    return interval(random.mean / mine.mean) if mine.mean.all() else (None, None)


def _published(gains: Sequence[Cell], limits: Sequence[Cell], d: int, value: float) -> Cell:
    found: Cell = {"d": d, "published": value}
    for name in ("from_empty", "after_warmup", "many_servers"):
        points = [(gain["load"], gain[name]) for gain in gains if gain["d"] == d and gain[name] is not None]
        if name == "many_servers":
            points = [
                point
                for limit in limits
                if limit["d"] == d
                for point in zip(limit["loads"], limit["gains"], strict=True)
            ]
        met = crossings([load for load, _ in points], [gain for _, gain in points], value)
        found[name] = {
            "largest": max((gain for _, gain in points), default=None),
            "met_at_loads": [round(load, 4) for load in met],
        }
    return found


def _late(row: Row, random: Row) -> Cell:
    gain, half = _ratio(random.later, row.later)
    mean, mean_half = interval(row.later.mean)
    wasted = float(row.wasted.mean())
    return {
        "d": row.d,
        "load": row.case.load,
        "delay": row.case.delay,
        "mean": mean,
        "ci": mean_half,
        "gain": gain,
        "gain_ci": half,
        "duplicates_per_job": float(row.duplicates.mean()),
        "work_done": row.case.load * (1 + wasted),
    }


def _checked(check: Check) -> Cell:
    """Compare the means; `within` says whether they are as close as 95 % of such pairs of equals are."""
    (mine, half), (other, other_half) = interval(check.replicas), interval(check.least_work)
    may_be = check.may_differ_by
    return {
        "d": check.d,
        "load": check.load,
        "replicas": mine,
        "replicas_ci": half,
        "least_work": other,
        "least_work_ci": other_half,
        "may_differ_by": may_be,
        "within": None if may_be is None else abs(check.apart) <= may_be,
    }


def _break_even(settings: Settings, rows: Sequence[Row]) -> list[Cell]:
    """Return the delays up to which replicas beat random assignment, and the shortest of two queues."""
    found = []
    for load in settings.delay_loads:
        others = {
            "random": float(_of(rows, "random", 1, load).later.mean.mean()),
            "shortest-of-2": float(_of(rows, "shortest-of", 2, load).later.mean.mean()),
        }
        for d in settings.d:
            mine = [row for row in rows if _is(row) and row.d == d and row.case.load == load]
            delays = [row.case.delay for row in mine]
            means = [float(row.later.mean.mean()) for row in mine]
            cell: Cell = {"d": d, "load": load}
            for name, level in others.items():
                # On logarithms: beyond the break-even waits rise steeply.
                logarithms = np.log(np.maximum([*means, level], _LEAST_WAIT)).tolist()
                met = crossings(delays, logarithms[:-1], logarithms[-1])
                cell[name] = round(met[0], 4) if met else None
                cell[f"{name}_at_all"] = means[0] < level
            found.append(cell)
    return found


def result(found: Document) -> Result:
    """Return the study's result in all its forms."""
    settings = found["settings"]
    facts = [
        (
            _tenths(row["after_warmup"]["largest"]),
            f"largest gain, {row['d']} replicas",
            f"in mean wait over random assignment, after the warm-up; published: {row['published']:g}",
        )
        for row in found["published"]
    ]
    check = found["event_check"]
    facts.append(
        (
            f"{check['largest_difference']:.0e}",
            "difference of the two simulations",
            f"largest of any job's wait, {check['jobs']:,} jobs, in mean service times",
        )
    )
    return Result(
        "replicas",
        "Replicas: schedule first, manage later",
        f"{many(settings['servers'], 'server')}, {many(settings['jobs'], 'job')} after "
        f"{settings['warmup']:,} to warm up, {many(settings['seeds'], 'seed')}, service times "
        f"{settings['service']}; waits in mean service times; {many(found['simulated_jobs'], 'job')} in "
        f"{duration(found['wall_s'])}. Made-up jobs; energy: {found['join']['energy_source']}.",
        found,
        facts,
        [
            _gains_table(found),
            _waits_table(found),
            _checks_table(found),
            _delays_table(found),
            _join_table(found),
        ],
        plots.PLOTS,
        plots.draw,
    )


def _gains_table(found: Document) -> Table:
    rows = []
    for row in found["published"]:
        for name, key in (
            ("from empty queues", "from_empty"),
            ("after the warm-up", "after_warmup"),
            ("limit of many servers", "many_servers"),
        ):
            if key == "many_servers" and row[key]["largest"] is None:
                continue
            met = ", ".join(f"{load:.3f}" for load in row[key]["met_at_loads"]) or "none simulated"
            rows.append(
                (f"{row['d']} replicas, {name}", f"{row['published']:g}", met, _tenths(row[key]["largest"]))
            )
    return Table(
        "Gain in mean wait over random assignment",
        ("", "published", "met at load", "largest seen"),
        rows,
        "Loads by interpolation between those simulated. The limit of many servers is a formula, evaluated "
        "between them as well, for exponential service times; shown from "
        f"{MANY} servers for each replica on.",
    )


def _waits_table(found: Document) -> Table:
    rows = []
    shown = {row["load"] for row in found["waits"] if row["policy"] == "least-work"}
    for row in found["waits"]:
        if row["load"] not in shown:
            continue
        later, theory = row["after_warmup"], row["theory_mean"]
        name = row["policy"] if row["d"] == 1 else f"{row['policy']} ({row['d']})"
        rows.append(
            (
                f"{row['load']:g} {name}",
                _with(later["mean"], later["ci"]),
                f"{later['p99']:.3g}",
                f"{later['p99.9']:.3g}",
                "" if theory is None else f"{theory:.4f}",
            )
        )
    rows.sort(key=lambda cells: float(cells[0].split()[0]))
    return Table(
        "Waits after the warm-up",
        ("load, policy", "mean", "99 %", "99.9 %", "theory, mean"),
        rows,
        "Theory: M/M/1 for random, M/M/c for least-work and for replicas on all servers, else the limit of "
        "many servers. Least-work and shortest-...: half of the jobs. All loads are in the JSON.",
    )


def _checks_table(found: Document) -> Table:
    def verdict(cell: Cell) -> str:
        if cell["within"] is None:
            return "one seed"
        return f"{cell['replicas'] - cell['least_work']:+.4f} of ± {cell['may_differ_by']:.4f}"

    return Table(
        "Mean waits without delay, beside an independent simulation of joining the least work of d",
        ("load, d", "replicas", "least work", "difference"),
        [
            (
                f"{cell['load']:g}, {cell['d']}",
                _with(cell["replicas"], cell["replicas_ci"]),
                _with(cell["least_work"], cell["least_work_ci"]),
                verdict(cell),
            )
            for cell in sorted(found["least_work_check"], key=lambda cell: (cell["load"], cell["d"]))
        ],
        "Where both are the same, 19 of 20 differences are within ±; more than three times that is an error, "
        f"from {FEWEST_TO_JUDGE} seeds on.",
    )


def _delays_table(found: Document) -> Table:
    def text(cell: Cell, name: str) -> str:
        if cell[name] is not None:
            return f"{cell[name]:.3f}"
        return "beyond" if cell[f"{name}_at_all"] else "never better"

    return Table(
        "Signalling delay up to which replicas pay",
        ("load, replicas", "against random", "against the shorter of two queues"),
        [
            (f"{cell['load']:g}, {cell['d']}", text(cell, "random"), text(cell, "shortest-of-2"))
            for cell in found["break_even"]
        ],
        f"In mean service times; beyond: at all delays, up to {max(found['settings']['delays']):g}.",
    )


def _join_table(found: Document) -> Table:
    join = found["join"]
    return Table(
        f"Replicas and green headroom: {join['energy_source']}",
        ("policy", "d", "green ratio", "mean wait", "wait, 99 %"),
        [
            (
                row["policy"],
                str(row["d"]),
                _with(row["green_ratio"], row["green_ratio_ci"]),
                _with(row["mean_wait"], row["mean_wait_ci"]),
                f"{row['p99_wait']:.3g}",
            )
            for row in join["rows"]
        ],
        f"At most {join['green_ratio_limit']:.4f} is possible; {join['jobs_an_hour']} jobs of "
        f"{join['job_wh']:g} Wh an hour.",
    )


def _tenths(value: float | None) -> str:
    return "none" if value is None else f"{value:.1f}"


def _with(mean: float, half: float | None) -> str:
    return f"{mean:.4f}" if half is None else f"{mean:.4f} ± {half:.4f}"
