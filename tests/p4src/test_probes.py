# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from tests.p4src.engine_switch import EngineSwitch
from tests.p4src.site_switch import (
    CLIENTS,
    EXPIRY,
    LATER,
    NO_ROLE,
    SITES,
    WEB,
    Event,
    Host,
    announce,
    connect,
    drain,
    dropped,
    forecast,
    grasp,
    heartbeat,
    heartbeat_frame,
    ipv4,
    number,
    probe,
    probe_fields,
    set_parameters,
    to_service,
)
from tests.p4src.switch import Switch

from grasp.control.wire import CPU_PORT, Drop, Operation, PacketOut, SiteFlag
from grasp.telemetry.protocol import FrameType

AGE_STEP = 1 << 15
"""us; AGE_LOG2 of p4src/constants.p4."""


def test_a_heartbeat_becomes_probes_on_every_trunk(switch: Switch) -> None:
    forecast(switch, 10, 5, 12_345)
    connected = heartbeat(switch, 10)
    assert sorted(port for port, _ in connected) == [6, 7]
    first = probe_fields(connected[0][1])
    assert first | {"sequence": 0} == {
        "site": 10, "flags": 0, "epoch": 5, "sequence": 0, "headroom": 12_345,
        "utilisation": 0, "hops": 0, "age": 0,
    }  # fmt: skip
    assert probe_fields(heartbeat(switch, 10)[0][1])["sequence"] == first["sequence"] + 1


def test_probes_carry_what_jobs_have_left(switch: Switch) -> None:
    announce(switch, {10: -500})
    assert connect(switch, 40000) == 10
    assert probe_fields(heartbeat(switch, 10)[0][1])["headroom"] == -500 - WEB.energy


def test_a_heartbeat_without_a_forecast_announces_nothing(switch: Switch) -> None:
    assert heartbeat(switch, 10) == []
    assert switch.read_site(10).flags == SiteFlag.ALIVE | SiteFlag.LOCAL


@pytest.mark.parametrize(
    ("port", "frame", "reason"),
    [
        *((port, heartbeat_frame(10), Drop.UNBOUND_SITE) for port in (1, 2, 4, 6)),
        (NO_ROLE, heartbeat_frame(10), Drop.UNKNOWN_PORT),
        (3, grasp(FrameType.HEARTBEAT, 10, SITES[11].mac), Drop.UNBOUND_SITE),  # another's address
        (3, grasp(FrameType.HEARTBEAT, 200, SITES[10].mac), Drop.UNBOUND_SITE),  # a site elsewhere
    ],
)
def test_a_heartbeat_that_is_not_bound_to_port_and_address_counts_for_nothing(
    switch: Switch, port: int, frame: bytes, reason: Drop
) -> None:
    forecast(switch, 10, 1, 5)
    assert dropped(switch, port, frame) == reason
    assert not switch.read_site(10).flags & SiteFlag.ALIVE
    assert not switch.read_site(200).flags & SiteFlag.ALIVE


def test_a_probe_is_recorded_and_passed_on_away_from_where_it_came(switch: Switch) -> None:
    ((port, frame),) = switch.send(6, probe(200, epoch=3, sequence=9, headroom=-77, cost=4, hops=2))
    assert port == 7
    assert probe_fields(frame) == {
        "site": 200, "flags": 0, "epoch": 3, "sequence": 9, "headroom": -77,
        "utilisation": 4, "hops": 3, "age": 0,
    }  # fmt: skip
    state = switch.read_site(200)
    assert (state.epoch, state.headroom, state.next_hop, state.flags) == (
        3,
        -77,
        6,
        SiteFlag.KNOWN | SiteFlag.ALIVE,
    )
    assert switch.count("events", Event.PROBE_ACCEPTED) == 1


@pytest.mark.parametrize(
    ("port", "reason"), [(1, Drop.SPOOFED), (3, Drop.SPOOFED), (NO_ROLE, Drop.UNKNOWN_PORT)]
)
def test_a_probe_that_does_not_come_from_a_switch_counts_for_nothing(
    switch: Switch, port: int, reason: Drop
) -> None:
    assert dropped(switch, port, probe(200, headroom=10**9)) == reason
    assert switch.read_site(200).flags == 0


