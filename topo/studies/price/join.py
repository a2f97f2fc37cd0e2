# SPDX-License-Identifier: Apache-2.0
"""Prices joined with green headroom: what each rule does with plants beside the clusters."""

from dataclasses import dataclass

import numpy as np

from grasp import UserError
from grasp.schedulers.base import FloatArray
from grasp.schedulers.price import ranking
from grasp.schedulers.price.green import Plants
from grasp.schedulers.price.placement import Placement
from grasp.topo.studies.price.measure import ELASTIC, Data, Settings, Task, order

CLOSEST = "closest"
RULES = (CLOSEST, "price", "green, then closest", "green, then price", "green, then carbon")
"""By distance; by price, blind to the plants; to green energy first, and else by distance, by price, or by
carbon intensity."""


@dataclass(frozen=True)
class Joined:
    """A rule's outcome: cost in $ and carbon in t of the brown energy, and the energies in MWh."""

    rule: str
    constrained: bool
    cost: float
    carbon: float
    brown_mwh: float
    energy_mwh: float
    mean_km: float

    @property
    def green_share(self) -> float:
        """The share of the energy that the plants gave."""
        return 1 - self.brown_mwh / self.energy_mwh


def measure(data: Data, settings: Settings, green_mw: FloatArray, rule: str, constrained: bool) -> Joined:
    """Route by a rule; `green_mw` has shape (hours, hubs).

    Prices and carbon intensities are known as late as the settings say, green energy for the hour. Raises
    ConservationError as every routing does, and UserError where the plants leave nothing to save.
    """
    plants = Plants(data.system, ELASTIC, green_mw)
    found = _route(data, settings, plants, rule, constrained)
    brown = plants.brown_mwh(found.load)
    served, km = found.served, data.system.distance_km
    row = Joined(
        rule,
        constrained,
        float((brown * data.true_price).sum()),
        float((brown * data.true_carbon).sum() / 1000),
        float(brown.sum()),
        plants.energy_mwh(found.load),
        float((served * km).sum() / served.sum()),
    )
    if rule == CLOSEST and min(row.cost, row.carbon) <= 0:
        raise UserError(
            "what the plants do not give costs nothing; there is nothing to save (--green, --plant)"
        )
    return row


def _route(data: Data, settings: Settings, plants: Plants, rule: str, constrained: bool) -> Placement:
    system, reach = data.system, settings.distance
    if rule == CLOSEST:
        return system.run(ranking.by_distance(system.distance_km), constrained).placement
    if rule == "price":
        task = Task("price", reach, constrained, settings.delay)
        return system.run(order(data, settings, task), constrained).placement
    # Everything brown costs the same, and more than nothing beyond every threshold.
    signal, threshold = np.ones_like(data.true_price), 0.0
    if rule == "green, then price":
        signal, threshold = data.known(data.price, settings.delay, settings.update), settings.price_threshold
    elif rule == "green, then carbon":
        signal, threshold = (
            data.known(data.carbon, settings.delay, settings.update),
            settings.carbon_threshold,
        )
    return plants.run(plants.ranking(signal, reach, threshold), constrained)
