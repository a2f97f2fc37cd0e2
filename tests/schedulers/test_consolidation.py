# SPDX-License-Identifier: Apache-2.0
"""Consolidation: the dispatcher's probabilities, what the policy decides, and whole days of hosting."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grasp import UserError
from grasp.schedulers.consolidation.bounds import all_on, just_enough
from grasp.schedulers.consolidation.demand import SERVICES, Demand, Held, Service, daily, demand, pulses
from grasp.schedulers.consolidation.dispatcher import UNITS, Dispatcher
from grasp.schedulers.consolidation.hosting import Failure, Hosted, Site, host
from grasp.schedulers.consolidation.machines import SLEEPS, Machine, Sleep, fleet, sleep
from grasp.schedulers.consolidation.policy import AllOn, Consolidation, Orders, Policy, Report, State
from grasp.schedulers.consolidation.verify import energy_limits_wh, moved_sessions, verify
from grasp.schedulers.faults import SimulationError

FLEET = fleet([("old", 1), ("new", 2), ("middle", 1)])
SPEEDS = [machine.speed for machine in FLEET]
SITE = Site(FLEET, SLEEPS["hibernate"], SERVICES)
HOURS = daily(3.0)[:240]  # from midnight to four


def consolidation() -> Policy:
    return Consolidation(len(SERVICES))


def everything_on() -> Policy:
    return AllOn(SPEEDS, len(SERVICES))


# The dispatcher


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.1, 9), min_size=1, max_size=9), st.data())
def test_probabilities_stay_whole(shares: list[float], data: st.DataObject) -> None:
    dispatcher = Dispatcher(2, shares)
    assert dispatcher.whole()
    server = st.integers(0, len(shares) - 1)
    for service, source, target, units in data.draw(
        st.lists(st.tuples(st.integers(0, 1), server, server, st.integers(0, UNITS)), max_size=30)
    ):
        had = dispatcher.units(service, source)
        assert dispatcher.move(service, source, target, units) == min(units, had)
        assert dispatcher.whole()
        assert sum(dispatcher.row(service)) == UNITS


def test_choice_is_the_first_that_reaches_z() -> None:
    dispatcher = Dispatcher(1, [0.5, 0.2, 0.3])
    dispatcher.move(0, 1, 0, UNITS)
    for z in range(1, UNITS + 1):
        total, wanted = 0, 0
        for server, units in enumerate(dispatcher.row(0)):
            total += units
            if z <= total:
                wanted = server
                break
        assert dispatcher.choose(0, z) == wanted
    seen = Counter(dispatcher.choose(0, z) for z in range(1, UNITS + 1))
    assert seen == {0: 700, 2: 300}
    assert dispatcher.unused(1)
    assert not dispatcher.unused(2)


# The policy


def reports(idle: list[float], late: dict[int, float] | None = None, held: bool = False) -> dict[int, Report]:
    late = late or {}
    return {server: Report(share, [late.get(server, 0.0)], held) for server, share in enumerate(idle)}


ON, ASLEEP = State.ON, State.ASLEEP


def test_probability_moves_to_the_efficient_that_idle() -> None:
    policy, dispatcher = Consolidation(1), Dispatcher(1, [1, 1, 1])
    policy.review(1000, [ON, ON, ON], reports([0.1, 0.6, 0.9]), dispatcher)
    assert dispatcher.row(0) == [333, 354, 313]  # dp from the last to the first that idles enough
    policy.review(1010, [ON, ON, ON], reports([0.7, 0.6, 0.9], {0: 0.2, 1: 0.04}), dispatcher)
    assert dispatcher.row(0) == [313, 374, 313]  # away from a violating server, however idle


def test_nothing_moves_where_nobody_idles() -> None:
    policy, dispatcher = Consolidation(1), Dispatcher(1, [1, 1])
    orders = policy.review(1000, [ON, ON], reports([0.2, 0.9]), dispatcher)
    assert dispatcher.row(0) == [500, 500]
    assert not orders.wake
    assert not orders.stop


def test_violation_without_help_wakes_the_next() -> None:
    policy, dispatcher = Consolidation(1), Dispatcher(1, [1, 0, 0])
    states = [ON, ASLEEP, ASLEEP]
    orders = policy.review(1000, states, reports([0.0], {0: 0.5}), dispatcher)
    assert orders.wake == [1]
    states[1] = State.WAKING
    assert not policy.review(1010, states, reports([0.0], {0: 0.5}), dispatcher).wake
    assert policy.review(1040, states, reports([0.0], {0: 0.5}), dispatcher).wake == [2]
    states[1] = ON
    policy.review(1050, states, reports([0.0, 1.0]), dispatcher)
    assert dispatcher.row(0) == [980, 20, 0]  # the one that woke up gets its first dp


def test_unused_server_stops_when_nothing_is_held() -> None:
    policy, dispatcher = Consolidation(1), Dispatcher(1, [1, 0])
    assert not policy.review(1000, [ON, ON], reports([0.1, 1.0], held=True), dispatcher).stop
    assert policy.review(1010, [ON, ON], reports([0.1, 1.0]), dispatcher).stop == [1]


@pytest.mark.parametrize("policy", [Consolidation(1), AllOn([1, 1, 1], 1)])
def test_silent_server_loses_its_probability(policy: Policy) -> None:
    dispatcher = Dispatcher(1, [1, 1, 1])
    policy.review(0, [ON, State.FAILED, ON], {n: Report(0.5, [0.0], False) for n in (0, 2)}, dispatcher)
    assert dispatcher.units(0, 1) == 0
    assert dispatcher.whole()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_any_reports_leave_probabilities_whole(seed: int) -> None:
    draw = random.Random(seed)
    policy, dispatcher = Consolidation(3), Dispatcher(3, [4, 3, 2, 1])
    for now in range(0, 300, 10):
        states = [draw.choice([ON, ON, ON, *State]) for _ in range(4)]
        seen = {
            server: Report(draw.random(), [draw.choice([0.0, 0.0, draw.random()]) for _ in range(3)], False)
            for server, state in enumerate(states)
            if state is ON
        }
        orders = policy.review(now, states, seen, dispatcher)
        assert dispatcher.whole()
        assert all(states[server] is ASLEEP for server in orders.wake)
        for server in orders.stop:
            assert states[server] is ON
            assert dispatcher.unused(server)


# Hosting


def check(asked: Demand, seen: Hosted, site: Site = SITE) -> None:
    """What holds of every run."""
    verify(site, asked, seen)
    honest = ~asked.hostile
    limits = np.array([service.limit_s for service in SERVICES])[asked.service]
    bad = honest & (seen.response_s > limits)
    assert seen.late + seen.lost == bad.sum() == sum(seen.causes.values())
    assert seen.sessions_cut_by_stops == 0
    assert (np.diff(seen.energy_wh) >= 0).all()


def test_night_is_between_the_bounds() -> None:
    asked = demand(HOURS, SERVICES, seed=1)
    seen = host(SITE, consolidation(), asked)
    reference = host(SITE, everything_on(), asked)
    load = HOURS * sum(service.share * service.work for service in SERVICES)
    least = just_enough(FLEET, SITE.sleep, load).mean() * 4
    check(asked, seen)
    check(asked, reference)
    assert least < seen.energy_wh[-1] < 0.8 * reference.energy_wh[-1]
    assert reference.energy_wh[-1] == pytest.approx(all_on(FLEET, load).mean() * 4, rel=0.02)
    assert reference.causes["packed"] == reference.causes["waking"] == 0
    assert not reference.wakes
    assert seen.sessions >= len(np.unique(asked.session[asked.session >= 0]))


def test_response_and_energy_by_hand() -> None:
    """Two requests at one server of 2 units a second: the second waits for the first."""
    machine = Machine("one", 2.0, 100, 200)
    asked = Demand(
        np.array([1.0, 2.0]),
        np.array([0, 0]),
        np.array([4.0, 2.0]),
        np.array([-1, -1]),
        *_no(2),
        seconds=3600,
    )
    site = Site([machine], SLEEPS["off"], [Service("s", 1, 1, 1.5)])
    seen = host(site, AllOn([2.0], 1), asked, sample_s=3600)
    assert seen.response_s.tolist() == [2.0, 2.0]
    assert seen.late == 2
    assert seen.energy_wh[-1] == pytest.approx(100 + 3 * 100 / 3600)  # idle for an hour, busy for 3 s


def _no(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)


class Careless(Consolidation):
    """Puts servers to sleep as soon as they have no probability."""

    def review(
        self, now: float, states: Sequence[State], reports: dict[int, Report], dispatcher: Dispatcher
    ) -> Orders:
        free = {server: replace(report, held=False) for server, report in reports.items()}
        return super().review(now, states, free, dispatcher)


def test_a_shutdown_that_cuts_sessions_would_be_seen() -> None:
    asked = demand(HOURS, SERVICES, seed=1)
    seen = host(SITE, Careless(len(SERVICES)), asked)
    assert seen.sessions_cut_by_stops > 0
    assert moved_sessions(SITE, asked, seen) > 0
    with pytest.raises(SimulationError, match="living sessions lost their server to a shutdown"):
        verify(SITE, asked, seen)
    with pytest.raises(SimulationError, match="living sessions"):  # told by the requests alone
        verify(SITE, asked, replace(seen, sessions_cut_by_stops=0))


class Leaking(Consolidation):
    """Loses a thousandth of a probability in the second round."""

    def review(
        self, now: float, states: Sequence[State], reports: dict[int, Report], dispatcher: Dispatcher
    ) -> Orders:
        if now > SITE.report_s:
            dispatcher._units[0][0] -= 1
        return super().review(now, states, reports, dispatcher)


def test_a_lost_probability_would_be_seen() -> None:
    with pytest.raises(SimulationError, match="probabilities do not sum to 1 at 20 s"):
        host(SITE, Leaking(len(SERVICES)), demand(HOURS, SERVICES, seed=1))


def test_energy_and_causes_that_cannot_be_would_be_seen() -> None:
    asked = demand(HOURS, SERVICES, seed=1)
    seen = host(SITE, consolidation(), asked)
    least, most = energy_limits_wh(SITE, asked, seen)
    for energy in (0.99 * least, 1.01 * most):
        with pytest.raises(SimulationError, match="the energy is"):
            verify(SITE, asked, replace(seen, total_wh=energy))
    with pytest.raises(SimulationError, match="late or lost"):
        verify(SITE, asked, replace(seen, causes=seen.causes | {"packed": seen.causes["packed"] + 1}))


def test_least_energy_by_hand() -> None:
    """Two servers work for 2 s together and for 1 s alone; one that sleeps takes 4 W."""
    machines = [Machine("a", 2.0, 100, 200), Machine("b", 1.0, 50, 90)]
    asked = Demand(
        np.array([1.0, 1.0]),
        np.array([0, 0]),
        np.array([6.0, 2.0]),
        np.array([-1, -1]),
        *_no(2),
        seconds=10.0,
    )
    site = Site(machines, SLEEPS["off"], [Service("s", 1, 1, 9)])
    seen = host(site, AllOn([2.0, 1.0], 1), asked, sample_s=10)
    seen = replace(seen, server=np.array([0, 1]), response_s=np.array([3.0, 2.0]))
    least, most = energy_limits_wh(site, asked, seen)
    assert least == pytest.approx((2 * 290 + 204 + 7 * 8) / 3600)
    assert most == pytest.approx(10 * 290 / 3600)


def test_sessions_outlive_consolidation() -> None:
    asked = demand(HOURS, SERVICES, seed=3)
    machines = [Machine(f"m{n}", 4.0, 80 + n, 200 + n) for n in range(3)]
    site = Site(machines, SLEEPS["standby"], SERVICES)
    seen = host(site, Consolidation(len(SERVICES)), asked)
    check(asked, seen, site)
    asleep = seen.states == list(State).index(State.ASLEEP)
    assert asleep.any()  # something was shut down, and yet
    assert seen.lost == 0


def test_drained_server_waits_for_its_sessions() -> None:
    """One session, kept alive for an hour, keeps its server on; the day's other servers go to sleep."""
    held = Held(service=1, sessions=1, start_s=0, every_s=100)
    quiet = np.full(60, 0.02)
    asked = demand(quiet, SERVICES, seed=2, held=held)
    machines = [Machine(f"m{n}", 4.0, 80 + n, 200 + n) for n in range(6)]
    last = []
    for one in (asked, demand(quiet, SERVICES, seed=2)):
        site = Site(machines, SLEEPS["standby"], SERVICES)
        seen = host(site, Consolidation(len(SERVICES)), one)
        check(one, seen, site)
        last.append(int((seen.states[-1] == 0).sum()))
    assert last in ([2, 1], [1, 1])  # the session's server may be the one that stays on anyway
    many = demand(quiet, SERVICES, seed=2, held=replace(held, sessions=60))
    seen = host(Site(machines, SLEEPS["standby"], SERVICES), Consolidation(len(SERVICES)), many)
    assert (seen.states[-1] == 0).all()


