# SPDX-License-Identifier: Apache-2.0
"""The controller's configuration: a TOML file that becomes frozen dataclasses, or a UserError.

docs/controller.toml is an example with every key. In the file, times are seconds and energies Wh; here, times
are microseconds and job energies mWh, as the switches have them. The paper's three parts are `parameters`,
`weights` and `interval`: what sites report, how the values add up to a site's green energy, and how often.
"""

import re
import tomllib
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path

from grasp import UserError
from grasp.control.config_checks import check
from grasp.control.table import NAME, Table
from grasp.control.wire import CPU_PORT, HIGHEST_PORT
from grasp.schedulers.registry import SCHEDULERS
from grasp.telemetry.protocol import ENERGY_LIMIT_MWH, EpochClock

ENERGY_LIMIT_WH = ENERGY_LIMIT_MWH / 1000
_PORTS = f"a port is an integer from 1 to {HIGHEST_PORT} except {CPU_PORT}, the CPU port"
_DAY = 86_400.0
_HOST = re.compile(r"[\w.-]+|\[[0-9A-Fa-f:.]+\]", re.ASCII)  # IPv6 in brackets
_PORT_NUMBER = re.compile(r"[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class Parameter:
    """What sites report: a value in `unit` from `minimum` to `maximum`; `weight` Wh of green energy each."""

    name: str
    unit: str
    minimum: float
    maximum: float
    weight: float


@dataclass(frozen=True, slots=True)
class Gateway:
    """The hosts' next hop: its addresses, and the one hardware address of all switches (6 bytes)."""

    addresses: tuple[IPv4Address, ...]
    mac: bytes


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch: P4Runtime device id and gRPC address, and the ports that are in use."""

    name: str
    device_id: int
    address: str
    ports: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Service:
    """A service at `vip`:`port`, served by every site at `server_port`; `energy` of a job in mWh.

    A connection that is silent for `timeout` (microseconds) has ended.
    """

    id: int
    name: str
    vip: IPv4Address
    protocol: str
    port: int
    server_port: int
    energy: int
    timeout: int


@dataclass(frozen=True, slots=True)
class Site:
    """A site that may register: its agent's secret and MAC (6 bytes), its server's address.

    With `switch` and `port` it is only accepted there. `secret_file` is where the secret was read from.
    """

    id: int
    name: str
    address: IPv4Address
    mac: bytes
    secret: bytes = field(repr=False)
    secret_file: Path | None = None
    switch: str | None = None
    port: int | None = None


@dataclass(frozen=True, slots=True)
class Client:
    """A host that may send, at the port where it is attached."""

    name: str
    address: IPv4Address
    mac: bytes
    switch: str
    port: int


@dataclass(frozen=True, slots=True)
class Timing:
    """Times in microseconds; the keys of [timing], in seconds there, with these defaults."""

    probe: int = 200_000  # between an agent's heartbeats, each of which becomes a probe
    expiry: int = 500_000  # silence after which a site gets no new jobs
    linger: int = 1_000_000  # how long a closed connection keeps its affinity entry
    handshake: int = 10_000_000  # how long one keeps it that the client has not acknowledged
    flowlet_gap: int = 50_000  # pause after which a flow may change its path
    discovery: int = 1_000_000  # between discovery frames on a port
    missed: int = 3  # discovery rounds or reports in a row, missed by a link or site that is gone
    read: int = 1_000_000  # between readings of each site's headroom
    retransmit: int = 250_000  # until an operation that was not answered is sent again
    window: int = 30_000_000  # largest difference between a message's time stamp and the controller's clock


@dataclass(frozen=True, slots=True)
class Config:
    """All that the controller was told; `interval` (between reports) in microseconds."""

    source: str = field(compare=False)
    scheduler: str
    interval: int
    parameters: tuple[Parameter, ...]
    gateway: Gateway
    switches: tuple[Switch, ...]
    services: tuple[Service, ...]
    sites: tuple[Site, ...]
    clients: tuple[Client, ...]
    timing: Timing
    epochs: EpochClock
    store: Path
    metrics: str | None = None
    admin: Path | None = None
    events: Path | None = None
    openflow: str | None = None  # where OpenFlow switches are taken, instead of driving P4Runtime ones


def load(path: Path) -> Config:
    """Read a configuration file; every mistake in it is a UserError that names file, key and way out."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot read the configuration: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: cannot read the configuration: it is not UTF-8 text") from None
    return parse(text, path)


