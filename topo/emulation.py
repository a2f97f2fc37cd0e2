# SPDX-License-Identifier: Apache-2.0
"""Everything that lives in a run's network: switches, controller, agents, servers, clients.

Parts are brought up in the order in which they need each other, each awaited by its own word that it is
ready. They can be ended and started again by name, which is how faults are made.
"""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from grasp.control.config import Config
from grasp.control.config_dump import dump
from grasp.targets.interface import SwitchConfig, Target
from grasp.telemetry.protocol import EpochClock
from grasp.topo.configuration import (
    SERVER_PORT,
    Files,
    configuration,
    grpc_address,
    switch_name,
    write_secrets,
)
from grasp.topo.feed import Feed
from grasp.topo.network import Network
from grasp.topo.processes import Program, RunError
from grasp.topo.pulse import Pulse
from grasp.topo.topology import Host, Switch, Topology
from grasp.topo.traffic import Outcome

_PROGRAM = Path(str(files("grasp"))) / "p4src" / "build" / "grasp.json"
_GRASP = (sys.executable, "-m", "grasp.control.cli")
_PATIENCE = 60.0
_POLL = 0.02


@dataclass(frozen=True)
class Recording:
    """What is kept of a run, and where: every port's packets on request, logs from a level on."""

    folder: Path
    pcap: bool = False
    log_level: str = "info"


