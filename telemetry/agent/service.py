# SPDX-License-Identifier: Apache-2.0
"""Runs the agent's state machine between clock, socket and signals."""

import argparse
import asyncio
import logging
import re
import signal
import time
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path

from grasp import UserError
from grasp.telemetry.agent.link import Link
from grasp.telemetry.agent.machine import Agent, Identity
from grasp.telemetry.agent.memory import MemoryFile
from grasp.telemetry.agent.values import Forecast, ForecastFile, Measurements, typical_year
from grasp.telemetry.metrics import Load

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")
"""Names of sites, as the controller's configuration has them."""
SECRET_BYTES = 16
"""Shortest enrolment secret that is accepted."""


BATCH = 64
"""Frames taken in before it is looked at the clock again, so that a flood does not delay heartbeats."""


def run_agent(args: argparse.Namespace) -> int:
    """Run the agent that the command line describes; return its exit status. Raises UserError."""
    if not NAME.fullmatch(args.name):
        raise UserError(f"name {args.name!r}: up to 32 of A-Z a-z 0-9 _ . - with a letter or digit first")
    logging.basicConfig(level=args.log_level.upper(), format=f"%(levelname)s agent {args.name}: %(message)s")
    secret = read_secret(args.secret_file)
    forecast = _forecast(args)
    file = MemoryFile(args.state)
    memory = file.load(args.name)
    link = Link(args.interface)
    address = _address(args.address) if args.address else link.address()
    try:
        now = monotonic()
        measurements = Measurements(forecast, Load(now))
    except (OSError, ValueError) as error:
        raise UserError(f"the load cannot be measured: {error}") from error
    identity = Identity(args.name, secret, link.mac, int(address))
    agent = Agent(identity, measurements, memory, file.save, wall_clock, now)
    asyncio.run(serve(agent, link, args.name))
    return 0


async def serve(agent: Agent, link: Link, name: str) -> None:
    """Move frames between the machine and the link, on time, until SIGTERM.

    Prints a line on standard output when the site is registered for the first time.
    """
    loop = asyncio.get_running_loop()
    wake = asyncio.Event()
    stopping = False

    def stop() -> None:
        nonlocal stopping
        stopping = True
        wake.set()

    loop.add_signal_handler(signal.SIGTERM, stop)
    loop.add_reader(link, wake.set)
    announced = False
    while not stopping:
        wake.clear()
        for _ in range(BATCH):
            if (frame := link.receive()) is None:
                break
            agent.receive(frame, monotonic())
        for frame in agent.poll(monotonic()):
            link.send(frame)
        if not announced and agent.terms is not None:
            announced = True
            print(f"registered {name} as site {agent.terms.site}", flush=True)
        now = monotonic()
        timer = loop.call_later((agent.due(now) - now) / 1e6, wake.set)
        await wake.wait()
        timer.cancel()


def monotonic() -> int:
    """Return the monotonic time in microseconds."""
    return time.monotonic_ns() // 1000


def wall_clock() -> int:
    """Return the time of day in microseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1000


def read_secret(path: Path) -> bytes:
    """Return the secret that a file holds in hexadecimal digits, as the controller's configuration has it."""
    try:
        secret = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except OSError as error:
        raise UserError(f"secret {path}: cannot be read ({error.strerror})") from None
    except ValueError:
        secret = b""
    if len(secret) < SECRET_BYTES:
        raise UserError(f"secret {path}: must be at least {2 * SECRET_BYTES} hexadecimal digits")
    return secret


def _address(text: str) -> IPv4Address:
    try:
        return IPv4Address(text)
    except AddressValueError:
        raise UserError(f"address {text!r}: not an IPv4 address") from None


def _forecast(args: argparse.Namespace) -> Forecast:
    if args.forecast is not None:
        return ForecastFile(args.forecast)
    if args.station is None:
        raise UserError("--energy needs --station, the weather station of the site")
    return typical_year(
        args.energy, args.station, args.model, args.alignment, args.seed, args.method, args.error
    )
