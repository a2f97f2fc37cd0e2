# SPDX-License-Identifier: Apache-2.0
"""A configured switch for tests: two clients, two attached sites, two trunks, and frames to send to it.

client 0 -- 1 |                | 6 -- trunk
client 1 -- 2 |  switch under  | 7 -- trunk
site 10  -- 3 |      test      |
site 11  -- 4 |                | 9: a port without a role
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from ipaddress import IPv4Address
from typing import Any

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from tests.p4src.switch import Output, Switch

from grasp.control.wire import CPU_PORT, Operation, PacketIn, PacketOut, Role, to_signed
from grasp.telemetry.protocol import ETHERTYPE, FrameType

GATEWAY = "02:00:00:00:00:fe"
GATEWAY_ADDRESS = "10.0.0.254"

EXPIRY = 300_000  # us, times the switch's pace
LINGER = 200_000
FLOWLET_GAP = 50_000
TIMEOUT = 600_000
LATER = 50_000  # us past one of them

TRUNKS = (6, 7)
NO_ROLE = 9
PORTS = (1, 2, 3, 4, *TRUNKS, NO_ROLE)


class Event(IntEnum):
    """Index of the `events` counter (p4src/counters.p4)."""

    AFFINITY_HIT = 0
    OVERFLOW = 1
    PROBE_ACCEPTED = 2
    PROBE_REFUSED = 3
    STRUCK_OUT = 4
    RELEARNED = 5
    CHARGED_ON_ARRIVAL = 6
    FORECAST_SET = 7


@dataclass(frozen=True)
class Host:
    """An end of the network: where it is attached (0: behind a trunk)."""

    address: str
    mac: str
    port: int = 0


@dataclass(frozen=True)
class Service:
    """A service: its address for clients, its port on servers, a job's energy in mWh."""

    id: int
    protocol: int
    address: str
    port: int
    server_port: int
    energy: int
    timeout: int = TIMEOUT


CLIENTS = (Host("10.0.1.1", "02:00:00:00:01:01", 1), Host("10.0.1.2", "02:00:00:00:01:02", 2))
FAR_CLIENT = Host("10.0.9.9", "02:00:00:00:09:09")
SITES = {
    10: Host("10.0.2.10", "02:00:00:00:02:10", 3),
    11: Host("10.0.2.11", "02:00:00:00:02:11", 4),
    **{site: Host(f"10.0.3.{site}", f"02:00:00:00:03:{site:02x}") for site in (0, 1, 2, 200, 255)},
}
LOCAL_SITES = (10, 11)
WEB = Service(1, 6, "10.9.9.1", 80, 8080, 1000)
BATCH = Service(2, 6, "10.9.9.1", 443, 8443, 25_000)
DNS = Service(3, 17, "10.9.9.2", 53, 5353, 10)
SERVICES = (WEB, BATCH, DNS)


def number(address: str) -> int:
    """An IPv4 or hardware address as an integer."""
    return int(address.replace(":", ""), 16) if ":" in address else int(IPv4Address(address))


def set_parameters(
    switch: Switch,
    expiry: int = EXPIRY,
    linger: int = LINGER,
    handshake: int = TIMEOUT,
    flowlet_gap: int = FLOWLET_GAP,
) -> None:
    times = [time * switch.pace for time in (expiry, linger, handshake, flowlet_gap)]
    switch.set_default("parameters", "set_parameters", *times, number(GATEWAY))


def attach(switch: Switch, host: Host) -> None:
    """Let a host speak from its port and be spoken to."""
    switch.insert("sources", (host.port, number(host.mac), number(host.address)), "NoAction")
    switch.insert("routes", ((number(host.address), 32),), "deliver", host.port, number(host.mac))


def add_site(switch: Switch, site: int, host: Host) -> None:
    switch.insert("site_servers", (site,), "set_server", number(host.address))
    switch.insert("site_addresses", (number(host.address),), "set_destination_site", site)
    switch.insert("site_sources", (number(host.address),), "set_source_site", site)
    if host.port:
        switch.insert("local_sites", (site,), "deliver_to_site", host.port, number(host.mac))


