# SPDX-License-Identifier: Apache-2.0
"""The options of ``grasp switch``, which are those of simple_switch_grpc.

They come in any order, the program's JSON among them; a ``--`` may stand before those that BMv2 calls its
target's. What concerns facilities that this target does not have (Thrift, nanomsg) is accepted and unused.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import grasp

DEFAULT_ADDRESS = "0.0.0.0:9559"
_LAST_PORT = 511  # v1model's ports have 9 bits
_MOST_QUEUES = 256  # a port's queues take memory, used or not
LEVELS = ("trace", "debug", "info", "warn", "error", "off")

# BMv2's options that change nothing here: with a value, and without.
_UNUSED_VALUES = (
    "--thrift-port", "--nanolog", "--notifications-addr", "--debugger-addr", "--dump-packet-data",
    "--log-file-max-size", "--log-file-max-files", "--max-port-count",
    "--max-mc-groups", "--max-l1-entries", "--max-l2-entries",
)  # fmt: skip
_UNUSED_FLAGS = ("--debugger", "--log-flush", "--disable-swap", "--enable-swap")


@dataclass(frozen=True)
class Options:
    """How a switch is started; `program` is None for one that waits for a controller's."""

    ports: dict[int, str]
    program: Path | None
    device_id: int
    grpc_address: str
    cpu_port: int | None
    drop_port: int
    priority_queues: int
    pcap: Path | None
    log_level: str
    log_console: bool
    log_file: Path | None
    unused: tuple[str, ...]


class _Parser(argparse.ArgumentParser):
    """Reports mistakes as the rest of the program does."""

    def error(self, message: str) -> NoReturn:
        raise grasp.UserError(f"{message} (see grasp switch --help)")


def build_parser() -> argparse.ArgumentParser:
    """The parser of a switch's own options."""
    parser = _Parser(
        prog="grasp switch",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s [options] [JSON | --no-p4] [-- options]",
    )
    add = parser.add_argument
    add("json", nargs="?", type=Path, metavar="JSON", help="the program, as p4c's bmv2 backend writes it")
    add("--no-p4", action="store_true", help="start without a program: a controller brings it")
    add(
        "-i", "--interface", action="append", default=[], metavar="PORT@INTERFACE", dest="interfaces",
        help="attach a network interface as a port (repeat for each)",
    )  # fmt: skip
    add("--device-id", type=int, default=0, metavar="ID", help="P4Runtime device id (default 0)")
    add(
        "--grpc-server-addr", default=DEFAULT_ADDRESS, metavar="HOST:PORT",
        help=f"where P4Runtime is served (default {DEFAULT_ADDRESS})",
    )  # fmt: skip
    add("--cpu-port", type=int, metavar="PORT", help="port of packet-ins and packet-outs (default: none)")
    add("--drop-port", type=int, default=511, metavar="PORT", help="egress port that drops (default 511)")
    add("--priority-queues", type=int, default=1, metavar="N", help="queues per port (default 1)")
    add(
        "--pcap", nargs="?", type=Path, const=Path(), metavar="DIR",
        help="write each interface's packets to DIR (default: the current folder)",
    )  # fmt: skip
    add("-L", "--log-level", choices=LEVELS, default="", metavar="LEVEL", help=f"one of {', '.join(LEVELS)}")
    add("--log-console", action="store_true", help="log on standard output")
    add("--log-file", type=Path, metavar="FILE", help="log to a file")
    add("-v", "--version", action="version", version=f"grasp {grasp.__version__}")
    for name in _UNUSED_VALUES:
        add(name, help=argparse.SUPPRESS)
    for name in _UNUSED_FLAGS:
        add(name, action="store_true", help=argparse.SUPPRESS)
    return parser


def parse(words: Sequence[str]) -> Options:
    """The options that a command line's words make."""
    args = build_parser().parse_args(_plain(words))
    if args.json is None and not args.no_p4:
        raise grasp.UserError("name the program's JSON file, or start with --no-p4")
    ports = _ports(args.interfaces)
    _check_numbers(args)
    if args.cpu_port is not None:
        _check_cpu_port(args.cpu_port, args.drop_port, ports)
    names = (name.removeprefix("--") for name in _UNUSED_VALUES + _UNUSED_FLAGS)
    return Options(
        ports=ports,
        program=None if args.no_p4 else args.json,
        device_id=args.device_id,
        grpc_address=args.grpc_server_addr,
        cpu_port=args.cpu_port,
        drop_port=args.drop_port,
        priority_queues=args.priority_queues,
        pcap=args.pcap,
        log_level=args.log_level,
        log_console=args.log_console,
        log_file=args.log_file,
        unused=tuple(f"--{name}" for name in names if getattr(args, name.replace("-", "_"))),
    )


def _plain(words: Sequence[str]) -> list[str]:
    """The words without ``--``; a JSON right after ``--pcap`` is the program, not the folder."""
    plain = [word for word in words if word != "--"]
    for place, word in enumerate(plain[:-1]):
        if word == "--pcap" and plain[place + 1].endswith(".json"):
            plain[place] = "--pcap=."
    return plain


def _ports(interfaces: Sequence[str]) -> dict[int, str]:
    ports: dict[int, str] = {}
    for text in interfaces:
        number, at, name = text.partition("@")
        if not (number.isdecimal() and at and name):
            raise grasp.UserError(f"interface '{text}' is not of the form PORT@INTERFACE")
        if int(number) in ports or name in ports.values():
            raise grasp.UserError(f"interface '{text}': the port or the interface is given twice")
        ports[int(number)] = name
    return ports


def _check_numbers(args: argparse.Namespace) -> None:
    """Refuse what does not fit where the number goes; cut, it would name another port or device."""
    for option, value, least, most in (
        ("--device-id", args.device_id, 0, 2**64 - 1),
        ("--cpu-port", args.cpu_port, 1, _LAST_PORT),
        ("--drop-port", args.drop_port, 0, _LAST_PORT),
        ("--priority-queues", args.priority_queues, 1, _MOST_QUEUES),
    ):
        if value is not None and not least <= value <= most:
            raise grasp.UserError(f"{option} {value} is not from {least} to {most}")


def _check_cpu_port(cpu_port: int, drop_port: int, ports: dict[int, str]) -> None:
    if cpu_port == drop_port:
        raise grasp.UserError(f"--cpu-port {cpu_port} is the drop port: choose another with --drop-port")
    if cpu_port in ports:
        raise grasp.UserError(f"--cpu-port {cpu_port} is the port of interface {ports[cpu_port]}")
