# SPDX-License-Identifier: Apache-2.0
"""Servers of the consolidation study by hand: states, how long each lasts, what it takes, who waits why."""

from collections.abc import Sequence

import numpy as np
import pytest

from grasp.schedulers.consolidation.demand import Demand, Service
from grasp.schedulers.consolidation.dispatcher import UNITS, Dispatcher
from grasp.schedulers.consolidation.hosting import STATES, Failure, Hosted, Site, host
from grasp.schedulers.consolidation.machines import SLEEPS, Machine
from grasp.schedulers.consolidation.policy import Consolidation, Orders, Policy, Report, State

ON, FALLING, ASLEEP, WAKING, FAILED = State
SERVER = Machine("one", 2.0, 100, 200)  # of 2 units a second
SERVICE = Service("s", 1, 1, 1.5)


class Scripted(Policy):
    """Does what is written down for a time, keeps the reports; all requests go to the first server."""

    def __init__(self, script: dict[float, Orders]) -> None:
        self.script = script
        self.idle: dict[float, float] = {}

    def review(
        self, now: float, states: Sequence[State], reports: dict[int, Report], dispatcher: Dispatcher
    ) -> Orders:
        for server in range(1, len(states)):
            dispatcher.move(0, server, 0, UNITS)
        if 0 in reports:
            self.idle[now] = reports[0].idle
        return self.script.get(now, Orders())


def requests(times: Sequence[float], work: Sequence[float], seconds: float) -> Demand:
    count = len(times)
    never = np.zeros(count, dtype=bool)
    return Demand(
        np.array(times),
        np.zeros(count, dtype=int),
        np.array(work),
        np.full(count, -1),
        never,
        never,
        seconds,
    )


@pytest.mark.parametrize(
    ("name", "ends", "joules"),
    [
        # Idle 100 W, at peak 200 W: on for 16 s; falls asleep for 20 s at 100 W; sleeps 172 s at 4 W; wakes
        # 90 s at 200 W; on for 102 s; down for 60 s at nothing; sleeps 140 s at 4 W; worked 2 + 2 + 2 s.
        ("off", (16, 36, 208, 298, 400, 460), 1600 + 2000 + 688 + 18_000 + 10_200 + 560 + 600),
        # 15 s, 177 s, 40 s and 152 s instead.
        ("hibernate", (16, 31, 208, 248, 400, 460), 1600 + 1500 + 708 + 8_000 + 15_200 + 560 + 600),
        # 3 s, 189 s at 10 W, 6 s and 186 s instead, and 140 s at 10 W.
        ("standby", (16, 19, 208, 214, 400, 460), 1600 + 300 + 1890 + 1_200 + 18_600 + 1400 + 600),
    ],
)
def test_states_durations_and_energy_by_hand(name: str, ends: Sequence[float], joules: float) -> None:
    """Stopped at 16 s, woken at 208 s, failed from 400 to 460 s, in 600 s; requests of 2, 2 and 4 s."""
    policy = Scripted({16.0: Orders(stop=[0]), 208.0: Orders(wake=[0])})
    site = Site([SERVER], SLEEPS[name], [SERVICE], 16.0, (Failure(400.0, 0, 60.0),))
    seen = host(site, policy, requests([1.0, 300.0, 398.0], [4.0, 4.0, 8.0], 600.0), sample_s=7)
    assert seen.total_wh * 3600 == pytest.approx(joules)
    stretches = list(zip((ON, FALLING, ASLEEP, WAKING, ON, FAILED, ASLEEP), (*ends, 601), strict=True))
    assert [STATES[state] for state in seen.states[:, 0]] == [
        next(state for state, end in stretches if now < end) for now in range(7, 601, 7)
    ]
    assert seen.wakes == [(208.0, 0)]
    assert seen.response_s.tolist() == [2.0, 2.0, np.inf]  # the last is at work when the server fails
    # Two seconds of 16, but when off until 298 s of the 6 since: not of the time in which it slept.
    assert policy.idle[16.0] == pytest.approx(14 / 16)
    assert policy.idle[304.0] == pytest.approx(4 / 6 if name == "off" else 14 / 16)
    assert not any(ends[0] < now < ends[3] or now > 400 for now in policy.idle)


def of_three(failing: Sequence[int], stopped: Sequence[int]) -> Hosted:
    """Three servers, of which the first serves; a request takes 2 s of 1.5 while the others rest."""
    site = Site([SERVER] * 3, SLEEPS["off"], [SERVICE], failures=[Failure(12.0, one, 900) for one in failing])
    policy = Scripted({10.0: Orders(stop=list(stopped))})
    return host(site, policy, requests([100.0], [4.0], 300.0))


@pytest.mark.parametrize(
    ("failing", "stopped", "cause"),
    [
        ((), (1, 2), "packed"),
        ((1,), (2,), "packed"),
        ((2,), (1,), "packed"),
        ((1, 2), (), "all on"),
    ],
)
def test_all_are_on_if_every_other_server_has_failed(
    failing: Sequence[int], stopped: Sequence[int], cause: str
) -> None:
    seen = of_three(failing, stopped)
    assert (seen.late, seen.lost) == (1, 0)
    assert {name for name, count in seen.causes.items() if count} == {cause}


def test_nobody_is_stopped_soon_after_a_violation() -> None:
    """The third server is of no use; the first answers late once, at 1000 s, and calm are 60 s."""
    policy, dispatcher = Consolidation(1), Dispatcher(1, [1, 1, 0])

    def stopped(now: float, late: float) -> list[int]:
        idle = {0: 0.0, 1: 0.9, 2: 0.1} if late else {0: 0.1, 1: 0.1, 2: 0.1}
        reports = {one: Report(idle[one], [late if one == 0 else 0.0], False) for one in range(3)}
        return policy.review(now, [ON, ON, ON], reports, dispatcher).stop

    assert stopped(990, 0.0) == [2]
    assert stopped(1000, 0.5) == []
    assert stopped(1059, 0.0) == []
    assert stopped(1060, 0.0) == [2]
