# SPDX-License-Identifier: Apache-2.0
"""First packets whose two places in the affinity table are taken by connections that live."""

from __future__ import annotations

import zlib
from functools import cache
from ipaddress import IPv4Address

import pytest
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether
from tests.p4src.engine_switch import EngineSwitch
from tests.p4src.site_switch import (
    BATCH,
    CLIENTS,
    DNS,
    FAR_CLIENT,
    LATER,
    SITES,
    TIMEOUT,
    WEB,
    Event,
    Host,
    Service,
    answer,
    arriving,
    checksums_hold,
    configure,
    connect,
    dropped,
    from_server,
    heartbeat,
    ipv4,
    number,
    prefer,
    set_parameters,
    to_service,
    with_header_checksum,
)
from tests.p4src.switch import Switch, unpack

from grasp.control.wire import CPU_PORT, Drop, Operation, PacketIn, PacketOut, Reason


@cache
def start_of(client: Host) -> int:
    """The CRC-32 of the first half of a connection's key."""
    return zlib.crc32(number(client.address).to_bytes(4, "big"))


def slots(client: Host, service: Service, port: int) -> tuple[int, int]:
    """The two slots of a connection: zlib's CRC-32, spread by two multiplications."""
    mixed = zlib.crc32((port << 16 | service.id).to_bytes(4, "big"), start_of(client))
    first, second = ((mixed * factor) % 2**32 >> 16 for factor in (0x9E3779B1, 0x85EBCA6B))
    return first, second


@cache
def crowd_for(
    first: int, second: int, services: tuple[Service, ...] = (DNS, BATCH, WEB)
) -> list[tuple[Host, Service, int]]:
    """Connections that, opened in this order, take these slots of the first and the second way."""
    others = [(CLIENTS[1], service, port) for service in services for port in range(1, 65536)]
    by_first = {slots(*other)[0]: other for other in others}
    in_second = next(
        (CLIENTS[0], service, port)
        for service in services
        if service != WEB  # whose ports are the tests' own
        for port in range(1, 65536)
        if slots(CLIENTS[0], service, port)[1] == second and slots(CLIENTS[0], service, port)[0] in by_first
    )
    pushes_it_there = by_first[slots(*in_second)[0]]
    return [pushes_it_there, in_second, by_first[first]]


@pytest.fixture
def crowded(switch: Switch) -> Switch:
    """Site 10 is the best one, and there is no room for a connection from port 40000."""
    crowd = crowd_for(*slots(CLIENTS[0], WEB, 40000))  # takes longer than a forecast lasts
    prefer(switch, 10, 1)
    for client, service, port in crowd:
        assert connect(switch, port, client=client, service=service) is not None
    return switch


SYN = ipv4(CLIENTS[0], WEB.address, to_service(40000))


def pin(switch: Switch, site: int) -> None:
    switch.insert("pinned", (WEB.id, number(CLIENTS[0].address), 40000), "pin", site)


def test_the_packet_goes_to_the_controller_and_changes_nothing(crowded: Switch) -> None:
    before = crowded.read_site(10).headroom
    jobs = crowded.counts("jobs")
    ((port, data),) = crowded.send(1, SYN)
    header, frame = unpack(data)
    assert port == CPU_PORT
    assert header == PacketIn(Reason.OVERFLOW, ingress_port=1, site=10, service=WEB.id)
    assert frame == SYN
    assert crowded.count("events", Event.OVERFLOW) == 1
    assert crowded.read_site(10).headroom == before
    assert crowded.counts("jobs") == jobs


def test_later_packets_are_no_first_ones(crowded: Switch) -> None:
    assert connect(crowded, 40000, "A") is None
    assert crowded.counts("drops") == {Drop.NO_CONNECTION: 1}


def test_the_pinned_connection_is_charged_once_and_stays(crowded: Switch) -> None:
    before = crowded.read_site(10).headroom
    jobs = crowded.count("jobs", 10)
    pin(crowded, 10)
    inject = PacketOut(Operation.INJECT, flags=1, port=1)
    ((port, frame),) = crowded.packet_out(inject, SYN)
    assert port == SITES[10].port
    assert Ether(frame)[IP].dst == SITES[10].address
    assert checksums_hold(frame)
    assert crowded.read_site(10).headroom == before - WEB.energy
    assert crowded.count("jobs", 10) == jobs + 1

    prefer(crowded, 11, 2)
    assert connect(crowded, 40000) == 10  # the client repeats itself
    assert connect(crowded, 40000, "A") == 10
    ((_, frame),) = answer(crowded, 10, 40000)
    assert Ether(frame)[IP].src == WEB.address
    assert checksums_hold(frame)
    assert connect(crowded, 40001) == 11
    assert crowded.count("jobs", 10) == jobs + 1


