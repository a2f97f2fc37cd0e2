# SPDX-License-Identifier: Apache-2.0
import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample import EPOCH, NOW, PLACES, SECOND, Agent, Random, example, site

from grasp.control.registry import Accepted, Refused, Registry, Session
from grasp.control.topology import Port
from grasp.telemetry import protocol
from grasp.telemetry.protocol import Frame, FrameType, Parameter, Refusal, Report, enrolment_key

CONFIG = example()
HOMESTEAD = PLACES[1]


@pytest.fixture
def registry():
    return Registry(CONFIG, Random())


@pytest.fixture
def agent(registry):
    """Homestead's agent, registered."""
    agent = Agent.of(1)
    accepted(registry.register(agent.register(NOW), HOMESTEAD, NOW), agent)
    return agent


def accepted(result, agent):
    assert isinstance(result, Accepted), result
    if result.reply.type == FrameType.REGISTERED:
        agent.registered(result.reply)
    return result


def snapshot(registry, now=NOW):
    """Everything that a message can change, apart from the count of refusals."""
    alive = {number for number in PLACES if registry.alive(number, now)}
    return dict(registry.sessions), registry.bindings, alive


# Registration


def test_a_site_learns_all_that_it_needs_to_report(registry):
    agent = Agent.of(1)
    result = registry.register(agent.register(NOW), HOMESTEAD, NOW)
    assert isinstance(result, Accepted)
    assert result.reply.destination == agent.site.mac
    answer = agent.registered(result.reply)
    assert answer.site == 1
    assert answer.parameters == (Parameter("green_energy", "Wh"), Parameter("load", "jobs/s"))
    assert (answer.interval, answer.heartbeat) == (60 * SECOND, 200_000)
    assert (answer.clock, answer.time, answer.sequence) == (CONFIG.epochs, NOW, 0)
    assert registry.bindings == {1: HOMESTEAD}
    assert registry.key(result.session) == agent.key


def test_the_same_register_frame_gets_the_same_answer(registry):
    agent = Agent.of(1)
    frame = agent.register(NOW)
    first = accepted(registry.register(frame, HOMESTEAD, NOW), agent)
    key = agent.key
    again = accepted(registry.register(frame, HOMESTEAD, NOW + SECOND), agent)
    assert again.session == first.session
    assert agent.key == key


def test_a_restarted_agent_gets_a_new_key_and_goes_on_above_its_sequence(registry, agent):
    accepted(registry.report(agent.report(NOW), HOMESTEAD, NOW), agent)
    accepted(registry.report(agent.report(NOW), HOMESTEAD, NOW), agent)
    old = agent.key
    later = NOW + SECOND
    restarted = Agent.of(1)
    restarted.nonce = b"r" * 16
    answer = restarted.registered(
        accepted(registry.register(restarted.register(later, requested=1), HOMESTEAD, later), restarted).reply
    )
    assert answer.sequence == 2
    assert restarted.key != old
    accepted(registry.report(restarted.report(later), HOMESTEAD, later), restarted)
    assert registry.sessions[1].sequence == 3


def test_a_site_moves_only_after_it_was_silent(registry, agent):
    elsewhere = Port("california", 4)
    limit = 3 * 60 * SECOND  # three reports
    early = registry.register(agent.register(NOW + limit), elsewhere, NOW + limit)
    assert isinstance(early, Refused)
    assert early.reason is Refusal.ALIVE
    assert registry.bindings == {1: HOMESTEAD}
    late = NOW + limit + 1
    accepted(registry.register(agent.register(late), elsewhere, late), agent)
    assert registry.bindings == {1: elsewhere}


def test_a_site_whose_switch_hears_no_heartbeat_may_move_sooner(registry, agent):
    registry.observed(1, False, NOW)
    assert registry.alive(1, NOW + 500_000), "not before the expiry"
    assert not registry.alive(1, NOW + 500_001)
    registry.observed(1, True, NOW + SECOND)
    assert registry.alive(1, NOW + 60 * SECOND)


def test_sessions_come_back_from_a_store(registry, agent):
    accepted(registry.report(agent.report(NOW), HOMESTEAD, NOW), agent)
    later = NOW + 3600 * SECOND
    restarted = Registry(CONFIG, Random(), registry.sessions.values(), later)
    assert restarted.bindings == {1: HOMESTEAD}
    assert restarted.alive(1, later), "it may have been alive all the time"
    accepted(restarted.report(agent.report(later, epoch=EPOCH + 1), HOMESTEAD, later), agent)


