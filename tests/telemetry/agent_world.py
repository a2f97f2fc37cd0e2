# SPDX-License-Identifier: Apache-2.0
"""A world for one agent process: run in a network namespace of its own, prints what it saw as JSON.

agent --- a0 ===veth=== c0 --- this process, in the controller's and the switch's place
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from grasp.telemetry.protocol import (
    ETHERTYPE,
    EpochClock,
    Frame,
    FrameType,
    Parameter,
    Refusal,
    Register,
    Registered,
    Report,
    Reported,
    enrolment_key,
    session_key,
)

SECRET = bytes(range(16))
FIRST = 1000
HEARTBEAT = 20_000
LINK = """\
link set lo up
link add a0 type veth peer name c0
link set a0 up
link set c0 up
addr add 10.0.0.7/24 dev a0"""
START = (
    "import sys, argparse; from grasp.telemetry.agent import command; parser = argparse.ArgumentParser();"
    "command.configure(parser); sys.exit(command.run(parser.parse_args()))"
)


def now() -> int:
    return time.time_ns() // 1000


class World:
    """The far end of the agent's link."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for line in LINK.splitlines():
            subprocess.run(["ip", *line.split()], check=True)
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.bind(("c0", ETHERTYPE))
        self.clock = EpochClock(now(), 500_000, FIRST)
        self.key = b""
        self.registers: list[Register] = []
        self.reports: list[Report] = []
        self.beats: list[float] = []
        (folder / "secret").write_text(SECRET.hex())
        energy = {str(epoch): 2.0 * epoch for epoch in range(FIRST - 1, FIRST + 1000)}
        (folder / "forecast.json").write_text(json.dumps({"green_energy": energy}))

    def agent(self) -> "subprocess.Popen[str]":
        paths = {name: str(self.folder / name) for name in ("secret", "state", "forecast.json")}
        options = ["--name", "elmira", "--interface", "a0", "--secret-file", paths["secret"]]
        options += ["--state", paths["state"], "--forecast", paths["forecast.json"]]
        return subprocess.Popen([sys.executable, "-c", START, *options], stdout=subprocess.PIPE, text=True)

    def serve(self, seconds: float, lose_every: int = 0) -> None:
        """Answer for a while; every n-th report is lost."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.socket], [], [], left)[0]:
                return
            try:
                frame = Frame.from_bytes(self.socket.recv(2048))
            except OSError:
                continue  # the link is down
            if frame.type is FrameType.HEARTBEAT:
                self.beats.append(time.monotonic())
            elif frame.type is FrameType.REGISTER:
                self.register(Register.open(enrolment_key(SECRET), frame), frame.source)
            elif self.key:
                report = Report.open(self.key, frame)
                self.reports.append(report)
                if not lose_every or len(self.reports) % lose_every:
                    answer = Reported(4, report.sequence, Refusal.NONE, now())
                    self.socket.send(answer.seal(self.key, frame.source).to_bytes())

    def register(self, register: Register, source: bytes) -> None:
        self.registers.append(register)
        nonce = os.urandom(16)
        self.key = session_key(SECRET, register.nonce, nonce)
        last = max((report.sequence for report in self.reports), default=0)
        parameters = (Parameter("green_energy", "Wh"), Parameter("load", "jobs/s"))
        terms = Registered(4, register.nonce, nonce, now(), last, self.clock, 200_000, HEARTBEAT, parameters)
        self.socket.send(terms.seal(enrolment_key(SECRET), source).to_bytes())


def main(folder: Path) -> None:
    world = World(folder)
    agent = world.agent()
    agents = [agent]
    seen: dict[str, object] = {}
    try:
        world.serve(1.0, lose_every=5)
        with socket.create_server(("10.0.0.7", 0)) as server:
            for _ in range(30):
                with socket.create_connection(server.getsockname()), server.accept()[0]:
                    pass
        world.serve(0.5)
        seen["load"] = max(report.values["load"] for report in world.reports)
        seen["energies_right"] = all(
            report.values["green_energy"] == 2.0 * report.epoch for report in world.reports
        )
        seen["beats"] = list(world.beats)
        subprocess.run(["ip", "link", "set", "c0", "down"], check=True)
        world.serve(0.2)
        subprocess.run(["ip", "link", "set", "c0", "up"], check=True)
        before = len(world.beats)
        world.serve(0.4)
        seen["beats_after_link_came_back"] = len(world.beats) - before
        agent.send_signal(signal.SIGKILL)
        agent.wait()
        agents.append(world.agent())
        world.serve(1.0)
        agents[-1].send_signal(signal.SIGTERM)
        output, _ = agents[-1].communicate(timeout=5)
        seen["output"], seen["status"] = output, agents[-1].returncode
    finally:
        for process in agents:
            process.kill()
    seen["requested"] = [register.requested for register in world.registers]
    seen["sequences"] = [report.sequence for report in world.reports]
    seen["epochs_ahead"] = sorted({report.epoch - world.clock.epoch(report.time) for report in world.reports})
    print(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
