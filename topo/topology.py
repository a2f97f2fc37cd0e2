# SPDX-License-Identifier: Apache-2.0
"""What a network looks like, before any of it is built: switches, sites, clients and how they are joined.

The emulated network, the controller's configuration and the drawings are all made from this description.

Addresses: site 10.<switch>.1.<n> and client 10.<switch>.2.<n>, each alone on its link (/32), everything else
through the gateway address, which every switch answers for.
"""

from dataclasses import dataclass, field

GATEWAY = "10.0.0.1"
GATEWAY_MAC = "02:00:00:00:00:01"

_INTERFACE_NAME_LIMIT = 15  # IFNAMSIZ - 1


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch; `number` is its device id and names its node, s1 and so on."""

    number: int
    label: str

    @property
    def node(self) -> str:
        """Name of the emulated node."""
        return f"s{self.number}"

    @property
    def subnet(self) -> str:
        """Prefix of every host attached here."""
        return f"10.{self.number}.0.0/16"

    def interface(self, port: int) -> str:
        """Name of the interface that is this port."""
        return f"{self.node}-eth{port}"


@dataclass(frozen=True, slots=True)
class Host:
    """A host on a switch's port; its interface is eth0."""

    node: str
    label: str
    switch: Switch
    port: int
    mac: str
    address: str

    @property
    def interface(self) -> str:
        """Name of the host's interface."""
        return f"{self.node}-eth0"


@dataclass(frozen=True, slots=True)
class Trunk:
    """A link between two switches, as (switch, port) at both ends."""

    ends: tuple[tuple[Switch, int], tuple[Switch, int]]


@dataclass
class Topology:
    """A network; subclasses add to it in `build`, which numbers switches, ports and sites in call order."""

    switches: list[Switch] = field(default_factory=list)
    sites: list[Host] = field(default_factory=list)
    clients: list[Host] = field(default_factory=list)
    trunks: list[Trunk] = field(default_factory=list)
    _ports: dict[Switch, int] = field(default_factory=dict)

    def add_switch(self, label: str) -> Switch:
        """Add a switch."""
        switch = Switch(len(self.switches) + 1, label)
        self.switches.append(switch)
        self._ports[switch] = 0
        return switch

    def add_trunk(self, one: Switch, other: Switch) -> Trunk:
        """Join two switches."""
        trunk = Trunk(((one, self._port(one)), (other, self._port(other))))
        self.trunks.append(trunk)
        return trunk

    def add_site(self, label: str, switch: Switch) -> Host:
        """Attach a data centre; its site id is its place in `sites`."""
        return self._attach(self.sites, "site", 1, label, switch)

    def add_client(self, switch: Switch) -> Host:
        """Attach a client."""
        return self._attach(self.clients, "client", 2, f"client {len(self.clients) + 1}", switch)

    @property
    def hosts(self) -> list[Host]:
        """Sites, then clients."""
        return self.sites + self.clients

    def ports(self, switch: Switch) -> range:
        """Port numbers in use on a switch."""
        return range(1, self._ports[switch] + 1)

    def _port(self, switch: Switch) -> int:
        self._ports[switch] += 1
        return self._ports[switch]

    def _attach(self, group: list[Host], kind: str, code: int, label: str, switch: Switch) -> Host:
        place = sum(host.switch == switch for host in group) + 1
        host = Host(
            node=f"{kind}{len(group)}",
            label=label,
            switch=switch,
            port=self._port(switch),
            mac=f"02:00:00:{code:02x}:{switch.number:02x}:{place:02x}",
            address=f"10.{switch.number}.{code}.{place}",
        )
        if len(host.interface) > _INTERFACE_NAME_LIMIT:
            raise ValueError(f"{host.interface}: longer than the kernel allows for an interface")
        group.append(host)
        return host