@pytest.mark.parametrize(
    "change",
    [
        {"site": 9},
        {"name": "lompoc"},
        {"at": Port("texas", 4)},
        {"at": Port("florida", 9)},
        {"site": 0, "name": "elmira"},  # pinned to another switch
    ],
)
def test_stored_sessions_that_the_configuration_no_longer_allows_are_dropped(change):
    session = Session(1, "homestead", HOMESTEAD, bytes(16), bytes(16), NOW)
    assert Registry(CONFIG, Random(), [session]).sessions == {1: session}
    assert Registry(CONFIG, Random(), [replace(session, **change)]).sessions == {}


def test_a_changed_secret_ends_the_session(registry, agent):
    sites = tuple(
        replace(site, secret=b"another secret!!") if site.id == 1 else site for site in CONFIG.sites
    )
    restarted = Registry(replace(CONFIG, sites=sites), Random(), registry.sessions.values())
    result = restarted.report(agent.report(NOW), HOMESTEAD, NOW)
    assert isinstance(result, Refused)
    assert result.reason is Refusal.AUTHENTICATION


# Reports


def test_a_report_is_weighted_and_answered(registry, agent):
    frame = agent.report(NOW, epoch=EPOCH + 1, green_energy=1234.5, load=7.0)
    result = accepted(registry.report(frame, HOMESTEAD, NOW), agent)
    assert result.energy_wh == 1234.5
    assert result.report == Report(1, 1, EPOCH + 1, NOW, {"green_energy": 1234.5, "load": 7.0})
    answer = agent.reported(result.reply)
    assert (answer.site, answer.sequence, answer.status, answer.time) == (1, 1, Refusal.NONE, NOW)
    assert result.reply.destination == agent.site.mac


def test_several_parameters_add_up_by_their_weights():
    config = example(("load = 0.0", "load = -10.0"), ("maximum = 100_000.0", "minimum = -5"))
    registry, agent = Registry(config, Random()), Agent.of(1)
    accepted(registry.register(agent.register(NOW), HOMESTEAD, NOW), agent)

    def energy(**values):
        return accepted(registry.report(agent.report(NOW, **values), HOMESTEAD, NOW), agent).energy_wh

    assert energy(green_energy=100.0, load=3.0) == 70.0
    assert energy(green_energy=100.0, load=-3.0) == 130.0
    assert energy(green_energy=100.0, load=30.0) == 0.0


def test_reports_go_on_across_the_wrap_of_their_sequence():
    session = Session(1, "homestead", HOMESTEAD, b"a" * 16, b"c" * 16, NOW - SECOND, sequence=2**32 - 2)
    registry, agent = Registry(CONFIG, Random(), [session]), Agent.of(1)
    agent.key, agent.sequence = registry.key(session), session.sequence
    for expected in (2**32 - 1, 0, 1):
        accepted(registry.report(agent.report(NOW), HOMESTEAD, NOW), agent)
        assert registry.sessions[1].sequence == expected


# What is refused: counted under its reason, and without any effect.


def as_site(number):
    """Sign as another site would, whatever the frame says."""
    return enrolment_key(site(number).secret)


def from_lompoc(frame):
    return replace(frame, source=site(2).mac)


REGISTERS = {
    "unenrolled": (Refusal.UNENROLLED, lambda a: a.register(NOW, name="boston"), HOMESTEAD, 0),
    "key of another site": (
        Refusal.AUTHENTICATION,
        lambda a: protocol.seal(as_site(2), replace(a.register(NOW), body=a.register(NOW).body[:-32])),
        HOMESTEAD,
        0,
    ),
    "changed on its way": (
        Refusal.AUTHENTICATION,
        lambda a: replace(a.register(NOW), site=1, flags=protocol.REQUESTED),
        HOMESTEAD,
        0,
    ),
    "hardware address": (Refusal.HARDWARE_ADDRESS, lambda a: from_lompoc(a.register(NOW)), HOMESTEAD, 0),
    "server address": (Refusal.SERVER_ADDRESS, lambda a: a.register(NOW, address=1), HOMESTEAD, 0),
    "id of another site": (Refusal.SITE_ID, lambda a: a.register(NOW, requested=2), HOMESTEAD, 0),
    "id of nobody": (Refusal.SITE_ID, lambda a: a.register(NOW, requested=77), HOMESTEAD, 0),
    "clock behind": (Refusal.TIME, lambda a: a.register(NOW - 30 * SECOND - 1), HOMESTEAD, 0),
    "clock ahead": (Refusal.TIME, lambda a: a.register(NOW + 30 * SECOND + 1), HOMESTEAD, 0),
    "port not in use": (Refusal.PORT, lambda a: a.register(NOW), Port("florida", 9), 0),
    "cut short": (Refusal.MALFORMED, lambda a: replace(a.register(NOW), body=bytes(40)), HOMESTEAD, 0),
    "not newer": (Refusal.REPLAY, lambda a: a.register(NOW), HOMESTEAD, 1),
    "older": (Refusal.REPLAY, lambda a: a.register(NOW - SECOND), HOMESTEAD, 1),
    "alive elsewhere": (Refusal.ALIVE, lambda a: a.register(NOW + 1), Port("florida", 3), 1),
}  # fmt: skip


