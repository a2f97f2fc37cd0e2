# SPDX-License-Identifier: Apache-2.0
"""How a ranking is carried out: every group's requests go down its ranking until a cluster has room."""

from dataclasses import dataclass

import numpy as np

from grasp.schedulers.base import FloatArray
from grasp.schedulers.faults import SimulationError
from grasp.schedulers.price.ranking import RankArray

_STEPS_AT_ONCE = 2016  # a week of 5 minutes: arrays that stay in the cache

TOLERANCE = 1e-9
"""Of the whole: what rounding may do."""


class ConservationError(SimulationError):
    """A simulation lost or doubled requests, or exceeded a ceiling."""


@dataclass(frozen=True)
class Placement:
    """Where requests went.

    `load` in requests/s has shape (steps, clusters); `served`, its sum over the steps by group, (groups,
    clusters). `moves` is the share of the demand whose first choice differs from that of the hour before.
    """

    load: FloatArray
    served: FloatArray
    moves: float


def place(demand: FloatArray, ranking: RankArray, ceiling: FloatArray, steps_per_hour: int) -> Placement:
    """Place the requests of every step.

    `demand` in requests/s has shape (steps, groups), `ceiling`, what a cluster takes in a step, (steps,
    clusters); `ranking` as the functions of `grasp.schedulers.price.ranking` return it, for every hour or one
    for all. A cluster that is asked for more than it has room for takes the same share of what each group
    asks; the rest goes to the next in the groups' rankings. Raises ConservationError where the ceilings do
    not hold the demand.
    """
    steps, groups = demand.shape
    clusters = ceiling.shape[1]
    load = np.zeros((steps, clusters))
    served = np.zeros(groups * clusters)
    for first in range(0, steps, _STEPS_AT_ONCE):
        chunk = slice(first, min(first + _STEPS_AT_ONCE, steps))
        left = demand[chunk].ravel().copy()
        room = ceiling[chunk].ravel().copy()
        step, group = np.divmod(np.arange(left.size), groups)
        hour = (first + step) // steps_per_hour if len(ranking) > 1 else np.zeros_like(step)
        waiting = np.flatnonzero(left > 0)
        for rank in range(clusters):
            if not waiting.size:
                break
            choice = ranking[hour[waiting], group[waiting], rank].astype(np.int64)
            cell = step[waiting] * clusters + choice
            asked = np.bincount(cell, left[waiting], minlength=room.size)
            share = np.divide(room, asked, out=np.ones_like(room), where=asked > room)[cell]
            taken = left[waiting] * share
            given = np.bincount(cell, taken, minlength=room.size)
            load[chunk] += given.reshape(-1, clusters)
            room = np.maximum(room - given, 0)
            served += np.bincount(group[waiting] * clusters + choice, taken, minlength=served.size)
            left[waiting] -= taken
            waiting = waiting[share < 1]
        if left[waiting].sum() > TOLERANCE * demand[chunk].sum():
            raise ConservationError(f"{left[waiting].sum():g} requests/s found no room")
    return Placement(load, served.reshape(groups, clusters), _moves(demand, ranking, steps_per_hour))


def _moves(demand: FloatArray, ranking: RankArray, steps_per_hour: int) -> float:
    if len(ranking) < 2:
        return 0.0
    hourly = np.add.reduceat(demand, np.arange(0, len(demand), steps_per_hour), axis=0)
    first = ranking[: len(hourly), :, 0]
    moved = hourly[1:][first[1:] != first[:-1]].sum()
    return float(moved / hourly[1:].sum())


def verify(demand: FloatArray, placement: Placement, ceiling: FloatArray) -> None:
    """Raise ConservationError unless every request was served once and no ceiling exceeded."""
    total = demand.sum()
    if not np.allclose(placement.load.sum(axis=1), demand.sum(axis=1), rtol=TOLERANCE, atol=0):
        raise ConservationError("requests of a step were lost or served twice")
    if not np.allclose(placement.served.sum(axis=1), demand.sum(axis=0), rtol=TOLERANCE, atol=0):
        raise ConservationError("requests of a group were lost or served twice")
    if not np.allclose(placement.served.sum(axis=0), placement.load.sum(axis=0), atol=TOLERANCE * total):
        raise ConservationError("clusters' loads are not what was sent to them")
    if (placement.load > ceiling * (1 + TOLERANCE)).any():
        raise ConservationError("a cluster took more than its ceiling")
