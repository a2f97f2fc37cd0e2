# SPDX-License-Identifier: Apache-2.0
"""What each rule goes by, in small cases that can be reckoned by hand; and schedulers of one's own."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from grasp import UserError
from grasp.schedulers import registry
from grasp.schedulers.base import Reports, Setting
from grasp.schedulers.registry import SCHEDULERS, scheduler

DOCS = Path(__file__).parents[2] / "docs" / "schedulers.md"

# Two places that jobs come from, three sites.
DISTANCES = Setting(distance_km=np.array([[10.0, 5.0, 7.0], [3.0, 9.0, 3.0]]))


def test_nearest_sends_each_origin_to_its_site() -> None:
    rule = scheduler("nearest", DISTANCES)
    assert rule.origins == 2
    assert rule.allocate(np.zeros((4, 3)), 1, [0, 1, 2, 5]).tolist() == [
        [0, 0, 0],
        [0, 1, 0],
        [1, 1, 0],
        [2, 3, 0],
    ]
    assert rule.divide(np.zeros(3), 1, 5).tolist() == [2.5, 2.5, 0]


def test_nearest_passes_over_sites_that_are_not_ready() -> None:
    rule = scheduler("nearest", DISTANCES)
    assert rule.choose([0, 0, 0], [0, 0, 0], np.array([True, False, True]), origin=0) == 2
    assert rule.choose([0, 0, 0], [0, 0, 0], np.array([False, False, False])) is None


def test_nearest_is_refused_where_it_cannot_run() -> None:
    with pytest.raises(UserError, match=r"'nearest'.*distances"):
        scheduler("nearest")
    with pytest.raises(UserError, match=r"'nearest'.*switches"):
        scheduler("nearest", DISTANCES).budgets([1, 2, 3])
    with pytest.raises(UserError, match="3 sites"):
        scheduler("nearest", DISTANCES).allocate([1, 2], 1, 1)


def test_weighted_adds_up_parameters_and_is_never_below_nothing() -> None:
    rule = scheduler("weighted", Setting(weights={"green_energy": 1, "price": -2}))
    reports = {"green_energy": [[100.0, 30.0]], "price": [[20.0, 40.0]], "wind": [[9.0, 9.0]]}
    assert rule.forecast(reports).tolist() == [[60.0, 0.0]]
    with pytest.raises(UserError, match=r"'weighted' needs the parameter 'price'.*green_energy"):
        rule.forecast({"green_energy": [[100.0]]})


def test_weighted_without_weights_is_green() -> None:
    reports = {"green_energy": [[100.0, 30.0]]}
    assert scheduler("weighted").forecast(reports).tolist() == [[100.0, 30.0]]


def test_what_is_not_reported_is_named_with_the_rule_that_needs_it() -> None:
    reports = Reports("thrifty", {"green_energy": [[1.0]], "price": [[2.0]]})
    assert reports["price"] == [[2.0]]
    with pytest.raises(UserError, match=r"'thrifty' needs the parameter 'carbon'.* green_energy, price$"):
        reports["carbon"]


def test_persistence_goes_by_the_hour_before() -> None:
    reports = {"green_energy": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}
    assert scheduler("persistence").forecast(reports).tolist() == [[5, 6], [1, 2], [3, 4]]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path of Python that is an installed distribution with entry points."""
    (tmp_path / "own-1.dist-info").mkdir()
    (tmp_path / "own-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry._points.cache_clear()
    yield tmp_path
    registry._points.cache_clear()
    for module in ("thrifty", "broken"):
        sys.modules.pop(module, None)


def install(folder: Path, entries: str) -> None:
    (folder / "own-1.dist-info" / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{entries}\n")


def test_the_documented_example_works(own: Path) -> None:
    """The example in the documentation, as it stands there, is a scheduler beside the others."""
    code = re.search(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    entry = re.search(r'^(thrifty = )"(thrifty:\w+)"$', DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert code is not None
    assert entry is not None
    assert len(code.group(1).splitlines()) <= 20
    (own / "thrifty.py").write_text(code.group(1))
    install(own, entry.group(1) + entry.group(2))
    assert "thrifty" in SCHEDULERS
    assert len(SCHEDULERS) == len(list(SCHEDULERS))
    rule = scheduler("thrifty")
    forecast = rule.forecast({"green_energy": np.array([[90.0, 50.0]]), "price": np.array([[100.0, 20.0]])})
    counts = rule.allocate(forecast, 10, 6)
    spent = np.zeros(2)
    for _ in range(6):
        site = rule.choose(forecast[0], spent)
        assert site is not None
        spent[site] += 10
    assert (counts[0] * 10).tolist() == spent.tolist()


@pytest.mark.parametrize(
    ("code", "entry", "message"),
    [
        ("raise OSError('gone')", "own = broken:Rule", "cannot be loaded.*OSError: gone"),
        ("class Other: ...", "own = broken:Rule", "cannot be loaded.*AttributeError"),
        ("class Rule: ...", "own = broken:Rule", "not a subclass"),
        (
            "from grasp.schedulers.green import Green\nclass Rule(Green): ...",
            "own = broken:Rule",
            "calls itself 'green'",
        ),
        (
            "from grasp.schedulers.base import Scheduler\nclass Rule(Scheduler):\n    name = 'own'",
            "own = broken:Rule",
            "does not define budgets",
        ),
    ],
)
def test_a_broken_one_is_refused_by_name(own: Path, code: str, entry: str, message: str) -> None:
    (own / "broken.py").write_text(code + "\n")
    install(own, entry)
    with pytest.raises(UserError, match=f"'own'.*broken:Rule.*{message}"):
        scheduler("own")
