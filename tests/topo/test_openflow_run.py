# SPDX-License-Identifier: Apache-2.0
"""The OpenFlow baseline on Open vSwitch, as a whole, and what is said when it cannot run."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from grasp import UserError
from grasp.schedulers.green import Green
from grasp.schedulers.registry import _KINDS
from grasp.topo import ovs
from grasp.topo.planes import builder, check_scheduler

GRASP = (sys.executable, "-m", "grasp.control.cli")

without_ovs = shutil.which("ovs-vswitchd") is None


def grasp(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*GRASP, *words],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.network
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.skipif(without_ovs, reason="Open vSwitch is not installed")
def test_the_baseline_spreads_jobs_by_algorithm_2(tmp_path: Path) -> None:
    done = grasp(
        *("run", "--control", "openflow", "--json", "--out", str(tmp_path / "out")),
        *("--start-hour", "19", "--hours", "3", "--seconds-per-hour", "3", "--jobs-per-hour", "90"),
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["control"] == "openflow"
    assert report["jobs"] == {"offered": 270, "completed": 270, "failed": 0, "repeated": 0, "errors": {}}
    assert max(report["load_share_difference"]) <= 0.03
    assert report["green_ratio"] == pytest.approx(report["green_ratio_limit"], abs=0.01)
    assert report["controller_packets"]["job"] >= 270
    events = [json.loads(line) for line in (tmp_path / "out" / "events.jsonl").read_text().splitlines()]
    assert {event["switch"] for event in events if event["event"] == "switch_up"} == {
        "newyork",
        "florida",
        "california",
    }


def test_without_open_vswitch_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="apt-get install openvswitch-switch"):
        builder("openflow", "openvswitch")


def test_commands_of_the_daemons_keep_to_their_folder(tmp_path: Path) -> None:
    daemons = ovs.Daemons(tmp_path)
    for command in (
        daemons.create(),
        daemons.database(),
        daemons.switch(),
        daemons.bridge("s1", 7, {1: "x"}),
    ):
        assert any(str(tmp_path) in word for word in command)
    assert set(daemons.environment.values()) == {str(tmp_path)}
    words = daemons.bridge("s1", 7, {1: "s1-eth1", 2: "s1-eth2"})
    assert "other_config:datapath-id=0000000000000007" in words
    assert "fail_mode=secure" in words
    assert words[words.index("s1-eth2") + 4 : words.index("s1-eth2") + 6] == ["s1-eth2", "ofport_request=2"]


def test_the_datapath_is_chosen_by_looking(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ovs, "_KERNEL_MODULE", tmp_path / "absent")
    assert ovs.datapath_type() == "netdev"
    monkeypatch.setattr(ovs, "_KERNEL_MODULE", tmp_path)
    assert ovs.datapath_type() == "system"


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    """The example, for OpenFlow switches at a port of the system's choice."""
    example = (Path(__file__).parents[2] / "docs" / "controller.toml").read_text()
    lines = [line for line in example.splitlines() if not line.startswith(("metrics =", "# openflow ="))]
    path = tmp_path / "controller.toml"
    path.write_text("\n".join(lines).replace("[controller]", '[controller]\nopenflow = "127.0.0.1:PORT"'))
    return path


def test_a_port_in_use_is_one_line(configuration: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        configuration.write_text(configuration.read_text().replace("PORT", str(port)))
        done = grasp("controller", "--config", str(configuration), "--log-level", "error")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(
        f"grasp: OpenFlow switches cannot be taken at 127.0.0.1:{port}: Address already"
    )


def test_a_scheduler_that_cannot_run_is_refused_by_name(configuration: Path) -> None:
    text = configuration.read_text().replace("PORT", "6653")
    configuration.write_text(text.replace('scheduler = "green"', 'scheduler = "nearest"'))
    done = grasp("controller", "--config", str(configuration), "--log-level", "error")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "scheduler 'nearest'" in done.stderr


def test_a_dead_controller_is_one_line(configuration: Path) -> None:
    configuration.write_text(configuration.read_text().replace("PORT", "6653"))
    done = grasp("controller", "--config", str(configuration), "status")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no controller answers" in done.stderr


def test_a_rule_that_switches_cannot_run_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Last(Green):
        name = "last"

        def choose(self, *arguments: object, **options: object) -> int:
            return 8

    monkeypatch.setitem(_KINDS, "last", Last)
    check_scheduler("openflow", "last")
    with pytest.raises(UserError, match="'last' decides job by job, which P4 switches cannot"):
        check_scheduler("p4", "last")
    for control in ("p4", "openflow"):
        check_scheduler(control, "round-robin")
        with pytest.raises(UserError, match="'nearest'"):
            check_scheduler(control, "nearest")
        with pytest.raises(UserError, match="'fastest' is not known"):
            check_scheduler(control, "fastest")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("run", "--control", "openflow", "--target", "bmv2"), "--target bmv2"),
        (("run", "--scheduler", "nearest"), "scheduler 'nearest'"),
        (("compare", "--rounds", "0"), "--rounds 0"),
        (("compare", "--hours", "0"), "--hours 0"),
    ],
)
def test_options_that_cannot_be_meant_are_one_line(words: tuple[str, ...], what: str) -> None:
    done = grasp(*words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("grasp: ")
    assert what in done.stderr
