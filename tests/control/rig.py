# SPDX-License-Identifier: Apache-2.0
"""Three fake switches in a ring, agents, and a controller to drive them, all in one event loop."""

import asyncio
import contextlib
import hashlib
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import finsy as fy
from fake_switch import AGENT, FakeSwitch

from grasp.control.config import Config, parse
from grasp.control.core import Core
from grasp.control.events import EventLog
from grasp.control.p4runtime.controller import Controller
from grasp.control.store import Store
from grasp.schedulers.registry import scheduler
from grasp.telemetry.protocol import (
    Frame,
    FrameType,
    Register,
    Registered,
    Report,
    Reported,
    enrolment_key,
    session_key,
)

#      s1 --1--2-- s2
#       2 \       / 1
#          1 s3 2         client at port 3, site at port 4 of each


def wire_ring(switches: list[FakeSwitch]) -> None:
    """Connect port 1 of each switch to port 2 of the next."""
    for switch, following in zip(switches, [*switches[1:], switches[0]], strict=True):
        switch.wires[1] = (following, 2)
        following.wires[2] = (switch, 1)


def cut(switch: FakeSwitch, port: int) -> None:
    """Take out the cable at a port."""
    neighbour, other = switch.wires.pop(port)
    del neighbour.wires[other]


def secret(site: int) -> bytes:
    return hashlib.sha256(f"secret {site}".encode()).digest()


def site_mac(site: int) -> bytes:
    return bytes([2, 0, 0, 0, 1, site])


def client_mac(client: int) -> bytes:
    return bytes([2, 0, 0, 0, 0, client])


def ring_config(switches: list[FakeSwitch], folder: Path, *, epoch_seconds: float = 3600.0) -> Config:
    """A configuration with a client and an enrolled site (ids 1, 2, 3) on each switch; epochs begin now."""
    text = f"""
        interval = 0.1
        [controller]
        store = "store.sqlite"
        admin = "admin"
        [parameters.green_energy]
        unit = "Wh"
        [weights]
        green_energy = 1
        [gateway]
        addresses = ["10.0.0.254"]
        mac = "02:00:00:00:00:fe"
        [timing]
        probe = 0.02
        expiry = 0.1
        discovery = 0.05
        read = 0.05
        retransmit = 0.05
        [epoch]
        start = {time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        seconds = {epoch_seconds}
        first = 1000
        [[services]]
        id = 7
        name = "web"
        vip = "10.100.0.1"
        protocol = "tcp"
        port = 80
        server_port = 8080
        job_energy = 1.5
        timeout = 30
    """
    for number, switch in enumerate(switches, 1):
        text += f"""
            [[switches]]
            name = "s{number}"
            device_id = {switch.device_id}
            address = "{switch.address}"
            ports = [1, 2, 3, 4]
            [[clients]]
            name = "c{number}"
            address = "10.0.0.{number}"
            mac = "{client_mac(number).hex(":")}"
            switch = "s{number}"
            port = 3
            [[sites]]
            id = {number}
            name = "site{number}"
            address = "10.0.1.{number}"
            mac = "{site_mac(number).hex(":")}"
            secret = "{secret(number).hex()}"
        """
    return parse(text, folder / "controller.toml")


class Events(EventLog):
    """Events as they come; each can be waited for once."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, object]]] = []
        self._news = asyncio.Event()

    def emit(self, event: str, **fields: object) -> None:
        super().emit(event, **fields)
        self.seen.append((event, fields))
        self._news.set()

    async def until(self, event: str, **wanted: object) -> dict[str, object]:
        """Wait for the first event with these fields, and forget it."""
        async with asyncio.timeout(30):  # a target may have to compile the program first
            while True:
                for position, (name, fields) in enumerate(self.seen):
                    if name == event and wanted.items() <= fields.items():
                        del self.seen[position]
                        return fields
                self._news.clear()
                await self._news.wait()


@dataclass
class Running:
    core: Core
    events: Events


@contextlib.asynccontextmanager
async def running(config: Config, schema: fy.P4Schema) -> AsyncIterator[Running]:
    """Run a controller while the context lasts."""
    events = Events()
    with contextlib.closing(Store(config.store)) as store:
        core = Core(config, scheduler(config.scheduler), store, time.time_ns() // 1000)
        task = asyncio.create_task(Controller(config, core, schema, events).run())
        try:
            yield Running(core, events)
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


class Agent:
    """A site's agent at a port of a fake switch."""

    def __init__(self, switch: FakeSwitch, site: int, port: int = 4) -> None:
        self.switch, self.site, self.port = switch, site, port
        self.name = f"site{site}"
        self.secret = secret(site)
        self.address = int(IPv4Address(f"10.0.1.{site}"))
        self.mac = site_mac(site)
        self.nonce = b""
        self.sequence = 0
        self.registered: Registered | None = None

    async def send(self, frame: Frame | bytes) -> None:
        raw = frame if isinstance(frame, bytes) else frame.to_bytes()
        await self.switch.packet_in(raw, reason=AGENT, ingress_port=self.port)

    def received(self, kind: FrameType) -> list[Frame]:
        """Frames of a kind that the controller had transmitted to this site."""
        frames = [
            Frame.from_bytes(raw)
            for port, raw in self.switch.transmitted
            if port == self.port and raw[12:14] == b"\x88\xb5"
        ]
        return [frame for frame in frames if frame.type == kind]

    def register_frame(self) -> Frame:
        self.nonce = os.urandom(16)
        register = Register(self.name, self.nonce, time.time_ns() // 1000, self.address)
        return register.seal(enrolment_key(self.secret), self.mac)

    async def register(self) -> Registered:
        before = len(self.received(FrameType.REGISTERED))
        await self.send(self.register_frame())
        await self.switch.until(lambda: len(self.received(FrameType.REGISTERED)) > before)
        frame = self.received(FrameType.REGISTERED)[-1]
        self.registered = Registered.open(enrolment_key(self.secret), frame)
        assert self.registered.agent_nonce == self.nonce
        return self.registered

    def report_frame(self, epoch: int, **values: float) -> Frame:
        assert self.registered is not None
        self.sequence += 1
        report = Report(self.site, self.sequence, epoch, time.time_ns() // 1000, values)
        return report.seal(self._key(), self.mac)

    async def report(self, epoch: int, energy: float) -> Reported:
        """Report green energy in Wh and return the answer."""
        before = len(self.received(FrameType.REPORTED))
        await self.send(self.report_frame(epoch, green_energy=energy))
        await self.switch.until(lambda: len(self.received(FrameType.REPORTED)) > before)
        return Reported.open(self._key(), self.received(FrameType.REPORTED)[-1])

    def _key(self) -> bytes:
        assert self.registered is not None
        return session_key(self.secret, self.nonce, self.registered.controller_nonce)
