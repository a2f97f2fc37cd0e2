# SPDX-License-Identifier: Apache-2.0
"""Look at this machine: what GRASP needs, what it could use, what is missing and what to do about it.

Ends with status 0 when everything needed is there, 1 otherwise.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import socket
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import grasp

HELP = "say what this machine has and lacks, and what to do"

MOUNTS = Path("/proc/self/mountinfo")
_CLONE_NEWNET = 0x40000000


@dataclass(frozen=True)
class Finding:
    """One thing looked for: what was found (empty: nothing), and what to do where it is missing."""

    name: str
    purpose: str
    needed: bool
    found: str
    remedy: str


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the findings."""
    findings = examine()
    if args.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _print_table(findings)
    return 0 if all(finding.found for finding in findings if finding.needed) else 1


def examine() -> list[Finding]:
    """Look for everything, needed things first."""
    debian = "apt-get install --no-install-recommends "
    sources = "build it from its sources; it is in no package registry"
    findings = [
        Finding("Python", "everything", True, sys.version.split()[0], ""),
        *(
            Finding(name, "Python package", True, _package(name), "./build.sh")
            for name in ("finsy", "grpcio", "matplotlib", "mininet", "numpy", "pvlib", "scapy")
        ),
        _program("cc", "compiles the translated P4 program", True, f"{debian}gcc libc6-dev"),
        _program("ip", "emulated networks", True, f"{debian}iproute2"),
        _program("mnexec", "emulated hosts", True, f"{debian}mininet"),
        _program("ethtool", "switches off offloads that break checksums", True, f"{debian}ethtool"),
        _program("ifconfig", "emulated hosts", True, f"{debian}net-tools"),
        _program("mount", "emulated networks", True, f"{debian}mount"),
        _program("nsenter", "grasp shell", True, f"{debian}util-linux"),
        Finding("root", "networks and raw sockets", True, _attempt(_root), "run as root (sudo)"),
        Finding(
            "packet sockets", "switches, agents", True, _attempt(_packet_socket), "CAP_NET_RAW is needed"
        ),
        Finding(
            "network namespaces", "emulated networks", True, _attempt(_namespace), "CAP_SYS_ADMIN is needed"
        ),
        Finding(
            "mounts of its own",
            "emulated networks",
            True,
            "yes" if root_is_mounted() else "",
            "a chroot has none: take a container or virtual machine, such as systemd-nspawn --directory ROOT",
        ),
        _program("ovs-vswitchd", "grasp compare, --control openflow", False, f"{debian}openvswitch-switch"),
        _program("p4c-bm2-ss", "recompiles the P4 program after a change", False, sources + " (p4lang/p4c)"),
        _program(
            "simple_switch_grpc", "--target bmv2", False, sources + " (p4lang/behavioral-model with PI)"
        ),
    ]
    return findings


def _package(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _program(name: str, purpose: str, needed: bool, remedy: str) -> Finding:
    return Finding(name, purpose, needed, shutil.which(name) or "", remedy)


def _attempt(action: Callable[[], str]) -> str:
    try:
        return action()
    except OSError:
        return ""


def _root() -> str:
    return "yes" if os.geteuid() == 0 else ""


def _packet_socket() -> str:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0):
        return "yes"


def _namespace() -> str:
    """Try in a child, so that this process stays where it is."""
    child = os.fork()
    if child == 0:
        os._exit(0 if ctypes.CDLL(None).unshare(_CLONE_NEWNET) == 0 else 1)
    return "yes" if os.waitpid(child, 0)[1] == 0 else ""


def root_is_mounted(mounts: Path = MOUNTS) -> bool:
    """Whether the root folder is a mount point: in a chroot, where a run can have no mounts, it is not."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:  # not even /proc is there
        return False
    return "/" in [line.split()[4] for line in lines]  # proc_pid_mountinfo(5): the mount point


def _print_table(findings: list[Finding]) -> None:
    from rich.table import Table
    from rich.text import Text

    from grasp.console import console

    terminal = console()
    table = Table(title=f"grasp {grasp.__version__} on this machine", title_justify="left", box=None)
    table.add_column()
    table.add_column("what", no_wrap=True)
    table.add_column("for", overflow="fold")
    table.add_column("found", overflow="fold")
    for finding in findings:
        word, colour = ("ok", "green") if finding.found else ("missing", "red")
        mark = Text(word, colour) if finding.found or finding.needed else Text("optional")
        table.add_row(mark, finding.name, finding.purpose, finding.found or "-")
    terminal.print(table)
    for finding in findings:
        if not finding.found:
            terminal.print(f"{finding.name}: {finding.remedy}", soft_wrap=True)
