# SPDX-License-Identifier: Apache-2.0
"""The paper's figures: their numbers, and files that are the same each time."""

import argparse
import json
from pathlib import Path

import pytest

from grasp import UserError
from grasp.topo.year import figures
from grasp.topo.year.paper import PUBLISHED_DAY_WH

NAMES = ("figure-3", "figure-4", "figure-6", "figure-7")


def call(*words: str) -> int:
    parser = argparse.ArgumentParser()
    figures.configure(parser)
    return figures.run(parser.parse_args(words))


def test_published_numbers(tmp_path: Path, real_tmy3: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--energy", f"tmy3:{real_tmy3}", "--alignment", "published", "--json")
    assert call("--out", str(tmp_path / "a"), *words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["figure-3"]["energy_wh"] == list(PUBLISHED_DAY_WH)
    assert found["figure-4"]["dark_difference_jobs"] == 0
    assert found["figure-6"]["points_k_1"] == pytest.approx(14.24, abs=0.005)
    assert found["figure-6"]["points_k_200"] == pytest.approx(0, abs=1e-4)
    assert found["figure-7"]["points_9"] == pytest.approx(16.31, abs=0.005)


def test_files_are_there_and_the_same_each_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("a", "b"):
        assert call("--out", str(tmp_path / folder), "--sites", "march,elmira,travis,lompoc") == 0
    text = capsys.readouterr().out
    assert text.count("the paper:") == text.count("found:") == 2 * len(NAMES)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert files == sorted(
        ["figures.json", "figures.md", *(f"{name}.{kind}" for name in NAMES for kind in ("png", "svg"))]
    )
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    page = (tmp_path / "a" / "figures.md").read_text()
    assert "synthetic" in page
    assert all(f"({name}.svg)" in page for name in NAMES)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--k", "1,2"), "--k and --jobs"),
        (("--seed", "1:2"), "--seed 1:2"),
        (("--date", "13-01"), "--date 13-01"),
        (("--out", "/proc/none"), "results folder /proc/none"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, words: tuple[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        call("--out", str(tmp_path), *words)
