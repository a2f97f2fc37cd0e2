# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import zlib

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether

from tests.p4src.site_switch import (
    BATCH, CLIENTS, DNS, FAR_CLIENT, LINGER, NO_CONNECTION, ON_ARRIVAL, OVERFLOWED, RELEARNED, SITES, TIMEOUT, WEB,
    Host, Service, announce, checksums_hold, connect, from_client, heartbeat, number, reply, tcp,
)  # fmt: skip
from tests.p4src.switch import CPU, INJECT, OVERFLOW, PacketIn, PacketOut, Switch


def prefer(switch: Switch, site: int, epoch: int) -> None:
    """Make one of the attached sites the winner by far."""
    announce(switch, {10: -(10**9), 11: -(10**9)} | {site: 10**9}, epoch=epoch)


def answer(switch: Switch, site: int, sport: int, flags: str, service: Service = WEB) -> list[tuple[int, bytes]]:
    port = SITES[site].port
    assert port is not None
    return switch.send(port, reply(CLIENTS[0], site, sport, flags, service))


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
    assert switch.count("drops", NO_CONNECTION) == 8
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
    switch.advance(LINGER + 50_000)
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
    switch.advance(LINGER + 50_000)
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


def test_what_the_server_sends_keeps_a_connection(switch: Switch) -> None:
    prefer(switch, 10, 1)
    assert connect(switch, 40000, service=DNS) == 10
    for _ in range(4):
        switch.advance(TIMEOUT // 3)
        ((_, frame),) = answer(switch, 10, 40000, "", DNS)
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
    arriving = Ether(from_client(FAR_CLIENT, TCP(sport=5, dport=WEB.server_port, flags="S"), SITES[10].address))
    for _ in range(3):
        ((port, frame),) = switch.send(6, bytes(arriving))
        assert port == SITES[10].port
        assert checksums_hold(frame)
    assert switch.read_site(10).headroom == 50_000 - WEB.energy
    assert switch.count("events", ON_ARRIVAL) == 1
    ((port, frame),) = switch.send(3, reply(FAR_CLIENT, 10, 5))
    assert port == 6
    assert Ether(frame)[IP].src == SITES[10].address  # its ingress switch rewrites it


def test_a_job_in_transit_is_not_charged(switch: Switch) -> None:
    announce(switch, {200: 50_000})
    arriving = from_client(FAR_CLIENT, TCP(sport=5, dport=WEB.server_port, flags="S"), SITES[200].address)
    assert [port for port, _ in switch.send(7, arriving)] == [6]
    assert switch.read_site(200).headroom == 50_000


def test_a_restarted_ingress_switch_learns_connections_from_what_servers_send(switch: Switch) -> None:
    prefer(switch, 11, 1)
    assert connect(switch, 40000, "A") is None
    ((_, frame),) = answer(switch, 10, 40000, "A")
    assert Ether(frame)[IP].src == WEB.address
    assert switch.count("events", RELEARNED) == 1
    assert connect(switch, 40000, "A") == 10


def test_a_late_packet_of_another_site_does_not_reach_the_client(switch: Switch) -> None:
    prefer(switch, 10, 1)
    connect(switch, 40000)
    assert answer(switch, 11, 40000, "A") == []
    assert switch.count("drops", NO_CONNECTION) == 1


def crc16_table() -> list[int]:
    """CRC-16/ARC of each single byte."""
    table = []
    for crc in range(256):
        for _ in range(8):
            crc = (crc >> 1) ^ (0xA001 if crc & 1 else 0)
        table.append(crc)
    return table


CRC16 = crc16_table()


def slots(client: Host, port: int, service: Service) -> tuple[int, int]:
    """The two slots of a connection, by zlib's CRC-32 and a CRC-16 of our own."""
    key = number(client.address).to_bytes(4, "big") + port.to_bytes(2, "big") + service.id.to_bytes(2, "big")
    crc = 0
    for byte in key:
        crc = (crc >> 8) ^ CRC16[(crc ^ byte) & 0xFF]
    return zlib.crc32(key) % 65536, crc


def crowd_out(switch: Switch, sport: int) -> None:
    """Take both slots of client 0's connection to WEB from a port, with connections that are live."""
    first, second = slots(CLIENTS[0], sport, WEB)
    others = [(CLIENTS[1], WEB), (CLIENTS[1], BATCH), (CLIENTS[0], BATCH), (CLIENTS[1], DNS)]
    by_slot = [{slots(c, port, s)[0]: port for port in range(1, 65536)} for c, s in others]
    in_second = next(p for p in range(1, 65536) if slots(CLIENTS[0], p, DNS)[1] == second)
    pushes_it_there = slots(CLIENTS[0], in_second, DNS)[0]
    for wanted in (pushes_it_there, first):
        (client, service), port = next(
            (other, ports[wanted]) for other, ports in zip(others, by_slot, strict=True) if wanted in ports
        )
        assert connect(switch, port, client=client, service=service) is not None
        if wanted == pushes_it_there:
            assert connect(switch, in_second, service=DNS) is not None


def test_with_both_ways_taken_the_packet_waits_for_a_pinned_entry(switch: Switch) -> None:
    prefer(switch, 10, 1)
    crowd_out(switch, 40000)
    before = switch.read_site(10).headroom
    syn = from_client(CLIENTS[0], tcp(40000))
    ((port, data),) = switch.send(1, syn)
    overflow = PacketIn.parse(data)
    assert port == CPU
    assert (overflow.reason, overflow.site, overflow.service) == (OVERFLOW, 10, WEB.id)
    assert (overflow.ingress_port, overflow.payload) == (1, syn)
    assert switch.count("events", OVERFLOWED) == 1
    assert switch.read_site(10).headroom == before

    switch.insert("pinned", (WEB.id, number(CLIENTS[0].address), 40000), "pin", 10)
    ((port, frame),) = switch.packet_out(PacketOut(INJECT, flags=1, port=1), syn)
    assert port == SITES[10].port
    assert checksums_hold(frame)
    assert switch.read_site(10).headroom == before - WEB.energy
    assert switch.count("jobs", 10) > 0

    prefer(switch, 11, 2)
    assert connect(switch, 40000, "A") == 10
    ((port, frame),) = answer(switch, 10, 40000, "A")
    assert Ether(frame)[IP].src == WEB.address
    assert connect(switch, 40001) == 11


def test_a_live_entry_is_never_overwritten(switch: Switch) -> None:
    prefer(switch, 10, 1)
    crowd_out(switch, 40000)
    entered = switch.counts("jobs")[10]
    switch.send(1, from_client(CLIENTS[0], tcp(40000)))
    assert switch.counts("jobs")[10] == entered
    switch.advance(TIMEOUT + 50_000)  # the crowd has left: there is room
    heartbeat(switch, 10)
    assert connect(switch, 40000) == 10
