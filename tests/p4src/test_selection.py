# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from tests.p4src.engine_switch import EngineSwitch
from tests.p4src.site_switch import (
    BATCH,
    CLIENTS,
    DNS,
    EXPIRY,
    GATEWAY,
    LATER,
    SITES,
    WEB,
    Event,
    announce,
    checksums_hold,
    connect,
    drain,
    forecast,
    heartbeat,
    ipv4,
    number,
    probe,
    to_service,
)
from tests.p4src.switch import Switch

from grasp.control.wire import CPU_PORT, Drop, Operation, PacketOut, SiteFlag


def test_a_connection_goes_to_the_site_with_the_most_headroom(switch: Switch) -> None:
    announce(switch, {10: 5000, 11: 9000, 200: 8000})
    ((port, frame),) = switch.send(1, ipv4(CLIENTS[0], WEB.address, to_service(40000)))
    assert port == SITES[11].port
    packet = Ether(frame)
    assert (packet[IP].dst, packet[TCP].dport) == (SITES[11].address, WEB.server_port)
    assert (packet[IP].src, packet[TCP].sport) == (CLIENTS[0].address, 40000)
    assert bytes(packet[TCP].payload) == b"green"
    assert (packet.src, packet.dst, packet[IP].ttl) == (GATEWAY, SITES[11].mac, 63)
    assert checksums_hold(frame)


def test_a_remote_winner_is_reached_over_the_trunk_its_probe_came_from(switch: Switch) -> None:
    announce(switch, {10: 5000})
    switch.send(7, probe(200, headroom=6000))
    ((port, frame),) = switch.send(1, ipv4(CLIENTS[0], WEB.address, to_service(40000)))
    assert port == 7
    packet = Ether(frame)
    assert (packet[IP].dst, packet.src, packet.dst) == (SITES[200].address, GATEWAY, GATEWAY)
    assert checksums_hold(frame)


def test_each_job_costs_its_services_energy(switch: Switch) -> None:
    announce(switch, {10: 100_000, 11: 0})
    assert [connect(switch, 40000 + n) for n in range(3)] == [10, 10, 10]
    assert connect(switch, 40000, service=BATCH) == 10
    assert connect(switch, 40000, service=DNS) == 10
    assert switch.read_site(10).headroom == 100_000 - 3 * WEB.energy - BATCH.energy - DNS.energy
    assert switch.counts("jobs") == {10: 5}


def test_equal_headrooms_go_to_the_lower_id_and_so_around(switch: Switch) -> None:
    announce(switch, dict.fromkeys((0, 1, 10, 11, 255), 0))
    assert [connect(switch, 40000 + n) for n in range(10)] == [0, 1, 10, 11, 255] * 2


def test_headroom_goes_below_zero(switch: Switch) -> None:
    announce(switch, {10: 500, 11: -10_000_000_000})
    assert [connect(switch, 40000 + n) for n in range(3)] == [10, 10, 10]
    assert switch.read_site(10).headroom == 500 - 3 * WEB.energy


def test_headroom_stops_at_the_end_of_its_range(switch: Switch) -> None:
    lowest = -(1 << 47)
    announce(switch, {0: lowest + 10})
    assert connect(switch, 40000) == 0
    assert switch.read_site(0).headroom == lowest
    assert connect(switch, 40001) == 0


def test_the_last_site_is_a_site_at_the_lowest_headroom_too(switch: Switch) -> None:
    announce(switch, {255: -(1 << 47)})
    assert connect(switch, 40000) == 255


def test_a_drained_site_gets_no_new_connection_and_keeps_its_own(switch: Switch) -> None:
    announce(switch, {10: 9000, 11: 1})
    assert connect(switch, 40000) == 10
    assert drain(switch, 10, True).flags & SiteFlag.DRAINED
    assert connect(switch, 40001) == 11
    assert connect(switch, 40000, "A") == 10
    heartbeat(switch, 10)  # does not bring it back
    forecast(switch, 10, 2, 10**6)  # nor does this
    assert connect(switch, 40002) == 11
    assert not drain(switch, 10, False).flags & SiteFlag.DRAINED
    assert connect(switch, 40003) == 10


