# SPDX-License-Identifier: Apache-2.0
"""A run's own world: network, mount and process namespaces that end with it.

    grasp run              the process the user sees: forwards signals, returns the status
      └─ init of the world: the same program, going on from `enter()`
           ├─ switches, controller
           └─ hosts, each in a further network namespace: servers, agents, clients

The kernel ends everything inside when the world's init ends, and ends init when the visible process ends
(parent-death signal), so that even ``kill -9`` leaves no process, interface, namespace or mount.
"""

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

from grasp import UserError
from grasp.control.doctor import root_is_mounted

_CLONE_NEWNS = 0x00020000
_CLONE_NEWPID = 0x20000000
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1

SCRATCH = Path("/run/grasp")
"""For sockets and other files that no one needs after the run; seen inside the world only."""

_PROGRAMS = {
    "ip": "iproute2",
    "ss": "iproute2",
    "mount": "mount",
    "ethtool": "ethtool",
    "ifconfig": "net-tools",
    "mnexec": "mininet",
}


def enter() -> None:
    """Continue in a world of its own: this returns there, in a child that is process 1 of it.

    The caller's own process never comes back from here: it waits, and exits with the child's status (128 plus
    the signal's number if a signal ended it). Signals that ask for an end reach the child as SIGINT.

    Raises UserError when this user may not make namespaces, or a program that makes networks is missing.
    """
    _check()
    alive, keep = os.pipe()
    _unshare(_CLONE_NEWPID)
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        os.close(alive)
        raise SystemExit(_supervise(child))
    os.close(keep)
    _settle(alive)


def _check() -> None:
    if os.geteuid() != 0:
        raise UserError("a run builds its own network and needs root: start it with sudo")
    missing = {name: package for name, package in _PROGRAMS.items() if shutil.which(name) is None}
    if missing:
        packages = " ".join(sorted(set(missing.values())))
        raise UserError(f"not on PATH: {', '.join(missing)}; on Debian: apt-get install {packages}")
    if not root_is_mounted():
        raise UserError(
            "this is a chroot, in which a run can have no mounts of its own: take a container or a virtual"
            " machine instead, such as systemd-nspawn --directory ROOT"
        )


def _supervise(child: int) -> int:
    def forward(_number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
            os.kill(child, signal.SIGINT)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, forward)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _settle(alive: int) -> None:
    """Turn the child into the world's init."""
    os.setsid()  # a terminal's Ctrl-C reaches the parent alone, which forwards it once
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell set it to be ignored
    _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if select.select([alive], [], [], 0)[0]:  # end of file: the parent died before the line above
        os._exit(1)
    os.close(alive)

    _unshare(_CLONE_NEWNS | _CLONE_NEWNET)
    _run("mount", "--make-rprivate", "/")
    _run("mount", "-t", "proc", "proc", "/proc")
    _run("mount", "-t", "sysfs", "sysfs", "/sys")  # /sys/class/net shows the namespace it was mounted in
    _run("mount", "-t", "tmpfs", "-o", "mode=755", "grasp", "/run")
    SCRATCH.mkdir()
    os.environ["TMPDIR"] = str(SCRATCH)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]  # nothing outside can be reached, and loopback must not go through one
    for scope in ("all", "default"):  # the emulated network is IPv4 only; spare it neighbour discovery
        Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6").write_text("1")
    _run("ip", "link", "set", "lo", "up")


def _unshare(flags: int) -> None:
    try:
        _call("unshare", flags)
    except PermissionError:
        raise UserError(
            "root may not make namespaces here; a container needs the capabilities SYS_ADMIN and NET_ADMIN"
        ) from None


def _call(function: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UserError(f"{' '.join(command)}: {' '.join(done.stderr.split())}")
