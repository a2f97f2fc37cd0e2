# SPDX-License-Identifier: Apache-2.0
"""What the price study measures: routings of one system by price, carbon or both, each verified."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grasp import UserError
from grasp.schedulers.base import FloatArray
from grasp.schedulers.price import optimum, placement, ranking
from grasp.schedulers.price.power import LADDER, PowerModel
from grasp.schedulers.price.system import STEPS_PER_HOUR, Outcome, System, distances
from grasp.telemetry.energy.places import distances_km
from grasp.telemetry.energy.weather import HourArray
from grasp.telemetry.prices.hubs import Hub, positions
from grasp.telemetry.prices.series import Series
from grasp.topo.studies.price.clients import requests
from grasp.topo.studies.price.states import STATES

SERVERS = 40_000
PEAK_W = 250.0
"""Of all clusters, and of a server; savings do not depend on them."""

ELASTIC = PowerModel(0, 1.1)
"""The model of the plots that show only one: the source's most optimistic but the ideal one."""

ANYWHERE_KM = 20_000.0
CHECKED_STEPS = 48


@dataclass(frozen=True)
class Settings:
    """What is varied: distances in km, thresholds in $/MWh and g/kWh, times in hours, carbon in $/t.

    Routes are those of `delay` ago, and are kept for `update`.
    """

    distances: tuple[float, ...]
    distance: float
    price_threshold: float
    carbon_threshold: float
    delay: int
    update: int
    delays: tuple[int, ...]
    carbon_prices: tuple[float, ...]

    @property
    def before(self) -> int:
        """Hours of prices that are needed before the first one that is simulated."""
        return max(self.delay, *self.delays)