@pytest.mark.parametrize("case", REGISTERS)
def test_registrations_that_are_refused(registry, case):
    reason, make, at, registered = REGISTERS[case]
    agent = Agent.of(1)
    if registered:
        accepted(registry.register(agent.register(NOW), HOMESTEAD, NOW), agent)
    before = snapshot(registry)
    result = registry.register(make(agent), at, NOW)
    assert isinstance(result, Refused)
    assert (result.reason, result.reply) == (reason, None)
    assert registry.refusals == Counter({reason: 1})
    assert snapshot(registry) == before


def test_a_site_that_is_pinned_registers_nowhere_else(registry):
    agent = Agent.of(0)
    result = registry.register(agent.register(NOW), Port("new-york", 2), NOW)
    assert isinstance(result, Refused)
    assert result.reason is Refusal.PORT
    accepted(registry.register(agent.register(NOW), PLACES[0], NOW), agent)


def test_a_recorded_registration_is_refused_at_another_port_and_after_a_newer_one(registry):
    agent = Agent.of(1)
    recorded = agent.register(NOW)
    accepted(registry.register(recorded, HOMESTEAD, NOW), agent)
    silent = NOW + 3 * SECOND
    registry.observed(1, False, NOW)
    elsewhere = registry.register(recorded, Port("california", 4), silent)
    assert isinstance(elsewhere, Refused)
    assert elsewhere.reason is Refusal.REPLAY
    accepted(registry.register(agent.register(silent), HOMESTEAD, silent), agent)
    before = snapshot(registry, silent)
    again = registry.register(recorded, HOMESTEAD, silent)
    assert isinstance(again, Refused)
    assert again.reason is Refusal.REPLAY
    assert snapshot(registry, silent) == before


def test_a_second_machine_with_the_secret_of_a_site_that_is_alive_is_refused(registry, agent):
    second = Agent.of(1)
    second.nonce = b"2" * 16
    for at in (Port("california", 4), Port("florida", 3)):
        result = registry.register(second.register(NOW + SECOND), at, NOW + SECOND)
        assert isinstance(result, Refused)
        assert result.reason is Refusal.ALIVE
    accepted(registry.report(agent.report(NOW + SECOND), HOMESTEAD, NOW + SECOND), agent)


def signed(agent, *, key=None, **changes):
    fields = {"site": 1, "sequence": 1, "epoch": EPOCH, "time": NOW, "values": agent.values} | changes
    return Report(**fields).seal(key or agent.key, agent.site.mac)


