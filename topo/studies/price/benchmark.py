# SPDX-License-Identifier: Apache-2.0
"""What ``grasp bench studies`` times of the price study: requests of a state in 5 minutes, placed."""

from collections.abc import Iterator, Sequence

import numpy as np

from grasp.schedulers.base import FloatArray
from grasp.schedulers.price import ranking
from grasp.schedulers.price.system import STEPS_PER_HOUR
from grasp.telemetry.prices import synthetic
from grasp.telemetry.prices.hubs import HUBS
from grasp.topo.studies.benchmark import Case
from grasp.topo.studies.price.measure import gather
from grasp.topo.studies.price.states import STATES

_DISTANCE_KM, _THRESHOLD = 1500.0, 5.0


def cases(size: int) -> Iterator[Case]:
    """Yield the routing by price of as many days as hold `size` states' 5 minutes, each step verified.

    Answers are the clusters' loads, over their capacities.
    """
    days = max(size // (len(STATES) * 24 * STEPS_PER_HOUR), 1)
    prices, carbon = synthetic.prices(HUBS, 0), synthetic.carbon(HUBS, 0)
    data = gather(HUBS, prices, carbon, None, days, 1, 0.3, 0)
    system, known = data.system, data.known(data.price, 1)
    system.ceiling(constrained=True)  # what the routing before was is known
    jobs = int(system.demand.size)

    for constrained, name in ((False, "by price"), (True, "by price, with 95/5")):

        def work(constrained: bool = constrained) -> FloatArray:
            order = ranking.by_price(known, system.distance_km, _DISTANCE_KM, _THRESHOLD)
            return system.run(order, constrained).placement.load / system.capacity

        def plain(constrained: bool = constrained) -> FloatArray:
            orders = rank(known.tolist(), system.distance_km.tolist(), _DISTANCE_KM, _THRESHOLD)
            ceiling = system.ceiling(constrained).tolist()
            return np.array(route(system.demand.tolist(), orders, ceiling)) / system.capacity

        yield Case("price", f"{name}, {days} days of 5 minutes", jobs, work, "group by group", plain)


def rank(
    price: Sequence[Sequence[float]],
    distance_km: Sequence[Sequence[float]],
    reach_km: float,
    threshold: float,
) -> list[list[list[int]]]:
    """Rank the clusters of each group in each hour as `ranking.by_price` does, one after another."""
    return [[_order(now, row, reach_km, threshold) for row in distance_km] for now in price]


def _order(price: Sequence[float], km: Sequence[float], reach_km: float, threshold: float) -> list[int]:
    every = range(len(km))
    near = [one for one in every if km[one] <= reach_km]
    near = near or [one for one in every if km[one] <= min(km) + ranking.NEIGHBOUR_KM]
    order: list[int] = []
    left = sorted(near, key=lambda one: price[one])
    while left:
        equals = [one for one in left if price[one] <= price[left[0]] + threshold]
        order += sorted(equals, key=lambda one: km[one])
        left = left[len(equals) :]
    return order + sorted(set(every) - set(order), key=lambda one: km[one])


def route(
    demand: Sequence[Sequence[float]],
    orders: Sequence[Sequence[Sequence[int]]],
    ceiling: Sequence[Sequence[float]],
) -> list[list[float]]:
    """Place the requests of every step as `placement.place` does, group by group; return clusters' loads."""
    loads = []
    for step, (asked, limits) in enumerate(zip(demand, ceiling, strict=True)):
        room, load = list(limits), [0.0] * len(limits)
        waiting = list(zip(asked, orders[step // STEPS_PER_HOUR], strict=True))
        for place in range(len(room)):
            wanted = [0.0] * len(room)
            for requests, order in waiting:
                wanted[order[place]] += requests
            share = [min(free / want, 1.0) if want else 1.0 for free, want in zip(room, wanted, strict=True)]
            still = []
            for requests, order in waiting:
                cluster = order[place]
                load[cluster] += requests * share[cluster]
                if share[cluster] < 1:
                    still.append((requests * (1 - share[cluster]), order))
            room = [free - want * part for free, want, part in zip(room, wanted, share, strict=True)]
            if not still:
                break
            waiting = still
        loads.append(load)
    return loads
