# SPDX-License-Identifier: Apache-2.0
"""What the sites have, what of it was spent, and who is alive: in the controller, for it is what decides.

In the P4 system the sites' switches keep these books; here the ledger takes their part. It executes the
core's operations and answers them as a switch would, so that the core need not know the difference.

The paper's n of a site, the jobs under way, is `spent` over the energy of a job: it goes up with each
decision and down when the job's entry is removed. An epoch begins with a new forecast and nothing spent.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from grasp.control.wire import CPU_PORT, DRAINED, Operation, PacketIn, PacketOut, Reason, SiteFlag, Status
from grasp.schedulers.base import Scheduler

_ALL_SILENT = 10
"""Expiries after which a site is dead even if nothing is heard of the others either."""


class Place(NamedTuple):
    """Where a site is attached; `mac` as an integer."""

    switch: str
    port: int
    mac: int


@dataclass(slots=True)
class _Site:
    place: Place | None = None
    epoch: int | None = None  # none as long as there was no forecast
    forecast: int = 0  # mWh
    spent: int = 0  # mWh
    drained: bool = False
    heard: int | None = None  # microseconds
    adopted: dict[int, int] = field(default_factory=dict)  # by epoch: mWh of jobs that were found under way


class Ledger:
    """The books of all sites, by id; a site that is silent for `expiry` microseconds gets no job.

    That time is told by the heartbeats of the others: where all of them wait in line behind the first packets
    of many jobs, no site is taken for dead.
    """

    def __init__(self, sites: Iterable[int], expiry: int) -> None:
        self._sites = {site: _Site() for site in sorted(sites)}
        self._expiry = expiry
        self._latest = 0  # when a site was heard of last

    def place(self, site: int) -> Place | None:
        """Return where a site is attached, if it is known."""
        return self._sites[site].place

    def attach(self, switch: str, places: Mapping[int, Place]) -> None:
        """Tell which sites are attached to a switch, and where."""
        for number, site in self._sites.items():
            if number in places:
                site.place = places[number]
            elif site.place is not None and site.place.switch == switch:
                site.place = None

    def heartbeat(self, number: int, place: Place, now: int) -> bool:
        """Note a sign of life; False if it does not come from where the site is attached."""
        site = self._sites.get(number)
        if site is None or site.place != place:
            return False
        site.heard = self._latest = now
        return True

    def choose(self, rule: Scheduler, reachable: Collection[int], now: int) -> int | None:
        """Return the site that gets the next job, by the rule, or None when none can be reached and ready."""
        sites = self._sites.values()
        index = rule.choose(
            np.array([site.forecast for site in sites]) / 1000,
            np.array([site.spent for site in sites]) / 1000,
            np.array(
                [number in reachable and self._is_ready(site, now) for number, site in self._sites.items()]
            ),
        )
        return None if index is None else list(self._sites)[index]

    def charge(self, number: int, energy: int) -> int:
        """Enter a job of so many mWh; return the epoch that it is charged to."""
        site = self._sites[number]
        assert site.epoch is not None  # it was chosen, so there is a forecast
        site.spent += energy
        return site.epoch

    def adopt(self, number: int, energy: int, epoch: int) -> None:
        """Enter a job that an earlier controller charged to an epoch, and whose entries are still there."""
        site = self._sites[number]
        site.adopted[epoch] = site.adopted.get(epoch, 0) + energy
        if site.epoch == epoch:
            site.spent += energy

    def release(self, number: int, energy: int, epoch: int) -> None:
        """Take a job off that was charged to an epoch, if that still lasts."""
        site = self._sites.get(number)
        if site is None:
            return
        if site.epoch == epoch:
            site.spent -= energy
        elif site.epoch is None and epoch in site.adopted:
            site.adopted[epoch] -= energy

    def operate(self, switch: str, packet: PacketOut, now: int) -> PacketIn:
        """Execute an operation of the core on a site of a switch, and return the answer."""
        site = self._sites[packet.site]
        is_here = site.place is not None and site.place.switch == switch
        status = Status.OK
        if packet.operation is not Operation.READ_SITE and not is_here:
            status = Status.NOT_HERE
        elif packet.operation is Operation.SET_FORECAST:
            status = _set_forecast(site, packet)
        elif packet.operation is Operation.SET_DRAIN:
            site.drained = bool(packet.flags & DRAINED)
        flags = SiteFlag(0)
        for flag, holds in (
            (SiteFlag.KNOWN | SiteFlag.AUTHORITATIVE, site.epoch is not None),
            (SiteFlag.DRAINED, site.drained),
            (SiteFlag.ALIVE, self._is_alive(site, now)),
            (SiteFlag.LOCAL, is_here),
        ):
            flags |= flag if holds else SiteFlag(0)
        return PacketIn(
            Reason.ANSWER,
            status,
            ingress_port=CPU_PORT,
            site=packet.site,
            flags=flags,
            sequence=packet.sequence,
            epoch=site.epoch or 0,
            budget=site.forecast,
            headroom=site.forecast - site.spent,
        )

    def _is_ready(self, site: _Site, now: int) -> bool:
        return site.epoch is not None and not site.drained and self._is_alive(site, now)

    def _is_alive(self, site: _Site, now: int) -> bool:
        if site.place is None or site.heard is None:
            return False
        return self._latest - site.heard <= self._expiry and now - site.heard <= _ALL_SILENT * self._expiry


def _set_forecast(site: _Site, packet: PacketOut) -> Status:
    if site.epoch is not None and packet.epoch < site.epoch:
        return Status.STALE
    if packet.epoch != site.epoch:
        # What was spent in an earlier life is told by the entries that are left of it, not by the store: jobs
        # may have ended meanwhile.
        site.spent = site.adopted.get(packet.epoch, 0)
        site.adopted.clear()
    site.epoch, site.forecast = packet.epoch, packet.budget
    return Status.OK
