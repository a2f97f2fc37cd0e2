# SPDX-License-Identifier: Apache-2.0
"""The GRASP paper's network."""

from collections.abc import Sequence

from grasp import UserError
from grasp.topo.topology import Topology


class Ring(Topology):
    r"""Three switches in a ring, three sites and two clients at each.

    sites 0 1 2   clients 0 1
          \ | \   / /
          s1 New York
           /       \
     s2 Florida ─ s3 California
      /  |  \      /  |  \
     sites 3 4 5  sites 6 7 8
     clients 2 3  clients 4 5
    """

    CITIES = ("New York", "Florida", "California")

    def __init__(self, sites: Sequence[str]) -> None:
        """`sites` are the names of the nine data centres, three for each city in turn."""
        super().__init__()
        if len(sites) != 3 * len(self.CITIES):
            raise UserError(f"sites: the ring has {3 * len(self.CITIES)} of them, not {len(sites)}")
        switches = [self.add_switch(city) for city in self.CITIES]
        for place, switch in enumerate(switches):
            self.add_trunk(switches[place - 1], switch)
        for place, site in enumerate(sites):
            self.add_site(site, switches[place // 3])
        for switch in switches:
            self.add_client(switch)
            self.add_client(switch)
