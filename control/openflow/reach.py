# SPDX-License-Identifier: Apache-2.0
"""Which sites a client's jobs can be led to."""

from collections.abc import Collection, Iterable

from grasp.control.config import Client, Site
from grasp.control.openflow.connections import Routes

_FULL = 2_000_000
"""Microseconds for which a switch that refused an entry is taken to be full."""


class Reach:
    """The sites that are reached by switches that take orders and have room for entries.

    A client's own switch has no other in its place, so that it is asked even if it is full.
    """

    def __init__(self, sites: Iterable[Site]) -> None:
        self._sites = tuple(sites)
        self._routes = Routes({}, {})
        self._connected: frozenset[str] = frozenset()
        self._full: dict[str, int] = {}  # and when they said so
        self._known: dict[str, frozenset[int]] = {}  # by clients' switch, as long as nothing changes

    def renew(self, routes: Routes, connected: Collection[str]) -> None:
        """Take over the ways to the sites, and which switches are connected."""
        self._routes, self._connected = routes, frozenset(connected)
        self._known.clear()

    def refused(self, switch: str, now: int) -> None:
        """Note that a switch did not take an entry."""
        self._full[switch] = now
        self._known.clear()

    def tick(self, now: int) -> None:
        """Let time pass."""
        room = [switch for switch, since in self._full.items() if now - since > _FULL]
        for switch in room:
            del self._full[switch]
        if room:
            self._known.clear()

    def sites(self, client: Client) -> frozenset[int]:
        """Return the ids of the sites that a client's jobs can be led to."""
        known = self._known.get(client.switch)
        if known is None:
            usable = (self._connected - self._full.keys()) | {client.switch}
            paths = {site.id: self._routes.path(client, site) for site in self._sites}
            known = self._known[client.switch] = frozenset(
                site for site, path in paths.items() if path and usable.issuperset(hop.switch for hop in path)
            )
        return known
