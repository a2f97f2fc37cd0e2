# SPDX-License-Identifier: Apache-2.0
"""Ports and their roles, who may send from them, ARP, and what is not IPv4."""

from __future__ import annotations

from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.packet import Packet
from tests.p4src.site_switch import (
    CLIENTS,
    DNS,
    FAR_CLIENT,
    GATEWAY,
    GATEWAY_ADDRESS,
    NO_ROLE,
    PORTS,
    SITES,
    WEB,
    Host,
    arriving,
    dropped,
    ipv4,
    to_service,
)
from tests.p4src.switch import Switch

from grasp.control.wire import Drop

CLIENT, OTHER = CLIENTS
SYN = to_service(40000)


def arp(sender: Host, target: str, **fields: Any) -> bytes:
    frame = Ether(src=sender.mac, dst="ff:ff:ff:ff:ff:ff")
    return bytes(frame / ARP(hwsrc=sender.mac, psrc=sender.address, pdst=target, **fields))


def altered(frame: bytes, at: int) -> bytes:
    return frame[:at] + bytes([frame[at] ^ 0x40]) + frame[at + 1 :]


REQUEST = arp(CLIENT, WEB.address)


@pytest.mark.parametrize("target", [GATEWAY_ADDRESS, WEB.address, DNS.address])
@pytest.mark.parametrize("host", [CLIENT, OTHER, SITES[10]])
def test_arp_for_an_address_of_the_network_is_answered(steady: Switch, host: Host, target: str) -> None:
    ((port, frame),) = steady.send(host.port, arp(host, target))
    assert port == host.port
    reply = Ether(frame)
    assert (reply.src, reply.dst) == (GATEWAY, host.mac)
    assert (reply[ARP].op, reply[ARP].hwsrc, reply[ARP].psrc) == (2, GATEWAY, target)
    assert (reply[ARP].hwdst, reply[ARP].pdst) == (host.mac, host.address)


def test_padding_behind_arp_comes_back(steady: Switch) -> None:
    ((_, frame),) = steady.send(1, arp(CLIENT, WEB.address).ljust(60, b"\0"))
    assert len(frame) == 60


@pytest.mark.parametrize(
    ("port", "frame", "reason"),
    [
        (1, arp(CLIENT, OTHER.address), Drop.ARP_UNKNOWN),  # hosts reach each other through the gateway
        (1, arp(CLIENT, CLIENT.address), Drop.ARP_UNKNOWN),
        (1, arp(CLIENT, WEB.address, op=2), Drop.ARP_UNKNOWN),  # a reply
        *((1, altered(REQUEST, at), Drop.ARP_UNKNOWN) for at in range(14, 22)),  # another kind of ARP
        (1, arp(OTHER, WEB.address), Drop.SPOOFED),
        (2, arp(CLIENT, WEB.address), Drop.SPOOFED),
        (1, arp(Host(OTHER.address, CLIENT.mac), WEB.address), Drop.SPOOFED),
        (1, arp(Host(CLIENT.address, OTHER.mac), WEB.address), Drop.SPOOFED),
        (1, arp(Host("0.0.0.0", CLIENT.mac), WEB.address), Drop.SPOOFED),
        (6, arp(CLIENT, WEB.address), Drop.SPOOFED),  # switches do not ask
        (NO_ROLE, arp(CLIENT, WEB.address), Drop.UNKNOWN_PORT),
    ],
)
def test_other_arp_is_not_answered(steady: Switch, port: int, frame: bytes, reason: Drop) -> None:
    assert dropped(steady, port, frame) == reason


