# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from scapy.layers.l2 import Ether

from tests.p4src.site_switch import (
    CLIENTS, EXPIRY, GATEWAY, GRASP, HEARTBEAT, NO_ROLE, PROBE, PROBE_ACCEPTED, PROBE_REFUSED, SITES, SPOOFED,
    UNBOUND_SITE, UNKNOWN_PORT, WEB, announce, connect, forecast, from_client, heartbeat, probe, tcp,
)  # fmt: skip
from tests.p4src.switch import ALIVE, DRAINED, KNOWN, LOCAL, SET_DRAIN, PacketOut, Switch, signed48


def fields(frame: bytes) -> dict[str, int]:
    """A probe's fields, read from the bytes that p4src/headers.p4 gives them."""
    assert frame[12:15] == bytes([0x88, 0xB5, 1])
    assert frame[15] == PROBE
    ends = {"site": (16, 17), "flags": (17, 18), "epoch": (18, 22), "sequence": (22, 26), "headroom": (26, 32)}
    ends |= {"utilisation": (32, 34), "hops": (34, 35)}
    values = {name: int.from_bytes(frame[start:end], "big") for name, (start, end) in ends.items()}
    return values | {"headroom": signed48(values["headroom"])}


def test_a_heartbeat_becomes_probes_on_every_trunk(switch: Switch) -> None:
    forecast(switch, 10, 5, 12_345)
    connected = heartbeat(switch, 10)
    assert sorted(port for port, _ in connected) == [6, 7]
    first = fields(connected[0][1])
    assert first | {"sequence": 0} == {
        "site": 10, "flags": 0, "epoch": 5, "sequence": 0, "headroom": 12_345, "utilisation": 0, "hops": 0,
    }  # fmt: skip
    assert fields(heartbeat(switch, 10)[0][1])["sequence"] == first["sequence"] + 1


def test_probes_carry_what_jobs_have_left(switch: Switch) -> None:
    announce(switch, {10: -500})
    assert connect(switch, 40000) == 10
    assert fields(heartbeat(switch, 10)[0][1])["headroom"] == -500 - WEB.energy


def test_a_heartbeat_without_a_forecast_announces_nothing(switch: Switch) -> None:
    assert heartbeat(switch, 10) == []
    assert switch.read_site(10).flags == ALIVE | LOCAL


@pytest.mark.parametrize("port", [1, 2, 4, 6, NO_ROLE])
def test_a_heartbeat_from_another_port_counts_for_nothing(switch: Switch, port: int) -> None:
    forecast(switch, 10, 1, 5)
    frame = Ether(src=SITES[10].mac, dst=GATEWAY, type=GRASP) / bytes([1, HEARTBEAT, 10, 0]) / bytes(42)
    assert switch.send(port, bytes(frame)) == []
    assert switch.count("drops", UNKNOWN_PORT if port == NO_ROLE else UNBOUND_SITE) == 1
    assert not switch.read_site(10).flags & ALIVE


def test_a_heartbeat_from_another_address_counts_for_nothing(switch: Switch) -> None:
    forecast(switch, 10, 1, 5)
    frame = Ether(src=SITES[11].mac, dst=GATEWAY, type=GRASP) / bytes([1, HEARTBEAT, 10, 0]) / bytes(42)
    assert switch.send(3, bytes(frame)) == []
    assert switch.count("drops", UNBOUND_SITE) == 1


def test_a_heartbeat_of_a_remote_site_counts_for_nothing(switch: Switch) -> None:
    frame = Ether(src=SITES[10].mac, dst=GATEWAY, type=GRASP) / bytes([1, HEARTBEAT, 200, 0]) / bytes(42)
    assert switch.send(3, bytes(frame)) == []
    assert switch.count("drops", UNBOUND_SITE) == 1


