# SPDX-License-Identifier: Apache-2.0
"""Contradictions between parts of a configuration that are each right by themselves."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from grasp import UserError

if TYPE_CHECKING:
    from grasp.control.config import Client, Config, Site

_Claim = tuple[Hashable, str]


def check(config: Config) -> None:
    """Raise a UserError that names the two parts for duplicates, unknown switches and contradictions."""
    switches, services, sites, clients = config.switches, config.services, config.sites, config.clients

    for kind, items in (
        ("switches", switches),
        ("services", services),
        ("sites", sites),
        ("clients", clients),
    ):
        _unique(config, f"{kind}.name", ((item.name, item.name) for item in items))
    _unique(config, "switches.device_id", ((switch.device_id, switch.name) for switch in switches))
    _unique(config, "switches.address", ((switch.address, switch.name) for switch in switches))
    _unique(config, "services.id", ((service.id, service.name) for service in services))
    endpoints = (((service.vip, service.protocol, service.port), service.name) for service in services)
    _unique(config, "services: vip, protocol, port", endpoints)
    # Traffic that returns from a site is told apart by its server port alone.
    servers = (((service.protocol, service.server_port), service.name) for service in services)
    _unique(config, "services: protocol, server_port", servers)
    _unique(config, "sites.id", ((site.id, site.name) for site in sites))

    hosts: list[Site | Client] = [*sites, *clients]
    vips = {service.vip: f"service {service.name}" for service in services}  # services may share one
    addresses: list[_Claim] = [(host.address, host.name) for host in hosts]
    addresses += vips.items()
    addresses += [(address, "the gateway") for address in config.gateway.addresses]
    _unique(config, "address", addresses)
    macs: list[_Claim] = [(host.mac.hex(":"), host.name) for host in hosts]
    _unique(config, "mac", [*macs, (config.gateway.mac.hex(":"), "the gateway")])

    ports = {switch.name: switch.ports for switch in switches}
    for host in hosts:
        where = f"{'clients' if host in clients else 'sites'} ({host.name})"
        if host.switch is None:
            continue
        if host.switch not in ports:
            _fail(config, f"{where}.switch", f"{host.switch!r} is none of {', '.join(ports)}")
        if host.port not in ports[host.switch]:
            known = ", ".join(map(str, ports[host.switch]))
            _fail(config, f"{where}.port", f"{host.port} is no port of {host.switch}: {known}")
    # Clients may share a port; heartbeats are bound to a port that is one site's own.
    places: list[_Claim] = [
        ((site.switch, site.port), site.name) for site in sites if site.switch is not None
    ]
    shared = {(client.switch, client.port): client.name for client in clients}
    _unique(config, "switch and port", [*places, *shared.items()])

    if config.interval > config.epochs.length:
        interval, length = config.interval / 1e6, config.epochs.length / 1e6
        _fail(
            config,
            "interval",
            f"{interval:g} is longer than an epoch ({length:g}): some would pass unreported",
        )


def _unique(config: Config, key: str, claims: Iterable[_Claim]) -> None:
    seen: dict[Hashable, str] = {}
    for value, owner in claims:
        if value in seen:
            text = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            _fail(config, key, f"{text} is given to both {seen[value]} and {owner}; each needs its own")
        seen[value] = owner


def _fail(config: Config, key: str, what: str) -> None:
    raise UserError(f"{config.source}: {key}: {what}")
