# SPDX-License-Identifier: Apache-2.0
"""Options of `grasp run` that cannot be meant, and folders that must not be written over."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from grasp import UserError
from grasp.topo.command import check, results_folder
from grasp.topo.report import Settings
from grasp.topo.ring import Ring


@pytest.mark.parametrize(
    ("change", "option"),
    [
        ({"hours": 0}, "--hours 0"),
        ({"start_hour": 24}, "--start-hour 24"),
        ({"seconds_per_hour": float("nan")}, "--seconds-per-hour nan"),
        ({"jobs_per_hour": -1}, "--jobs-per-hour -1"),
        ({"job_energy": 0.0}, "--job-energy 0"),
        ({"seed": -1}, "--seed -1"),
        ({"date": "june"}, "--date june"),
        (
            {"jobs_per_hour": 6001},
            "--jobs-per-hour 6001: with --seconds-per-hour 3 that is 2,000 jobs a second",
        ),
    ],
)
def test_mistakes_are_named(change: dict[str, object], option: str) -> None:
    with pytest.raises(UserError, match=re.escape(option)):
        check(replace(Settings(), **change))  # type: ignore[arg-type]


def test_what_a_run_can_do_is_right() -> None:
    check(Settings())
    check(replace(Settings(), jobs_per_hour=6000))


def test_results_are_never_written_over(tmp_path: Path) -> None:
    assert results_folder(tmp_path / "new" / "er", Settings()).is_dir()
    assert results_folder(tmp_path / "new" / "er", Settings()).is_dir()  # empty as before
    (tmp_path / "new" / "er" / "report.json").touch()
    with pytest.raises(UserError, match="is not empty"):
        results_folder(tmp_path / "new" / "er", Settings())
    with pytest.raises(UserError, match=r"report\.json"):
        results_folder(tmp_path / "new" / "er" / "report.json", Settings())
    with pytest.raises(UserError, match="cannot be below /run"):
        results_folder(Path("/run/somewhere"), Settings())


def test_default_folder_says_what_was_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = results_folder(None, replace(Settings(), energy="tmy3:somewhere/else"))
    assert folder.parent == tmp_path / "results"
    assert folder.name.endswith("-green-tmy3-v1model")


def test_ring() -> None:
    ring = Ring([f"site{number}" for number in range(9)])
    assert [switch.label for switch in ring.switches] == ["New York", "Florida", "California"]
    assert [list(ring.ports(switch)) for switch in ring.switches] == [[1, 2, 3, 4, 5, 6, 7]] * 3
    taken = [(switch.number, port) for trunk in ring.trunks for switch, port in trunk.ends]
    taken += [(host.switch.number, host.port) for host in ring.hosts]
    assert len(set(taken)) == len(taken) == 3 * 7
    assert len({host.address for host in ring.hosts}) == len({host.mac for host in ring.hosts}) == 15
    with pytest.raises(UserError, match="9 of them, not 2"):
        Ring(["one", "two"])
