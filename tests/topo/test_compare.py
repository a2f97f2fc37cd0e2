# SPDX-License-Identifier: Apache-2.0
"""`grasp compare` as a whole, once: one short round of both sides."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.network,
    pytest.mark.packet,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(shutil.which("ovs-vswitchd") is None, reason="Open vSwitch is not installed"),
]


def test_both_sides_are_measured_and_shown(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "grasp.control.cli", "compare", "--json", "--out", str(folder)),
            *("--rounds", "1", "--hours", "2", "--start-hour", "18"),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result == json.loads((folder / "comparison.json").read_text())
    assert list(result["sides"]) == ["P4", "OpenFlow"]

    def median(key: str) -> tuple[float, float]:
        found = result["figures"][key]
        return found["P4"]["median"], found["OpenFlow"]["median"]

    assert median("completed") == (100, 100)
    assert median("job_packets")[0] == 0
    assert median("job_packets")[1] >= 1000
    p4, openflow = median("orphans_connected")
    assert p4 > openflow  # without a controller; a port used shortly before may still have its entries
    assert median("affinity_violations") == (0, 0)
    p4, openflow = median("green_ratio")
    assert p4 == pytest.approx(openflow, abs=0.01)
    for key in ("added_p50_us", "sustained", "orphans_connected"):  # speed is for people to judge
        assert all(isinstance(value, int | float) for value in median(key))
    for name in ("green ratio", "sustained rate", "OpenFlow"):
        assert name in done.stderr
    assert (folder / "index.html").stat().st_size > 50_000
