# SPDX-License-Identifier: Apache-2.0
"""The OpenFlow baseline where switches, controllers and other people's entries are not as they should be."""

import pytest
from openflow_model import (
    ALICE,
    BOB,
    CABLES,
    JOB,
    NAMES,
    VIP,
    Entry,
    FakeSwitch,
    Network,
    network,
    over_the_wire,
    packet,
    protocol,
    query,
    served,
)
from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser
from sample import PLACES, RING, SECOND
from scapy.layers.inet import TCP, UDP

from grasp.control.openflow.connections import Cookie
from grasp.control.openflow.messages import from_match, is_refusal
from grasp.control.topology import Port
from grasp.control.wire import Drop


@pytest.fixture
def net(tmp_path) -> Network:
    return network(tmp_path)


def test_a_copy_of_a_first_packet_that_waited_long_moves_nothing(net):
    net.report(1, 9000)
    net.receive(ALICE, packet(ALICE, 4000, seq=7))
    net.wait(6 * SECOND)
    net.report(2, 90_000)
    assert net.baseline.packet_in("new-york", 3, bytes(packet(ALICE, 4000, seq=7)), net.now) == []
    net.receive(ALICE, packet(ALICE, 4000, "A", seq=8))
    assert [str(item[TCP].flags) for item in served(net, 1)] == ["S", "A"]
    assert not served(net, 2)


def test_the_late_word_of_an_earlier_connections_end_does_not_end_the_next(net):
    net.report(1, 9000)
    net.receive(ALICE, packet(ALICE, 4000, seq=7))
    entries = net.switches["new-york"].entries
    (ended,) = [entry.message for entry in entries if entry.message.flags & ofp.OFPFF_SEND_FLOW_REM]
    for name in NAMES:
        net.switches[name].entries = [
            entry for entry in net.switches[name].entries if not entry.message.cookie
        ]
    net.wait(6 * SECOND)
    net.receive(ALICE, packet(ALICE, 4000, seq=8))
    net.baseline.removed("new-york", from_match(ended.match), ended.cookie)
    assert len(net.baseline.connections) == 1
    net.wait(2 * SECOND)
    assert net.spent() == [0, JOB, 0]


def test_a_copy_of_a_first_packet_is_known_by_the_next_controller_too(net):
    net.report(1, 9000)
    net.receive(ALICE, packet(ALICE, 4000, seq=7))
    net.start_controller()
    net.connect()
    net.beat()
    net.wait(6 * SECOND)
    net.report(2, 90_000)
    assert net.baseline.packet_in("new-york", 3, bytes(packet(ALICE, 4000, seq=7)), net.now) == []
    net.receive(ALICE, packet(ALICE, 4000, "A", seq=8))
    assert [str(item[TCP].flags) for item in served(net, 1)] == ["S", "A"]


def test_a_udp_job_stays_when_a_switch_lost_its_entries(net):
    net.report(1, 9000)
    net.receive(ALICE, query(ALICE, 5))
    net.wait(6 * SECOND)
    net.report(2, 90_000)
    before = {flow.key: flow for flow in net.switches["new-york"].connection_entries()}
    net.disconnect("new-york")
    net.switches["new-york"] = FakeSwitch()
    net.connect("new-york")
    net.switches["new-york"].entries = [
        entry for entry in net.switches["new-york"].entries if not entry.message.cookie
    ]
    net.receive(ALICE, query(ALICE, 5))  # the next finds no entry and comes here
    assert len([item for item in net.arrived[PLACES[1]] if UDP in item]) == 2
    assert not [item for item in net.arrived.get(PLACES[2], ()) if UDP in item]
    assert {flow.key: flow for flow in net.switches["new-york"].connection_entries()} == before
    assert len(net.baseline.connections) == 1


def test_a_full_switch_that_comes_back_is_of_use(net):
    """What takes first packets, heartbeats and discovery to the controller has a place before connections."""
    net.report(0, 9000)
    for port in range(4000, 4004):
        net.receive(ALICE, packet(ALICE, port))
    net.disconnect("new-york")
    net.switches["new-york"] = FakeSwitch(capacity=8)
    net.connect("new-york")
    net.wait(30 * SECOND)
    net.receive(ALICE, packet(ALICE, 4100))
    assert [item[TCP].sport for item in served(net, 0)][4:] == [4100]


def test_jobs_go_around_a_switch_that_is_away_or_full(net):
    net.report(1, 9000)
    net.disconnect("florida")  # where site 1 is, and whose heartbeats are still fresh
    net.receive(ALICE, packet(ALICE, 4000))
    assert len(served(net, 0)) + len(served(net, 2)) == 1
    assert not net.baseline.drops["new-york"]
    net.connect("florida")
    net.beat()
    switch = net.switches["florida"]
    switch.capacity = len(switch.entries)
    net.receive(ALICE, packet(ALICE, 4001))  # refused
    net.receive(ALICE, packet(ALICE, 4001))  # as its client sends it again
    assert len(served(net, 0)) + len(served(net, 2)) == 2
    assert net.core.counters["connections_refused"] == 1


def test_sites_that_no_link_leads_to_get_no_jobs_from_there(net):
    net.report(1, 9000)
    for end in (end for link in RING for end in link if "florida" in (link[0].switch, link[1].switch)):
        del net.cables[end]
    net.wait(8 * SECOND)
    for port in range(4000, 4010):
        net.receive(ALICE, packet(ALICE, port))
    assert len(served(net, 0)) + len(served(net, 2)) == 10
    assert not net.baseline.drops["new-york"]