@pytest.mark.parametrize(
    ("known", "news", "believed"),
    [
        ((1, 1), (1, 2), True),
        ((1, 5), (1, 5), False),
        ((1, 5), (1, 4), False),
        ((1, 5), (2, 1), True),
        ((2, 1), (1, 9), False),
        ((1, 2**32 - 1), (1, 0), True),  # sequence wraps
        ((1, 0), (1, 2**32 - 1), False),
        ((1, 2**31), (1, 0), False),  # half the circle away is not newer
        ((1, 0), (1, 2**31 - 1), True),
        ((2**32 - 1, 7), (0, 1), True),  # epoch wraps
        ((0, 7), (2**32 - 1, 9), False),
    ],
)
def test_news_is_believed_and_old_news_is_not(
    switch: Switch, known: tuple[int, int], news: tuple[int, int], believed: bool
) -> None:
    switch.send(6, probe(200, epoch=known[0], sequence=known[1], headroom=1))
    out = switch.send(7, probe(200, epoch=news[0], sequence=news[1], headroom=2))
    state = switch.read_site(200)
    assert (state.headroom, state.next_hop) == ((2, 7) if believed else (1, 6))
    assert [port for port, _ in out] == ([6] if believed else [])
    assert switch.count("events", Event.PROBE_REFUSED) == (not believed)


def test_equal_news_over_a_cheaper_path_moves_the_path(switch: Switch) -> None:
    switch.send(6, probe(200, cost=3, hops=1))
    for cost, hops, port in [(3, 1, 6), (3, 2, 6), (4, 0, 6), (3, 0, 7)]:
        switch.send(7, probe(200, cost=cost, hops=hops))
        assert switch.read_site(200).next_hop == port
    switch.send(6, probe(200, cost=2, hops=9))
    assert switch.read_site(200).next_hop == 6


def test_a_drop_of_headroom_spreads_like_a_rise(switch: Switch) -> None:
    for sequence, headroom in enumerate([100, 900, -5, 300], start=1):
        switch.send(6, probe(200, sequence=sequence, headroom=headroom))
        assert switch.read_site(200).headroom == headroom


def test_a_restarted_switch_is_believed_again_after_the_expiry(switch: Switch) -> None:
    switch.send(6, probe(200, epoch=7, sequence=5000, headroom=1))
    assert switch.send(6, probe(200, epoch=7, sequence=1, headroom=2)) == []
    switch.advance(EXPIRY + LATER)
    assert len(switch.send(6, probe(200, epoch=7, sequence=2, headroom=3))) == 1
    assert switch.read_site(200).headroom == 3
    assert len(switch.send(6, probe(200, epoch=7, sequence=3, headroom=4))) == 1


def test_an_echo_of_the_last_probe_does_not_revive_a_silent_site(switch: Switch) -> None:
    switch.send(6, probe(200, epoch=7, sequence=5, headroom=1, cost=4))
    switch.advance(EXPIRY + LATER)
    for cost in (4, 0):
        assert switch.send(7, probe(200, epoch=7, sequence=5, headroom=1, cost=cost)) == []
        assert not switch.read_site(200).flags & SiteFlag.ALIVE


def test_probes_of_attached_sites_are_refused(switch: Switch) -> None:
    announce(switch, {10: 100})
    assert switch.send(6, probe(10, epoch=99, sequence=99, headroom=10**9)) == []
    assert switch.read_site(10).headroom == 100
    switch.advance(EXPIRY + LATER)  # nor does one come back from the network when the site is dead
    assert switch.send(6, probe(10, epoch=100, sequence=1, headroom=10**9)) == []
    assert not switch.read_site(10).flags & SiteFlag.ALIVE


def test_a_probe_that_has_come_too_far_is_refused(switch: Switch) -> None:
    assert switch.send(6, probe(200, hops=255)) == []
    assert switch.read_site(200).flags == 0
    ((_, frame),) = switch.send(6, probe(200, hops=254))
    assert probe_fields(frame)["hops"] == 255


