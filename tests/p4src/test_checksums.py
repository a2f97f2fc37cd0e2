# SPDX-License-Identifier: Apache-2.0
"""Rewriting keeps right checksums right and wrong ones wrong. scapy computes what they must be."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from tests.p4src.conftest import Runner
from tests.p4src.site_switch import (
    CLIENTS,
    DNS,
    SITES,
    WEB,
    Host,
    Service,
    add_service,
    add_site,
    arriving,
    attach,
    checksums_hold,
    forecast,
    grasp,
    ipv4,
    prefer,
    set_parameters,
)
from tests.p4src.switch import Switch

from grasp.control.wire import Role
from grasp.telemetry.protocol import FrameType

CLIENT = CLIENTS[0]
BOTH = pytest.mark.parametrize("service", [WEB, DNS], ids=["tcp", "udp"])


def request(service: Service, payload: bytes, **fields: Any) -> bytes:
    """A first packet of client 0 to a service."""
    kind = UDP if service.protocol == 17 else TCP
    transport = kind(sport=40000, dport=service.port, **fields)
    return ipv4(CLIENT, service.address, transport / Raw(payload))


def response(service: Service, payload: bytes, **fields: Any) -> bytes:
    """What site 10 answers to it."""
    kind = UDP if service.protocol == 17 else TCP
    transport = kind(sport=service.server_port, dport=40000, **fields)
    return ipv4(SITES[10], CLIENT.address, transport / Raw(payload))


def directions(service: Service, payload: bytes, **fields: Any) -> list[tuple[int, bytes]]:
    """A frame for each way through the switch, with the port where it comes in."""
    return [
        (CLIENT.port, request(service, payload, **fields)),
        (SITES[10].port, response(service, payload, **fields)),
    ]


def transport_of(frame: bytes) -> Packet:
    transport: Packet = Ether(frame)[IP].payload
    return transport


@pytest.fixture
def ready(steady: Switch) -> Switch:
    prefer(steady, 10, 1)
    return steady


@BOTH
@pytest.mark.parametrize("length", [0, 1, 2, 3, 5, 1023, 1446])
def test_payloads_of_any_length(ready: Switch, service: Service, length: int) -> None:
    payload = bytes(n * 7 % 256 for n in range(length))
    for port, frame in directions(service, payload):
        ((_, out),) = ready.send(port, frame)
        assert checksums_hold(out)
        assert bytes(transport_of(out).payload) == payload


def test_udp_without_a_checksum_stays_without(ready: Switch) -> None:
    for port, frame in directions(DNS, b"green", chksum=0):
        ((_, out),) = ready.send(port, frame)
        assert transport_of(frame).chksum == transport_of(out).chksum == 0
        assert checksums_hold(out)


def with_checksum(frame: bytes, rewritten: bytes | None, wanted: int) -> bytes:
    """The frame with its first two payload bytes such that it, or what it becomes, has this checksum sum.

    One's complement sums do not depend on order, so the word that a sum lacks is the sum's complement.
    """
    base = Ether(frame)
    transport = base[IP].payload
    probe = Ether(rewritten if rewritten is not None else frame)
    sample = probe[IP].payload
    rest = bytes(sample.payload)[2:]
    sample.remove_payload()
    sample.add_payload(Raw(b"\0\0" + rest))
    del sample.chksum
    missing = Ether(bytes(probe))[IP].payload.chksum
    total = missing - wanted
    word = (total + (total >> 16)) & 0xFFFF
    transport.remove_payload()
    transport.add_payload(Raw(word.to_bytes(2, "big") + rest))
    del transport.chksum
    return bytes(base)


@BOTH
@pytest.mark.parametrize("wanted", [0x0000, 0x0001, 0xFFFE])
@pytest.mark.parametrize("side", ["before", "after"])
def test_checksums_at_the_edges(ready: Switch, service: Service, wanted: int, side: str) -> None:
    """Computed zero is sent as 0xffff over UDP, since zero says that there is none (RFC 768)."""
    seen = 0xFFFF if wanted == 0 and service.protocol == 17 else wanted
    for port, frame in (
        (CLIENT.port, request(service, b"watts")),
        (SITES[10].port, response(service, b"watts")),
    ):
        ((_, out),) = ready.send(port, frame)
        edge = with_checksum(frame, None if side == "before" else out, wanted)
        ((_, out),) = ready.send(port, edge)
        assert transport_of(edge if side == "before" else out).chksum == seen
        assert checksums_hold(out)


@BOTH
@pytest.mark.parametrize("damage", [0x0001, 0x8000, 0x7FFF])
def test_wrong_transport_checksums_stay_wrong(ready: Switch, service: Service, damage: int) -> None:
    for port, frame in (
        (CLIENT.port, request(service, b"green")),
        (SITES[10].port, response(service, b"green")),
    ):
        packet = Ether(frame)
        packet[IP].payload.chksum ^= damage
        ((_, out),) = ready.send(port, bytes(packet))
        assert not checksums_hold(out)
        ((_, whole),) = ready.send(port, frame)
        right, wrong = transport_of(whole).chksum, transport_of(out).chksum
        assert (wrong - right) % 0xFFFF == ((packet[IP].payload.chksum - transport_of(frame).chksum) % 0xFFFF)


def test_a_payload_damaged_on_the_way_stays_damaged(ready: Switch) -> None:
    frame = bytearray(request(WEB, b"green"))
    frame[-1] ^= 0x10
    ((_, out),) = ready.send(CLIENT.port, bytes(frame))
    assert not checksums_hold(out)


@BOTH
def test_between_switches_only_the_header_checksum_changes(ready: Switch, service: Service) -> None:
    frame = arriving(10, 5, service=service)
    ((_, out),) = ready.send(6, frame)
    assert checksums_hold(out)
    assert transport_of(out).chksum == transport_of(frame).chksum


@pytest.mark.parametrize("padding", [1, 6, 100])
def test_ethernet_padding_is_not_part_of_a_checksum(ready: Switch, padding: int) -> None:
    frame = request(WEB, b"") + b"\xee" * padding
    ((_, out),) = ready.send(CLIENT.port, frame)
    assert len(out) == len(frame)
    assert checksums_hold(out)


addresses = st.integers(0x01000000, 0xDFFFFFFF).map(lambda n: str(IPv4Address(n)))
ports = st.integers(1, 65535)


def test_any_addresses_and_ports(runner: Runner) -> None:
    @given(
        endpoints=st.lists(addresses, min_size=3, max_size=3, unique=True),
        numbers=st.lists(ports, min_size=3, max_size=3),
        kind=st.sampled_from([TCP, UDP]),
        payload=st.binary(max_size=40),
        identification=st.integers(0, 65535),
    )
    @settings(max_examples=60 if runner.target == "engine" else 10, deadline=None)
    def check(
        endpoints: list[str],
        numbers: list[int],
        kind: type[TCP] | type[UDP],
        payload: bytes,
        identification: int,
    ) -> None:
        client = Host(endpoints[0], "02:00:00:00:07:01", 1)
        server = Host(endpoints[1], "02:00:00:00:07:02", 3)
        client_port, port, server_port = numbers
        service = Service(7, 6 if kind is TCP else 17, endpoints[2], port, server_port, energy=5)

        switch = runner.fresh()
        set_parameters(switch)
        for host in (client, server):
            switch.insert("ports", (host.port,), "set_role", Role.EDGE)
            attach(switch, host)
        add_site(switch, 20, server)
        add_service(switch, service)
        forecast(switch, 20, 1, 100)
        switch.send(server.port, grasp(FrameType.HEARTBEAT, 20, server.mac))

        there = kind(sport=client_port, dport=port) / Raw(payload)
        ((_, out),) = switch.send(client.port, ipv4(client, service.address, there, id=identification))
        seen = Ether(out)[IP]
        assert (seen.src, seen.sport) == (client.address, client_port)
        assert (seen.dst, seen.dport) == (server.address, server_port)
        assert checksums_hold(out)

        back = kind(sport=server_port, dport=client_port) / Raw(payload)
        ((_, out),) = switch.send(server.port, ipv4(server, client.address, back, id=identification))
        seen = Ether(out)[IP]
        assert (seen.src, seen.sport) == (service.address, port)
        assert (seen.dst, seen.dport) == (client.address, client_port)
        assert checksums_hold(out)

    check()