def test_failure_is_noticed_and_overcome() -> None:
    failures = (Failure(3605.0, 0, 1800.0), Failure(3605.0, 1, 1800.0))
    asked = demand(daily(4.0)[300:480], SERVICES, seed=4)
    for policy in (consolidation(), everything_on()):
        site = replace(SITE, failures=failures)
        seen = host(site, policy, asked)
        check(asked, seen, site)
        assert seen.causes["failure"] == seen.lost > 0
        gone = asked.times[np.isinf(seen.response_s)]
        assert gone.min() > 3605 - 60  # accepted before, lost with the server
        assert gone.max() < 3605 + 3 * SITE.report_s + SITE.sleep.wake_s
        assert seen.sessions_cut_by_failures > 0
        failed = list(State).index(State.FAILED)
        assert (seen.states[:, 0] == failed).any()
        assert (seen.states[-1] != failed).all()


def test_all_servers_fail_and_the_next_is_woken() -> None:
    machines = FLEET[:2]
    failures = tuple(Failure(1800.0, server, 300.0) for server in range(2))
    asked = demand(np.full(60, 1.0), SERVICES, seed=5)
    site = replace(SITE, machines=machines, failures=failures)
    seen = host(site, consolidation(), asked)
    check(asked, seen, site)
    assert seen.wakes
    assert np.isfinite(seen.response_s[asked.times > 1800 + 300 + 120]).all()