def test_a_probe_is_recorded_and_passed_on_away_from_where_it_came(switch: Switch) -> None:
    ((port, frame),) = switch.send(6, probe(200, epoch=3, sequence=9, headroom=-77, cost=4, hops=2))
    assert port == 7
    assert fields(frame) == {
        "site": 200, "flags": 0, "epoch": 3, "sequence": 9, "headroom": -77, "utilisation": 4, "hops": 3,
    }  # fmt: skip
    state = switch.read_site(200)
    assert (state.epoch, state.headroom, state.next_hop, state.flags) == (3, -77, 6, KNOWN | ALIVE)
    assert switch.count("events", PROBE_ACCEPTED) == 1


def test_a_probe_from_an_edge_port_is_spoofed(switch: Switch) -> None:
    for port in (1, 3):
        assert switch.send(port, probe(200, headroom=10**9)) == []
    assert switch.send(NO_ROLE, probe(200, headroom=10**9)) == []
    assert switch.count("drops", SPOOFED) == 2
    assert switch.count("drops", UNKNOWN_PORT) == 1
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
    assert switch.count("events", PROBE_REFUSED) == (not believed)


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
    switch.advance(EXPIRY + 50_000)
    assert len(switch.send(6, probe(200, epoch=7, sequence=2, headroom=3))) == 1
    assert switch.read_site(200).headroom == 3
    assert len(switch.send(6, probe(200, epoch=7, sequence=3, headroom=4))) == 1


def test_an_echo_of_the_last_probe_does_not_revive_a_silent_site(switch: Switch) -> None:
    frame = probe(200, epoch=7, sequence=5, headroom=1)
    switch.send(6, frame)
    switch.advance(EXPIRY + 50_000)
    assert switch.send(7, frame) == []
    assert not switch.read_site(200).flags & ALIVE


def test_probes_of_attached_sites_are_refused(switch: Switch) -> None:
    announce(switch, {10: 100})
    assert switch.send(6, probe(10, epoch=99, sequence=99, headroom=10**9)) == []
    assert switch.read_site(10).headroom == 100
    switch.advance(EXPIRY + 50_000)  # nor does one come back from the network when the site is dead
    assert switch.send(6, probe(10, epoch=100, sequence=1, headroom=10**9)) == []
    assert not switch.read_site(10).flags & ALIVE


def test_a_drained_sites_probes_say_so(switch: Switch) -> None:
    announce(switch, {10: 100})
    out = switch.packet_out(PacketOut(SET_DRAIN, site=10, flags=1))
    assert {port: fields(frame)["flags"] for port, frame in out if port != 255} == {6: DRAINED, 7: DRAINED}
    assert fields(heartbeat(switch, 10)[0][1])["flags"] == DRAINED
    announce(switch, {11: 0})
    switch.send(6, probe(200, headroom=10**9, flags=DRAINED))
    assert connect(switch, 40000) == 11
    switch.send(6, probe(200, sequence=2, headroom=10**9))
    assert connect(switch, 40001) == 200


def test_a_forecast_floods_a_probe_at_once(switch: Switch) -> None:
    announce(switch, {10: 100})
    out = switch.packet_out(PacketOut(3, site=10, epoch=2, budget=555, sequence=1))
    assert {port: fields(frame)["headroom"] for port, frame in out if port != 255} == {6: 555, 7: 555}


def test_busy_links_make_paths_dearer(switch: Switch) -> None:
    """At a constant rate the estimate tends to rate x tau, tau = 2^17 us (HULA's formula)."""
    announce(switch, {10: 0})
    switch.send(6, probe(200, headroom=10**9))
    assert connect(switch, 40000) == 200
    data = from_client(CLIENTS[0], tcp(40000, "A") / bytes(1200))
    estimate, interval = 0.0, 1000
    for _ in range(400):
        switch.advance(interval)
        estimate = estimate * (1 - interval / 2**17) + len(data)
        switch.send(1, data)
        if switch.read_site(200).heard > EXPIRY // 2:
            switch.send(6, probe(200, sequence=2, headroom=10**9))
    ((_, frame),) = switch.send(6, probe(200, sequence=3, headroom=10**9))
    if not switch.real_time:
        assert fields(frame)["utilisation"] == pytest.approx(estimate / 2**14, abs=1)
    assert fields(frame)["utilisation"] > 0
