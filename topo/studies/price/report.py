# SPDX-License-Identifier: Apache-2.0
"""The price study's numbers as a document, and as tables for people."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from grasp.schedulers.price.power import LADDER, PowerModel
from grasp.telemetry.prices.hubs import Hub
from grasp.topo.studies.output import Document, Result, Table, as_lists, many
from grasp.topo.studies.price import plots
from grasp.topo.studies.price.join import Joined
from grasp.topo.studies.price.measure import (
    ANYWHERE_KM,
    ELASTIC,
    Data,
    Gap,
    Row,
    Settings,
    Task,
    correlations,
    find,
)

GOOGLE = PowerModel(0.65, 1.3)
"""The source's model of servers of its day in an efficient facility."""


def document(
    settings: Settings,
    data: Data,
    sources: Mapping[str, str],
    rows: Sequence[Row],
    joined: Sequence[Joined],
    gaps: Sequence[Gap],
    wall_s: float,
) -> Document:
    """Return what --json prints."""
    return {
        "study": "price",
        **sources,
        "settings": {
            **as_lists(settings),
            "first_hour": _moment(data, 0),
            "hours": len(data.hours),
            "utilization": data.system.utilization,
            "requests_per_s": round(float(data.system.demand.sum(axis=1).mean())),
        },
        "ladder": [_model(settings, rows, index) for index in range(len(LADDER))],
        "distances": [_distance(settings, rows, reach) for reach in settings.distances],
        "delays": [_delay(settings, rows, delay) for delay in settings.delays],
        "signals": [_signal(row) for row in rows if _compared(settings, row.task)],
        "join": [_joined(row, joined[0]) for row in joined],
        "published": _published(settings, rows),
        "hubs": [_hub(settings, data, rows, index) for index in range(len(data.hubs))],
        "correlations": [
            {"hubs": [a.name, b.name], "km": round(km), "same_market": a.market == b.market, "r": round(r, 3)}
            for a, b, km, r in correlations(data)
        ],
        "series": _series(data),
        "optimum": [asdict(gap) for gap in gaps],
        "verified": {
            "routings": len(rows) + len(joined),
            "requests_each": round(float(data.system.demand.sum()) * 300),
            "fullest": round(max(row.fullest for row in rows), 6),
            "percentile": round(max(row.percentile for row in rows if not row.task.constrained), 4),
            "percentile_95_5": round(max(row.percentile for row in rows if row.task.constrained), 6),
        },
        "wall_s": round(wall_s, 2),
    }


def _pair(settings: Settings, rows: Sequence[Row], reach: float, delay: int | None = None) -> list[Row]:
    """Return the rows by price without and with 95/5."""
    late = settings.delay if delay is None else delay
    return [find(rows, Task("price", reach, constrained, late)) for constrained in (False, True)]


def _model(settings: Settings, rows: Sequence[Row], index: int) -> dict[str, Any]:
    free, bound = _pair(settings, rows, settings.distance)
    return {
        "idle": LADDER[index].idle,
        "pue": LADDER[index].pue,
        "saved": round(free.cost_saved[index], 4),
        "saved_95_5": round(bound.cost_saved[index], 4),
        "energy_saved": round(free.energy_saved[index], 4),
        "energy_saved_95_5": round(bound.energy_saved[index], 4),
    }


def _distance(settings: Settings, rows: Sequence[Row], reach: float) -> dict[str, Any]:
    free, bound = _pair(settings, rows, reach)
    return {
        "km": reach,
        "saved": [round(value, 4) for value in free.cost_saved],
        "saved_95_5": [round(value, 4) for value in bound.cost_saved],
        "mean_km": round(free.mean_km),
        "p99_km": round(free.p99_km),
        "mean_km_95_5": round(bound.mean_km),
        "p99_km_95_5": round(bound.p99_km),
    }


def _delay(settings: Settings, rows: Sequence[Row], delay: int) -> dict[str, Any]:
    row = find(rows, Task("price", settings.distance, False, delay))
    return {"hours": delay, "saved": round(row.elastic, 4), "moves": round(row.moves, 4)}


def _compared(settings: Settings, task: Task) -> bool:
    if task.signal == "price":
        return task.reach_km == settings.distance and task.delay == settings.delay
    return task.signal in ("carbon", "both")


def _signal(row: Row) -> dict[str, Any]:
    place = LADDER.index(ELASTIC)
    return {
        "signal": row.task.signal,
        "carbon_price": row.task.carbon_price,
        "constrained": row.task.constrained,
        "cost_saved": round(row.cost_saved[place], 4),
        "carbon_saved": round(row.carbon_saved[place], 4),
        "mean_km": round(row.mean_km),
        "moves": round(row.moves, 4),
    }


