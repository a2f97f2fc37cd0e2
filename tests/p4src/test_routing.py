# SPDX-License-Identifier: Apache-2.0
"""Which way packets go: routes, probes' next hops, flowlets."""

from __future__ import annotations

import zlib

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from tests.p4src.engine_switch import EngineSwitch
from tests.p4src.site_switch import (
    CLIENTS,
    EXPIRY,
    FAR_CLIENT,
    FLOWLET_GAP,
    GATEWAY,
    LATER,
    SITES,
    WEB,
    Event,
    announce,
    answer,
    arriving,
    connect,
    from_server,
    heartbeat,
    ipv4,
    number,
    prefer,
    probe,
    set_parameters,
    to_service,
)
from tests.p4src.switch import Switch

from grasp.control.wire import Drop, SiteFlag

LONG = 60_000_000
"""us; a test that does not wait for it never sees its end."""


def way_of(switch: Switch, sport: int, flags: str = "A") -> int:
    """The port by which a packet of a connection to a remote site leaves."""
    ((port, _),) = switch.send(1, ipv4(CLIENTS[0], WEB.address, to_service(sport, flags)))
    return port


def test_hosts_reach_each_other(switch: Switch) -> None:
    ((port, frame),) = switch.send(1, ipv4(CLIENTS[0], CLIENTS[1].address, UDP(sport=1, dport=2)))
    packet = Ether(frame)
    assert (port, packet.src, packet.dst) == (CLIENTS[1].port, GATEWAY, CLIENTS[1].mac)
    assert (packet[IP].src, packet[IP].dst) == (CLIENTS[0].address, CLIENTS[1].address)


def test_the_longest_prefix_leads(switch: Switch) -> None:
    switch.insert("routes", ((0, 0),), "forward", 7)
    switch.insert("routes", ((number("10.0.9.9"), 32),), "forward", 7)
    for address, trunk in (("10.0.9.8", 6), ("10.0.9.9", 7), ("192.0.2.1", 7)):
        ((port, frame),) = switch.send(1, ipv4(CLIENTS[0], address, UDP(sport=1, dport=2)))
        assert (port, Ether(frame).src, Ether(frame).dst) == (trunk, GATEWAY, GATEWAY)


def test_a_site_that_no_probe_has_told_of_is_reached_by_routes(switch: Switch) -> None:
    frame = ipv4(CLIENTS[0], SITES[200].address, UDP(sport=1, dport=22))
    assert switch.send(1, frame) == []
    assert switch.counts("drops") == {Drop.NO_ROUTE: 1}
    switch.insert("routes", ((number(SITES[200].address), 32),), "forward", 6)
    assert [port for port, _ in switch.send(1, frame)] == [6]
    switch.send(7, probe(200))
    assert [port for port, _ in switch.send(1, frame)] == [7]
    switch.advance(EXPIRY + LATER)
    assert [port for port, _ in switch.send(1, frame)] == [6]


def test_a_connection_to_a_silent_site_goes_on_by_routes(switch: Switch) -> None:
    switch.insert("routes", ((number(SITES[200].address), 32),), "forward", 6)
    switch.send(7, probe(200, headroom=10**9))
    assert way_of(switch, 40000, "S") == 7
    switch.advance(EXPIRY + LATER)
    assert not switch.read_site(200).flags & SiteFlag.ALIVE
    assert way_of(switch, 40000) == 6


def test_a_flow_keeps_its_path_while_it_does_not_pause(switch: Switch) -> None:
    set_parameters(switch, expiry=LONG, flowlet_gap=LONG)
    switch.send(6, probe(200, sequence=1, headroom=10**9))
    assert way_of(switch, 40000, "S") == 6
    switch.send(7, probe(200, sequence=2, headroom=10**9))
    assert way_of(switch, 40000) == 6
    assert way_of(switch, 40001, "S") == 7
    assert way_of(switch, 40000) == 6


def test_a_flow_changes_its_path_after_a_pause(switch: Switch) -> None:
    set_parameters(switch, expiry=LONG)
    switch.send(6, probe(200, sequence=1, headroom=10**9))
    assert way_of(switch, 40000, "S") == 6
    switch.send(7, probe(200, sequence=2, headroom=10**9))
    switch.advance(FLOWLET_GAP + LATER)
    assert way_of(switch, 40000) == 7


def test_a_flow_leaves_a_path_that_has_fallen_silent_without_a_pause(switch: Switch) -> None:
    """A link is cut: probes come another way, and a flow that never pauses must follow them."""
    set_parameters(switch, flowlet_gap=LONG)
    switch.send(6, probe(200, sequence=1, headroom=10**9))
    assert way_of(switch, 40000, "S") == 6
    step = EXPIRY // 4
    ways = []
    for sequence in range(2, 8):
        switch.advance(step)
        switch.send(7, probe(200, sequence=sequence, headroom=10**9))
        ways.append(way_of(switch, 40000))
    assert ways == sorted(ways)
    assert ways[-1] == 7
    assert ways[0] == 6


