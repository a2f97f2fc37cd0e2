# SPDX-License-Identifier: Apache-2.0
"""``grasp bench studies``, small."""

import argparse
import json

import pytest

from grasp import UserError
from grasp.topo.studies import benchmark


def bench(*argv: str) -> int:
    parser = argparse.ArgumentParser()
    benchmark.configure(parser)
    return benchmark.run(parser.parse_args(argv))


def test_every_case_does_its_work(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--size", "1000", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["study"] for row in rows} == set(benchmark.MEASURED)
    for row in rows:
        if row["study"] != "price":
            assert row["jobs"] == pytest.approx(1000, rel=0.15) or row["jobs"] == 2000
        assert row["jobs_per_s"] == pytest.approx(row["jobs"] / row["seconds"], rel=0.3)
    assert bench("--size", "1000", "--rounds", "2") == 0
    assert "event by event" in capsys.readouterr().out


@pytest.mark.parametrize("argv", [("--size", "5"), ("--rounds", "0")])
def test_mistakes(argv: tuple[str, str]) -> None:
    with pytest.raises(UserError, match=f"{argv[0]} {argv[1]}"):
        bench(*argv)
