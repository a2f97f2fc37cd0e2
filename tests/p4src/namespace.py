# SPDX-License-Identifier: Apache-2.0
"""A network namespace that lives as long as a thread: nothing of it is left, however the tests end."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
PACKET_IGNORE_OUTGOING = 23
SOL_PACKET = 263
MTU = 65535

T = TypeVar("T")


def _enter_new_namespace() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


class Namespace:
    """Sockets and processes made through it belong to it; the rest of this process stays outside."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, initializer=_enter_new_namespace)
        self._processes: list[subprocess.Popen[bytes]] = []
        self.call(self._ip, "link", "set", "lo", "up")

    def call(self, function: Callable[..., T], *args: object, **options: object) -> T:
        """Run a function inside."""
        return self._thread.submit(function, *args, **options).result()

    def start(self, command: list[str], log: Path) -> subprocess.Popen[bytes]:
        """Start a process inside, with its output in a file; it ends when this process does."""
        with log.open("wb") as out:
            bound = ["setpriv", "--pdeathsig", "KILL", *command]
            process = self.call(
                lambda: subprocess.Popen(
                    bound, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
                )
            )
        self._processes.append(process)
        return process

    def add_link(self, near: str, far: str) -> socket.socket:
        """Make a pair of interfaces; returns a socket that sees every frame of the near one."""

        def make() -> socket.socket:
            self._ip(
                "link", "add", near, "mtu", str(MTU), "type", "veth", "peer", "name", far, "mtu", str(MTU)
            )
            for name in (near, far):
                # The kernel itself must not speak on these links.
                Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
                self._ip("link", "set", name, "mtu", str(MTU), "up")
            link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            link.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            link.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
            link.bind((near, ETH_P_ALL))
            return link

        return self.call(make)

    def close(self) -> None:
        for process in self._processes:
            process.terminate()
            process.wait(10)
        self._thread.shutdown()

    @staticmethod
    def _ip(*args: str) -> None:
        subprocess.run(["ip", *args], check=True, stdin=subprocess.DEVNULL)


def unavailable() -> str | None:
    """Why there can be no namespace here; None if there can."""
    return None if os.geteuid() == 0 else "network namespaces need root"
