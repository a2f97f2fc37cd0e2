# SPDX-License-Identifier: Apache-2.0
"""Writes a configuration as TOML that `grasp.control.config.parse` turns into an equal one."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from grasp.control.config import Config, Parameter, Service, Site


def dump(config: Config) -> str:
    """Return TOML. Secrets that came from a file stay there; the others are written out."""
    tables: list[tuple[str, Mapping[str, object]]] = [
        ("", {"scheduler": config.scheduler, "interval": config.interval / 1e6}),
        (
            "[controller]",
            {
                "store": config.store,
                "metrics": config.metrics,
                "admin": config.admin,
                "events": config.events,
                "openflow": config.openflow,
            },
        ),
        *((f"[parameters.{_key(parameter.name)}]", _parameter(parameter)) for parameter in config.parameters),
        ("[weights]", {_key(parameter.name): parameter.weight for parameter in config.parameters}),
        (
            "[epoch]",
            {
                "seconds": config.epochs.length / 1e6,
                "start": datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=config.epochs.start),
                "first": config.epochs.first,
            },
        ),
        (
            "[timing]",
            {
                "probe": config.timing.probe / 1e6,
                "expiry": config.timing.expiry / 1e6,
                "linger": config.timing.linger / 1e6,
                "handshake": config.timing.handshake / 1e6,
                "flowlet_gap": config.timing.flowlet_gap / 1e6,
                "discovery": config.timing.discovery / 1e6,
                "missed": config.timing.missed,
                "read": config.timing.read / 1e6,
                "retransmit": config.timing.retransmit / 1e6,
                "window": config.timing.window / 1e6,
            },
        ),
        ("[gateway]", {"addresses": config.gateway.addresses, "mac": config.gateway.mac}),
        *(
            (
                "[[switches]]",
                {
                    "name": switch.name,
                    "device_id": switch.device_id,
                    "address": switch.address,
                    "ports": switch.ports,
                },
            )
            for switch in config.switches
        ),
        *(("[[services]]", _service(service)) for service in config.services),
        *(("[[sites]]", _site(site)) for site in config.sites),
        *(
            (
                "[[clients]]",
                {
                    "name": client.name,
                    "address": client.address,
                    "mac": client.mac,
                    "switch": client.switch,
                    "port": client.port,
                },
            )
            for client in config.clients
        ),
    ]
    return "\n".join(_table(header, values) for header, values in tables)


def _parameter(parameter: Parameter) -> dict[str, object]:
    return {"unit": parameter.unit, "minimum": parameter.minimum, "maximum": parameter.maximum}


def _service(service: Service) -> dict[str, object]:
    return {
        "id": service.id,
        "name": service.name,
        "vip": service.vip,
        "protocol": service.protocol,
        "port": service.port,
        "server_port": service.server_port,
        "job_energy": service.energy / 1000,
        "timeout": service.timeout / 1e6,
    }


def _site(site: Site) -> dict[str, object]:
    return {
        "id": site.id,
        "name": site.name,
        "address": site.address,
        "mac": site.mac,
        "secret": None if site.secret_file else site.secret.hex(),
        "secret_file": site.secret_file,
        "switch": site.switch,
        "port": site.port,
    }


def _table(header: str, values: Mapping[str, object]) -> str:
    lines = [f"{key} = {_value(value)}\n" for key, value in values.items() if value is not None]
    return (f"{header}\n" if header else "") + "".join(lines)


def _key(name: str) -> str:
    """Return a name as a TOML key: quoted, for a dot would begin a table of its own."""
    return _quoted(name) if "." in name else name


def _value(value: object) -> str:
    match value:
        case bytes():
            return _quoted(value.hex(":"))
        case str() | Path() | IPv4Address():
            return _quoted(str(value))
        case int() | float():
            return repr(value)
        case datetime():
            return value.isoformat()
        case Iterable():
            return f"[{', '.join(_value(item) for item in value)}]"
    raise TypeError(f"{value!r} has no place in a configuration")


def _quoted(text: str) -> str:
    """Return a TOML basic string."""
    escaped = "".join(
        f"\\u{ord(character):04x}"
        if character in '"\\' or ord(character) < 0x20 or ord(character) == 0x7F
        else character
        for character in text
    )
    return f'"{escaped}"'