def test_an_expired_winner_is_struck_out_and_the_next_one_chosen(switch: Switch) -> None:
    announce(switch, {10: 9000, 11: 8000, 200: 7000})
    switch.advance(EXPIRY // 2)
    heartbeat(switch, 11)
    switch.advance(EXPIRY // 2 + LATER)
    assert not switch.read_site(10).flags & SiteFlag.ALIVE
    assert connect(switch, 40000) == 11
    assert switch.count("events", Event.STRUCK_OUT) == 1
    heartbeat(switch, 10)
    assert connect(switch, 40001) == 10


def test_the_established_connection_of_an_expired_site_stays_there(switch: Switch) -> None:
    announce(switch, {10: 9000, 11: 0})
    assert connect(switch, 40000) == 10
    switch.advance(EXPIRY + LATER)
    heartbeat(switch, 11)
    assert connect(switch, 40000, "A") == 10
    assert connect(switch, 40001) == 11


def test_without_any_site_the_packet_is_dropped_and_counted(switch: Switch) -> None:
    assert connect(switch, 40000) is None
    assert switch.counts("drops") == {Drop.NO_SITE: 1}
    announce(switch, dict.fromkeys(SITES, 100))
    switch.advance(EXPIRY + LATER)
    assert connect(switch, 40000) is None
    assert switch.counts("drops") == {Drop.NO_SITE: 2}
    assert switch.count("events", Event.STRUCK_OUT) == len(SITES)
    heartbeat(switch, 10)
    assert connect(switch, 40000) == 10


def test_a_site_without_a_forecast_is_not_chosen(switch: Switch) -> None:
    heartbeat(switch, 10)
    assert connect(switch, 40000) is None
    forecast(switch, 10, 1, 0)
    assert connect(switch, 40000) == 10


def test_a_site_without_a_heartbeat_is_not_chosen(switch: Switch) -> None:
    forecast(switch, 10, 1, 5000)
    assert connect(switch, 40000) is None


def test_a_switch_that_has_just_started_has_heard_of_nobody(switch: Switch) -> None:
    """The clock starts at 0, which a register that was never written holds too."""
    if not isinstance(switch, EngineSwitch):
        pytest.skip("needs a clock that can be set")
    switch.now = 1
    out = switch.packet_out(PacketOut(Operation.SET_FORECAST, site=10, epoch=1, budget=5000))
    assert [port for port, _ in out] == [CPU_PORT]
    assert not switch.read_site(10).flags & SiteFlag.ALIVE
    assert connect(switch, 40000) is None
    heartbeat(switch, 10)
    assert connect(switch, 40000) == 10


def test_new_forecasts_move_new_connections_only(switch: Switch) -> None:
    announce(switch, {10: 9000, 11: 8000})
    assert connect(switch, 40000) == 10
    announce(switch, {10: 0, 11: 50_000}, epoch=2)
    assert connect(switch, 40000, "A") == 10
    assert connect(switch, 40001) == 11
    assert switch.read_site(10).headroom == 0
    assert switch.read_site(11).headroom == 50_000 - WEB.energy


def test_a_winner_whose_server_is_not_known_yet_is_struck_out(switch: Switch) -> None:
    """Its probes may be here before the controller's entry is, and must not swallow every job until then."""
    announce(switch, {10: 9000, 11: 8000})
    switch.delete("site_servers", (10,))
    assert connect(switch, 40000) == 11
    assert switch.counts("events")[Event.STRUCK_OUT] == 1
    assert switch.read_site(10).headroom == 9000
    switch.insert("site_servers", (10,), "set_server", number(SITES[10].address))
    heartbeat(switch, 10)
    assert connect(switch, 40001) == 10


def test_without_any_server_there_is_no_site(switch: Switch) -> None:
    announce(switch, {10: 9000})
    switch.delete("site_servers", (10,))
    assert connect(switch, 40000) is None
    assert switch.counts("drops") == {Drop.NO_SITE: 1}
    assert switch.read_site(10).headroom == 9000


def test_a_connection_whose_server_is_gone_does_not_move(switch: Switch) -> None:
    announce(switch, {10: 9000, 11: 0})
    assert connect(switch, 40000) == 10
    switch.delete("site_servers", (10,))
    assert connect(switch, 40000, "A") is None
    assert switch.counts("drops") == {Drop.NO_ROUTE: 1}
    switch.insert("site_servers", (10,), "set_server", number(SITES[10].address))
    assert connect(switch, 40000, "A") == 10