# Reason, frame, place, and whether an authentic and fresh report is told why.
REPORTS = {
    "not enrolled": (Refusal.UNENROLLED, lambda a: signed(a, site=200), HOMESTEAD, False),
    "not registered": (Refusal.UNREGISTERED, lambda a: signed(a, site=2), HOMESTEAD, False),
    "another key": (Refusal.AUTHENTICATION, lambda a: signed(a, key=bytes(32)), HOMESTEAD, False),
    "enrolment key": (Refusal.AUTHENTICATION, lambda a: signed(a, key=as_site(1)), HOMESTEAD, False),
    "changed on its way": (Refusal.AUTHENTICATION, lambda a: replace(signed(a), flags=1), HOMESTEAD, False),
    "hardware address": (Refusal.HARDWARE_ADDRESS, lambda a: from_lompoc(signed(a)), HOMESTEAD, False),
    "another port": (Refusal.PORT, lambda a: signed(a), Port("florida", 3), False),
    "another switch": (Refusal.PORT, lambda a: signed(a), Port("california", 4), False),
    "same sequence": (Refusal.REPLAY, lambda a: signed(a, sequence=0), HOMESTEAD, False),
    "sequence before": (Refusal.REPLAY, lambda a: signed(a, sequence=2**32 - 1), HOMESTEAD, False),
    "clock behind": (Refusal.TIME, lambda a: signed(a, time=NOW - 31 * SECOND), HOMESTEAD, False),
    "clock ahead": (Refusal.TIME, lambda a: signed(a, time=NOW + 31 * SECOND), HOMESTEAD, False),
    "epoch before": (Refusal.EPOCH, lambda a: signed(a, epoch=EPOCH - 1), HOMESTEAD, True),
    "epoch after the next": (Refusal.EPOCH, lambda a: signed(a, epoch=EPOCH + 2), HOMESTEAD, True),
    "unknown parameter": (
        Refusal.UNKNOWN_PARAMETER, lambda a: signed(a, values=a.values | {"wind": 1.0}), HOMESTEAD, True,
    ),
    "missing parameter": (
        Refusal.MISSING_PARAMETER, lambda a: signed(a, values={"load": 1.0}), HOMESTEAD, True,
    ),
    **{
        f"{value}": (
            reason,
            lambda a, value=value: signed(a, values=a.values | {"green_energy": value}),
            HOMESTEAD,
            True,
        )
        for value, reason in [
            (math.nan, Refusal.NOT_A_NUMBER),
            (math.inf, Refusal.INFINITE),
            (-math.inf, Refusal.INFINITE),
            (-1e-9, Refusal.NEGATIVE),
            (-(2.0**60), Refusal.NEGATIVE),
            (500_000.1, Refusal.OUT_OF_RANGE),
            (2**46 / 1000, Refusal.TOO_LARGE),
            (1e300, Refusal.TOO_LARGE),
        ]
    },
}  # fmt: skip


@pytest.mark.parametrize("case", REPORTS)
def test_reports_that_are_refused(registry, agent, case):
    reason, make, at, is_told = REPORTS[case]
    before = snapshot(registry)
    result = registry.report(make(agent), at, NOW)
    assert isinstance(result, Refused)
    assert result.reason is reason
    assert registry.refusals == Counter({reason: 1})
    assert snapshot(registry) == before
    if is_told:
        assert agent.reported(result.reply).status is reason
    else:
        assert result.reply is None
    accepted(registry.report(signed(agent), HOMESTEAD, NOW), agent)


def test_every_reason_to_refuse_is_shown_here():
    shown = {reason for reason, *_ in (*REGISTERS.values(), *REPORTS.values())}
    assert shown == set(Refusal) - {Refusal.NONE}


def test_a_replayed_report_is_refused(registry, agent):
    frame = agent.report(NOW)
    accepted(registry.report(frame, HOMESTEAD, NOW), agent)
    before = snapshot(registry)
    for _ in range(2):
        result = registry.report(frame, HOMESTEAD, NOW)
        assert isinstance(result, Refused)
        assert result.reason is Refusal.REPLAY
    assert registry.refusals == Counter({Refusal.REPLAY: 2})
    assert snapshot(registry) == before


def test_energy_that_only_its_weight_makes_too_large_is_refused():
    config = example(("maximum = 500_000.0", "maximum = 1e9"), ("green_energy = 1.0", "green_energy = 1e6"))
    registry, agent = Registry(config, Random()), Agent.of(1)
    accepted(registry.register(agent.register(NOW), HOMESTEAD, NOW), agent)
    result = registry.report(agent.report(NOW, green_energy=1e9), HOMESTEAD, NOW)
    assert isinstance(result, Refused)
    assert result.reason is Refusal.TOO_LARGE


@given(st.binary(max_size=120), st.sampled_from([FrameType.REGISTER, FrameType.REPORT]), st.integers(0, 3))
def test_random_bodies_change_nothing(body, kind, number):
    registry, agent = Registry(CONFIG, Random()), Agent.of(1)
    accepted(registry.register(agent.register(NOW), HOMESTEAD, NOW), agent)
    before = snapshot(registry)
    judge = registry.register if kind is FrameType.REGISTER else registry.report
    result = judge(Frame(protocol.CONTROLLER_MAC, agent.site.mac, kind, number, 0, body), HOMESTEAD, NOW)
    assert isinstance(result, Refused)
    assert snapshot(registry) == before
    assert registry.refusals.total() == 1