def test_sudden_load_wakes_servers() -> None:
    rate = np.full(120, 0.5)
    rate[60:80] = 5.0
    asked = demand(rate, SERVICES, seed=6)
    seen = host(SITE, consolidation(), asked, sample_s=60)
    check(asked, seen)
    on = (seen.states == 0).sum(axis=1)
    assert on[50:59].max() < on[65:80].max()
    assert seen.causes["waking"] > 0


def test_pulses_cost_more_than_their_work() -> None:
    rate = np.full(240, 0.5)
    asked = demand(rate, SERVICES, 7, pulses(240, 60, 20, 4, 4.0))
    seen = host(SITE, consolidation(), asked)
    quiet = host(SITE, consolidation(), demand(rate, SERVICES, 7))
    check(asked, seen)
    assert len(seen.wakes) > len(quiet.wakes)
    work = float(asked.work[asked.hostile].sum())
    dearest = max(machine.cost for machine in FLEET) * work / 3600
    assert seen.energy_wh[-1] - quiet.energy_wh[-1] > dearest


def test_same_seed_same_day() -> None:
    one, other = (host(SITE, consolidation(), demand(HOURS[:60], SERVICES, 8), 8) for _ in range(2))
    np.testing.assert_array_equal(one.response_s, other.response_s)
    assert one.energy_wh.tolist() == other.energy_wh.tolist()


