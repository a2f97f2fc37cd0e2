# SPDX-License-Identifier: Apache-2.0
"""``grasp bench studies``, small."""

import argparse
import json
from dataclasses import replace

import numpy as np
import pytest

from grasp import UserError
from grasp.topo.studies import benchmark
from grasp.topo.studies.consolidation import benchmark as consolidation

CASES = 9


def bench(*argv: str) -> int:
    parser = argparse.ArgumentParser()
    benchmark.configure(parser)
    return benchmark.run(parser.parse_args(argv))


def test_every_case_does_its_work_in_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--size", "2000", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["study"] for row in rows} == set(benchmark.MEASURED)
    assert len(rows) == CASES
    for row in rows:
        if row["study"] != "price" and "minute" not in row["name"]:  # which have days to do
            assert row["jobs"] == pytest.approx(2000, rel=0.2)
        assert row["same_answer"]
        assert row["jobs_per_s"] == pytest.approx(row["jobs"] / row["seconds"], rel=0.3)
        assert row["times_faster"] == pytest.approx(row["jobs_per_s"] / row["plain_jobs_per_s"], rel=0.02)
    assert bench("--size", "1000", "--rounds", "2") == 0
    shown = capsys.readouterr().out
    assert shown.count("the same answers") == CASES
    assert "times faster" in shown


def test_other_answers_are_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    case = next(iter(consolidation.cases(1000)))
    late = replace(case, plain=lambda: case.plain() + np.arange(case.jobs) // (case.jobs - 1))
    monkeypatch.setattr(benchmark, "MEASURED", ("consolidation",))
    monkeypatch.setattr(consolidation, "cases", lambda size: [case, late])
    assert bench("--size", "1000") == 1
    shown = capsys.readouterr().out
    assert (shown.count("the same answers"), shown.count("DIFFERENT answers")) == (1, 1)


@pytest.mark.parametrize("argv", [("--size", "5"), ("--rounds", "0")])
def test_mistakes(argv: tuple[str, str]) -> None:
    with pytest.raises(UserError, match=f"{argv[0]} {argv[1]}"):
        bench(*argv)
