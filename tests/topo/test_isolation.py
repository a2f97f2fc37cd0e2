# SPDX-License-Identifier: Apache-2.0
"""A run's world: its own, harmless to the machine and to a second one, gone with the process seen outside."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from grasp.topo import isolation

pytestmark = pytest.mark.network

# What a run does, in small: enter, build the network, start a program in one of its hosts, say so, go on.
SMALL_RUN = """
import json, os, subprocess, time
from grasp.topo.isolation import enter
enter()
from grasp.topo.network import Network
from grasp.topo.ring import Ring
network = Network(Ring([f"site{n}" for n in range(9)]))
child = subprocess.Popen([*network.inside(network.topology.sites[0]), "sleep", "1000"])
names = sorted(os.listdir("/sys/class/net"))
print(json.dumps({"pid": os.getpid(), "net": os.readlink("/proc/self/ns/net"), "names": names}), flush=True)
try:
    time.sleep(1000)
except KeyboardInterrupt:
    network.stop()
    raise SystemExit(130)
"""


class Run:
    """A small run whose processes all carry a mark in their environment."""

    def __init__(self) -> None:
        self.mark = f"GRASP_TEST={uuid.uuid4()}"
        name, _, value = self.mark.partition("=")
        self.process = subprocess.Popen(
            [sys.executable, "-c", SMALL_RUN],
            env={**os.environ, name: value},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def started(self) -> dict[str, object]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        return dict(json.loads(line))

    def processes(self) -> list[int]:
        found = []
        for folder in Path("/proc").iterdir():
            try:
                if folder.name.isdecimal() and self.mark.encode() in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
        return found

    def gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.processes():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)  # there is no event to await: init reaps the processes, not this one
        return True


@pytest.fixture
def run() -> Iterator[Run]:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    run = Run()
    yield run
    run.process.kill()
    run.process.communicate()
    assert run.gone_within(5)


def machine() -> dict[str, object]:
    """What a run must leave as it is: interfaces, mounts, named namespaces, kernel settings."""
    settings = (
        "net/ipv6/conf/default/disable_ipv6",
        "net/core/rmem_max",
        "fs/file-max",
        "net/ipv4/ip_forward",
    )
    return {
        "interfaces": sorted(os.listdir("/sys/class/net")),
        "mounts": sorted(Path("/proc/self/mounts").read_text().splitlines()),
        "run": sorted(os.listdir("/run")),
        "settings": [Path("/proc/sys", name).read_text() for name in settings],
    }


def test_a_world_of_its_own(run: Run) -> None:
    before = machine()
    seen = run.started()
    assert seen["pid"] == 1
    assert seen["net"] != os.readlink("/proc/self/ns/net")
    assert "s1-eth7" in seen["names"]  # type: ignore[operator]
    assert machine() == before
    run.process.send_signal(signal.SIGTERM)
    assert run.process.wait(20) == 130
    assert run.gone_within(5)
    assert machine() == before


def test_kill_leaves_nothing(run: Run) -> None:
    before = machine()
    run.started()
    assert len(run.processes()) > 15  # init, a shell for each node, the program
    run.process.kill()
    assert run.gone_within(5)
    assert machine() == before


def test_two_at_once(run: Run) -> None:
    other = Run()
    try:
        one, two = run.started(), other.started()
        assert one["names"] == two["names"]
        assert one["net"] != two["net"]
        run.process.kill()
        assert run.gone_within(5)
        assert other.processes()
    finally:
        other.process.kill()
        other.process.communicate()
    assert other.gone_within(5)


@pytest.mark.parametrize("moment", range(8))
def test_kill_at_any_moment(run: Run, moment: int) -> None:
    time.sleep(random.Random(moment).uniform(0.02, 0.9))  # at random on purpose: any moment will do
    run.process.kill()
    assert run.gone_within(5)


def test_not_root_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(isolation.UserError, match="needs root"):
        isolation.enter()


def test_missing_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(isolation.UserError, match=r"mnexec.*apt-get install .*mininet"):
        isolation.enter()
