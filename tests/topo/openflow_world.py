# SPDX-License-Identifier: Apache-2.0
"""A network of Open vSwitch switches in a world of its own, put to the test; prints what it found as JSON.

python tests/topo/openflow_world.py FOLDER
"""

import asyncio
import json
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from grasp.topo.configuration import SERVICE_ADDRESS, SERVICE_PORT, Files, switch_name
from grasp.topo.emulation import Recording
from grasp.topo.hours import Hours
from grasp.topo.isolation import SCRATCH, enter
from grasp.topo.openflow import OpenFlowEmulation
from grasp.topo.ring import Ring
from grasp.topo.traffic import Order, Outcome

SITES = ("elmira", "watertown", "westhampton", "homestead", "orlando", "tyndall", "lompoc", "march", "travis")
FAVOURITE = 4  # in Florida
TIMEOUT = 2.0


class ShortTimeouts(OpenFlowEmulation):
    def _configuration(self, *arguments):
        config = super()._configuration(*arguments)
        services = tuple(replace(service, timeout=round(TIMEOUT * 1e6)) for service in config.services)
        return replace(config, services=services)


class World:
    def __init__(self, emulation: OpenFlowEmulation) -> None:
        self.emulation = emulation
        self.job = 0

    async def job_of(self, client: int, hold: float = 0.0, exchanges: int = 1) -> asyncio.Task[Outcome]:
        """Let a client open a job now; the task ends with it."""
        self.job += 1
        number = self.job
        order = Order(0, number, time.monotonic(), SERVICE_ADDRESS, SERVICE_PORT, "tcp", exchanges, hold, 3.0)
        await self.emulation.programs[self.emulation.topology.clients[client].node].tell(asdict(order))

        async def ended() -> Outcome:
            def found() -> list[Outcome]:
                return [outcome for outcome in self.emulation.outcomes if outcome.job == number]

            assert await self.emulation.outcomes_until(lambda: bool(found()), 20)
            return found()[0]

        return asyncio.create_task(ended())

    def entries(self) -> dict[str, list[str]]:
        """Connections' entries of each switch, as Open vSwitch prints them."""
        result = {}
        for switch in self.emulation.topology.switches:
            words = ["ovs-ofctl", "-O", "OpenFlow13", "--no-stats", "dump-flows", switch.node]
            text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            result[switch.node] = sorted(line.strip() for line in text.splitlines() if "cookie=0x" in line)
            result[switch.node] = [line for line in result[switch.node] if "cookie=0x0," not in line]
        return result

    async def gone(self) -> float:
        """Wait until no connection has an entry; return the seconds that took."""
        begin = time.monotonic()
        while any(self.entries().values()) and time.monotonic() < begin + 20:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
        return time.monotonic() - begin

    def limit(self, switch: str, entries: int | None) -> None:
        """Let a switch's table hold no more entries than it has now and some; None lifts the limit."""
        words = ["ovs-vsctl", f"--db=unix:{SCRATCH}/ovs/db.sock"]
        if entries is None:
            subprocess.run([*words, "clear", "Bridge", switch, "flow_tables"], check=True)
            return
        dump = ["ovs-ofctl", "-O", "OpenFlow13", "dump-flows", switch]
        present = subprocess.run(dump, capture_output=True, text=True, check=True).stdout.count("cookie=")
        table = [
            "--id=@t",
            "create",
            "Flow_Table",
            f"flow_limit={present + entries}",
            "overflow_policy=refuse",
        ]
        subprocess.run(
            [*words, "set", "Bridge", switch, "flow_tables:0=@t", "--", *table],
            check=True,
            stdout=subprocess.DEVNULL,
        )

    async def restart_controller(self) -> None:
        emulation = self.emulation
        await emulation.programs["controller"].kill()
        begin = time.time()
        await emulation.start_controller()
        names = {switch_name(switch) for switch in emulation.topology.switches}
        sites = len(emulation.topology.sites)

        def after(event: str, key: str) -> set[object]:
            return {item[key] for item in emulation.feed.named(event) if item["time"] > begin}

        await emulation.awaited("switches", lambda: names <= after("reconciled", "switch"))
        await emulation.awaited("forecasts", lambda: len(after("forecast_acknowledged", "site")) == sites)


async def trial(folder: Path) -> dict[str, object]:
    topology = Ring(SITES)
    energy = np.full((3, len(SITES)), 1000.0)
    energy[:, FAVOURITE] = 1e6
    async with asyncio.TaskGroup() as group:
        emulation = ShortTimeouts(topology, Files(SCRATCH), Recording(folder), group)
        world = World(emulation)
        try:
            await emulation.start_hosts_and_switches()
            hours = Hours(emulation, energy, 1000, seconds=600.0)
            await hours.prepare("green", 200.0, 5.0)
            await hours.begin(0)
            found: dict[str, object] = {}
            found["first"] = asdict(await (await world.job_of(0)))
            found["entries"] = world.entries()
            found["gone_s"] = await world.gone()

            running = await world.job_of(0, hold=8.0, exchanges=9)
            await asyncio.sleep(0.5)
            before = world.entries()
            await world.restart_controller()
            found["entries_kept"] = world.entries() == before
            found["after_restart"] = asdict(await (await world.job_of(2)))
            found["running"] = asdict(await running)
            await world.gone()

            world.limit("s1", 1)
            found["full"] = asdict(await (await world.job_of(0)))
            found["left_behind"] = world.entries()
            world.limit("s1", None)
            found["after_full"] = asdict(await (await world.job_of(0)))
            return found
        finally:
            await emulation.stop()


if __name__ == "__main__":
    enter()
    print(json.dumps(asyncio.run(trial(Path(sys.argv[1])))))
