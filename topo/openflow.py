# SPDX-License-Identifier: Apache-2.0
"""The network of a run whose switches are Open vSwitch's and whose controller decides about every job."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

from grasp.control.config import Config
from grasp.telemetry.protocol import EpochClock
from grasp.topo import ovs
from grasp.topo.configuration import Files
from grasp.topo.emulation import Emulation, Recording
from grasp.topo.processes import RunError
from grasp.topo.topology import Switch, Topology

_MISSED = 20
_PATIENCE = 30.0
_POLL = 0.02


class OpenFlowEmulation(Emulation):
    """As the P4 network, with the same hosts, agents, services and jobs. Raises UserError without OVS."""

    def __init__(
        self, topology: Topology, files: Files, recording: Recording, group: asyncio.TaskGroup
    ) -> None:
        ovs.check()
        super().__init__(topology, None, files, recording, group)
        folder = files.folder / "ovs"
        folder.mkdir()
        self._ovs = ovs.Daemons(folder)

    async def start_hosts_and_switches(self) -> None:
        """Start Open vSwitch, then what stands by itself."""
        await self._complete(self._ovs.create())
        os.environ.update(self._ovs.environment)
        await self._start("ovsdb-server", self._ovs.database(), speaks=False)
        await _appearance(self._ovs.socket)
        await self._complete(self._ovs.initialise())
        await self._start("ovs-vswitchd", self._ovs.switch(), speaks=False)
        await super().start_hosts_and_switches()

    async def start_switch(self, switch: Switch) -> None:
        """Make a bridge; return when the switch daemon has it."""
        ports = {port: switch.interface(port) for port in self.topology.ports(switch)}
        await self._complete(self._ovs.bridge(switch.node, switch.number, ports))

    def _announce(self) -> None:
        """Say nothing: there is no P4Runtime to join."""

    def switch_programs(self) -> list[str]:
        """Names of the programs that forward packets."""
        return ["ovs-vswitchd"]

    def _configuration(self, scheduler: str, job_energy: float, epochs: EpochClock) -> Config:
        config = super()._configuration(scheduler, job_energy, epochs)
        # Discovery frames wait in line with jobs: a busy controller must not take its links for gone.
        return replace(config, openflow=ovs.OPENFLOW, timing=replace(config.timing, missed=_MISSED))

    async def _complete(self, command: list[str]) -> None:
        """Run one of Open vSwitch's tools to its end."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        _, errors = await process.communicate()
        # A port that cannot be opened is said, but is no failure of the tool.
        if process.returncode or errors.strip():
            first = errors.decode(errors="replace").strip().partition("\n")[0]
            raise RunError(f"{command[0]}: {first or f'ended with status {process.returncode}'}")


async def _appearance(path: Path) -> None:
    """Wait until a program has made its socket."""
    try:
        async with asyncio.timeout(_PATIENCE):
            while not path.exists():  # noqa: ASYNC110, ASYNC240 (nobody says when; a look takes no time)
                await asyncio.sleep(_POLL)
    except TimeoutError:
        raise RunError(f"ovsdb-server did not open {path} within {_PATIENCE:g} s") from None
