# SPDX-License-Identifier: Apache-2.0
"""Replicas at several sites, of which the cheapest in brown energy is kept.

A site has green energy for each hour. A job takes it from the site where it starts; what the site no longer
has is brown. The headroom is the switches' (budget less what the jobs of this hour took).
"""

from collections.abc import Collection

import numpy as np

from grasp.schedulers.base import FloatArray, IntArray
from grasp.schedulers.replicas.events import Rule


class Sites:
    """Headroom of the sites as time passes.

    `energy_wh` has shape (hours, sites); an hour takes `hour` mean service times. Servers are numbered site
    by site, `servers` in each.
    """

    def __init__(self, energy_wh: FloatArray, job_wh: float, hour: float, servers: int) -> None:
        self.servers = servers
        self.green_wh = 0.0
        self._energy = energy_wh
        self._job_wh = job_wh
        self._hour = hour
        self._now = 0
        self._left: list[float] = energy_wh[0].tolist()

    def brown_wh(self, server: int, now: float) -> float:
        """Return the brown energy that a job would take on this server."""
        self._turn(now)
        return self._job_wh - self._green(server // self.servers)

    def charge(self, server: int, now: float) -> None:
        """Take a job's energy from the server's site."""
        self._turn(now)
        site = server // self.servers
        self.green_wh += self._green(site)
        self._left[site] -= self._job_wh

    def greenest(self, now: float) -> int:
        """Return the site with the largest headroom, the first of equals."""
        self._turn(now)
        return self._left.index(max(self._left))

    def _green(self, site: int) -> float:
        return min(max(self._left[site], 0.0), self._job_wh)

    def _turn(self, now: float) -> None:
        hour = min(int(now / self._hour), len(self._energy) - 1)
        if hour != self._now:
            self._now = hour
            self._left = self._energy[hour].tolist()


class Charged(Rule):
    """Whichever replica is reached first starts, and its site is charged."""

    def __init__(self, sites: Sites) -> None:
        self.sites = sites

    def starts(self, server: int, others: Collection[int], waited: float, now: float) -> bool:
        """Charge the site and say yes."""
        self.sites.charge(server, now)
        return True


class Cheapest(Charged):
    """A replica gives way while another waits where the job would take less brown energy.

    It does so only until the job has waited for `patience`: then whichever is reached first starts.
    """

    def __init__(self, sites: Sites, patience: float = np.inf) -> None:
        super().__init__(sites)
        self._patience = patience

    def starts(self, server: int, others: Collection[int], waited: float, now: float) -> bool:
        """Say no if the job had better wait for another site."""
        if waited < self._patience and others:
            here = self.sites.brown_wh(server, now)
            if here > 0 and any(self.sites.brown_wh(other, now) < here for other in others):
                return False
        return super().starts(server, others, waited, now)


def assign_to_greenest(sites: Sites, arrivals: FloatArray, servers: IntArray) -> IntArray:
    """Choose for each job, when it comes, the site with the most headroom, and charge it.

    `servers` of shape (jobs,) says which server of the site it is to be; returns servers of shape (jobs, 1).
    This is what the switches do, whose choice is final.
    """
    chosen = []
    for now, server in zip(arrivals.tolist(), servers.tolist(), strict=True):
        place = sites.greenest(now) * sites.servers + server
        sites.charge(place, now)
        chosen.append(place)
    return np.array(chosen, dtype=np.int64)[:, np.newaxis]
