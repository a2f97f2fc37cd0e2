# SPDX-License-Identifier: Apache-2.0
"""The join with green headroom: energy of a site's own plant costs nothing, and what is not used is lost.

A plant's power is the same throughout an hour; what a cluster does not draw of it in a step of 5 minutes is
lost. To the ranking a cluster is two: its green part, which takes the load that the plant covers in the hour
and is free, and the rest, which pays the price. Everything else is as without plants.
"""

from dataclasses import dataclass

import numpy as np

from grasp.schedulers.base import FloatArray
from grasp.schedulers.price import placement
from grasp.schedulers.price.placement import Placement
from grasp.schedulers.price.power import PowerModel, activity
from grasp.schedulers.price.ranking import RankArray, by_price
from grasp.schedulers.price.system import STEPS_PER_HOUR, System

_GRID = np.linspace(0, 1, 4097)


@dataclass(frozen=True)
class Plants:
    """Plants beside the clusters of a system: `green_mw`, their mean power, has shape (hours, clusters)."""

    system: System
    model: PowerModel
    green_mw: FloatArray

    def covered(self) -> FloatArray:
        """Return the load in requests/s whose power the plants give; shape (hours, clusters)."""
        share = self.green_mw / self.system.peak_mw - self.model.fixed
        if self.model.idle == 1:
            return np.where(share >= 0, self.system.capacity, 0.0)
        # Below what the cluster draws at no load, the plant covers none.
        load: FloatArray = np.interp(share / (1 - self.model.idle), activity(_GRID), _GRID)
        return load * self.system.capacity

    def ranking(self, price: FloatArray, reach_km: float, price_threshold: float = 0.0) -> RankArray:
        """Rank green parts and then the rest of all clusters, as `by_price` does, at prices of 0."""
        km = self.system.distance_km
        both = np.concatenate([np.zeros_like(price), price], axis=1)
        return by_price(both, np.concatenate([km, km], axis=1), reach_km, price_threshold)

    def run(self, order: RankArray, constrained: bool) -> Placement:
        """Route by a ranking of both parts, and verify what came of it; returns clusters as wholes."""
        system = self.system
        limit = system.ceiling(constrained)
        green = np.minimum(np.repeat(self.covered(), STEPS_PER_HOUR, axis=0), limit)
        parts = placement.place(
            system.demand, order, np.concatenate([green, limit - green], axis=1), STEPS_PER_HOUR
        )
        clusters = limit.shape[1]
        whole = Placement(
            parts.load[:, :clusters] + parts.load[:, clusters:],
            parts.served[:, :clusters] + parts.served[:, clusters:],
            parts.moves,
        )
        system.verify(whole, constrained)
        return whole

    def brown_mwh(self, load: FloatArray) -> FloatArray:
        """Energy that the plants do not give, in MWh; shape (hours, clusters), of a load in requests/s."""
        drawn = self.model.power(load / self.system.capacity) * self.system.peak_mw
        hourly = drawn.reshape(-1, STEPS_PER_HOUR, drawn.shape[1])
        brown: FloatArray = np.maximum(hourly - self.green_mw[:, np.newaxis, :], 0).mean(axis=1)
        return brown

    def energy_mwh(self, load: FloatArray) -> float:
        """All energy of a load, green and brown, in MWh."""
        drawn = self.model.power(load / self.system.capacity) * self.system.peak_mw
        return float(drawn.sum() / STEPS_PER_HOUR)