@dataclass(frozen=True)
class Data:
    """The system, and prices ($/MWh) and carbon intensities (g/kWh, which is kg/MWh) of its hubs.

    `all_prices` are those of the source, of which `price` is a span. That and `carbon` have the shape
    (before + hours, hubs): routing may know only what is some hours old.
    """

    hubs: tuple[Hub, ...]
    all_prices: Series
    hours: HourArray
    before: int
    price: FloatArray
    carbon: FloatArray
    system: System

    def known(self, values: FloatArray, delay: int, update: int = 1) -> FloatArray:
        """Return what routes go by in each hour: values `delay` hours late, and looked at every `update`."""
        hours = np.arange(len(values) - self.before)
        result: FloatArray = values[self.before - delay + hours // update * update]
        return result

    @property
    def true_price(self) -> FloatArray:
        """The prices of the simulated hours."""
        return self.known(self.price, 0)

    @property
    def true_carbon(self) -> FloatArray:
        """The carbon intensities of the simulated hours."""
        return self.known(self.carbon, 0)


@dataclass(frozen=True)
class Task:
    """One routing: by "price", "carbon" or "both", or "static", by the prices' means over all hours."""

    signal: str
    reach_km: float
    constrained: bool
    delay: int
    carbon_price: float = 0.0


@dataclass(frozen=True)
class Row:
    """A task and what it led to: shares saved of cost, carbon and energy for each model of the ladder.

    `fullest` is the highest utilisation of any cluster and step, `percentile` the highest ratio of a 95th
    percentile to what it was before.
    """

    task: Task
    cost_saved: tuple[float, ...]
    carbon_saved: tuple[float, ...]
    energy_saved: tuple[float, ...]
    mean_km: float
    p99_km: float
    moves: float
    fullest: float
    percentile: float
    load_share: tuple[float, ...]

    @property
    def elastic(self) -> float:
        """The share of the cost that is saved with the model `ELASTIC`."""
        return self.cost_saved[LADDER.index(ELASTIC)]


def gather(
    hubs: tuple[Hub, ...],
    prices: Series,
    carbon: Series,
    start: str | None,
    days: int,
    before: int,
    utilization: float,
    seed: int,
) -> Data:
    """Make the system of `days` days from `start` on; `utilization` as `System` has it.

    Raises UserError where the series do not hold these days, or leave nothing to save.
    """
    hours = prices.span(start, days * 24, before)
    demand = requests(hours[before:], STATES, seed)
    clients = [(state.latitude, state.longitude) for state in STATES]
    system = System(demand, distances_km(clients, positions(hubs)), utilization, SERVERS, PEAK_W)
    for series in (prices, carbon):
        values = series.at(hours[before:])
        if any(system.cost(system.baseline, model, values) <= 0 for model in LADDER):
            raise UserError(
                f"{series.description}: the closest clusters cost nothing, or are paid for, in these "
                f"{days} days; there is nothing to save"
            )
    return Data(hubs, prices, hours[before:], before, prices.at(hours), carbon.at(hours), system)


def tasks(settings: Settings) -> list[Task]:
    """Return every routing that the study compares; none is there twice."""
    found = [
        Task("price", reach, constrained, settings.delay)
        for reach in (*settings.distances, settings.distance, ANYWHERE_KM)
        for constrained in (False, True)
    ]
    found += [Task("price", settings.distance, False, delay) for delay in settings.delays]
    found += [Task("static", ANYWHERE_KM, constrained, 0) for constrained in (False, True)]
    found += [Task("carbon", settings.distance, constrained, settings.delay) for constrained in (False, True)]
    found += [
        Task("both", settings.distance, constrained, settings.delay, price)
        for price in settings.carbon_prices
        for constrained in (False, True)
    ]
    return list(dict.fromkeys(found))


def order(data: Data, settings: Settings, task: Task) -> ranking.RankArray:
    """Return the ranking that a task goes by."""
    signal = data.known(data.price, task.delay, settings.update)
    threshold = settings.price_threshold
    if task.signal == "static":
        signal, threshold = data.true_price.mean(axis=0, keepdims=True), 0.0
    elif task.signal == "carbon":
        signal, threshold = data.known(data.carbon, task.delay, settings.update), settings.carbon_threshold
    elif task.signal == "both":
        # $/t times kg/MWh are thousandths of $/MWh.
        signal = signal + data.known(data.carbon, task.delay, settings.update) * task.carbon_price / 1000
    return ranking.by_price(signal, data.system.distance_km, task.reach_km, threshold)


def measure(data: Data, settings: Settings, task: Task) -> Row:
    """Simulate a task; raises ConservationError if the simulation went wrong."""
    system = data.system
    outcome = system.run(order(data, settings, task), task.constrained)
    load = outcome.placement.load
    total = load.sum(axis=0)
    return Row(
        task,
        _saved(system, outcome, data.true_price),
        _saved(system, outcome, data.true_carbon),
        _saved(system, outcome, np.ones_like(data.true_price)),
        *distances(outcome, system.distance_km),
        outcome.placement.moves,
        float((load / system.capacity).max()),
        float((system.billed(load) / system.billed(system.before.load)).max()),
        tuple((total / total.sum()).tolist()),
    )


def _saved(system: System, outcome: Outcome, price: FloatArray) -> tuple[float, ...]:
    return tuple(system.saving(outcome, model, price) for model in LADDER)


@dataclass(frozen=True)
class Gap:
    """The rule against the linear programme's optimum, over the sampled steps.

    `excess` is how much more the rule's placements cost, at proportional power, `worst` the most in any
    step, over the steps' mean cost; `beyond` and `beyond_least` are the shares of the requests that the two
    sent beyond reach.
    """

    steps: int
    constrained: bool
    excess: float
    worst: float
    beyond: float
    beyond_least: float


def gap(data: Data, reach_km: float, constrained: bool) -> Gap:
    """Compare the rule, told the true prices and without a threshold, with the optimum, step by step."""
    system = data.system
    reach = ranking.within_reach(system.distance_km, reach_km)
    ranks = ranking.by_price(data.true_price, system.distance_km, reach_km)
    ceiling = system.ceiling(constrained)
    steps = np.unique(np.linspace(0, len(system.demand) - 1, CHECKED_STEPS).astype(int))
    costs: FloatArray = np.empty((len(steps), 2))
    beyond: FloatArray = np.empty((len(steps), 2))
    for index, step in enumerate(steps):
        hour = step // STEPS_PER_HOUR
        price = data.true_price[hour]
        by_rule = placement.place(
            system.demand[step : step + 1], ranks[hour : hour + 1], ceiling[step : step + 1], 1
        ).served
        best = optimum.cheapest(system.demand[step], ceiling[step], price, reach)
        for column, placed in enumerate((by_rule, best)):
            costs[index, column] = (placed * price).sum()
            beyond[index, column] = placed[~reach].sum()
    rule, least = costs.T
    total = system.demand[steps].sum()
    return Gap(
        len(steps),
        constrained,
        float(rule.sum() / least.sum() - 1),
        float((rule - least).max() / np.abs(least).mean()),
        float(beyond[:, 0].sum() / total),
        float(beyond[:, 1].sum() / total),
    )


def correlations(data: Data) -> list[tuple[Hub, Hub, float, float]]:
    """Return each pair of hubs, how far they are apart in km, and their prices' correlation, all hours.

    A price that never changes has none.
    """
    apart = distances_km(positions(data.hubs), positions(data.hubs))
    with np.errstate(invalid="ignore", divide="ignore"):
        alike = np.atleast_2d(np.corrcoef(data.all_prices.values.T))
    return [
        (a, b, float(apart[i, j]), float(alike[i, j]))
        for i, a in enumerate(data.hubs)
        for j, b in enumerate(data.hubs)
        if i < j and np.isfinite(alike[i, j])
    ]


def find(rows: Sequence[Row], task: Task) -> Row:
    """Return the row of a task."""
    return next(row for row in rows if row.task == task)
