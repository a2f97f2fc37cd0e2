# SPDX-License-Identifier: Apache-2.0
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sample import SECOND
from site_model import SwitchModel

from grasp.control.forecasts import Forecast, Forecasts, Headroom
from grasp.control.wire import Operation, PacketIn, PacketOut, Reason, SiteFlag, Status
from grasp.schedulers.registry import scheduler

RETRANSMIT = SECOND // 4


def make(name="green", **saved):
    forecasts = Forecasts(scheduler(name), RETRANSMIT, sequence=100, **saved)
    forecasts.attached({0: "a", 1: "a", 2: "b"})
    return forecasts


@pytest.fixture
def forecasts():
    return make()


def ok(packet, **fields):
    return PacketIn(Reason.ANSWER, site=packet.site, sequence=packet.sequence, epoch=packet.epoch,
                    budget=packet.budget, headroom=packet.budget - packet.spent, **fields)  # fmt: skip


def due(forecasts, epoch=5, now=0, connected=("a", "b")):
    return forecasts.due(epoch, connected, now)


def test_a_forecast_is_sent_to_the_switch_of_its_site_and_again_until_it_is_confirmed(forecasts):
    forecasts.reported(Forecast(1, 5, 12.5))
    [(switch, packet)] = due(forecasts)
    assert switch == "a"
    assert packet == PacketOut(Operation.SET_FORECAST, site=1, sequence=101, epoch=5, budget=12_500)
    assert due(forecasts, now=RETRANSMIT - 1) == []
    assert due(forecasts, now=RETRANSMIT) == [("a", packet)]
    assert due(forecasts, now=2 * RETRANSMIT - 1) == []
    answered = forecasts.answered("a", ok(packet))
    assert answered.confirmed == Headroom(1, 5, 12_500, 12_500)
    assert forecasts.held(1) == (5, 12_500)
    assert due(forecasts, now=10 * RETRANSMIT) == []


def test_a_clock_that_steps_back_does_not_stop_retransmission(forecasts):
    forecasts.reported(Forecast(1, 5, 1.0))
    [operation] = due(forecasts, now=1000 * SECOND)
    assert due(forecasts, now=SECOND) == [operation]


def test_forecasts_wait_for_their_epoch(forecasts):
    forecasts.reported(Forecast(0, 6, 1.0))
    assert due(forecasts, epoch=5) == []
    assert [packet.epoch for _, packet in due(forecasts, epoch=6)] == [6]


def test_a_site_without_a_forecast_keeps_what_it_has(forecasts):
    forecasts.reported(Forecast(0, 5, 1.0))
    [(_, packet)] = due(forecasts, epoch=5)
    forecasts.answered("a", ok(packet))
    assert due(forecasts, epoch=6) == []
    assert forecasts.held(0) == (5, 1000)


def test_a_correction_is_a_new_operation(forecasts):
    forecasts.reported(Forecast(0, 5, 1.0))
    [(_, first)] = due(forecasts)
    forecasts.reported(Forecast(0, 5, 2.0))
    [(_, second)] = due(forecasts, now=1)
    assert (second.budget, second.sequence) == (2000, first.sequence + 1)
    assert forecasts.answered("a", ok(first)) is None, "the answer to what nobody waits for any more"
    assert forecasts.answered("a", ok(second)).confirmed is not None


def test_the_scheduler_decides_what_a_forecast_is_worth():
    forecasts = make("round-robin")
    for site in (0, 1, 2):
        forecasts.reported(Forecast(site, 5, 100.0 * site))
    assert forecasts.budgets(5) == {0: 0, 1: 0, 2: 0}
    assert [packet.budget for _, packet in due(forecasts)] == [0, 0, 0]


def test_switches_that_are_away_get_nothing(forecasts):
    forecasts.reported(Forecast(0, 5, 1.0))
    forecasts.reported(Forecast(2, 5, 1.0))
    assert [switch for switch, _ in due(forecasts, connected=["b"])] == ["b"]
    assert [switch for switch, _ in due(forecasts, connected=[])] == []


def test_a_restarted_switch_is_told_what_was_spent(forecasts):
    forecasts.reported(Forecast(0, 5, 10.0))
    [(_, packet)] = due(forecasts)
    forecasts.answered("a", ok(packet))
    [(_, read), *_] = forecasts.reads(["a"])
    assert read.operation is Operation.READ_SITE
    flags = 1 | 4 | 8 | 16
    forecasts.answered(
        "a",
        PacketIn(Reason.ANSWER, sequence=read.sequence, flags=flags, epoch=5, budget=10_000, headroom=-500),
    )
    assert due(forecasts) == []
    forecasts.connected("a")
    [(_, packet)] = due(forecasts)
    assert (packet.budget, packet.spent) == (10_000, 10_500)
    assert [packet.spent for _, packet in due(forecasts, epoch=5, now=RETRANSMIT)] == [10_500]
    forecasts.reported(Forecast(0, 6, 20.0))
    assert [packet.spent for _, packet in due(forecasts, epoch=6)] == [0], "another epoch, nothing spent"


