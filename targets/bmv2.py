# SPDX-License-Identifier: Apache-2.0
"""The bmv2 target: simple_switch_grpc, if it is installed."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import ClassVar

from grasp import UserError
from grasp.targets.interface import SwitchConfig, Target

PROGRAM = "simple_switch_grpc"


class Bmv2(Target):
    """A switch run by simple_switch_grpc."""

    name: ClassVar[str] = "bmv2"

    @classmethod
    def check(cls) -> None:
        """Refuse if simple_switch_grpc is not on PATH."""
        if shutil.which(PROGRAM) is None:
            raise UserError(
                f"{PROGRAM} is not on PATH: build p4lang/behavioral-model with PI (it is in no package "
                "registry), or use the embedded target, v1model"
            )

    def command(self) -> list[str]:
        """simple_switch_grpc's command line."""
        own = _own_resources(self.config)
        return [PROGRAM, *own, *self.general_options(), "--", *self.grpc_options()]


def _own_resources(config: SwitchConfig) -> list[str]:
    """Options that keep switches from sharing a Thrift port or a socket, if this BMv2 has these at all."""
    words = []
    if "--thrift-port" in _help():
        port = int(config.grpc_address.rpartition(":")[2])
        words += ["--thrift-port", str(port + 10_000 if port < 50_000 else port - 10_000)]
    if "--notifications-addr" in _help():
        folder = Path(tempfile.mkdtemp(prefix="bmv2-"))
        words += ["--notifications-addr", f"ipc://{folder}/notifications.ipc"]
    return words


@functools.cache
def _help() -> str:
    """What simple_switch_grpc says of its options, which depend on how it was built."""
    return subprocess.run([PROGRAM, "--help"], capture_output=True, text=True).stdout


TARGET = Bmv2
