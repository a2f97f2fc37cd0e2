# SPDX-License-Identifier: Apache-2.0
"""What must hold when parts of a running network fail."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

pytestmark = [pytest.mark.network, pytest.mark.packet]

TRIAL = """
import asyncio, json, sys
from dataclasses import asdict
from pathlib import Path
from grasp.topo.isolation import SCRATCH, enter
enter()
from grasp.targets.interface import find
from grasp.topo.configuration import Files
from grasp.topo.emulation import Recording
from grasp.topo.faults import trial
from grasp.topo.ring import Ring
ring = Ring([f"site{number}" for number in range(9)])
recording = Recording(Path(sys.argv[1]))
print(json.dumps(asdict(asyncio.run(trial(ring, find("v1model"), Files(SCRATCH), recording)))))
"""


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    folder = tmp_path_factory.mktemp("faults")
    done = subprocess.run(
        [sys.executable, "-c", TRIAL, str(folder)], capture_output=True, text=True, timeout=180
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_no_established_connection_moves(findings: dict[str, Any]) -> None:
    assert findings["jobs"] > 300
    assert findings["moved"] == 0
    assert findings["resets"] == 0


def test_only_clients_of_the_killed_switch_notice(findings: dict[str, Any]) -> None:
    assert findings["failed_elsewhere"] == []
    assert findings["unfinished"] == 0


def test_a_silent_site_gets_no_job(findings: dict[str, Any]) -> None:
    assert findings["last_job_after_heartbeat_ms"] <= 3 * findings["heartbeat_interval_ms"]
    assert findings["forgeries_refused"] == 20  # ten heartbeats and ten probes of a client


def test_connections_survive_a_cut_link(findings: dict[str, Any]) -> None:
    assert findings["connections_over_cut"] > 0
    assert findings["longest_wait_after_cut_ms"] < 4000


def test_no_acknowledged_forecast_is_lost(findings: dict[str, Any]) -> None:
    assert findings["forecasts_lost"] == []


def test_everything_comes_back(findings: dict[str, Any]) -> None:
    for name, limit in (
        ("agent_back_ms", 5_000),
        ("link_back_ms", 3_000),
        ("switch_back_ms", 10_000),
        ("switch_jobs_back_ms", 10_000),
        ("forecasts_back_ms", 10_000),
        ("controller_back_ms", 10_000),
        ("controller_forecasts_ms", 15_000),
    ):
        assert 0 < findings[name] < limit, name