def test_a_switch_that_lost_its_registers_unnoticed_is_found_by_reading(forecasts):
    forecasts.reported(Forecast(0, 5, 10.0))
    [(_, packet)] = due(forecasts)
    forecasts.answered("a", ok(packet))
    [(_, read), *_] = forecasts.reads(["a"])
    forecasts.answered("a", PacketIn(Reason.ANSWER, sequence=read.sequence, flags=8))
    assert [packet.budget for _, packet in due(forecasts)] == [10_000]


def test_a_site_that_moves_takes_its_headroom_along(forecasts):
    forecasts.reported(Forecast(0, 5, 10.0))
    [(_, packet)] = due(forecasts)
    forecasts.answered(
        "a", PacketIn(Reason.ANSWER, sequence=packet.sequence, epoch=5, budget=10_000, headroom=4000)
    )
    forecasts.attached({0: "b"})
    [(switch, packet)] = due(forecasts)
    assert (switch, packet.spent) == ("b", 6000)


def test_an_operation_that_came_before_its_table_entry_is_repeated(forecasts):
    forecasts.reported(Forecast(0, 5, 10.0))
    [(_, packet)] = due(forecasts)
    answered = forecasts.answered("a", ok(packet, status=Status.NOT_HERE))
    assert (answered.confirmed, answered.stale) == (None, False)
    assert forecasts.held(0) is None
    assert due(forecasts, now=RETRANSMIT) == [("a", packet)]


def test_a_switch_that_is_ahead_is_left_alone_until_the_epoch_passes(forecasts):
    forecasts.reported(Forecast(0, 5, 10.0))
    [(_, packet)] = due(forecasts)
    assert forecasts.answered("a", ok(packet, status=Status.STALE)).stale
    assert due(forecasts, now=10 * RETRANSMIT) == []
    forecasts.reported(Forecast(0, 6, 11.0))
    assert [packet.epoch for _, packet in due(forecasts, epoch=6)] == [6]


def test_a_drain_is_repeated_and_comes_before_the_forecast(forecasts):
    forecasts.reported(Forecast(0, 5, 10.0))
    forecasts.drain(0, True)
    assert forecasts.drained(0)
    (_, drain), (_, forecast) = due(forecasts)
    assert (drain.operation, drain.flags, drain.site) == (Operation.SET_DRAIN, 1, 0)
    assert forecast.operation is Operation.SET_FORECAST
    forecasts.answered("a", ok(forecast))
    assert due(forecasts, now=RETRANSMIT) == [("a", drain)]
    forecasts.answered("a", ok(drain, flags=2))
    assert due(forecasts, now=2 * RETRANSMIT) == []
    forecasts.drain(0, False)
    [(_, undrain)] = due(forecasts)
    assert (undrain.operation, undrain.flags) == (Operation.SET_DRAIN, 0)
    forecasts.answered("a", ok(undrain))
    assert due(forecasts, now=9 * RETRANSMIT) == []


def test_what_is_no_longer_wanted_is_taken_back(forecasts):
    """Whether it was carried out is not known before its answer, which may be lost."""
    forecasts.reported(Forecast(0, 5, 10.0))
    forecasts.drain(0, True)
    for _, packet in due(forecasts):
        forecasts.answered("a", ok(packet))
    forecasts.drain(0, False)
    forecasts.reported(Forecast(0, 5, 20.0))
    undrain, raised = [packet for _, packet in due(forecasts)]
    forecasts.drain(0, True)
    forecasts.reported(Forecast(0, 5, 10.0))
    drain, lowered = [packet for _, packet in due(forecasts)]
    assert (drain.operation, drain.flags, lowered.budget) == (Operation.SET_DRAIN, 1, 10_000)
    assert forecasts.answered("a", ok(undrain)) is None
    assert forecasts.answered("a", ok(raised)) is None
    for packet in (drain, lowered):
        assert forecasts.answered("a", ok(packet)) is not None
    assert due(forecasts, now=9 * RETRANSMIT) == []


def test_a_drain_that_only_the_switch_knows_is_undone(forecasts):
    [(_, read), *_] = forecasts.reads(["a"])
    forecasts.answered("a", PacketIn(Reason.ANSWER, sequence=read.sequence, flags=8 | 2))
    [(_, packet)] = due(forecasts)
    assert (packet.operation, packet.flags) == (Operation.SET_DRAIN, 0)


