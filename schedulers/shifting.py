# SPDX-License-Identifier: Apache-2.0
"""Green energy moved in time: jobs that may wait, and batteries at the sites; decided hour by hour.

Within an hour nothing beats `green`: it reaches the limit, min(n, sum of E/k). What is left to gain lies in
other hours. Jobs are divisible here, and any site may run any of them, so an hour's direct green energy is
the sites' sum; only batteries are a site's own.

The policy knows the present hour, and for those to come a forecast.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from grasp import UserError
from grasp.schedulers.base import FloatArray

LONGEST_WAIT_H = 24
"""Yesterday tells something about the hours up to a day ahead."""


@dataclass(frozen=True)
class Waiting:
    """A share of the jobs of every hour may begin up to so many hours later than they came."""

    share: float = 0.0
    hours: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise UserError(f"share {self.share:g}: must be from 0 to 1")
        if not 0 <= self.hours <= LONGEST_WAIT_H:
            raise UserError(f"wait {self.hours}: must be from 0 to {LONGEST_WAIT_H} hours")


@dataclass(frozen=True)
class Battery:
    """A battery at every site, empty at first: capacity in Wh, power in W either way.

    `efficiency` is how much of what goes in comes out. Only green energy of the site goes in.
    """

    capacity_wh: float = 0.0
    power_w: float = 0.0
    efficiency: float = 1.0

    def __post_init__(self) -> None:
        for name, value in (("capacity", self.capacity_wh), ("power", self.power_w)):
            if not 0 <= value <= 1e9:
                raise UserError(f"battery {name} {value:g}: must be from 0 to 1e9")
        if not 0 < self.efficiency <= 1:
            raise UserError(f"battery efficiency {self.efficiency:g}: must be above 0 and at most 1")


class Shifted(NamedTuple):
    """Green ratio of each case, and how long jobs waited on average, in hours; shape (cases,)."""

    green_ratio: FloatArray
    mean_wait_h: FloatArray


def shift(
    energy_wh: FloatArray,
    believed_wh: FloatArray,
    job_wh: ArrayLike,
    jobs: ArrayLike,
    waiting: Waiting,
    battery: Battery,
) -> Shifted:
    """Run the hours one after another under the policy; return what it reached.

    `energy_wh` and `believed_wh` (what one believes of an hour before it begins) have shape (hours, sites);
    `job_wh` and `jobs`, of shape (cases,), give each case its job energy and its jobs in every hour.

    In each hour, green energy goes first to the jobs that must run now, then to waiting ones, the earliest
    deadline first, then into batteries. Jobs that must run now and get none take from batteries; so do
    waiting ones that no hour to come is believed to have green energy for, and they run now as well.
    """
    job, count = np.broadcast_arrays(
        np.atleast_1d(np.asarray(job_wh, dtype=np.float64)), np.atleast_1d(np.asarray(jobs, dtype=np.float64))
    )
    hours = len(energy_wh)
    arriving = count * job * waiting.share  # all amounts are energies, of shape (cases, ...)
    at_once = count * job - arriving
    # By the hours that are left: jobs that may not wait are due at once, as the others are at their deadline.
    queue = np.zeros((len(job), waiting.hours + 1))
    stores = _Stores(battery, len(job), energy_wh.shape[1])
    spare = np.maximum(believed_wh.sum(axis=1)[:, np.newaxis] - at_once, 0)
    inflow = _next_day(believed_wh)
    served = np.zeros(len(job))
    waited = np.zeros(len(job))
    for hour in range(hours):
        queue[:, -1] += arriving
        queue[:, 0] += at_once
        green = _earliest_first(queue, energy_wh[hour].sum())
        queue -= green
        used = green.sum(axis=1)
        stores.charge(energy_wh[hour], used, inflow[hour])
        last = min(waiting.hours, hours - 1 - hour)
        hopeless = _hopeless(queue, spare[hour + 1 : hour + 1 + last])
        served += used + stores.discharge(hopeless.sum(axis=1), inflow[hour])
        queue -= hopeless
        waited += queue.sum(axis=1)
        queue[:, :-1] = queue[:, 1:]
        queue[:, -1] = 0
    total = hours * count * job
    return Shifted(served / total, waited / total)


def _earliest_first(queue: FloatArray, energy: float) -> FloatArray:
    """What of each deadline's jobs so much energy serves."""
    before = np.cumsum(queue, axis=1) - queue
    return np.clip(energy - before, 0, queue)


