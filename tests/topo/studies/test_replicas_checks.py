# SPDX-License-Identifier: Apache-2.0
"""What the replica study holds its simulations against, that a wrong one ends it, what it makes of them."""

import argparse
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize

from grasp import UserError
from grasp.schedulers.base import FloatArray, IntArray
from grasp.schedulers.faults import SimulationError
from grasp.schedulers.replicas.queues import Case, Outcome, Replicas
from grasp.topo.studies import command
from grasp.topo.studies.replicas import measure, report
from grasp.topo.studies.replicas.measure import Check, Row, Settings, Task, Window

SMALL = Settings(servers=10, jobs=12_000, warmup=12_000, seeds=10, delay_loads=(0.8,), delays=(0.0, 0.3))


class FirstChosen(Replicas):
    """Always lets the replica at the server that was chosen first win, whichever is reached first."""

    def place(self, now: FloatArray, length: FloatArray, choices: IntArray) -> FloatArray:
        return super().place(now, length, choices[:1])


class Deaf(Replicas):
    """Lets a replica run although the signal took no time."""

    def place(self, now: FloatArray, length: FloatArray, choices: IntArray) -> FloatArray:
        self.duplicates += self._delay == 0
        return super().place(now, length, choices)


def study(words: str) -> int:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return command.run(parser.parse_args(f"replicas --workers 1 --hour 1 {words}".split()))


def test_a_wrong_winner_differs_from_the_least_work(monkeypatch: pytest.MonkeyPatch) -> None:
    (check,) = measure.check_by_least_work(SMALL, 2)
    assert (check.d, check.load) == (2, 0.8)
    monkeypatch.setattr(measure, "Replicas", FirstChosen)
    with pytest.raises(SimulationError, match=r"2 replicas at load 0\.8 wait \+"):
        measure.check_by_least_work(SMALL, 2)


def test_a_wrong_winner_differs_from_the_events(monkeypatch: pytest.MonkeyPatch) -> None:
    assert measure.check_by_events(SMALL, 3) < 1e-4
    monkeypatch.setattr(measure, "Replicas", FirstChosen)
    with pytest.raises(SimulationError, match=r"event by event a job's wait differs by [1-9]"):
        measure.check_by_events(SMALL, 3)


def test_replicas_that_run_in_vain_are_counted_as_the_events_say(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(Replicas):
        def place(self, now: FloatArray, length: FloatArray, choices: IntArray) -> FloatArray:
            waits = super().place(now, length, choices)
            self.duplicates = np.minimum(self.duplicates, 10)
            return waits

    monkeypatch.setattr(measure, "Replicas", Forgetful)
    with pytest.raises(SimulationError, match="replicas ran in vain, not 10"):
        measure.check_by_events(SMALL, 3)


def test_nothing_runs_twice_without_a_delay_beside_others_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(True, "replicas", 3, (Case(0.8, 0.3), Case(0.8, 0.0)), replace(SMALL, jobs=200), 2)
    late, prompt = measure.measure(task)
    assert (late.duplicates > 0).all()
    assert (prompt.duplicates == 0).all()
    assert (prompt.wasted == 0).all()
    monkeypatch.setattr(measure, "Replicas", Deaf)
    with pytest.raises(SimulationError, match=r"3 replicas at load 0\.8: some ran twice without a delay"):
        measure.measure(task)


@pytest.mark.parametrize("wrong", [FirstChosen, Deaf])
def test_a_wrong_simulation_ends_the_study_in_one_line(
    wrong: type[Replicas], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure, "Replicas", wrong)
    with pytest.raises(UserError) as caught:
        study("--servers 6 --jobs 400 --seeds 3 --loads 0.5 --replicas 2")
    assert "study replicas: the simulation contradicts itself, so there is no result" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert capsys.readouterr().out == ""


def test_the_least_work_is_compared_over_the_later_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of 16 jobs is simulated, of which the last two count."""
    waits = np.array([1, 2, 3, 5], dtype=np.float32)[:, np.newaxis, np.newaxis]
    nothing: Any = np.zeros((1, 1))
    monkeypatch.setattr(measure, "simulate", lambda *_: Outcome(waits, nothing, nothing))
    monkeypatch.setattr(measure, "join_least_work", lambda *_: 2 * waits)
    (check,) = measure.check_by_least_work(replace(SMALL, jobs=8, warmup=8, seeds=1), 2)
    assert (check.replicas.tolist(), check.least_work.tolist()) == ([4.0], [8.0])
    assert check.apart == -4.0
    assert check.may_differ_by is None


def test_what_two_means_may_differ_by() -> None:
    """Standard errors of 1 and 3, and Student's t of one degree of freedom, tan(0.475 pi) = 12.706."""
    check = Check(2, 0.5, np.array([1.0, 3.0]), np.array([1.0, 7.0]))
    assert check.may_differ_by == pytest.approx(np.tan(0.475 * np.pi) * np.sqrt(1**2 + 3**2))


def test_means_too_far_apart_are_an_error_unless_seeds_are_few() -> None:
    """Of 0 to 4 and three times those: standard errors of sqrt(0.5) and sqrt(4.5), Student's t 2.7764."""
    five = np.arange(5.0)
    check = Check(2, 0.5, five, 3 * five)
    shift = 3 * 2.7764 * np.sqrt(5) - 4
    Check(2, 0.5, five, check.least_work + 0.99 * shift).verify()
    with pytest.raises(SimulationError, match=r"2 replicas at load 0\.5 wait -"):
        Check(2, 0.5, five, check.least_work + 1.01 * shift).verify()
    Check(2, 0.5, five[:4], check.least_work[:4] + 1000).verify()


def test_work_done_is_the_load_with_the_time_that_was_wasted() -> None:
    """Jobs of 1 that waste 0.2 and 0.4 in the mean: servers work 1.3 times the load."""

    def row(policy: str, wait: float, wasted: float) -> Row:
        seen = Window(np.full(2, wait), np.ones((4, 2)))
        spent = np.array([wasted - 0.1, wasted + 0.1])
        return Row(True, policy, 2, Case(0.5, 0.2), 10, seen, seen, np.array([0.5, 0.7]), spent)

    cell = report._late(row("replicas", 2.0, 0.3), row("random", 8.0, 0.1))
    assert cell["work_done"] == pytest.approx(0.65)
    assert cell["duplicates_per_job"] == pytest.approx(0.6)
    assert cell["gain"] == 4.0


def gain_of_many(load: float, d: int) -> float:
    """Gain over random assignment in the limit of many servers: the formula, by SciPy's quadrature."""

    def waits_longer(work: float) -> float:
        at_one = (load + (load ** (1 - d) - load) * math.exp((d - 1) * work)) ** (1 / (1 - d))
        return float(at_one**d)

    wait, _ = integrate.quad(waits_longer, 0, 40, epsabs=0, epsrel=1e-10, limit=500)
    return load / (1 - load) / float(wait)


def test_the_limit_meets_the_published_gain_between_loads_that_step_over_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """For 5 replicas the limit is above 47.4 at 0.7 and at 0.95, and below it in between."""
    assert study("--servers 50 --loads 0.7,0.95 --replicas 5 --jobs 60 --seeds 3 --delays 0 --json") == 0
    (row,) = json.loads(capsys.readouterr().out)["published"]
    true = [
        optimize.brentq(lambda load: gain_of_many(load, 5) - 47.4, *between)
        for between in ((0.7, 0.86), (0.86, 0.95))
    ]
    assert row["many_servers"]["met_at_loads"] == pytest.approx(true, abs=2e-4)