def test_any_probe_shows_that_a_path_is_not_cut(switch: Switch) -> None:
    set_parameters(switch, flowlet_gap=LONG)
    switch.send(6, probe(200, sequence=1, headroom=10**9))
    assert way_of(switch, 40000, "S") == 6
    for sequence in range(2, 8):
        switch.advance(EXPIRY // 4)
        switch.send(7, probe(200, sequence=sequence, headroom=10**9))
        switch.send(6, probe(200, sequence=1, headroom=10**9))  # old news, and refused
        assert way_of(switch, 40000) == 6


def test_a_switch_that_has_just_started_knows_no_path_yet(switch: Switch) -> None:
    """A flowlet slot that was never written names site 0 and port 0, at a time that is not long ago."""
    if not isinstance(switch, EngineSwitch):
        pytest.skip("needs a clock that can be set")
    switch.now = 1
    switch.send(6, probe(0, headroom=10**9))
    assert way_of(switch, 40000, "S") == 6


def flowlet_slot(sport: int, site: int) -> int:
    """Where a flow of client 0 to a site's server is remembered: by zlib's CRC-32."""
    addresses = number(CLIENTS[0].address) << 32 | number(SITES[site].address)
    flow = addresses << 40 | WEB.protocol << 32 | sport << 16 | WEB.port
    return zlib.crc32(flow.to_bytes(13, "big")) % 65536


def test_flows_to_different_sites_do_not_share_a_path(switch: Switch) -> None:
    """Two flows may share a slot; the path of one may not lead to the site of the other."""
    set_parameters(switch, expiry=LONG, flowlet_gap=LONG)
    other = next(port for port in range(1, 65536) if flowlet_slot(port, 255) == flowlet_slot(40000, 200))
    switch.send(6, probe(200, headroom=10**9))
    assert way_of(switch, 40000, "S") == 6
    switch.send(7, probe(255, headroom=2 * 10**9))
    assert way_of(switch, other, "S") == 7
    assert way_of(switch, 40000) == 6


def test_what_arrives_for_a_remote_site_follows_its_probes(switch: Switch) -> None:
    switch.send(7, probe(200))
    assert [port for port, _ in switch.send(6, arriving(200, 5))] == [7]


def test_a_reply_to_a_client_elsewhere_keeps_the_servers_address(switch: Switch) -> None:
    announce(switch, {10: 100})
    switch.send(6, arriving(10, 5))
    ((port, frame),) = answer(switch, 10, 5, client=FAR_CLIENT)
    packet = Ether(frame)
    assert (port, packet[IP].src, packet[TCP].sport) == (6, SITES[10].address, WEB.server_port)


def test_in_transit_an_earlier_connection_has_no_say(switch: Switch) -> None:
    """The far client had a connection to a site here; now, from the same port, one to a site elsewhere."""
    prefer(switch, 10, 1)
    switch.send(6, arriving(10, 5))
    returning = ipv4(SITES[200], FAR_CLIENT.address, from_server(5))
    assert [port for port, _ in switch.send(7, returning)] == [6]
    assert switch.counts("drops") == {}


def test_in_transit_an_earlier_connection_is_not_kept_alive(switch: Switch) -> None:
    """Else the next connection to the site here would count as the earlier one, and not be charged."""
    prefer(switch, 10, 1)
    switch.send(6, arriving(10, 5))
    returning = ipv4(SITES[200], FAR_CLIENT.address, from_server(5, "A"))
    for sequence in range(4):
        switch.advance(EXPIRY * 2 // 3)  # together longer than the service's timeout
        heartbeat(switch, 10)
        switch.send(7, probe(200, sequence=sequence))
        assert len(switch.send(7, returning)) == 1
        assert len(switch.send(6, arriving(200, 5, "A"))) == 1
    switch.send(6, arriving(10, 5))
    assert switch.counts("events")[Event.CHARGED_ON_ARRIVAL] == 2


def test_a_connection_that_moves_to_another_site_here_is_charged_there(switch: Switch) -> None:
    prefer(switch, 10, 1)
    switch.send(6, arriving(10, 5))
    switch.send(6, arriving(11, 5))
    assert switch.read_site(10).headroom == 10**9 - WEB.energy
    assert switch.read_site(11).headroom == -(10**9) - WEB.energy
    assert connect(switch, 40000) == 10