def _hopeless(queue: FloatArray, spare: FloatArray) -> FloatArray:
    """What of each deadline's jobs, those due now among them, the hours to come cannot serve.

    `spare` is the energy believed to be left in each of them, of shape (hours to come, cases). Jobs due
    within j hours have only those hours' energy, so of all up to deadline h at most the least over j of
    (energy up to j + jobs due after j up to h) are served.
    """
    coming = np.zeros_like(queue)
    coming[:, 1 : 1 + len(spare)] = spare.T
    room = np.cumsum(coming, axis=1)
    due = np.cumsum(queue, axis=1)
    most = due + np.minimum.accumulate(room - due, axis=1)
    hopeful = np.diff(np.minimum(due, most), axis=1, prepend=0)
    hopeless: FloatArray = queue - np.clip(hopeful, 0, queue)
    return hopeless


def _next_day(believed_wh: FloatArray) -> FloatArray:
    """Energy that is believed to come in the 24 hours after each hour, by site."""
    total = np.concatenate([np.zeros((1, believed_wh.shape[1])), np.cumsum(believed_wh, axis=0)])
    first = np.arange(1, len(believed_wh) + 1)
    coming: FloatArray = total[np.minimum(first + 24, len(believed_wh))] - total[first]
    return coming


class _Stores:
    """The sites' batteries in every case; energies have shape (cases, sites).

    A battery that much energy is coming to will be full by itself, and what it holds is in the way. So it is
    emptied first and charged last.
    """

    def __init__(self, battery: Battery, cases: int, sites: int) -> None:
        self._battery = battery
        self._held = np.zeros((cases, sites))

    def charge(self, energy: FloatArray, used: FloatArray, inflow: FloatArray) -> None:
        """Take in what is left of the sites' energy when so much of it, in all, was used at once."""
        if not self._battery.capacity_wh:
            return
        room = (self._battery.capacity_wh - self._held) / self._battery.efficiency
        fits = np.minimum(np.minimum(room, self._battery.power_w), energy)
        # What fits into no battery is used first, then that of the batteries that will be full anyway.
        lost = (energy - fits).sum(axis=1)
        taken = self._in_turn(fits, np.maximum(used - lost, 0), inflow)
        self._held += (fits - taken) * self._battery.efficiency

    def discharge(self, wanted: FloatArray, inflow: FloatArray) -> FloatArray:
        """Give as much as is wanted and there; return what was given in each case."""
        if not self._battery.capacity_wh:
            return np.zeros_like(wanted)
        given = self._in_turn(np.minimum(self._held, self._battery.power_w), wanted, inflow)
        self._held -= given
        total: FloatArray = given.sum(axis=1)
        return total

    def _in_turn(self, offered: FloatArray, wanted: FloatArray, inflow: FloatArray) -> FloatArray:
        """What each site gives of its offer if those that will overflow most give first."""
        overflow = self._held + inflow * self._battery.efficiency
        order = np.argsort(-overflow, axis=1, kind="stable")
        sorted_offer = np.take_along_axis(offered, order, axis=1)
        before = np.cumsum(sorted_offer, axis=1) - sorted_offer
        given = np.empty_like(offered)
        np.put_along_axis(given, order, np.clip(wanted[:, np.newaxis] - before, 0, sorted_offer), axis=1)
        return given
