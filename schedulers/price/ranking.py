# SPDX-License-Identifier: Apache-2.0
"""What the policy decides: which cluster each group of clients tries first, second, and so on.

It goes by prices and distances only, so that any data plane can carry it out; capacities come in where
requests are placed (`grasp.schedulers.price.placement`).
"""

import numpy as np
from numpy.typing import NDArray

from grasp.schedulers.base import FloatArray

BoolArray = NDArray[np.bool_]
RankArray = NDArray[np.int16]

NEIGHBOUR_KM = 50.0
"""Who has no cluster within reach takes the closest, or one that is at most so much further away."""

_FAR_KM = 1e6


def within_reach(distance_km: FloatArray, reach_km: float) -> BoolArray:
    """Return which clusters a group may use; shape (groups, clusters), as the distances.

    They are those at most `reach_km` away. A group that has none takes the closest and its neighbours.
    """
    near = distance_km <= reach_km
    closest = distance_km.min(axis=1, keepdims=True)
    fallback = distance_km <= closest + NEIGHBOUR_KM
    return np.where(near.any(axis=1, keepdims=True), near, fallback)


def by_distance(distance_km: FloatArray) -> RankArray:
    """Rank by distance alone, the same at every hour; shape (1, groups, clusters)."""
    return np.argsort(distance_km, axis=1, kind="stable").astype(np.int16)[np.newaxis]


def by_price(
    price: FloatArray, distance_km: FloatArray, reach_km: float, price_threshold: float = 0.0
) -> RankArray:
    """Rank the clusters of each group in each hour: cheapest first within reach, then the others by distance.

    `price` has shape (hours, clusters) in any unit of cost for energy, `distance_km` (groups, clusters);
    `price_threshold`, in the unit of the prices, is what a difference must exceed to be worth a longer way:
    clusters that are not dearer than the cheapest by more are equals, of which the closest comes first; the
    rest is ranked likewise. Returns the clusters' numbers in order, of shape (hours, groups, clusters).
    """
    reach = within_reach(distance_km, reach_km)
    cost = np.where(reach, price[:, np.newaxis, :], np.inf)
    order = np.argsort(cost, axis=2, kind="stable")
    ordered = np.take_along_axis(cost, order, axis=2)
    tiers = np.zeros(cost.shape)
    tier = np.zeros(cost.shape[:2])
    bottom = ordered[:, :, 0]
    for place in range(1, cost.shape[2]):
        dearer = ordered[:, :, place] > bottom + price_threshold
        tier = tier + dearer
        bottom = np.where(dearer, ordered[:, :, place], bottom)
        tiers[:, :, place] = tier
    rank = np.empty_like(tiers)
    np.put_along_axis(rank, order, tiers, axis=2)
    return np.argsort(rank * _FAR_KM + distance_km, axis=2, kind="stable").astype(np.int16)
