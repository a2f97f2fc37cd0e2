# SPDX-License-Identifier: Apache-2.0
"""What every target is: a program that runs a P4 pipeline between network interfaces, behind P4Runtime.

    switch = find("v1model")(SwitchConfig(device_id=1, grpc_address="127.0.0.1:50051", ports={1: "veth1"}))
    switch.start(log=Path("switch.log"))
    ...
    switch.stop()

A caller that watches processes itself takes `command()` and asks `is_listening(pid)`.
"""

from __future__ import annotations

import abc
import importlib
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from grasp import UserError

_MODULES = {"v1model": "grasp.targets.v1model.target", "bmv2": "grasp.targets.bmv2"}
_LISTENING = "0A"  # state of a socket in /proc/<pid>/net/tcp
_POLL = 0.02  # s


@dataclass(frozen=True)
class SwitchConfig:
    """How a switch is to run.

    grpc_address: host:port of its P4Runtime server. ports: interfaces by port number. program: BMv2 JSON to
    begin with, None to wait for a controller's. cpu_port: port of packet-ins and packet-outs, None for none.
    pcap: folder for each interface's packets. log_level: one of BMv2's, None for warnings and errors.
    """

    device_id: int
    grpc_address: str
    ports: Mapping[int, str]
    program: Path | None = None
    cpu_port: int | None = 255
    pcap: Path | None = None
    log_level: str | None = None


class Target(abc.ABC):
    """One switch, which may be running."""

    name: ClassVar[str]

    def __init__(self, config: SwitchConfig) -> None:
        self.config = config
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    @abc.abstractmethod
    def check(cls) -> None:
        """Raise UserError, saying what to do, if this machine cannot run this target."""

    @abc.abstractmethod
    def command(self) -> list[str]:
        """The command line that runs the switch in the foreground, until SIGTERM."""

    def general_options(self) -> list[str]:
        """What simple_switch_grpc and ``grasp switch`` take before a ``--``."""
        config, words = self.config, ["--device-id", str(self.config.device_id)]
        for number, interface in config.ports.items():
            words += ["-i", f"{number}@{interface}"]
        if config.pcap is not None:
            words.append(f"--pcap={config.pcap}")
        if config.log_level is not None:
            words += ["--log-console", "--log-level", config.log_level]
        return [*words, "--no-p4" if config.program is None else str(config.program)]

    def grpc_options(self) -> list[str]:
        """What they take behind it."""
        words = ["--grpc-server-addr", self.config.grpc_address]
        return words if self.config.cpu_port is None else [*words, "--cpu-port", str(self.config.cpu_port)]

    @property
    def ports(self) -> Mapping[int, str]:
        """Interfaces by port number."""
        return self.config.ports

    @property
    def grpc_address(self) -> str:
        """Where P4Runtime is served."""
        return self.config.grpc_address

    def is_listening(self, pid: int) -> bool:
        """Whether the switch's P4Runtime port is open in the network namespace of a process."""
        port = int(self.grpc_address.rpartition(":")[2])
        for table in ("tcp", "tcp6"):
            try:
                lines = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
            except OSError:
                continue
            for local, state in ((line.split()[1], line.split()[3]) for line in lines):
                if state == _LISTENING and int(local.rpartition(":")[2], 16) == port:
                    return True
        return False

    def start(self, log: Path, patience: float = 30.0) -> None:
        """Run the switch, its output going to `log`; returns when it serves P4Runtime (seconds: patience)."""
        if self.is_listening(os.getpid()):
            raise UserError(f"switch {self.config.device_id}: {self.grpc_address} is in use")
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + patience
        while not self.is_listening(self._process.pid):
            ended = self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                self.stop()
                what = "ended" if ended else f"did not serve P4Runtime within {patience:.0f} s"
                last = log.read_text(errors="replace").strip().rpartition("\n")[2]
                raise UserError(
                    f"switch {self.config.device_id} ({self.name}) {what}: {last or f'see {log}'}"
                )
            time.sleep(_POLL)

    def stop(self, patience: float = 5.0) -> None:
        """End the switch; kill it if it does not end within `patience` seconds."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


def find(name: str) -> type[Target]:
    """The target of a name, if this machine can run it; else UserError."""
    if name not in _MODULES:
        raise UserError(f"there is no target '{name}': choose from {', '.join(_MODULES)}")
    target: type[Target] = importlib.import_module(_MODULES[name]).TARGET
    target.check()
    return target