def add_service(switch: Switch, service: Service) -> None:
    s, address, timeout = service, number(service.address), service.timeout * switch.pace
    switch.insert(
        "services", (address, s.protocol, s.port), "set_service", s.id, s.server_port, s.energy, timeout
    )
    switch.insert(
        "site_services", (s.protocol, s.server_port), "set_site_service",
        s.id, address, s.port, s.energy, timeout,
    )  # fmt: skip


def configure(switch: Switch, timeout: int = TIMEOUT) -> None:
    set_parameters(switch)
    for port in TRUNKS:
        switch.insert("ports", (port,), "set_role", Role.TRUNK)
    switch.set_multicast_group(1, TRUNKS)
    switch.set_multicast_group(2, [*TRUNKS, CPU_PORT])
    for host in (*CLIENTS, *(SITES[site] for site in LOCAL_SITES)):
        switch.insert("ports", (host.port,), "set_role", Role.EDGE)
        attach(switch, host)
    switch.insert("routes", ((number("10.0.9.0"), 24),), "forward", 6)
    for address in (GATEWAY_ADDRESS, WEB.address, DNS.address):
        switch.insert("arp_responder", (number(address),), "answer_arp", number(GATEWAY))
    for site, host in SITES.items():
        add_site(switch, site, host)
    for service in SERVICES:
        add_service(switch, replace(service, timeout=timeout))


# ---- frames of GRASP


def grasp(
    kind: int, site: int = 0, source: str = GATEWAY, body: bytes = bytes(42), version: int = 1
) -> bytes:
    return bytes(Ether(src=source, dst=GATEWAY, type=ETHERTYPE)) + bytes([version, kind, site, 0]) + body


def heartbeat_frame(site: int) -> bytes:
    return grasp(FrameType.HEARTBEAT, site, SITES[site].mac)


def heartbeat(switch: Switch, site: int) -> Output:
    return switch.send(SITES[site].port, heartbeat_frame(site))


def probe(
    site: int,
    *,
    epoch: int = 1,
    sequence: int = 1,
    headroom: int = 0,
    flags: int = 0,
    cost: int = 0,
    hops: int = 0,
    age: int = 0,
) -> bytes:
    body = epoch.to_bytes(4, "big") + sequence.to_bytes(4, "big") + (headroom % (1 << 48)).to_bytes(6, "big")
    body += cost.to_bytes(2, "big") + bytes([hops, age])
    return (
        bytes(Ether(src=GATEWAY, dst=GATEWAY, type=ETHERTYPE))
        + bytes([1, FrameType.PROBE, site, flags])
        + body
    )


def probe_fields(frame: bytes) -> dict[str, int]:
    """A probe's fields, read from the bytes that p4src/headers.p4 gives them."""
    assert frame[12:16] == bytes([0x88, 0xB5, 1, FrameType.PROBE])
    ends = {"site": (16, 17), "flags": (17, 18), "epoch": (18, 22), "sequence": (22, 26)}
    ends |= {"headroom": (26, 32), "utilisation": (32, 34), "hops": (34, 35), "age": (35, 36)}
    values = {name: int.from_bytes(frame[start:end], "big") for name, (start, end) in ends.items()}
    return values | {"headroom": to_signed(values["headroom"], 48)}


def forecast(switch: Switch, site: int, epoch: int, budget: int, spent: int = 0) -> PacketIn:
    header = PacketOut(Operation.SET_FORECAST, site=site, epoch=epoch, budget=budget, spent=spent, sequence=7)
    return switch.operate(header)


def drain(switch: Switch, site: int, drained: bool) -> PacketIn:
    return switch.operate(PacketOut(Operation.SET_DRAIN, site=site, flags=drained, sequence=8))


