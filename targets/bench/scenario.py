# SPDX-License-Identifier: Apache-2.0
"""A switch of the paper's network in numbers: nine sites, clients, and connections to one service.

The switch is ingress and site switch at once: some sites are attached to it, the others lie behind trunks.
Names of tables and actions are given without the controls before them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address

TRUNK, EDGE, CPU_PORT = 1, 2, 255
CLIENTS = range(128)
VIP, VIP_PORT, SERVER_PORT, SERVICE = int(IPv4Address("10.255.0.1")), 80, 8080, 1
GATEWAY = 0x02_00_00_00_FF_01
ENERGY = 100  # mWh a job takes
BUDGET = 10_000_000  # mWh of each site's forecast: more than all jobs of a run take together
EXPIRY = (1 << 47) - 1  # microseconds: no site falls silent during a run
TIMEOUT = 3_600_000_000  # microseconds
FLOWLET_GAP = 50_000  # microseconds
SYN, ACK, FIN = 0x02, 0x10, 0x01
TCP = 6
TRUNKS_GROUP, TRUNKS_AND_CPU_GROUP = 1, 2

Entry = tuple[str, tuple[int | tuple[int, int], ...], str, tuple[int, ...]]
"""Table, key (one item per field; an LPM field's is value and prefix length), action, arguments."""


@dataclass(frozen=True)
class Scenario:
    """Where clients and sites are attached. A port in `trunks` leads to further switches."""

    client_ports: tuple[int, ...]
    site_ports: Mapping[int, int]
    trunks: tuple[int, ...] = ()

    def client_port(self, client: int) -> int:
        """Clients are spread evenly."""
        return self.client_ports[client % len(self.client_ports)]

    def is_local(self, site: int) -> bool:
        """Whether the site is attached to this switch."""
        return self.site_ports[site] not in self.trunks

    def site_mac(self, site: int) -> int:
        """The hardware address of its packets; a remote one's come from the next switch."""
        return 0x02_00_00_02_00_00 + site if self.is_local(site) else GATEWAY

    def entries(self) -> Iterator[Entry]:
        """All table entries."""
        for port in sorted({*self.client_ports, *self.site_ports.values()}):
            yield "ports", (port,), "set_role", (TRUNK if port in self.trunks else EDGE,)
        for client in CLIENTS:
            port, mac, address = self.client_port(client), client_mac(client), client_address(client)
            yield "sources", (port, mac, address), "NoAction", ()
            yield "routes", ((address, 32),), "deliver", (port, mac)
        for site, port in self.site_ports.items():
            address = site_address(site)
            yield "site_servers", (site,), "set_server", (address,)
            yield "site_addresses", (address,), "set_destination_site", (site,)
            yield "site_sources", (address,), "set_source_site", (site,)
            if self.is_local(site):
                yield "local_sites", (site,), "deliver_to_site", (port, self.site_mac(site))
                yield "sources", (port, self.site_mac(site), address), "NoAction", ()
        served = (SERVICE, SERVER_PORT, ENERGY, TIMEOUT)
        yield "services", (VIP, TCP, VIP_PORT), "set_service", served
        known = (SERVICE, VIP, VIP_PORT, ENERGY, TIMEOUT)
        yield "site_services", (TCP, SERVER_PORT), "set_site_service", known

    @property
    def parameters(self) -> tuple[int, ...]:
        """Arguments of set_parameters."""
        return EXPIRY, TIMEOUT, TIMEOUT, FLOWLET_GAP, GATEWAY

    def groups(self) -> dict[int, tuple[int, ...]]:
        """Ports of each multicast group."""
        return {TRUNKS_GROUP: self.trunks, TRUNKS_AND_CPU_GROUP: (*self.trunks, CPU_PORT)}

    def announcements(self) -> Iterator[tuple[int, bytes]]:
        """(port, frame) by which the switch learns of its sites: heartbeats, forecasts, probes, in order."""
        for site, port in self.site_ports.items():
            link = b"\xff" * 6 + self.site_mac(site).to_bytes(6, "big") + b"\x88\xb5"
            budget = BUDGET.to_bytes(6, "big")
            if self.is_local(site):
                yield port, (link + struct.pack("!BBBB", 1, 5, site, 0)).ljust(60, b"\0")
                forecast = struct.pack("!BBHBII", 3, 0, 0, site, 1, 1) + budget + bytes(6)
                yield CPU_PORT, forecast
            else:
                probe = struct.pack("!BBBBII6sHBB", 1, 6, site, 1, 1, 1, budget, 0, 1, 0)
                yield port, (link + probe).ljust(60, b"\0")

    def from_client(self, client: int, port: int, flags: int, data: int) -> tuple[int, bytes]:
        """(port, frame) that a client sends to the service, with so many bytes of data."""
        ports = (port, VIP_PORT)
        packet = segment(client_mac(client), client_address(client), VIP, ports, flags, bytes(data))
        return self.client_port(client), packet

    def from_site(self, site: int, client: int, port: int, flags: int, data: int) -> tuple[int, bytes]:
        """(port, frame) that a site's server answers."""
        ports, address = (SERVER_PORT, port), site_address(site)
        packet = segment(self.site_mac(site), address, client_address(client), ports, flags, bytes(data))
        return self.site_ports[site], packet


def client_address(client: int) -> int:
    """10.1.0.1 and following."""
    return int(IPv4Address("10.1.0.1")) + client


def client_mac(client: int) -> int:
    """A client's hardware address."""
    return 0x02_00_00_01_00_00 + client


def site_address(site: int) -> int:
    """10.2.0.1 and following."""
    return int(IPv4Address("10.2.0.1")) + site


def site_of(frame: bytes) -> int:
    """The site that a frame, which was sent to the service, now goes to."""
    return int.from_bytes(frame[30:34], "big") - site_address(0)


def segment(
    mac: int, source: int, destination: int, ports: tuple[int, int], flags: int, data: bytes
) -> bytes:
    """A TCP segment in an Ethernet frame of at least 60 bytes, to the gateway; checksums are right."""
    head = struct.pack("!HHIHHII", 0x4500, 40 + len(data), 0x4000, 0x4006, 0, source, destination)
    head = head[:10] + _checksum(head) + head[12:]
    tcp = struct.pack("!HHIIHHHH", *ports, 1, 1, 0x5000 | flags, 65535, 0, 0) + data
    pseudo = struct.pack("!IIHH", source, destination, TCP, len(tcp))
    tcp = tcp[:16] + _checksum(pseudo + tcp) + tcp[18:]
    link = GATEWAY.to_bytes(6, "big") + mac.to_bytes(6, "big") + b"\x08\x00"
    return (link + head + tcp).ljust(60, b"\0")


def _checksum(data: bytes) -> bytes:
    """RFC 1071."""
    data += b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total >> 16) + (total & 0xFFFF)
    return (~total & 0xFFFF).to_bytes(2, "big")


def full_name(names: Iterable[str], name: str) -> str:
    """The one name that ends so: p4c prefixes the controls that an object is in."""
    [found] = [full for full in names if full == name or full.endswith(f".{name}")]
    return found