def test_an_earlier_life_comes_back():
    forecasts = make(
        forecasts=[Forecast(0, 5, 10.0), Forecast(0, 6, 20.0)],
        headrooms=[Headroom(0, 5, 10_000, 3000)],
        drained=[1],
    )
    operations = {packet.site: packet for _, packet in due(forecasts)}
    assert (operations[0].budget, operations[0].spent) == (10_000, 7000)
    assert (operations[1].operation, operations[1].flags) == (Operation.SET_DRAIN, 1)
    assert forecasts.headrooms == [Headroom(0, 5, 10_000, 3000)]


def test_numbers_wrap():
    forecasts = Forecasts(scheduler("green"), RETRANSMIT, sequence=2**32 - 2)
    forecasts.attached({0: "a", 1: "a", 2: "a"})
    assert [packet.sequence for _, packet in forecasts.reads(["a"])] == [2**32 - 1, 0, 1]


@pytest.mark.parametrize("change", [{"sequence": 7}, {"site": 9}, {"site": 2}])
def test_answers_to_nothing_are_ignored(forecasts, change):
    forecasts.reported(Forecast(0, 5, 10.0))
    [(_, packet)] = due(forecasts)
    fields = {"site": 0, "sequence": packet.sequence, "epoch": 5, "budget": 10_000} | change
    assert forecasts.answered("a", PacketIn(Reason.ANSWER, **fields)) is None
    assert forecasts.answered("b", ok(packet)) is None, "nor from another switch"
    assert forecasts.held(0) is None


@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 1e9)), max_size=20))
def test_budgets_are_the_last_forecasts(reports):
    forecasts = make()
    for site, energy_wh in reports:
        forecasts.reported(Forecast(site, 5, energy_wh))
    assert forecasts.budgets(5) == {site: round(energy_wh * 1000) for site, energy_wh in reports}


class Confirmation(RuleBasedStateMachine):
    """Forecasts, drains, jobs, losses and restarts in any order; then every switch is as it should be."""

    @initialize()
    def begin(self):
        self.forecasts = make()
        self.switches = {"a": SwitchModel(local={0, 1}), "b": SwitchModel(local={2})}
        self.now, self.epoch = 0, 5
        self.reported = {}
        self.spent = Counter()
        self.drained = set()

    def switch_of(self, site):
        return self.switches["b" if site == 2 else "a"]

    def deliver(self, operations):
        for switch, packet in operations:
            self.forecasts.answered(switch, self.switches[switch].operate(packet))

    @rule(site=st.integers(0, 2), ahead=st.integers(0, 1), energy=st.integers(0, 10**6))
    def report(self, site, ahead, energy):
        self.forecasts.reported(Forecast(site, self.epoch + ahead, energy / 1000))
        self.reported[site, self.epoch + ahead] = energy

    @rule(site=st.integers(0, 2), drained=st.booleans())
    def drain(self, site, drained):
        self.forecasts.drain(site, drained)
        (self.drained.add if drained else self.drained.discard)(site)

    @rule()
    def next_epoch(self):
        self.settle()
        self.epoch += 1

    @rule(arrives=st.lists(st.sampled_from(["yes", "operation lost", "answer lost"]), min_size=6, max_size=6))
    def tick(self, arrives):
        self.now += RETRANSMIT
        for fate, (switch, packet) in zip(arrives, due(self.forecasts, self.epoch, self.now), strict=False):
            if fate != "operation lost":
                answer = self.switches[switch].operate(packet)
                if fate == "yes":
                    self.forecasts.answered(switch, answer)

    @rule(site=st.integers(0, 2), energy=st.integers(1, 1000))
    def job(self, site, energy):
        self.settle()
        switch = self.switch_of(site)
        switch.charge(site, energy)
        if switch.sites[site].flags & SiteFlag.AUTHORITATIVE:
            self.spent[site, switch.sites[site].epoch] += energy
        self.deliver(self.forecasts.reads(self.switches))

    @rule(name=st.sampled_from("ab"), noticed=st.booleans())
    def restart(self, name, noticed):
        self.settle()
        self.switches[name].restart()
        if noticed:
            self.forecasts.connected(name)
        else:
            self.deliver(self.forecasts.reads(self.switches))

    @rule()
    def settle(self):
        self.now += RETRANSMIT
        self.deliver(due(self.forecasts, self.epoch, self.now))
        self.deliver(self.forecasts.reads(self.switches))
        for site in (0, 1, 2):
            state = self.switch_of(site).sites[site]
            assert bool(state.flags & 2) == (site in self.drained)
            if (site, self.epoch) in self.reported:
                assert (state.epoch, state.budget) == (self.epoch, self.reported[site, self.epoch])
            if state.flags & SiteFlag.AUTHORITATIVE:
                assert state.budget - state.headroom == self.spent[site, state.epoch]

    @invariant()
    def nothing_is_due_twice(self):
        if hasattr(self, "forecasts"):
            due(self.forecasts, self.epoch, self.now)
            assert due(self.forecasts, self.epoch, self.now) == []


TestConfirmation = Confirmation.TestCase
TestConfirmation.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