def _joined(row: Joined, closest: Joined) -> dict[str, Any]:
    return {
        "rule": row.rule,
        "constrained": row.constrained,
        "green_share": round(row.green_share, 4),
        "cost_saved": round(1 - row.cost / closest.cost, 4),
        "carbon_saved": round(1 - row.carbon / closest.carbon, 4),
        "brown_mwh": round(row.brown_mwh, 2),
        "energy_mwh": round(row.energy_mwh, 2),
        "mean_km": round(row.mean_km),
    }


def _published(settings: Settings, rows: Sequence[Row]) -> list[dict[str, Any]]:
    free, bound = _pair(settings, rows, settings.distance)
    anywhere, _ = _pair(settings, rows, ANYWHERE_KM)
    static = find(rows, Task("static", ANYWHERE_KM, False, 0))
    google, ideal = LADDER.index(GOOGLE), len(LADDER) - 1
    near = f"{settings.distance:g} km"
    return [
        {"what": what, "published": published, "found": round(found, 4)}
        for what, published, found in (
            (f"{GOOGLE}, {near}, with 95/5", "at least 2 %", bound.cost_saved[google]),
            (f"{ELASTIC}, {near}", "over 30 %", free.elastic),
            (f"{ELASTIC}, {near}, with 95/5", "about 13 %", bound.elastic),
            (f"{LADDER[ideal]}, any distance", "at most 45 %", anywhere.cost_saved[ideal]),
            (f"{LADDER[ideal]}, any distance, by mean price", "35 %", static.cost_saved[ideal]),
        )
    ]


def _hub(settings: Settings, data: Data, rows: Sequence[Row], index: int) -> dict[str, Any]:
    price, hub = data.true_price[:, index], data.hubs[index]
    free, bound = _pair(settings, rows, settings.distance)
    before = data.system.before.load.sum(axis=0)
    return {
        **_place(hub),
        "mean": round(float(price.mean()), 2),
        "sd": round(float(price.std()), 2),
        "least": round(float(price.min()), 2),
        "most": round(float(price.max()), 2),
        "below_zero": round(float((price < 0).mean()), 4),
        "load_before": round(float(before[index] / before.sum()), 4),
        "load": round(free.load_share[index], 4),
        "load_95_5": round(bound.load_share[index], 4),
    }


def _place(hub: Hub) -> dict[str, Any]:
    return {"hub": hub.name, "title": hub.title, "market": hub.market}


def _moment(data: Data, hour: int) -> str:
    """Return a simulated hour's stamp; a typical year's without the year."""
    stamp = f"{data.hours[hour]}Z"
    return stamp.partition("-")[2] if data.all_prices.typical else stamp


def _series(data: Data) -> dict[str, Any]:
    """Return the prices of the five days with the dearest hour, for a picture."""
    hours = len(data.true_price)
    dearest = int(data.true_price.max(axis=1).argmax())
    first = int(np.clip(dearest - 60, 0, max(hours - 120, 0)))
    part = slice(first, min(first + 120, hours))
    return {
        "first_hour": _moment(data, first),
        "hubs": [hub.name for hub in data.hubs],
        "price": np.round(data.true_price[part], 2).tolist(),
    }


def result(found: Document) -> Result:
    """Return the document in all its forms."""
    settings = found["settings"]
    top, bottom = found["ladder"][-2], found["ladder"][0]
    checked = found["verified"]
    worst = max(found["optimum"], key=lambda gap: gap["excess"])
    facts = (
        (
            f"{top['saved']:.1%}",
            "saved by elastic clusters",
            f"{ELASTIC}, up to {settings['distance']:g} km; {top['saved_95_5']:.1%} with 95/5",
        ),
        (
            f"{bottom['saved']:.1%}",
            "saved by clusters of 2009",
            f"{LADDER[0]}; {bottom['saved_95_5']:.1%} with 95/5",
        ),
        (
            f"{max(worst['excess'], 0):.2%}",
            "above the optimum",
            f"of a linear programme, {worst['steps']} steps, the worse of without and with 95/5",
        ),
        (
            f"{checked['routings']}",
            "routings verified",
            (
                f"each served all {checked['requests_each'] / 1e9:,.0f} billion requests once; "
                f"fullest cluster at {checked['fullest']:.0%}; "
                f"highest 95th percentile {checked['percentile']:.2f} of what it was, "
                f"with 95/5 {checked['percentile_95_5']:.2f}"
            ),
        ),
    )
    return Result(
        name="price",
        title="Routing by electricity prices",
        subtitle=f"{found['prices']}; {found['carbon']}; {many(settings['hours'] // 24, 'day')} from "
        f"{settings['first_hour']}; made-up requests of the states of the US",
        document=found,
        facts=facts,
        tables=_tables(found),
        plots=plots.PLOTS,
        draw=plots.draw,
    )