def announce(switch: Switch, headrooms: dict[int, int], epoch: int = 1, sequence: int = 1) -> None:
    """Make sites known: attached ones by forecast and heartbeat, others by a probe."""
    for site, headroom in headrooms.items():
        if SITES[site].port:
            forecast(switch, site, epoch, headroom)
            heartbeat(switch, site)
        else:
            switch.send(6, probe(site, epoch=epoch, sequence=sequence, headroom=headroom))


def prefer(switch: Switch, site: int, epoch: int) -> None:
    """Make one of the attached sites the winner by far."""
    announce(switch, dict.fromkeys(LOCAL_SITES, -(10**9)) | {site: 10**9}, epoch=epoch)


# ---- frames of clients and servers


def ipv4(source: Host, destination: str, transport: Packet | bytes, **fields: Any) -> bytes:
    """A frame from a host to an address."""
    return bytes(
        Ether(src=source.mac, dst=GATEWAY) / IP(src=source.address, dst=destination, **fields) / transport
    )


def to_service(sport: int, flags: str = "S", service: Service = WEB) -> Packet:
    """What a client sends to a service: the transport header and a payload."""
    if service.protocol == 17:
        return UDP(sport=sport, dport=service.port) / b"green"
    return TCP(sport=sport, dport=service.port, flags=flags, seq=1000) / b"green"


def from_server(sport: int, flags: str = "SA", service: Service = WEB) -> Packet:
    """What a server sends to the client's port `sport`."""
    if service.protocol == 17:
        return UDP(sport=service.server_port, dport=sport) / b"power"
    return TCP(sport=service.server_port, dport=sport, flags=flags, seq=5000, ack=1001) / b"power"


def arriving(site: int, sport: int, flags: str = "S", service: Service = WEB) -> bytes:
    """What another switch sends here for a job of the far client."""
    transport = to_service(sport, flags, service)
    transport.dport = service.server_port
    return ipv4(FAR_CLIENT, SITES[site].address, transport)


def connect(
    switch: Switch, sport: int, flags: str = "S", client: Host = CLIENTS[0], service: Service = WEB
) -> int | None:
    """Send a packet of a connection to a service; returns the site that gets it, None if it is dropped."""
    out = switch.send(client.port, ipv4(client, service.address, to_service(sport, flags, service)))
    if not out:
        return None
    ((port, frame),) = out
    assert port != CPU_PORT, "the packet went to the controller"
    return site_of(frame)


def answer(
    switch: Switch,
    site: int,
    sport: int,
    flags: str = "SA",
    client: Host = CLIENTS[0],
    service: Service = WEB,
) -> Output:
    """Send a packet from an attached site's server to a client."""
    return switch.send(
        SITES[site].port, ipv4(SITES[site], client.address, from_server(sport, flags, service))
    )


def site_of(frame: bytes) -> int:
    """The site whose server a frame is addressed to."""
    address = Ether(frame)[IP].dst
    return next(site for site, host in SITES.items() if host.address == address)


def with_header_checksum(frame: bytes) -> bytes:
    """The frame with the checksum that its IPv4 header of 20 bytes needs."""
    words = [int.from_bytes(frame[at : at + 2], "big") for at in range(14, 34, 2) if at != 24]
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return frame[:24] + (total ^ 0xFFFF).to_bytes(2, "big") + frame[26:]


# ---- what came out


def checksums_hold(frame: bytes) -> bool:
    """Whether IPv4 and transport checksums are what scapy computes for the same bytes."""
    fresh = Ether(frame)
    del fresh[IP].chksum
    transport = fresh[IP].payload
    if isinstance(transport, TCP) or (isinstance(transport, UDP) and transport.chksum != 0):
        del transport.chksum
    return bytes(fresh) == frame


def dropped(switch: Switch, port: int, frame: bytes) -> int:
    """Send a frame of which nothing may come out; returns the one reason under which it was counted."""
    before = switch.counts("drops")
    assert switch.send(port, frame) == []
    counted = {reason: count - before.get(reason, 0) for reason, count in switch.counts("drops").items()}
    ((reason, count),) = [item for item in counted.items() if item[1]]
    assert count == 1
    return reason