class Emulation:
    """A network with all its programs. `group` runs the watches, which fail when a program ends unasked."""

    def __init__(
        self,
        topology: Topology,
        target: type[Target] | None,
        files: Files,
        recording: Recording,
        group: asyncio.TaskGroup,
    ) -> None:
        self.topology = topology
        self.files = files
        self.programs: dict[str, Program] = {}
        self.outcomes: list[Outcome] = []
        self.on_outcome: Callable[[Outcome], None] | None = None
        self.network = Network(topology)
        self.feed = Feed(files.events, recording.folder / "events.jsonl")
        self._outcome_came = Pulse()
        self._target = target
        self._group = group
        self._following = group.create_task(self._follow())
        self._recording = recording
        self._pcap = recording.folder / "pcap" if recording.pcap else None
        self._logs = recording.folder / "logs"
        for folder in (self._logs, self._pcap):
            if folder is not None:
                folder.mkdir(exist_ok=True)

    async def start_hosts_and_switches(self) -> None:
        """Start what stands by itself: switches, servers, clients."""
        await asyncio.gather(
            *(self.start_switch(switch) for switch in self.topology.switches),
            *(self.start_server(site) for site in self.topology.sites),
            *(self.start_client(client) for client in self.topology.clients),
        )
        self._announce()

    async def start_control(self, scheduler: str, job_energy: float, epochs: EpochClock) -> None:
        """Start the controller, then the sites' agents; return when every site is registered."""
        write_secrets(self.topology, self.files)
        config = dump(self._configuration(scheduler, job_energy, epochs))
        self.files.controller.write_text(config)
        (self._recording.folder / "controller.toml").write_text(config)
        await self.start_controller()
        names = {switch_name(switch) for switch in self.topology.switches}
        await self.awaited("switches", lambda: names <= self._field("reconciled", "switch"))
        await asyncio.gather(*(self.start_agent(site) for site in self.topology.sites))
        links = len(self.topology.trunks)
        await self.awaited("links", lambda: len(self.feed.named("link_up")) >= links)

    async def start_switch(self, switch: Switch) -> None:
        """Start a switch's target; return when it serves P4Runtime."""
        assert self._target is not None
        target = self._target(
            SwitchConfig(
                device_id=switch.number,
                grpc_address=grpc_address(switch),
                ports={port: switch.interface(port) for port in self.topology.ports(switch)},
                program=_PROGRAM,
                pcap=self._pcap,
                log_level="debug" if self._recording.log_level == "debug" else None,
            )
        )
        program = await self._start(switch.node, target.command(), speaks=False)
        try:
            async with asyncio.timeout(_PATIENCE):
                while not target.is_listening(program.pid):  # noqa: ASYNC110 (not every target says so)
                    await asyncio.sleep(_POLL)
        except TimeoutError:
            raise RunError(f"{switch.node}: no P4Runtime within {_PATIENCE:g} s ({program.log})") from None

    def switch_programs(self) -> list[str]:
        """Names of the programs that forward packets."""
        return [switch.node for switch in self.topology.switches]

    async def start_server(self, site: Host) -> None:
        """Start a site's server; return when it listens."""
        number = str(self.topology.sites.index(site))
        command = (sys.executable, "-m", "grasp.topo.services", number, site.address, str(SERVER_PORT))
        program = await self._start(f"server-{site.label}", (*self.network.inside(site), *command))
        await program.line()

    async def start_client(self, client: Host) -> None:
        """Start a client; return when it takes orders."""
        program = await self._start(
            client.node, (*self.network.inside(client), sys.executable, "-m", "grasp.topo.traffic")
        )
        await program.line()
        program.receive = self._take_outcome

    async def start_program(self, name: str, host: Host, module: str, *arguments: str) -> Program:
        """Start a program of this package in a host, at its interface; return when it is ready."""
        command = (*self.network.inside(host), sys.executable, "-m", module, host.interface, *arguments)
        program = await self._start(name, command)
        await program.line()
        return program

    async def start_crafted(self, what: str, host: Host) -> Program:
        """Start `crafted` in a host, to watch or to send; return when it is ready."""
        program = await self._start(
            f"{what}-{host.node}",
            (
                *self.network.inside(host),
                *(sys.executable, "-m", "grasp.topo.crafted", what, host.interface),
            ),
        )
        await program.line()
        return program

    async def start_controller(self) -> None:
        """Start the controller, or start it again; return at once: `feed` tells the rest."""
        await self._start(
            "controller",
            (
                *(*_GRASP, "controller", "--config", str(self.files.controller)),
                *("--events", str(self.files.events), "--log-level", self._recording.log_level),
            ),
            speaks=False,
        )

    async def start_agent(self, site: Host) -> None:
        """Start a site's agent, or start it again; return when the site is registered."""
        name = site.label
        program = await self._start(
            f"agent-{name}",
            (
                *(*self.network.inside(site), *_GRASP, "agent", "--name", name),
                *("--interface", site.interface, "--secret-file", str(self.files.secret(name))),
                *("--state", str(self.files.state(name)), "--forecast", str(self.files.forecast(name))),
                *("--log-level", self._recording.log_level),
            ),
        )
        try:
            async with asyncio.timeout(_PATIENCE):
                await program.line()
        except TimeoutError:
            raise RunError(f"site {name} was not registered within {_PATIENCE:g} s ({program.log})") from None

    async def awaited(self, what: str, satisfied: Callable[[], bool], patience: float = _PATIENCE) -> None:
        """Wait until the controller's events satisfy a condition; RunError after `patience` seconds."""
        try:
            async with asyncio.timeout(patience):
                await self.feed.until(satisfied)
        except TimeoutError:
            log = self._logs / "controller.log"
            raise RunError(
                f"the controller did not report {what} within {patience:g} s (see {log})"
            ) from None

    async def outcomes_until(self, satisfied: Callable[[], bool], patience: float) -> bool:
        """Wait until the jobs' outcomes satisfy a condition; False if `patience` seconds pass before."""
        try:
            async with asyncio.timeout(patience):
                await self._outcome_came.until(satisfied)
        except TimeoutError:
            return False
        return True

    async def server_summaries(self) -> list[dict[str, Any]]:
        """What each site's server has counted, in order of the sites."""
        servers = [self.programs[f"server-{site.label}"] for site in self.topology.sites]
        return list(await asyncio.gather(*(server.ask("summary") for server in servers)))

    async def stop(self) -> None:
        """End every program, the controller first, then the network."""
        self._network_file.unlink(missing_ok=True)
        if "controller" in self.programs:
            await self.programs["controller"].end()
        await asyncio.gather(*(program.end() for program in self.programs.values()))
        self._following.cancel()
        self.network.stop()

    def _configuration(self, scheduler: str, job_energy: float, epochs: EpochClock) -> Config:
        return configuration(self.topology, self.files, scheduler, job_energy, epochs)

    async def _start(self, name: str, command: Sequence[str], speaks: bool = True) -> Program:
        program = await Program.start(name, command, self._logs, speaks)
        self.programs[name] = program
        self._group.create_task(program.watch())
        return program

    async def _follow(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await self.feed.follow()

    def _take_outcome(self, line: str) -> None:
        outcome = Outcome(**json.loads(line))
        self.outcomes.append(outcome)
        self._outcome_came.beat()
        if self.on_outcome is not None:
            self.on_outcome(outcome)

    def _field(self, event: str, field: str) -> set[object]:
        return {event[field] for event in self.feed.named(event)}

    @property
    def _network_file(self) -> Path:
        return self._recording.folder / "network.json"

    def _announce(self) -> None:
        """Say where the switches are, for programs that want to join while the network lives."""
        content = {
            "net_namespace": os.readlink("/proc/self/ns/net"),
            "switches": {
                switch_name(switch): {"grpc": grpc_address(switch), "device_id": switch.number}
                for switch in self.topology.switches
            },
        }
        self._network_file.write_text(json.dumps(content, indent=1) + "\n")
