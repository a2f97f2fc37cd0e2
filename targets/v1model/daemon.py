# SPDX-License-Identifier: Apache-2.0
"""A switch in the foreground: engine, ports and P4Runtime server, until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from pathlib import Path

from grasp import UserError

from .compile import compile_program
from .engine import Engine
from .options import Options
from .p4load import load
from .p4runtime.server import P4RuntimeServer
from .translate import translate

_LOG = logging.getLogger(__name__)
_LEVELS = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL + 1,
}


def compile_json(text: bytes) -> Path:
    """From BMv2 JSON to a program that the engine loads; UserError says what it cannot run, and why."""
    return compile_program(translate(load(text)))


def run(options: Options) -> int:
    """Run a switch; returns the exit status."""
    _configure_logging(options)
    if options.unused:
        _LOG.debug("accepted and unused: %s", " ".join(options.unused))
    with Engine(
        cpu_port=options.cpu_port,
        drop_port=options.drop_port,
        queues=options.priority_queues,
        pcap=options.pcap,
    ) as engine:
        asyncio.run(_serve(options, engine))
    return 0


async def _serve(options: Options, engine: Engine) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    for port, interface in options.ports.items():
        _attach(engine, port, interface)
    initial = b"" if options.program is None else _read(options.program)
    server = P4RuntimeServer(engine, options.device_id, compile_json, initial)
    port = server.bind(options.grpc_address)
    if initial:
        engine.load(await asyncio.to_thread(compile_json, initial))
    engine.start()
    await server.start()
    host, _, wanted = options.grpc_address.rpartition(":")
    place = f"{host}:{port}" if wanted.isdecimal() else options.grpc_address
    print(f"Server listening on {place} (P4Runtime, device {options.device_id})", flush=True)
    await stop.wait()
    await server.stop()


def _attach(engine: Engine, port: int, interface: str) -> None:
    try:
        socket.if_nametoindex(interface)
    except OSError:
        raise UserError(f"port {port}: there is no network interface {interface} (see ip link)") from None
    engine.add_port(port, interface)


def _read(path: Path) -> bytes:
    try:
        program = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read the program {path}: {error.strerror}") from None
    if not program:
        raise UserError(f"the program {path} is empty (--no-p4 starts without one)")
    return program


def _configure_logging(options: Options) -> None:
    """Log where BMv2 does, everything by default; without a place for that, warnings go to stderr."""
    handlers: list[logging.Handler] = []
    if options.log_console:
        handlers.append(logging.StreamHandler(sys.stdout))
    if options.log_file is not None:
        try:
            handlers.append(logging.FileHandler(options.log_file))
        except OSError as error:
            raise UserError(f"cannot write the log {options.log_file}: {error.strerror}") from None
    logging.basicConfig(handlers=handlers or None, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("grasp").setLevel(_LEVELS[options.log_level or ("trace" if handlers else "warn")])