def _tables(found: Document) -> list[Table]:
    settings, ideal = found["settings"], LADDER.index(ELASTIC)
    return [
        Table(
            "Share of the cost that is saved, by power model",
            ("idle power, PUE", "no constraint", "with 95/5", "energy", "energy, 95/5"),
            [
                (
                    f"{row['idle']:.0%}, {row['pue']:g}",
                    *(_percent(row[key]) for key in ("saved", "saved_95_5")),
                    *(_percent(row[key]) for key in ("energy_saved", "energy_saved_95_5")),
                )
                for row in found["ladder"]
            ],
            f"Requests go up to {settings['distance']:g} km, {settings['delay']} h after the price; routes "
            f"are kept for {settings['update']} h. Counted from the routing to the closest cluster. Energy "
            "is saved because full clusters draw less for a request in this model; the rest of the cost is "
            "saved by paying less for it.",
        ),
        Table(
            "Reported and found",
            ("case", "reported", "found"),
            [(row["what"], row["published"], _percent(row["found"])) for row in found["published"]],
            "Reported for the prices and the traffic of 2006 to 2009; these are others.",
        ),
        Table(
            f"By distance, {ELASTIC}",
            ("km", "saved", "with 95/5", "mean km", "99 %, km"),
            [
                (
                    f"{row['km']:g}",
                    _percent(row["saved"][ideal]),
                    _percent(row["saved_95_5"][ideal]),
                    f"{row['mean_km']:,}",
                    f"{row['p99_km']:,}",
                )
                for row in found["distances"]
            ],
        ),
        Table(
            f"By delay from price to routes, {ELASTIC}",
            ("h", "saved", "requests that moved since the hour before"),
            [(str(row["hours"]), _percent(row["saved"]), _percent(row["moves"])) for row in found["delays"]],
        ),
        Table(
            f"By price, by carbon intensity, by both, {ELASTIC}",
            ("rule", "cost saved", "carbon saved", "mean km"),
            [
                (
                    _name(row),
                    _percent(row["cost_saved"]),
                    _percent(row["carbon_saved"]),
                    f"{row['mean_km']:,}",
                )
                for row in found["signals"]
            ],
        ),
        Table(
            f"With plants beside the clusters, {ELASTIC}",
            ("rule", "green energy", "cost saved", "carbon saved", "mean km"),
            [
                (
                    f"{row['rule']}, 95/5" if row["constrained"] else row["rule"],
                    *(_percent(row[key]) for key in ("green_share", "cost_saved", "carbon_saved")),
                    f"{row['mean_km']:,}",
                )
                for row in found["join"]
            ],
            f"{found['green']}. Counted from the routing to the closest cluster, with the same plants.",
        ),
        Table(
            "Hubs: prices in $/MWh, and shares of the requests",
            ("hub", "mean", "sd", "least", "most", "near", "price", "95/5"),
            [
                (
                    f"{row['hub']}, {row['title']} ({row['market']})",
                    *(f"{row[key]:.1f}" for key in ("mean", "sd")),
                    *(f"{row[key]:.0f}" for key in ("least", "most")),
                    *(_percent(row[key]) for key in ("load_before", "load", "load_95_5")),
                )
                for row in found["hubs"]
            ],
            "Near: all requests go to the closest cluster.",
        ),
        Table(
            "The rule beside the optimum, at power in proportion to load",
            ("ceilings", "dearer", "worst step", "beyond reach", "at least"),
            [
                (
                    "95/5" if row["constrained"] else "capacity",
                    f"{row['excess']:.3%}",
                    f"{row['worst']:.3%}",
                    f"{row['beyond']:.3%}",
                    f"{row['beyond_least']:.3%}",
                )
                for row in found["optimum"]
            ],
            "The optimum first sends as little as possible beyond reach. A rule that sends more there can be "
            "cheaper than it.",
        ),
    ]


def _name(row: Mapping[str, Any]) -> str:
    name = f"both, ${row['carbon_price']:g}/t" if row["signal"] == "both" else str(row["signal"])
    return f"{name}, 95/5" if row["constrained"] else name


def _percent(share: float) -> str:
    return f"{share:.1%}"
