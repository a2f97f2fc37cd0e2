# SPDX-License-Identifier: Apache-2.0
"""What each switch must contain, given the configuration, where sites are attached, and the links."""

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Address
from typing import NamedTuple

from grasp.control.config import Config
from grasp.control.state import Entry, Prefix, SwitchState
from grasp.control.topology import Port, Topology
from grasp.control.wire import CPU_PORT, TRUNKS, TRUNKS_AND_CPU, Role

PROTOCOLS = {"tcp": 6, "udp": 17}


class Host(NamedTuple):
    """A client or a site's server, and where it is attached."""

    address: IPv4Address
    mac: bytes
    at: Port


def hosts(config: Config, bindings: Mapping[int, Port]) -> list[Host]:
    """Return the hosts whose place is known: every client, and the sites that have registered."""
    clients = [
        Host(client.address, client.mac, Port(client.switch, client.port)) for client in config.clients
    ]
    sites = [Host(site.address, site.mac, bindings[site.id]) for site in config.sites if site.id in bindings]
    return clients + sites


def edge_ports(config: Config, bindings: Mapping[int, Port]) -> frozenset[Port]:
    """Return the ports that are hosts', also of sites that are pinned but have not registered yet."""
    pinned = {Port(s.switch, s.port) for s in config.sites if s.switch is not None and s.port is not None}
    return frozenset(pinned | {host.at for host in hosts(config, bindings)})


def desired(
    switch: str,
    config: Config,
    bindings: Mapping[int, Port],
    topology: Topology,
    pins: Iterable[Entry] = (),
) -> SwitchState:
    """Return the complete state of one switch.

    `bindings` says where each registered site is attached, by site id; `pins` are the switch's entries for
    connections that found no room in its affinity table.
    """
    edges = {port.port for port in edge_ports(config, bindings) if port.switch == switch}
    trunks = topology.trunks(switch) - edges
    entries = [
        *(Entry("ports", (port,), "set_role", (Role.TRUNK,)) for port in trunks),
        *(Entry("ports", (port,), "set_role", (Role.EDGE,)) for port in edges),
        *_hosts(switch, hosts(config, bindings), topology),
        *_sites(switch, config, bindings),
        *_services(config),
        *_parameters(config),
        *pins,
    ]
    groups = {TRUNKS: trunks, TRUNKS_AND_CPU: trunks | {CPU_PORT}}
    return SwitchState.of(entries, {group: ports for group, ports in groups.items() if ports})


def _hosts(switch: str, attached: Iterable[Host], topology: Topology) -> Iterator[Entry]:
    """Who may send from which port, and the way to every host."""
    next_hops: dict[str, dict[str, int]] = {}
    for host in attached:
        address, mac = int(host.address), int.from_bytes(host.mac)
        match = (Prefix(address, 32),)
        if host.at.switch == switch:
            yield Entry("sources", (host.at.port, mac, address), "NoAction")
            yield Entry("routes", match, "deliver", (host.at.port, mac))
            continue
        if host.at.switch not in next_hops:
            next_hops[host.at.switch] = topology.next_hops(host.at.switch)
        if switch in next_hops[host.at.switch]:
            yield Entry("routes", match, "forward", (next_hops[host.at.switch][switch],))


def _sites(switch: str, config: Config, bindings: Mapping[int, Port]) -> Iterator[Entry]:
    """Every site's server address on every switch; the way out of the switch where the site is attached."""
    for site in config.sites:
        address = int(site.address)
        yield Entry("site_servers", (site.id,), "set_server", (address,))
        yield Entry("site_addresses", (address,), "set_destination_site", (site.id,))
        yield Entry("site_sources", (address,), "set_source_site", (site.id,))
        at = bindings.get(site.id)
        if at is not None and at.switch == switch:
            yield Entry("local_sites", (site.id,), "deliver_to_site", (at.port, int.from_bytes(site.mac)))


def _services(config: Config) -> Iterator[Entry]:
    for service in config.services:
        protocol, vip = PROTOCOLS[service.protocol], int(service.vip)
        yield Entry("services", (vip, protocol, service.port), "set_service",
                    (service.id, service.server_port, service.energy, service.timeout))  # fmt: skip
        yield Entry("site_services", (protocol, service.server_port), "set_site_service",
                    (service.id, vip, service.port, service.energy, service.timeout))  # fmt: skip


def _parameters(config: Config) -> Iterator[Entry]:
    """Times, and the addresses for which the switch answers ARP requests."""
    gateway, timing = int.from_bytes(config.gateway.mac), config.timing
    answered = {int(address) for address in config.gateway.addresses} | {int(s.vip) for s in config.services}
    yield from (Entry("arp_responder", (address,), "answer_arp", (gateway,)) for address in answered)
    yield Entry(
        "parameters",
        (),
        "set_parameters",
        (timing.expiry, timing.linger, timing.handshake, timing.flowlet_gap, gateway),
    )
