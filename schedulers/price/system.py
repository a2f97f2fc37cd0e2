# SPDX-License-Identifier: Apache-2.0
"""A system of clusters and client groups over a span of time, and what it draws under a routing."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grasp.schedulers.base import FloatArray
from grasp.schedulers.price import bandwidth, placement, ranking
from grasp.schedulers.price.placement import Placement
from grasp.schedulers.price.power import PowerModel, activity
from grasp.schedulers.price.ranking import RankArray

STEPS_PER_HOUR = 12
BILLING_DAYS = 30
_PERIOD = BILLING_DAYS * 24 * STEPS_PER_HOUR


@dataclass(frozen=True)
class Outcome:
    """What a routing led to: the placement, and the hours' means of 2u - u^r, of shape (hours, clusters)."""

    placement: Placement
    activity: FloatArray


@dataclass(frozen=True)
class System:
    """Clusters of servers, and the groups of clients that they serve, over some hours.

    `demand` (steps, groups) in requests/s, in steps of 5 minutes and whole hours; `distance_km` (groups,
    clusters); `utilization`, the mean one of each cluster when every request goes to the closest cluster,
    from which the capacities follow; `servers` in all clusters, and the `peak_w` of one.
    """

    demand: FloatArray
    distance_km: FloatArray
    utilization: float
    servers: float
    peak_w: float

    @cached_property
    def before(self) -> Placement:
        """The routing that savings are counted from: every request goes to the closest cluster."""
        unbounded = np.full((len(self.demand), self.distance_km.shape[1]), self.demand.sum())
        closest = ranking.by_distance(self.distance_km)
        found = placement.place(self.demand, closest, unbounded, STEPS_PER_HOUR)
        placement.verify(self.demand, found, unbounded)
        return found

    @cached_property
    def capacity(self) -> FloatArray:
        """Requests/s that each cluster can serve; shape (clusters,)."""
        load = self.before.load
        capacity: FloatArray = np.maximum(load.mean(axis=0) / self.utilization, load.max(axis=0))
        return capacity

    @cached_property
    def peak_mw(self) -> FloatArray:
        """Power of each cluster's servers at peak in MW; shape (clusters,)."""
        share: FloatArray = self.capacity / self.capacity.sum()
        return share * (self.servers * self.peak_w / 1e6)

    def ceiling(self, constrained: bool) -> FloatArray:
        """What each cluster may take in each step: its capacity, or what 95/5 leaves of it."""
        if constrained:
            return bandwidth.ceilings(self.before.load, _PERIOD)
        return np.broadcast_to(self.capacity, self.before.load.shape)

    def billed(self, load: FloatArray) -> FloatArray:
        """Return the 95th percentiles of a load, of shape (billing periods, clusters)."""
        return bandwidth.billed(load, _PERIOD)

    def run(self, order: RankArray, constrained: bool) -> Outcome:
        """Route by a ranking, and verify what came of it."""
        limit = self.ceiling(constrained)
        found = placement.place(self.demand, order, limit, STEPS_PER_HOUR)
        self.verify(found, constrained)
        return Outcome(found, self._activity(found))

    def verify(self, found: Placement, constrained: bool) -> None:
        """Raise ConservationError if requests were lost or doubled, or a ceiling or percentile exceeded."""
        placement.verify(self.demand, found, self.ceiling(constrained))
        if constrained:
            bandwidth.verify(self.before.load, found.load, _PERIOD)

    @cached_property
    def baseline(self) -> Outcome:
        """The outcome of the routing before."""
        return Outcome(self.before, self._activity(self.before))

    def _activity(self, found: Placement) -> FloatArray:
        drawn = activity(found.load / self.capacity)
        hourly: FloatArray = drawn.reshape(-1, STEPS_PER_HOUR, drawn.shape[1]).mean(axis=1)
        return hourly

    def energy_mwh(self, outcome: Outcome, model: PowerModel) -> FloatArray:
        """Energy of every hour and cluster in MWh; shape (hours, clusters)."""
        share = model.fixed + (1 - model.idle) * outcome.activity
        energy: FloatArray = share * self.peak_mw
        return energy

    def cost(self, outcome: Outcome, model: PowerModel, price: FloatArray) -> float:
        """Sum of energy times price; `price` per MWh has shape (hours, clusters)."""
        return float((self.energy_mwh(outcome, model) * price).sum())

    def saving(self, outcome: Outcome, model: PowerModel, price: FloatArray) -> float:
        """Share of the cost before that is saved; below 0 where it costs more."""
        return 1 - self.cost(outcome, model, price) / self.cost(self.baseline, model, price)


def distances(outcome: Outcome, distance_km: FloatArray) -> tuple[float, float]:
    """Return the mean and the 99th percentile of the requests' distance to their cluster, in km."""
    weight = outcome.placement.served.ravel()
    order = np.argsort(distance_km, axis=None)
    reached = np.cumsum(weight[order]) / weight.sum()
    far = distance_km.ravel()[order][min(int(np.searchsorted(reached, 0.99)), len(order) - 1)]
    return float((weight * distance_km.ravel()).sum() / weight.sum()), float(far)