def parse(text: str, path: Path) -> Config:
    """Return the configuration that the TOML `text` holds; relative paths in it start at `path`'s folder."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: not TOML: {error}") from None
    top = Table(str(path), "", data)
    controller = top.table("controller")
    config = Config(
        source=str(path),
        scheduler=top.choice("scheduler", SCHEDULERS, "green"),
        interval=top.seconds("interval", 0.01, _DAY),
        parameters=_parameters(top),
        gateway=_gateway(top.table("gateway")),
        switches=tuple(_switch(table) for table in top.tables("switches")),
        services=tuple(_service(table) for table in top.tables("services")),
        sites=tuple(_site(table) for table in top.tables("sites")),
        clients=tuple(_client(table) for table in top.tables("clients")),
        timing=_timing(top.table("timing", required=False)),
        epochs=_epochs(top.table("epoch", required=False)),
        store=controller.path("store"),
        metrics=controller.text("metrics") if controller.has("metrics") else None,
        admin=controller.path("admin") if controller.has("admin") else None,
        events=controller.path("events") if controller.has("events") else None,
        openflow=controller.text("openflow") if controller.has("openflow") else None,
    )
    for key, endpoint, usual in (("metrics", config.metrics, 9464), ("openflow", config.openflow, 6653)):
        if endpoint is not None and not _is_endpoint(endpoint):
            controller.fail(key, f"{endpoint!r} is not an address and port, such as 127.0.0.1:{usual}")
    controller.done()
    top.done()
    check(config)
    return config


def _parameters(top: Table) -> tuple[Parameter, ...]:
    parameters, weights = top.table("parameters"), top.table("weights")
    result = []
    for name in parameters.keys():  # noqa: SIM118  (a Table is no mapping)
        if not NAME.fullmatch(name):
            parameters.fail(name, "a name is up to 32 of A-Z a-z 0-9 _ . - with a letter or digit first")
        table = parameters.table(name)
        parameter = Parameter(
            name=name,
            unit=table.text("unit"),
            minimum=table.number("minimum", -ENERGY_LIMIT_WH, ENERGY_LIMIT_WH, 0.0),
            maximum=table.number("maximum", -ENERGY_LIMIT_WH, ENERGY_LIMIT_WH, ENERGY_LIMIT_WH),
            weight=weights.number(name, -1e6, 1e6),
        )
        if len(parameter.unit.encode()) > 32:
            table.fail("unit", f"{parameter.unit!r} is longer than 32 bytes")
        if parameter.minimum >= parameter.maximum:
            table.fail("minimum", f"{parameter.minimum:g} is not below the maximum {parameter.maximum:g}")
        table.done()
        result.append(parameter)
    weights.done()
    if not any(parameter.weight > 0 for parameter in result):
        weights.fail("", "at least one parameter needs a weight above 0")
    if len(result) > 16:
        parameters.fail("", f"{len(result)} parameters; a report has room for 16")
    return tuple(result)


def _gateway(table: Table) -> Gateway:
    gateway = Gateway(table.addresses("addresses"), table.mac("mac"))
    table.done()
    return gateway


def _switch(table: Table) -> Switch:
    switch = Switch(
        name=table.name("name"),
        device_id=table.integer("device_id", 0, 2**63 - 1),
        address=table.text("address"),
        ports=table.integers("ports", is_port, _PORTS),
    )
    if not _is_endpoint(switch.address):
        table.fail("address", f"{switch.address!r} is not an address and port, such as 127.0.0.1:9559")
    table.done()
    return switch


def _service(table: Table) -> Service:
    service = Service(
        id=table.integer("id", 1, 65_535),
        name=table.name("name"),
        vip=table.address("vip"),
        protocol=table.choice("protocol", ("tcp", "udp")),
        port=table.integer("port", 1, 65_535),
        server_port=table.integer("server_port", 1, 65_535),
        energy=round(table.number("job_energy", 0.001, (2**32 - 1) / 1000) * 1000),
        timeout=table.seconds("timeout", 0.001, 30 * _DAY),
    )
    table.done()
    return service


def _site(table: Table) -> Site:
    if table.has("secret") == table.has("secret_file"):
        table.fail("secret", "give either secret or secret_file")
    secret_file = table.path("secret_file") if table.has("secret_file") else None
    if secret_file is None:
        secret = table.secret("secret")
    else:
        try:
            secret = table.secret("secret_file", secret_file.read_text(encoding="ascii"))
        except (OSError, UnicodeDecodeError) as error:
            table.fail("secret_file", f"cannot read {secret_file}: {error}")
    if table.has("switch") != table.has("port"):
        table.fail("port", "give both switch and port, or neither")
    pinned = table.has("switch")
    site = Site(
        id=table.integer("id", 0, 255),
        name=table.name("name"),
        address=table.address("address"),
        mac=table.mac("mac"),
        secret=secret,
        secret_file=secret_file,
        switch=table.name("switch") if pinned else None,
        port=_port(table) if pinned else None,
    )
    table.done()
    return site


def _client(table: Table) -> Client:
    client = Client(
        name=table.name("name"),
        address=table.address("address"),
        mac=table.mac("mac"),
        switch=table.name("switch"),
        port=_port(table),
    )
    table.done()
    return client


def _timing(table: Table) -> Timing:
    default = Timing()
    names = (
        *("probe", "expiry", "linger", "handshake", "flowlet_gap"),
        *("discovery", "read", "retransmit", "window"),
    )
    seconds = {name: table.seconds(name, 0.0001, _DAY, getattr(default, name) / 1e6) for name in names}
    timing = Timing(missed=table.integer("missed", 1, 1000, default.missed), **seconds)
    table.done()
    if timing.expiry <= timing.probe:
        table.fail("expiry", "must be longer than probe, or every site expires between two heartbeats")
    return timing


def _epochs(table: Table) -> EpochClock:
    clock = EpochClock(
        start=table.moment("start") if table.has("start") else 0,
        length=table.seconds("seconds", 0.1, _DAY, 3600.0),
        first=table.integer("first", 0, 2**32 - 1, 0),
    )
    table.done()
    return clock


def is_port(port: int) -> bool:
    """Whether a host or another switch can be attached to a port of that number."""
    return 1 <= port <= HIGHEST_PORT and port != CPU_PORT


def _port(table: Table) -> int:
    port = table.integer("port", 1, HIGHEST_PORT)
    if not is_port(port):
        table.fail("port", f"{port} is not allowed; {_PORTS}")
    return port


def _is_endpoint(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(_HOST.fullmatch(host) and _PORT_NUMBER.fullmatch(port)) and 0 < int(port) < 65_536
