# SPDX-License-Identifier: Apache-2.0
"""Open p4runtime-shell on a switch of a running network.

The network is named by its results folder, where a run keeps network.json while it lives. The run's
controller stays in charge: the shell joins as a backup client, which may read everything and write nothing.

  grasp shell results/2026-06-21-120000 newyork
  >>> te = table_entry["GraspIngress.route.routes"]; te.read(lambda entry: print(entry))

p4runtime-shell pins versions that conflict with current protobuf, so it lives in a virtual environment of its
own, made at the first use.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from grasp import UserError

HELP = "open p4runtime-shell on a switch of a running network"
PACKAGE = "p4runtime-shell==0.0.6"


class Network(NamedTuple):
    """What network.json says: the run's network namespace, and (address, device id) of each switch."""

    namespace: str
    switches: dict[str, tuple[str, int]]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("results", type=Path, help="results folder of a run that is going on")
    parser.add_argument("switch", nargs="?", help="name of the switch (default: the first)")
    parser.add_argument("arguments", nargs="*", help="further arguments for p4runtime-shell, after --")


def run(args: argparse.Namespace) -> int:
    """Replace this process by the shell, inside the run's network namespace."""
    network = read_network(args.results / "network.json")
    switch = args.switch or next(iter(network.switches), "")
    if switch not in network.switches:
        raise UserError(f"no switch '{switch}' there; the network has {', '.join(network.switches)}")
    address, device_id = network.switches[switch]
    pid = process_in(network.namespace)
    python = shell_python()
    command = ["nsenter", f"--net=/proc/{pid}/ns/net", str(python), "-m", "p4runtime_sh"]
    command += ["--grpc-addr", address, "--device-id", str(device_id), "--election-id", "0,1"]
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]  # gRPC would send even loopback addresses through it
    os.execvp(command[0], [*command, *args.arguments])


def read_network(path: Path) -> Network:
    """Read network.json; raises UserError where the folder is not of a run."""
    try:
        content = json.loads(path.read_text())
        switches = {
            name: (item["grpc"], int(item["device_id"])) for name, item in content["switches"].items()
        }
        return Network(content["net_namespace"], switches)
    except FileNotFoundError:
        raise UserError(f"{path} is missing: name the results folder of a run that is going on") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; name the results folder of a run") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"{path} is damaged: name the results folder of a run that is going on") from None


def process_in(namespace: str) -> int:
    """Any process of a network namespace, given as /proc/*/ns/net links to it."""
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdecimal() and os.readlink(folder / "ns/net") == namespace:
                return int(folder.name)
        except OSError:  # it ended meanwhile, or is not ours to look at
            continue
    raise UserError("that run has ended, or belongs to another user: start one with 'grasp run'")


def shell_python() -> Path:
    """The interpreter of the shell's virtual environment, which is made if need be."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "grasp" / f"{PACKAGE}-python{sys.version_info.major}.{sys.version_info.minor}"
    python = folder / "bin" / "python"
    done = folder / "installed"
    if not done.exists():
        print(f"Installing {PACKAGE} into {folder}", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)  # an attempt that was cut short
        for command in (
            [sys.executable, "-m", "venv", str(folder)],
            [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE],
        ):
            if subprocess.run(command, stdout=sys.stderr, check=False).returncode != 0:
                raise UserError(f"could not install {PACKAGE}: '{' '.join(command)}' failed, see above")
        done.touch()
    return python
