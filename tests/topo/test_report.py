# SPDX-License-Identifier: Apache-2.0
"""report.json's arithmetic against a plain count, job after job; its page against what a browser fetches."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from grasp.topo import page, plots, report
from grasp.topo.report import Measurements, Settings
from grasp.topo.ring import Ring
from grasp.topo.traffic import Outcome

SITES = ["elmira", "watertown", "westhampton", "homestead", "orlando", "tyndall", "lompoc", "march", "travis"]
JOBS, K = 50, 120.0
SETTINGS = Settings(hours=3, jobs_per_hour=JOBS, job_energy=K)


def job_after_job(energy: list[float]) -> list[int]:
    counts = [0] * len(energy)
    for _ in range(JOBS):
        best = max(range(len(energy)), key=lambda site: (energy[site] / K - counts[site], -site))
        counts[best] += 1
    return counts


@pytest.fixture
def energy() -> np.ndarray:
    rng = np.random.default_rng(7)
    table = rng.integers(0, 3000, (3, 9)).astype(float)
    table[2] = 0
    return table


def outcome(job: int, sites: list[int], error: str | None = None) -> Outcome:
    return Outcome(job // JOBS, job, sites, 800 + job, 2000, 1.0, 2.0, error)


@pytest.fixture
def seen(energy: np.ndarray) -> Measurements:
    counts = np.array([job_after_job(list(row)) for row in energy])
    counts[0, 0] += 4
    counts[0, 1] -= 4
    outcomes = [outcome(job, [1]) for job in range(3 * JOBS - 3)]
    outcomes += [outcome(147, [2, 3]), outcome(148, [], "timeout")]
    return Measurements(
        sites=SITES,
        switches=["New York", "Florida", "California"],
        energy_wh=energy,
        energy_source="synthetic year, seed 0",
        jobs_per_site=counts,
        offered=3 * JOBS,
        outcomes=outcomes,
        resets=5,
        strays=2,
        repeated=0,
        controller_packets={"job": 0, "overflow": 1, "registration": 9, "report": 54, "discovery": 30},
        drops={"no_site": 1},
        forecast_ms=[4.0, 6.0, 11.0],
        wall_s=12.345,
    )


def test_arithmetic_against_job_after_job(seen: Measurements, energy: np.ndarray) -> None:
    result = report.build(SETTINGS, seen)
    want = [job_after_job(list(row)) for row in energy]
    assert result["jobs_per_site_expected"] == want
    assert result["load_share_difference"] == [pytest.approx(4 / JOBS), 0.0, 0.0]
    green = sum(
        min(count, wh / K)
        for row, hour in zip(seen.jobs_per_site, energy, strict=True)
        for count, wh in zip(row, hour, strict=True)
    )
    assert result["green_ratio"] == pytest.approx(green / (3 * JOBS), abs=1e-6)
    limit = sum(min(JOBS, sum(hour) / K) for hour in energy) / (3 * JOBS)
    assert result["green_ratio_limit"] == pytest.approx(limit, abs=1e-6)
    even = sum(min(JOBS / 9, wh / K) for hour in energy for wh in hour) / (3 * JOBS)
    assert result["green_ratio_round_robin"] == pytest.approx(even, abs=1e-6)
    assert result["green_ratio_round_robin"] < result["green_ratio"] <= result["green_ratio_limit"]
    night = max(abs(count - JOBS / 9) for count in seen.jobs_per_site[2])
    assert result["night_difference_jobs"] == pytest.approx(night, abs=0.01)


def test_outcomes_are_counted(seen: Measurements) -> None:
    result = report.build(SETTINGS, seen)
    assert result["jobs"] == {
        "offered": 150,
        "completed": 148,
        "failed": 2,  # one timed out, one never came back
        "repeated": 0,
        "errors": {"timeout": 1},
    }
    assert result["affinity_violations"] == 1 + 2
    assert result["resets"] == 5  # with those of late segments, which are none
    assert result["connect_us"]["p50"] == pytest.approx(800 + 74, abs=1)


def test_keys_are_json(seen: Measurements, tmp_path: Path) -> None:
    report.write(report.build(SETTINGS, seen), tmp_path / "report.json")
    result = json.loads((tmp_path / "report.json").read_text())
    for key in (
        *("target", "scheduler", "energy_source", "model", "alignment", "seed", "sites", "energy_wh"),
        *("jobs_per_site", "jobs", "green_ratio", "green_ratio_limit", "green_ratio_round_robin"),
        *("affinity_violations", "controller_packets", "connect_us", "wall_s"),
    ):
        assert key in result
    assert np.shape(result["energy_wh"]) == np.shape(result["jobs_per_site"]) == (3, 9)


def test_a_run_without_any_served_job_has_no_ratio(seen: Measurements) -> None:
    seen.jobs_per_site = np.zeros((3, 9), dtype=np.int64)
    seen.outcomes = []
    result = report.build(SETTINGS, seen)
    assert result["green_ratio"] is None
    assert result["jobs"]["failed"] == 150
    assert result["connect_us"] == {"p50": None, "p99": None}


def test_outcomes_as_csv(seen: Measurements) -> None:
    lines = report.jobs_table(seen.outcomes).splitlines()
    assert lines[0] == "hour,job,sites,connect_us,slowest_us,opened,closed,error"
    assert lines[-2:] == [
        "2,147,2 3,947,2000,1.000000,2.000000,",
        "2,148,,948,2000,1.000000,2.000000,timeout",
    ]


class References(HTMLParser):
    """Collects whatever a browser would fetch, and scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.found += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data")]


def test_page_is_self_contained(seen: Measurements, tmp_path: Path) -> None:
    result = report.build(SETTINGS, seen)
    result["notes"] = ["<b>not markup</b>"]
    figures = plots.draw_all(result, Ring(SITES), [900, 1000, 1200], tmp_path / "plots")
    page.write_page(result, figures, tmp_path / "index.html")
    text = (tmp_path / "index.html").read_text()
    references = References()
    references.feed(text)
    assert references.found
    assert all(reference.startswith("data:image/svg+xml;base64,") for reference in references.found)
    assert not references.tags & {"script", "link", "iframe"}
    assert "url(" not in text
    assert "@import" not in text
    assert "<b>not markup" not in text
    for name in ("energy", "load_share", "network", "load_map", "green_jobs", "connect"):
        assert f'id="{name}"' in text
        assert (tmp_path / "plots" / f"{name}.png").stat().st_size > 1000
    svg = (tmp_path / "plots" / "energy.svg").read_text()
    assert not re.search(r'(href|src)="http', svg)