def test_a_drained_sites_probes_say_so(switch: Switch) -> None:
    announce(switch, {10: 100})
    out = switch.packet_out(PacketOut(Operation.SET_DRAIN, site=10, flags=1))
    drained = {port: probe_fields(frame)["flags"] for port, frame in out if port != CPU_PORT}
    assert drained == {6: SiteFlag.DRAINED, 7: SiteFlag.DRAINED}
    assert probe_fields(heartbeat(switch, 10)[0][1])["flags"] == SiteFlag.DRAINED
    announce(switch, {11: 0})
    switch.send(6, probe(200, headroom=10**9, flags=SiteFlag.DRAINED))
    assert connect(switch, 40000) == 11
    switch.send(6, probe(200, sequence=2, headroom=10**9))
    assert connect(switch, 40001) == 200


def test_a_forecast_floods_a_probe_at_once(switch: Switch) -> None:
    announce(switch, {10: 100})
    out = switch.packet_out(PacketOut(Operation.SET_FORECAST, site=10, epoch=2, budget=555))
    probes = {port: probe_fields(frame) for port, frame in out if port != CPU_PORT}
    assert {port: (p["epoch"], p["headroom"]) for port, p in probes.items()} == {6: (2, 555), 7: (2, 555)}


@pytest.mark.parametrize("operation", [Operation.SET_FORECAST, Operation.SET_DRAIN])
@pytest.mark.parametrize("known", [False, True])
def test_no_probe_revives_a_silent_site(switch: Switch, operation: Operation, known: bool) -> None:
    """Others would take a probe for a sign of life, and send it jobs for another expiry."""
    if known:
        announce(switch, {10: 100})
        switch.advance(EXPIRY + LATER)
    out = switch.packet_out(PacketOut(operation, site=10, epoch=2, budget=555))
    assert [port for port, _ in out] == [CPU_PORT]


