# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from tests.p4src.site_switch import (
    CLIENTS,
    DNS,
    FAR_CLIENT,
    LATER,
    LINGER,
    SITES,
    TIMEOUT,
    WEB,
    Event,
    announce,
    answer,
    arriving,
    checksums_hold,
    connect,
    prefer,
)
from tests.p4src.switch import Switch

from grasp.control.wire import Drop


def test_a_reply_comes_from_the_service_address(switch: Switch) -> None:
    prefer(switch, 10, 1)
    connect(switch, 40000)
    ((port, frame),) = answer(switch, 10, 40000, "SA")
    packet = Ether(frame)
    assert port == CLIENTS[0].port
    assert (packet[IP].src, packet[TCP].sport, packet.dst) == (WEB.address, WEB.port, CLIENTS[0].mac)
    assert checksums_hold(frame)


def test_a_repeated_syn_stays_and_is_charged_once(switch: Switch) -> None:
    prefer(switch, 10, 1)
    assert [connect(switch, 40000) for _ in range(3)] == [10] * 3
    assert switch.read_site(10).headroom == 10**9 - WEB.energy
    assert switch.count("jobs", 10) == 1


def test_a_packet_without_a_connection_is_dropped(switch: Switch) -> None:
    prefer(switch, 10, 1)
    for flags in ("A", "PA", "FA", "R", "SA", "SF", "SR", ""):
        assert connect(switch, 40000, flags) is None
    assert switch.count("drops", Drop.NO_CONNECTION) == 8
    assert switch.count("jobs", 10) == 0


def test_both_fins_end_the_connection_after_the_last_acknowledgement(switch: Switch) -> None:
    prefer(switch, 10, 1)
    connect(switch, 40000)
    prefer(switch, 11, 2)
    assert connect(switch, 40000, "FA") == 10
    assert connect(switch, 40000, "A") == 10  # half closed: the server may go on
    answer(switch, 10, 40000, "FA")
    assert connect(switch, 40000, "A") == 10  # the last acknowledgement
    assert connect(switch, 40000, "S") == 11  # the same ports again: a new connection
    assert connect(switch, 40000, "A") == 11
    assert switch.count("jobs", 11) == 1


def test_one_fin_is_not_enough(switch: Switch) -> None:
    prefer(switch, 10, 1)
    connect(switch, 40000)
    prefer(switch, 11, 2)
    assert connect(switch, 40000, "FA") == 10
    assert connect(switch, 40000, "FA") == 10  # repeated, not the other side's
    switch.advance(LINGER + LATER)
    assert connect(switch, 40000, "A") == 10


@pytest.mark.parametrize("sender", ["client", "server"])
def test_a_reset_ends_the_connection(switch: Switch, sender: str) -> None:
    prefer(switch, 10, 1)
    connect(switch, 40000)
    prefer(switch, 11, 2)
    if sender == "client":
        assert connect(switch, 40000, "R") == 10
    else:
        assert len(answer(switch, 10, 40000, "R")) == 1
    assert connect(switch, 40000) == 11


def test_after_the_linger_a_closed_connection_is_forgotten(switch: Switch) -> None:
    prefer(switch, 10, 1)
    connect(switch, 40000)
    connect(switch, 40000, "R")
    switch.advance(LINGER + LATER)
    assert connect(switch, 40000, "A") is None