# Demand, machines, bounds


def test_demand_is_what_was_asked() -> None:
    rate = np.full(600, 5.0)
    made = demand(rate, SERVICES, seed=9)
    assert (np.diff(made.times) >= 0).all()
    assert made.times.max() < made.seconds == 36_000
    for number, service in enumerate(SERVICES):
        mine = made.service == number
        # A session's requests come in bunches, which makes their number vary more.
        assert mine.sum() == pytest.approx(5 * service.share * 36_000, rel=0.04)
        assert made.work[mine].mean() == pytest.approx(service.work, rel=0.02)
        assert (made.session[mine] >= 0).all() == (service.requests > 1)
    shop = made.session[made.service == 1]
    sessions = np.unique(shop)
    assert len(shop) / len(sessions) == pytest.approx(SERVICES[1].requests, rel=0.05)
    assert made.last.sum() == pytest.approx(len(sessions) / 2, rel=0.05)  # half of them log out
    assert not made.last[made.service != 1].any()


@pytest.mark.parametrize("rate", [[], [-1.0], [np.nan], [[1.0]]])
def test_bad_rates_are_refused(rate: list[float]) -> None:
    with pytest.raises(UserError, match="requests a second"):
        demand(np.array(rate), SERVICES, 0)


def test_just_enough_is_the_best_selection() -> None:
    """Against all subsets, with the work on those of least energy beyond idling."""
    asleep = Sleep("s", 7, 0, 0)
    loads = np.array([0.0, 0.3, 3.9, 4.1, 7.7, 12.9])
    for load, power in zip(loads, just_enough(FLEET, asleep, loads), strict=True):
        best = np.inf
        for chosen in product([False, True], repeat=len(FLEET)):
            on = [machine for machine, is_on in zip(FLEET, chosen, strict=True) if is_on]
            left, watts = load, 7.0 * (len(FLEET) - len(on))
            for machine in sorted(on, key=lambda one: (one.peak_w - one.idle_w) / one.speed):
                done = min(left, machine.speed)
                left -= done
                watts += machine.idle_w + done / machine.speed * (machine.peak_w - machine.idle_w)
            if left <= 1e-9:
                best = min(best, watts)
        assert power == pytest.approx(best)
    assert (just_enough(FLEET, asleep, loads) <= all_on(FLEET, loads) + 1e-9).all()


def test_fleet_is_ranked_and_mistakes_are_named() -> None:
    costs = [machine.cost for machine in FLEET]
    assert costs == sorted(costs)
    with pytest.raises(UserError, match=r"'huge'.*new"):
        fleet([("huge", 1)])
    with pytest.raises(UserError, match=r"'nap'.*standby"):
        sleep("nap")