@pytest.mark.parametrize(
    ("port", "source", "reason"),
    [
        (1, OTHER, Drop.SPOOFED),
        (2, CLIENT, Drop.SPOOFED),
        (1, Host(OTHER.address, CLIENT.mac), Drop.SPOOFED),
        (1, Host(CLIENT.address, OTHER.mac), Drop.SPOOFED),
        (1, Host(SITES[10].address, CLIENT.mac), Drop.SPOOFED),  # a client as a site
        (1, Host(WEB.address, CLIENT.mac), Drop.SPOOFED),
        (3, Host(CLIENT.address, SITES[10].mac), Drop.SPOOFED),  # a site as a client
        (NO_ROLE, CLIENT, Drop.UNKNOWN_PORT),
    ],
)
def test_who_is_not_bound_to_the_port_is_not_heard(
    steady: Switch, port: int, source: Host, reason: Drop
) -> None:
    for destination in (WEB.address, OTHER.address, SITES[11].address):
        assert dropped(steady, port, ipv4(source, destination, SYN)) == reason


def test_a_trunk_brings_packets_of_anyone(steady: Switch) -> None:
    for source in (FAR_CLIENT, CLIENT, Host("192.0.2.1", "02:11:22:33:44:55")):
        ((port, _),) = steady.send(7, ipv4(source, OTHER.address, SYN))
        assert port == OTHER.port


def test_a_service_address_is_nothing_to_a_trunk(steady: Switch) -> None:
    """Only the switch of the client chooses; a packet that comes from a switch has been decided on."""
    assert dropped(steady, 6, ipv4(FAR_CLIENT, WEB.address, SYN)) == Drop.NO_ROUTE


@pytest.mark.parametrize("port", [1, 3])
def test_no_host_gets_past_the_service_address(steady: Switch, port: int) -> None:
    source = CLIENT if port == 1 else SITES[10]
    frame = ipv4(source, SITES[11].address, to_service(40000).__class__(sport=4, dport=WEB.server_port))
    assert dropped(steady, port, frame) == Drop.BYPASS
    remote = ipv4(source, SITES[200].address, UDP(sport=4, dport=DNS.server_port))
    assert dropped(steady, port, remote) == Drop.BYPASS


def test_other_ports_of_a_site_are_its_own_business(steady: Switch) -> None:
    frame = ipv4(CLIENT, SITES[11].address, UDP(sport=4, dport=22))
    ((port, out),) = steady.send(1, frame)
    assert port == SITES[11].port
    assert Ether(out)[IP].dst == SITES[11].address


IPV6 = bytes(Ether(src=CLIENT.mac, dst=GATEWAY, type=0x86DD)) + b"\x60" + bytes(39)


def tagged(*tags: Packet) -> bytes:
    frame = Ether(src=CLIENT.mac, dst=GATEWAY)
    for tag in tags:
        frame /= tag
    return bytes(frame / IP(src=CLIENT.address, dst=WEB.address) / SYN)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (IPV6, Drop.IPV6),
        (IPV6[:14], Drop.IPV6),
        (tagged(Dot1Q(vlan=1)), Drop.ETHERTYPE),
        (tagged(Dot1Q(vlan=0, prio=7)), Drop.ETHERTYPE),
        (tagged(Dot1AD(vlan=5), Dot1Q(vlan=1)), Drop.ETHERTYPE),
        (bytes(Ether(src=CLIENT.mac, dst=GATEWAY, type=0x88CC)) + bytes(46), Drop.ETHERTYPE),  # LLDP
        (bytes(Ether(src=CLIENT.mac, dst=GATEWAY, type=0x88B6)) + bytes(46), Drop.ETHERTYPE),
        (bytes(Ether(src=CLIENT.mac, dst=GATEWAY, type=46)) + bytes(46), Drop.ETHERTYPE),  # an 802.3 length
    ],
)
def test_what_is_not_handled_is_dropped_on_every_port(steady: Switch, frame: bytes, reason: Drop) -> None:
    for port in PORTS:
        assert dropped(steady, port, frame) == reason


def test_a_job_between_switches_needs_a_known_port(steady: Switch) -> None:
    assert dropped(steady, NO_ROLE, arriving(10, 5)) == Drop.UNKNOWN_PORT
