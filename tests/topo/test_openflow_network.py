# SPDX-License-Identifier: Apache-2.0
"""The baseline on Open vSwitch: the entries themselves, a restarted controller, a table that is full."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(shutil.which("ovs-vswitchd") is None, reason="Open vSwitch is not installed"),
]

FAVOURITE = 4


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    script = Path(__file__).with_name("openflow_world.py")
    folder = tmp_path_factory.mktemp("openflow")
    done = subprocess.run(
        [sys.executable, str(script), str(folder)], capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_entries_are_exactly_those_of_the_path(found: dict[str, Any]) -> None:
    assert (found["first"]["sites"], found["first"]["error"]) == ([FAVOURITE], None)
    entries = found["entries"]
    assert {switch: len(lines) for switch, lines in entries.items()} == {"s1": 2, "s2": 2, "s3": 0}
    for line in entries["s1"] + entries["s2"]:
        assert "idle_timeout=2" in line
        assert "tcp" in line
    rewriting = [line for line in entries["s1"] if "set_field:10.2.1.2->ip_dst" in line]
    assert len(rewriting) == 1
    assert "nw_src=10.1.2.1,nw_dst=10.100.0.1" in rewriting[0]
    assert "tp_dst=80 " in rewriting[0]
    back = [line for line in entries["s1"] if "set_field:10.100.0.1->ip_src" in line]
    assert len(back) == 1
    assert not [line for line in entries["s2"] if "set_field" in line]


def test_entries_vanish_after_the_timeout(found: dict[str, Any]) -> None:
    assert found["gone_s"] < 8


def test_a_restarted_controller_keeps_what_runs_and_takes_what_is_new(found: dict[str, Any]) -> None:
    assert found["entries_kept"]
    assert (found["running"]["sites"], found["running"]["error"]) == ([FAVOURITE], None)
    # To the greenest of those that it has heard of so soon.
    assert len(found["after_restart"]["sites"]) == 1
    assert found["after_restart"]["error"] is None


def test_a_full_table_refuses_and_leaves_nothing_behind(found: dict[str, Any]) -> None:
    assert found["full"]["error"] == "timeout"
    assert not any(found["left_behind"].values())
    assert (found["after_full"]["sites"], found["after_full"]["error"]) == ([FAVOURITE], None)
