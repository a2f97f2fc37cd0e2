# SPDX-License-Identifier: Apache-2.0
"""`grasp run` as a whole: the numbers of its report, its folder, what it prints, two of them at once."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.network, pytest.mark.packet]

GRASP = (sys.executable, "-m", "grasp.control.cli", "run")
SITES = 9


@pytest.fixture(autouse=True)
def _root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")


@dataclass
class Finished:
    report: dict[str, Any]
    folder: Path
    stderr: str


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*GRASP, "--json", "--out", str(folder), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], folder: Path) -> Finished:
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    return Finished(json.loads(stdout), folder, stderr)


@pytest.fixture(
    scope="module",
    params=[
        "v1model",
        pytest.param(
            "bmv2",
            marks=pytest.mark.skipif(
                shutil.which("simple_switch_grpc") is None, reason="simple_switch_grpc is not installed"
            ),
        ),
    ],
)
def day(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Four hours of the afternoon and the evening, night among them, on either target."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    folder = tmp_path_factory.mktemp("run") / "results"
    options = ("--target", request.param, "--start-hour", "20", "--hours", "4", "--seconds-per-hour", "2")
    return finish(start(folder, *options, "--jobs-per-hour", "120"), folder)


def test_jobs_follow_the_energy(day: Finished) -> None:
    report = day.report
    assert report["jobs"] == {"offered": 480, "completed": 480, "failed": 0, "repeated": 0, "errors": {}}
    assert [sum(row) for row in report["jobs_per_site"]] == [120] * 4
    assert report["green_ratio"] == pytest.approx(report["green_ratio_limit"], abs=0.01)
    assert max(report["load_share_difference"]) <= 0.03


def test_night_is_even(day: Finished) -> None:
    dark = [
        jobs
        for jobs, energy in zip(day.report["jobs_per_site"], day.report["energy_wh"], strict=True)
        if sum(energy) == 0
    ]
    assert dark
    assert all(abs(count - 120 / SITES) <= 3 for row in dark for count in row)


def test_switches_decide_alone(day: Finished) -> None:
    packets = day.report["controller_packets"]
    assert packets["job"] == packets["overflow"] == 0
    assert packets["registration"] == SITES
    assert packets["report"] >= 4 * SITES
    assert day.report["affinity_violations"] == 0
    assert not any(day.report["drops"].values())
    assert 0 < day.report["connect_us"]["p50"] <= day.report["connect_us"]["p99"]


def test_results_folder(day: Finished) -> None:
    assert json.loads((day.folder / "report.json").read_text()) == day.report
    assert (day.folder / "index.html").read_text().startswith("<!DOCTYPE html>")
    assert len((day.folder / "jobs.csv").read_text().splitlines()) == 481
    assert {path.suffix for path in (day.folder / "plots").iterdir()} == {".png", ".svg"}
    assert not (day.folder / "network.json").exists()
    assert "synthetic" in day.report["energy_source"]
    assert "synthetic" in day.stderr


def test_two_at_once_with_their_packets_kept(tmp_path: Path) -> None:
    options = ("--hours", "1", "--start-hour", "12", "--seconds-per-hour", "2", "--jobs-per-hour", "60")
    one, other = tmp_path / "one", tmp_path / "other"
    processes = start(one, *options, "--pcap"), start(other, *options, "--scheduler", "round-robin")
    green, even = finish(processes[0], one), finish(processes[1], other)
    for run in (green, even):
        assert run.report["jobs"]["failed"] == 0
        assert run.report["affinity_violations"] == 0
        assert max(run.report["load_share_difference"]) <= 0.05
    assert green.report["jobs_per_site"] != even.report["jobs_per_site"]
    assert max(even.report["jobs_per_site"][0]) - min(even.report["jobs_per_site"][0]) <= 4
    assert any(path.stat().st_size > 1000 for path in (one / "pcap").iterdir())
    assert not (other / "pcap").exists()
