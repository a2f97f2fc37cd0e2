# SPDX-License-Identifier: Apache-2.0
"""The benchmark's greedy is a greedy, and the benchmark notices an answer that differs."""

import argparse
import json

import numpy as np
import pytest

from grasp import UserError
from grasp.schedulers.base import Scheduler
from grasp.topo.year import benchmark


def call(*words: str) -> int:
    parser = argparse.ArgumentParser()
    benchmark.configure(parser)
    return benchmark.run(parser.parse_args(words))


def test_greedy_by_hand() -> None:
    assert benchmark.greedy(np.array([[5.0, 9.0], [0.0, 0.0]]), 2.0, 4) == [[1, 3], [2, 2]]


def test_same_answer_many_times_faster(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        call("--k", "1:3", "--jobs", "300", "--rounds", "1", "--json", "--sites", "march,travis,elmira") == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["same_answer"]
    assert found["hours"] == 8760
    assert found["times_faster"] > 10
    assert sum(entry["share"] for entry in found["profile"]) <= 1


def test_another_answer_is_a_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Scheduler.allocate
    monkeypatch.setattr(Scheduler, "allocate", lambda *args: right(*args) + 1)
    assert call("--k", "1", "--jobs", "2", "--rounds", "1", "--sites", "march") == 1
    assert "DIFFERENT" in capsys.readouterr().out


@pytest.mark.parametrize("words", [("--jobs", "0"), ("--rounds", "0"), ("--k", "x")])
def test_mistakes_are_named(words: tuple[str, str]) -> None:
    with pytest.raises(UserError, match=words[0]):
        call(*words)