def test_a_forged_first_packet_ends_nothing(net):
    net.report(1, 9000)
    net.receive(ALICE, packet(ALICE, 4000, seq=7))
    net.wait(6 * SECOND)
    net.receive(BOB, packet(ALICE, 4000, seq=1234))  # with Alice's addresses
    assert net.baseline.drops["california"][Drop.SPOOFED] == 1
    assert len(net.baseline.connections) == 1
    net.wait(2 * SECOND)
    assert net.spent() == [0, JOB, 0]


def test_an_entry_that_was_lost_is_sent_again(net):
    net.report(1, 9000)
    net.receive(ALICE, packet(ALICE, 4000))
    net.switches["florida"].entries = [
        entry for entry in net.switches["florida"].entries if not entry.message.cookie
    ]
    before = net.core.counters["packets_job"]
    for _ in range(20):
        net.receive(ALICE, packet(ALICE, 4000, "A"))
        net.wait(SECOND)
    assert len(served(net, 1)) == 21
    assert len(net.switches["florida"].connection_entries()) == 2
    assert net.core.counters["packets_job"] - before < 10


def test_a_restarted_controller_mends_switches_that_came_before_the_clients(net):
    net.report(1, 9000)
    net.receive(ALICE, packet(ALICE, 4000))
    before = net.switches["florida"].connection_entries()
    net.switches["florida"] = FakeSwitch()
    net.start_controller()
    net.connect("florida", "new-york", "california")
    assert net.switches["florida"].connection_entries() == before


def test_a_job_stays_on_a_path_that_works(net):
    """It would be lost on a better one whose switch is full."""
    ends = Port("new-york", 1), Port("florida", 2)
    for end in ends:
        del net.cables[end]
    net.wait(8 * SECOND)
    net.report(1, 9000)
    net.receive(ALICE, packet(ALICE, 4000))
    net.switches["florida"].capacity = len(net.switches["florida"].entries)
    net.cables.update(CABLES)
    net.wait(8 * SECOND)
    net.receive(ALICE, packet(ALICE, 4000, "A"))
    assert len(served(net, 1)) == 2
    assert not net.core.counters["connections_refused"]


def test_jobs_that_ended_without_a_controller_are_not_counted_by_the_next(net):
    net.report(1, 9000)
    for port in (4000, 4001, 4002):
        net.receive(ALICE, packet(ALICE, port))
    net.wait(2 * SECOND)
    assert net.spent() == [0, 3 * JOB, 0]
    net.start_controller()
    for name in NAMES:  # one of the three is left
        switch = net.switches[name]
        switch.entries = [
            entry
            for entry in switch.entries
            if not entry.message.cookie or 4000 in dict(entry.message.match.items()).values()
        ]
    net.connect()
    net.beat()
    net.wait(2 * SECOND)
    assert net.spent() == [0, JOB, 0]


def test_entries_that_the_controller_never_makes_do_no_harm(net):
    """Somebody else's: with masks, without an output, with a goto."""
    net.disconnect("florida")
    entries = net.switches["florida"].entries
    cookie = Cookie(net.now // SECOND, 0, 1).pack()
    for number, (matched, instructions, mark) in enumerate(
        (
            (parser.OFPMatch(eth_type=0x800, ipv4_dst=("192.0.2.0", "255.255.255.0")), [], 0),
            (parser.OFPMatch(in_port=1), [parser.OFPInstructionGotoTable(1)], 0),
            (parser.OFPMatch(eth_type=0x86DD, ipv6_dst="2001:db8::1"), [], 0),
            (parser.OFPMatch(vlan_vid=(0x1000, 0x1000)), [], 0),
            (parser.OFPMatch(in_port=7, eth_type=0x800, ip_proto=6, ipv4_src="10.0.1.21", ipv4_dst=VIP,
                             tcp_src=4000, tcp_dst=80), [], cookie),
        )
    ):  # fmt: skip
        message = parser.OFPFlowMod(
            protocol(), cookie=mark, priority=5 + number, match=matched, instructions=instructions,
            flags=ofp.OFPFF_SEND_FLOW_REM,
        )  # fmt: skip
        entries.append(Entry(over_the_wire(message), net.now))
    net.connect("florida")
    assert not net.baseline.connections
    net.report(1, 9000)
    net.receive(ALICE, packet(ALICE, 4000))
    assert len(served(net, 1)) == 1


@pytest.mark.parametrize(
    ("kind", "request_type", "refused"),
    [
        (ofp.OFPET_FLOW_MOD_FAILED, ofp.OFPT_FLOW_MOD, True),
        (ofp.OFPET_BAD_ACTION, ofp.OFPT_FLOW_MOD, True),
        (ofp.OFPET_BAD_MATCH, ofp.OFPT_FLOW_MOD, True),
        (ofp.OFPET_BAD_INSTRUCTION, ofp.OFPT_FLOW_MOD, True),
        (ofp.OFPET_BAD_ACTION, ofp.OFPT_PACKET_OUT, False),  # whose number may be that of a connection
        (ofp.OFPET_BAD_REQUEST, ofp.OFPT_FLOW_MOD, False),
    ],
)
def test_what_refuses_an_entry(kind: int, request_type: int, refused: bool) -> None:
    assert is_refusal(kind, bytes([4, request_type, 0, 56])) is refused
