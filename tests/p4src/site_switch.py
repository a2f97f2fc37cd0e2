# SPDX-License-Identifier: Apache-2.0
"""A configured switch for tests: two clients, two attached sites, two trunks, and frames to send to it.

    client 0 ── 1 ┐                ┌ 6 ── trunk
    client 1 ── 2 ┤ switch under   ├ 7 ── trunk
    site 10  ── 3 ┤     test       │
    site 11  ── 4 ┘                └ 9: a port without a role
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from tests.p4src.switch import SET_FORECAST, PacketIn, PacketOut, Switch

GATEWAY = "02:00:00:00:00:fe"
GATEWAY_ADDRESS = "10.0.0.254"
GRASP = 0x88B5
REGISTER, REGISTERED, REPORT, REPORTED, HEARTBEAT, PROBE, DISCOVERY = range(1, 8)

EXPIRY = 300_000  # us; long enough that a real-time target answers within it
LINGER = 200_000
FLOWLET_GAP = 50_000
TIMEOUT = 600_000

TRUNKS = (6, 7)
NO_ROLE = 9
PORTS = (1, 2, 3, 4, *TRUNKS, NO_ROLE)

NONE, MALFORMED, BAD_CHECKSUM, UNKNOWN_PORT, SPOOFED, ARP_UNKNOWN, ETHERTYPE, IPV6 = range(8)
TTL, NO_ROUTE, NO_SITE, NO_CONNECTION, FRAGMENT, UNBOUND_SITE, BYPASS, OPERATION = range(8, 16)
AFFINITY_HIT, OVERFLOWED, PROBE_ACCEPTED, PROBE_REFUSED, STRUCK_OUT, RELEARNED, ON_ARRIVAL = range(7)


@dataclass(frozen=True)
class Host:
    """An end of the network: where it is attached (None: behind a trunk)."""

    address: str
    mac: str
    port: int | None


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
FAR_CLIENT = Host("10.0.9.9", "02:00:00:00:09:09", None)
SITES = {
    10: Host("10.0.2.10", "02:00:00:00:02:10", 3),
    11: Host("10.0.2.11", "02:00:00:00:02:11", 4),
    **{site: Host(f"10.0.3.{site}", f"02:00:00:00:03:{site:02x}", None) for site in (0, 1, 2, 200, 255)},
}
LOCAL_SITES = (10, 11)
WEB = Service(1, 6, "10.9.9.1", 80, 8080, 1000)
BATCH = Service(2, 6, "10.9.9.1", 443, 8443, 25_000)
DNS = Service(3, 17, "10.9.9.2", 53, 5353, 10)
SERVICES = (WEB, BATCH, DNS)


def number(address: str) -> int:
    """An IPv4 or hardware address as an integer."""
    return int(address.replace(":", ""), 16) if ":" in address else int(IPv4Address(address))


def configure(switch: Switch) -> None:
    switch.set_default("parameters", "set_parameters", EXPIRY, LINGER, FLOWLET_GAP, number(GATEWAY))
    for port in TRUNKS:
        switch.insert("ports", (port,), "set_role", 1)
    switch.set_multicast_group(1, list(TRUNKS))
    switch.set_multicast_group(2, [*TRUNKS, 255])
    attached = [*CLIENTS, *(SITES[site] for site in LOCAL_SITES)]
    for host in attached:
        assert host.port is not None
        switch.insert("ports", (host.port,), "set_role", 2)
        switch.insert("sources", (host.port, number(host.mac), number(host.address)), "NoAction")
        switch.insert("routes", ((number(host.address), 32),), "deliver", host.port, number(host.mac))
    switch.insert("routes", ((number("10.0.9.0"), 24),), "forward", 6)
    for address in (GATEWAY_ADDRESS, WEB.address, DNS.address):
        switch.insert("arp_responder", (number(address),), "answer_arp", number(GATEWAY))
    for site, host in SITES.items():
        switch.insert("site_servers", (site,), "set_server", number(host.address))
        switch.insert("site_addresses", (number(host.address),), "set_destination_site", site)
        switch.insert("site_sources", (number(host.address),), "set_source_site", site)
        if host.port is not None:
            switch.insert("local_sites", (site,), "deliver_to_site", host.port, number(host.mac))
    for s in SERVICES:
        key = (number(s.address), s.protocol, s.port)
        switch.insert("services", key, "set_service", s.id, s.server_port, s.energy, s.timeout)
        args = (s.id, number(s.address), s.port, s.energy, s.timeout)
        switch.insert("site_services", (s.protocol, s.server_port), "set_site_service", *args)


def heartbeat(switch: Switch, site: int) -> list[tuple[int, bytes]]:
    host = SITES[site]
    assert host.port is not None
    frame = Ether(src=host.mac, dst=GATEWAY, type=GRASP) / bytes([1, HEARTBEAT, site, 0]) / bytes(42)
    return switch.send(host.port, bytes(frame))


def probe(
    site: int, *, epoch: int = 1, sequence: int = 1, headroom: int = 0, flags: int = 0, cost: int = 0, hops: int = 0
) -> bytes:  # fmt: skip
    body = epoch.to_bytes(4, "big") + sequence.to_bytes(4, "big") + (headroom % (1 << 48)).to_bytes(6, "big")
    body += cost.to_bytes(2, "big") + bytes([hops, 0])
    return bytes(Ether(src=GATEWAY, dst=GATEWAY, type=GRASP) / bytes([1, PROBE, site, flags]) / body)


def forecast(switch: Switch, site: int, epoch: int, budget: int, spent: int = 0, sequence: int = 7) -> PacketIn:
    header = PacketOut(SET_FORECAST, site=site, epoch=epoch, budget=budget, spent=spent, sequence=sequence)
    return switch.operate(header)


def announce(switch: Switch, headrooms: dict[int, int], epoch: int = 1, sequence: int = 1) -> None:
    """Make sites known: attached ones by forecast and heartbeat, others by a probe."""
    for site, headroom in headrooms.items():
        if SITES[site].port is None:
            switch.send(6, probe(site, epoch=epoch, sequence=sequence, headroom=headroom))
        else:
            forecast(switch, site, epoch, headroom)
            heartbeat(switch, site)


def from_client(client: Host, transport: Packet, to: str = WEB.address, **ip: object) -> bytes:
    payload = transport / Raw(b"green") if not isinstance(transport, Raw) else transport
    return bytes(Ether(src=client.mac, dst=GATEWAY) / IP(src=client.address, dst=to, **ip) / payload)


def tcp(sport: int, flags: str = "S", service: Service = WEB) -> Packet:
    return TCP(sport=sport, dport=service.port, flags=flags, seq=1000)


def udp(sport: int, service: Service = DNS) -> Packet:
    return UDP(sport=sport, dport=service.port)


def connect(switch: Switch, sport: int, flags: str = "S", client: Host = CLIENTS[0], service: Service = WEB) -> int | None:
    """Send a packet of a connection to a service; returns the site that gets it, or None."""
    transport = udp(sport, service) if service.protocol == 17 else tcp(sport, flags, service)
    assert client.port is not None
    out = switch.send(client.port, from_client(client, transport, service.address))
    return site_of(out[0][1]) if len(out) == 1 else None


def site_of(frame: bytes) -> int:
    """The site whose server a frame is addressed to."""
    address = Ether(frame)[IP].dst
    return next(site for site, host in SITES.items() if host.address == address)


def reply(client: Host, site: int, sport: int, flags: str = "SA", service: Service = WEB) -> bytes:
    """A server's packet to a client."""
    host = SITES[site]
    ports = {"sport": service.server_port, "dport": sport}
    transport = UDP(**ports) if service.protocol == 17 else TCP(**ports, flags=flags, seq=5000, ack=1001)
    frame = Ether(src=host.mac, dst=GATEWAY) / IP(src=host.address, dst=client.address) / transport / b"power"
    return bytes(frame)


def checksums_hold(frame: bytes) -> bool:
    """Whether IPv4 and transport checksums are what scapy computes for the same bytes."""
    seen = Ether(frame)
    fresh = Ether(frame)
    del fresh[IP].chksum
    transport = fresh[IP].payload
    if isinstance(transport, TCP) or (isinstance(transport, UDP) and seen[UDP].chksum != 0):
        del transport.chksum
    return bytes(Ether(bytes(fresh))) == bytes(seen)
