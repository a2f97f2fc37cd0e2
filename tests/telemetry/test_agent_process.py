# SPDX-License-Identifier: Apache-2.0
"""The agent as a process on a real interface, in a network namespace of its own."""

import json
import os
import shutil
import statistics
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest


@pytest.mark.network
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root and unshare")
def test_agent_on_a_link(tmp_path: Path) -> None:
    world = Path(__file__).with_name("agent_world.py")
    run = subprocess.run(
        ["unshare", "--net", sys.executable, str(world), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    seen = json.loads(run.stdout)
    assert seen["output"] == "registered elmira as site 4\n"
    assert seen["status"] == 0
    assert seen["requested"][0] is None
    assert set(seen["requested"][1:]) == {4}
    assert seen["energies_right"]
    assert seen["epochs_ahead"] == [0, 1]
    assert len(seen["sequences"]) > 20
    assert all(later > earlier for earlier, later in pairwise(seen["sequences"]))
    assert seen["load"] >= 30
    # On a grid of 20 ms that does not drift; a busy machine may be late for one or the other.
    steps = [(beat - seen["beats"][0]) / 0.02 for beat in seen["beats"]]
    assert statistics.median(abs(step - round(step)) for step in steps) < 0.2
    assert statistics.median(later - earlier for earlier, later in pairwise(steps)) == pytest.approx(
        1, abs=0.2
    )
    assert seen["beats_after_link_came_back"] >= 10
