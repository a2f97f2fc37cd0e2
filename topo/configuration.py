# SPDX-License-Identifier: Apache-2.0
"""The controller's configuration for an emulated network: made, not written by hand."""

import secrets
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from grasp.control.config import Client, Config, Gateway, Parameter, Service, Site, Switch, Timing
from grasp.telemetry.protocol import EpochClock
from grasp.topo.topology import GATEWAY, GATEWAY_MAC, Topology
from grasp.topo.topology import Switch as TopologySwitch

SERVICE_ADDRESS = "10.100.0.1"
SERVICE_PORT = 80
SERVER_PORT = 8080
METRICS = "127.0.0.1:9464"

_FIRST_GRPC_PORT = 50051
_SECRET_BYTES = 32
_SERVICE_TIMEOUT = 30_000_000

# A site that falls silent gets no job later than three heartbeats after its last; the expiry is shorter than
# that by the time that its last probe and the last job take on their way.
HEARTBEAT = 40_000
HANDSHAKE = 2_000_000  # clients repeat a first packet after 1 s
_TIMING = Timing(
    probe=HEARTBEAT,
    expiry=110_000,
    discovery=250_000,
    read=1_000_000,
    retransmit=50_000,
    linger=500_000,
    handshake=HANDSHAKE,
)


@dataclass(frozen=True)
class Files:
    """Where a run's controller and agents keep what they need, all below one folder."""

    folder: Path

    @property
    def controller(self) -> Path:
        """The controller's configuration."""
        return self.folder / "controller.toml"

    @property
    def store(self) -> Path:
        """The controller's database."""
        return self.folder / "store.sqlite"

    @property
    def admin(self) -> Path:
        """The socket at which a running controller is asked."""
        return self.folder / "admin.sock"

    @property
    def events(self) -> Path:
        """The pipe through which the controller says what happens."""
        return self.folder / "events"

    def secret(self, site: str) -> Path:
        """A site's enrolment secret."""
        return self.folder / f"{site}.secret"

    def state(self, site: str) -> Path:
        """What a site's agent remembers."""
        return self.folder / f"{site}.state"

    def forecast(self, site: str) -> Path:
        """A site's green energy by epoch."""
        return self.folder / f"{site}.forecast.json"


def switch_name(switch: TopologySwitch) -> str:
    """Name of a switch in the configuration: its label, without spaces and capitals."""
    return switch.label.replace(" ", "").lower()


def grpc_address(switch: TopologySwitch) -> str:
    """Where a switch's P4Runtime server listens."""
    return f"127.0.0.1:{_FIRST_GRPC_PORT + switch.number - 1}"


def write_secrets(topology: Topology, files: Files) -> None:
    """Give every site a new enrolment secret."""
    for site in topology.sites:
        path = files.secret(site.label)
        path.touch(mode=0o600)
        path.write_text(secrets.token_bytes(_SECRET_BYTES).hex())


def configuration(
    topology: Topology, files: Files, scheduler: str, job_energy: float, epochs: EpochClock
) -> Config:
    """Return the configuration of the network's controller; `job_energy` is in Wh.

    Agents report the current and the next epoch's forecast when an epoch begins and twice during it.
    """
    return Config(
        source=str(files.controller),
        scheduler=scheduler,
        interval=epochs.length // 2,
        parameters=(Parameter("green_energy", "Wh", 0.0, 1e9, 1.0),),
        gateway=Gateway((IPv4Address(GATEWAY),), _mac(GATEWAY_MAC)),
        switches=tuple(
            Switch(switch_name(switch), switch.number, grpc_address(switch), tuple(topology.ports(switch)))
            for switch in topology.switches
        ),
        services=tuple(
            Service(
                id=number,
                name=f"jobs-{protocol}",
                vip=IPv4Address(SERVICE_ADDRESS),
                protocol=protocol,
                port=SERVICE_PORT,
                server_port=SERVER_PORT,
                energy=round(job_energy * 1000),
                timeout=_SERVICE_TIMEOUT,
            )
            for number, protocol in enumerate(("tcp", "udp"), start=1)
        ),
        sites=tuple(
            Site(
                id=number,
                name=site.label,
                address=IPv4Address(site.address),
                mac=_mac(site.mac),
                secret=bytes.fromhex(files.secret(site.label).read_text()),
                secret_file=files.secret(site.label),
                switch=switch_name(site.switch),
                port=site.port,
            )
            for number, site in enumerate(topology.sites)
        ),
        clients=tuple(
            Client(
                name=client.node,
                address=IPv4Address(client.address),
                mac=_mac(client.mac),
                switch=switch_name(client.switch),
                port=client.port,
            )
            for client in topology.clients
        ),
        timing=_TIMING,
        epochs=epochs,
        store=files.store,
        metrics=METRICS,
        admin=files.admin,
        events=files.events,
    )


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))