def test_a_probe_between_heartbeats_says_how_old_the_last_one_is(switch: Switch) -> None:
    announce(switch, {10: 100})
    switch.advance(EXPIRY // 2)
    for operation in (Operation.SET_FORECAST, Operation.SET_DRAIN):
        out = switch.packet_out(PacketOut(operation, site=10, epoch=2, budget=555))
        (age,) = {probe_fields(frame)["age"] for port, frame in out if port != CPU_PORT}
        silence = switch.read_site(10).heard
        assert EXPIRY // 2 * switch.pace <= age * AGE_STEP < silence + AGE_STEP
    assert probe_fields(heartbeat(switch, 10)[0][1])["age"] == 0


def test_a_probe_is_as_fresh_as_the_heartbeat_behind_it(switch: Switch) -> None:
    announce(switch, {11: 100})
    age = EXPIRY * switch.pace // 2 // AGE_STEP
    ((_, frame),) = switch.send(6, probe(200, headroom=10**9, age=age))
    assert probe_fields(frame)["age"] == age
    assert switch.read_site(200).heard >= age * AGE_STEP
    assert connect(switch, 40000) == 200
    switch.advance(EXPIRY // 2 + LATER)
    heartbeat(switch, 11)
    assert connect(switch, 40001) == 11
    assert not switch.read_site(200).flags & SiteFlag.ALIVE


def test_a_heartbeat_too_old_for_a_probe_to_tell_sends_none(switch: Switch) -> None:
    if switch.real_time:
        pytest.skip("takes nine seconds")
    set_parameters(switch, expiry=60_000_000)
    announce(switch, {10: 100})
    operation = PacketOut(Operation.SET_DRAIN, site=10, flags=1)
    switch.advance(255 * AGE_STEP)
    assert {probe_fields(f)["age"] for port, f in switch.packet_out(operation) if port != CPU_PORT} == {255}
    switch.advance(1)
    assert [port for port, _ in switch.packet_out(operation)] == [CPU_PORT]
    assert probe_fields(heartbeat(switch, 10)[0][1])["flags"] == SiteFlag.DRAINED


def test_what_was_set_while_a_site_was_silent_travels_with_its_next_heartbeat(switch: Switch) -> None:
    forecast(switch, 10, 2, 555)
    drain(switch, 10, True)
    for _, frame in heartbeat(switch, 10):
        fields = probe_fields(frame)
        assert (fields["epoch"], fields["headroom"], fields["flags"]) == (2, 555, SiteFlag.DRAINED)


def test_a_site_without_a_forecast_is_not_announced_by_a_drain(switch: Switch) -> None:
    heartbeat(switch, 10)
    out = switch.packet_out(PacketOut(Operation.SET_DRAIN, site=10, flags=0))
    assert [port for port, _ in out] == [CPU_PORT]


def test_a_site_that_moves_here_goes_on_from_what_its_probes_said(switch: Switch) -> None:
    switch.send(6, probe(200, epoch=5, sequence=1000, headroom=700))
    host = Host(SITES[200].address, SITES[200].mac, 3)
    switch.insert("local_sites", (200,), "deliver_to_site", host.port, number(host.mac))
    out = switch.send(3, heartbeat_frame(200))
    fields = probe_fields(out[0][1])
    assert (fields["epoch"], fields["sequence"], fields["headroom"], fields["hops"]) == (5, 1001, 700, 0)
    # Its forecast is not known here, though the epoch is: what was spent before is the controller's to say.
    assert forecast(switch, 200, 5, 900, spent=300).headroom == 600
    assert forecast(switch, 200, 5, 950, spent=300).headroom == 650


def test_a_site_that_moves_away_is_believed_from_there(switch: Switch) -> None:
    announce(switch, {10: 100}, epoch=5)
    sequence = probe_fields(heartbeat(switch, 10)[0][1])["sequence"]
    switch.delete("local_sites", (10,))
    assert len(switch.send(6, probe(10, epoch=5, sequence=sequence + 1, headroom=90))) == 1
    state = switch.read_site(10)
    assert (state.headroom, state.next_hop) == (90, 6)
    assert state.flags == SiteFlag.KNOWN | SiteFlag.ALIVE


def test_a_link_is_as_busy_for_a_probe_that_waited(switch: Switch) -> None:
    """Frames are stamped as they come in and as they leave: a queue puts the stamps out of order."""
    if not isinstance(switch, EngineSwitch):
        pytest.skip("needs a clock that can be set")
    announce(switch, {200: 10**9})
    assert connect(switch, 40000) == 200
    switch.pour(1, [ipv4(CLIENTS[0], WEB.address, to_service(40000, "A") / bytes(8000))] * 20)
    switch.now -= 1
    ((_, frame),) = switch.send(6, probe(200, sequence=2, headroom=10**9))
    assert probe_fields(frame)["utilisation"] > 0


def test_busy_links_make_paths_dearer(switch: Switch) -> None:
    """At a constant rate the estimate tends to rate x tau, tau = 2^17 us (HULA's formula)."""
    announce(switch, {10: 0})
    switch.send(6, probe(200, headroom=10**9))
    assert connect(switch, 40000) == 200
    data = ipv4(CLIENTS[0], WEB.address, to_service(40000, "A") / bytes(8000))
    if switch.real_time:
        switch.pour(1, [data] * 50)
        ((_, frame),) = switch.send(6, probe(200, sequence=3, headroom=10**9))
        assert 0 < probe_fields(frame)["utilisation"] <= 50 * len(data) >> 14
        return
    estimate, interval = 0.0, 1000
    for sequence in range(2, 1000):
        switch.advance(interval)
        estimate = estimate * (1 - interval / 2**17) + len(data)
        switch.send(1, data)
        if sequence % 100 == 0:
            ((_, frame),) = switch.send(6, probe(200, sequence=sequence, headroom=10**9))
            assert probe_fields(frame)["utilisation"] == pytest.approx(estimate / 2**14, abs=1)
    assert estimate == pytest.approx(len(data) * 2**17 / interval, rel=0.01)
    switch.advance(2**17)  # and an idle one is soon forgotten
    ((_, frame),) = switch.send(6, probe(200, sequence=1000, headroom=10**9))
    assert probe_fields(frame)["utilisation"] == 0
