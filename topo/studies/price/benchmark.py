# SPDX-License-Identifier: Apache-2.0
"""What ``grasp bench studies`` times of the price study: requests of a state in 5 minutes, placed."""

from collections.abc import Iterator

from grasp.schedulers.price import ranking
from grasp.schedulers.price.system import STEPS_PER_HOUR
from grasp.telemetry.prices import synthetic
from grasp.telemetry.prices.hubs import HUBS
from grasp.topo.studies.benchmark import Case
from grasp.topo.studies.price.measure import gather
from grasp.topo.studies.price.states import STATES

_DISTANCE_KM, _THRESHOLD = 1500.0, 5.0


def cases(size: int) -> Iterator[Case]:
    """Yield the routing by price of as many days as hold `size` states' 5 minutes, each step verified."""
    days = max(size // (len(STATES) * 24 * STEPS_PER_HOUR), 1)
    prices, carbon = synthetic.prices(HUBS, 0), synthetic.carbon(HUBS, 0)
    data = gather(HUBS, prices, carbon, None, days, 1, 0.3, 0)
    system = data.system
    system.ceiling(constrained=True)  # what the routing before was is known

    for constrained, name in ((False, "by price"), (True, "by price, with 95/5")):

        def work(constrained: bool = constrained) -> int:
            order = ranking.by_price(data.known(data.price, 1), system.distance_km, _DISTANCE_KM, _THRESHOLD)
            system.run(order, constrained)
            return int(system.demand.size)

        yield Case("price", f"{name}, {days} days of 5 minutes", work)
