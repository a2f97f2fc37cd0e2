# SPDX-License-Identifier: Apache-2.0
"""The agent as a process on a real interface, in a network namespace of its own."""

import json
import os
import shutil
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
    # Every 20 ms, where a busy machine lets fewer pass; that they keep to a grid is shown in virtual time.
    beats = seen["beats"]
    assert len(beats) > 20
    assert (beats[-1] - beats[0]) / (len(beats) - 1) > 0.010
    assert seen["beats_after_link_came_back"] >= 10