@pytest.mark.parametrize("end", ["fins", "reset"])
def test_late_packets_do_not_prolong_a_closed_connection(switch: Switch, end: str) -> None:
    prefer(switch, 10, 1)
    connect(switch, 40000)
    if end == "fins":
        connect(switch, 40000, "FA")
        answer(switch, 10, 40000, "FA")
    else:
        connect(switch, 40000, "R")
    switch.advance(LINGER * 2 // 3)
    assert connect(switch, 40000, "A") == 10
    assert len(answer(switch, 10, 40000, "A")) == 1
    switch.advance(LINGER * 2 // 3)
    assert connect(switch, 40000, "A") is None


def test_an_idle_connection_is_forgotten_and_a_busy_one_is_not(switch: Switch) -> None:
    prefer(switch, 10, 1)
    connect(switch, 40000)
    connect(switch, 40001)
    for _ in range(4):
        switch.advance(TIMEOUT // 3)
        assert connect(switch, 40001, "A") == 10
    prefer(switch, 11, 2)
    assert connect(switch, 40000, "A") is None
    assert connect(switch, 40000) == 11
    assert connect(switch, 40001, "A") == 10


def test_a_connection_ends_exactly_at_its_timeout(switch: Switch) -> None:
    if switch.real_time:
        pytest.skip("needs a clock that stands still")
    prefer(switch, 10, 1)
    assert connect(switch, 40000) == 10
    switch.advance(TIMEOUT - 1)
    assert connect(switch, 40000, "A") == 10
    switch.advance(TIMEOUT)
    assert connect(switch, 40000, "A") is None


def test_what_the_server_sends_keeps_a_connection(switch: Switch) -> None:
    prefer(switch, 10, 1)
    assert connect(switch, 40000, service=DNS) == 10
    for _ in range(4):
        switch.advance(TIMEOUT // 3)
        ((_, frame),) = answer(switch, 10, 40000, service=DNS)
        assert (Ether(frame)[IP].src, Ether(frame)[UDP].sport) == (DNS.address, DNS.port)
        assert checksums_hold(frame)
    prefer(switch, 11, 2)
    assert connect(switch, 40000, service=DNS) == 10


def test_services_and_clients_do_not_share_connections(switch: Switch) -> None:
    prefer(switch, 10, 1)
    connect(switch, 40000)
    prefer(switch, 11, 2)
    assert connect(switch, 40000, client=CLIENTS[1]) == 11
    assert connect(switch, 40000, service=DNS) == 11
    assert connect(switch, 40000, "A") == 10


def test_a_site_switch_charges_a_job_that_arrives_once(switch: Switch) -> None:
    announce(switch, {10: 50_000, 11: 0})
    for _ in range(3):
        ((port, frame),) = switch.send(6, arriving(10, 5))
        assert port == SITES[10].port
        assert checksums_hold(frame)
    assert switch.read_site(10).headroom == 50_000 - WEB.energy
    assert switch.count("events", Event.CHARGED_ON_ARRIVAL) == 1
    ((port, frame),) = answer(switch, 10, 5, client=FAR_CLIENT)
    assert port == 6
    assert Ether(frame)[IP].src == SITES[10].address  # its ingress switch rewrites it


def test_a_site_switch_does_not_take_a_reply_for_a_job_that_was_charged(switch: Switch) -> None:
    """Only the switch of the client learns connections from what servers send."""
    announce(switch, {10: 50_000})
    assert len(answer(switch, 10, 5, "A", client=FAR_CLIENT)) == 1
    switch.send(6, arriving(10, 5))
    assert switch.read_site(10).headroom == 50_000 - WEB.energy


def test_a_job_in_transit_is_not_charged(switch: Switch) -> None:
    announce(switch, {200: 50_000})
    assert [port for port, _ in switch.send(7, arriving(200, 5))] == [6]
    assert switch.read_site(200).headroom == 50_000


def test_a_restarted_ingress_switch_learns_connections_from_what_servers_send(switch: Switch) -> None:
    prefer(switch, 11, 1)
    assert connect(switch, 40000, "A") is None
    ((_, frame),) = answer(switch, 10, 40000, "A")
    assert Ether(frame)[IP].src == WEB.address
    assert switch.count("events", Event.RELEARNED) == 1
    assert connect(switch, 40000, "A") == 10


@pytest.mark.parametrize("flags", ["S", "R", "RA", "FA", ""])
def test_only_what_shows_a_connection_teaches_one(switch: Switch, flags: str) -> None:
    prefer(switch, 11, 1)
    answer(switch, 10, 40000, flags)
    assert connect(switch, 40000, "A") is None
    assert Event.RELEARNED not in switch.counts("events")


def test_a_late_packet_of_another_site_does_not_reach_the_client(switch: Switch) -> None:
    prefer(switch, 10, 1)
    connect(switch, 40000)
    assert answer(switch, 11, 40000, "A") == []
    assert switch.count("drops", Drop.NO_CONNECTION) == 1