def test_a_pinned_job_that_finds_no_way_is_not_charged(crowded: Switch) -> None:
    pin(crowded, 200)  # of which no probe has come, and to which no route leads
    assert crowded.packet_out(PacketOut(Operation.INJECT, flags=1, port=1), SYN) == []
    assert crowded.counts("drops") == {Drop.NO_ROUTE: 1}
    assert crowded.read_site(200).headroom == 0
    assert 200 not in crowded.counts("jobs")


def test_a_packet_of_another_site_than_the_pinned_one_is_dropped(crowded: Switch) -> None:
    pin(crowded, 10)
    assert dropped(crowded, SITES[11].port, ipv4(SITES[11], CLIENTS[0].address, from_server(40000))) == (
        Drop.NO_CONNECTION
    )


def test_no_answer_to_an_earlier_attempt_reaches_a_client_whose_syn_waits(crowded: Switch) -> None:
    assert [port for port, _ in crowded.send(1, SYN)] == [CPU_PORT]
    assert answer(crowded, 11, 40000, "SA") == []
    assert crowded.counts("drops") == {Drop.NO_CONNECTION: 1}
    assert len(answer(crowded, 11, 40000, "A")) == 1  # of an old connection, in a switch that restarted


def test_a_slot_goes_before_a_pinned_entry_that_is_left_over(switch: Switch) -> None:
    """The slot fell free, and was taken, while the entry was on its way."""
    prefer(switch, 10, 1)
    assert connect(switch, 40000) == 10
    pin(switch, 11)
    assert connect(switch, 40000, "A") == 10
    assert connect(switch, 40000, "R") == 10
    for flags in ("S", "A", "PA"):
        assert connect(switch, 40000, flags) == 10
    assert switch.counts("jobs") == {10: 2}


def test_without_its_pinned_entry_the_connection_is_forgotten(crowded: Switch) -> None:
    pin(crowded, 10)
    assert connect(crowded, 40000, "A") == 10
    crowded.delete("pinned", (WEB.id, number(CLIENTS[0].address), 40000))
    assert connect(crowded, 40000, "A") is None


def test_when_the_crowd_has_left_there_is_room(crowded: Switch) -> None:
    crowded.advance(TIMEOUT + LATER)
    heartbeat(crowded, 10)
    assert connect(crowded, 40000) == 10


def test_half_open_connections_crowd_the_table_for_a_handshake_only(switch: Switch) -> None:
    crowd = crowd_for(*slots(CLIENTS[0], WEB, 40000), (BATCH, WEB))
    set_parameters(switch, handshake=TIMEOUT // 2)
    prefer(switch, 10, 1)
    for client, service, port in crowd:
        assert connect(switch, port, client=client, service=service) is not None
    assert [port for port, _ in switch.send(1, SYN)] == [CPU_PORT]
    switch.advance(TIMEOUT // 2 + LATER)
    prefer(switch, 10, 2)
    assert connect(switch, 40000) == 10
    assert switch.count("events", Event.OVERFLOW) == 1


def test_a_job_that_arrives_at_its_site_waits_too(switch: Switch) -> None:
    """The far client's key differs from client 0's, so its crowd does; the clients here make it."""
    first, second = slots(FAR_CLIENT, WEB, 5)
    crowd = crowd_for(first, second)
    prefer(switch, 10, 1)
    for client, service, port in crowd:
        assert connect(switch, port, client=client, service=service) is not None
    before = switch.read_site(10).headroom
    ((port, data),) = switch.send(6, arriving(10, 5))
    header, frame = unpack(data)
    assert (port, header) == (CPU_PORT, PacketIn(Reason.OVERFLOW, ingress_port=6, site=10, service=WEB.id))
    assert frame == arriving(10, 5)
    assert len(answer(switch, 10, 5, client=FAR_CLIENT)) == 1  # its ingress switch decides

    switch.insert("pinned", (WEB.id, number(FAR_CLIENT.address), 5), "pin", 10)
    ((port, _),) = switch.packet_out(PacketOut(Operation.INJECT, flags=1, port=6), frame)
    assert port == SITES[10].port
    assert switch.read_site(10).headroom == before - WEB.energy
    assert switch.count("events", Event.CHARGED_ON_ARRIVAL) == 1
    switch.send(6, arriving(10, 5))
    assert switch.read_site(10).headroom == before - WEB.energy


def test_connections_that_follow_a_pattern_do_not_collide_more_than_others() -> None:
    """6000 connections of neighbouring addresses and ports: by chance alone, less than one would overflow."""
    switch = EngineSwitch()
    configure(switch)
    prefer(switch, 10, 1)
    syn = arriving(10, 0)
    for client in range(128):
        source = IPv4Address(f"10.1.0.{client + 1}").packed
        from_client = with_header_checksum(syn[:26] + source + syn[30:])
        for port in range(20000, 20047):
            switch.send(6, from_client[:34] + port.to_bytes(2, "big") + from_client[36:])
    charged, overflowed = (
        switch.count("events", event) for event in (Event.CHARGED_ON_ARRIVAL, Event.OVERFLOW)
    )
    assert charged + overflowed == 128 * 47
    assert overflowed <= 5
    switch.close()
