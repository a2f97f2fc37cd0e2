# SPDX-License-Identifier: Apache-2.0
"""The OpenFlow baseline on modelled switches: what is installed where, and when it is gone."""

from dataclasses import replace
from ipaddress import IPv4Address

import pytest
from openflow_model import (
    ALICE,
    BOB,
    CLIENTS,
    GATEWAY,
    JOB,
    NAMES,
    VIP,
    WEB_TIMEOUT,
    FakeSwitch,
    Network,
    network,
    packet,
    query,
    reply,
    served,
)
from sample import PLACES, SECOND, example, site
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether

from grasp import UserError
from grasp.control.core import Core
from grasp.control.openflow.baseline import Baseline
from grasp.control.openflow.commands import Add
from grasp.control.store import Store
from grasp.control.topology import Port
from grasp.control.wire import Drop
from grasp.schedulers.base import Scheduler
from grasp.schedulers.green import Green
from grasp.telemetry.protocol import heartbeat


@pytest.fixture
def net(tmp_path) -> Network:
    return network(tmp_path)


def test_a_connected_switch_gets_the_table_miss_entry_and_answers_arp_by_itself(tmp_path):
    net = Network(example(), Store(tmp_path / "store.sqlite"))
    net.connect("florida")
    (miss,) = [flow for flow in net.switches["florida"].listed() if flow.priority == 0]
    assert miss.match == ()
    opening = [dict(flow.match) for flow in net.switches["florida"].listed() if len(flow.match) == 5]
    vip = int(IPv4Address(VIP))
    assert opening == [{"eth_type": 0x800, "ip_proto": 6, "ipv4_dst": vip, "tcp_dst": 80, "tcp_flags": 2}]
    net.disconnect("florida")
    net.receive(
        Port("florida", 3),
        Ether(src="02:00:00:00:07:07", dst="ff:ff:ff:ff:ff:ff")
        / ARP(op=1, hwsrc="02:00:00:00:07:07", psrc="10.0.2.9", pdst="10.0.2.254"),
    )
    (answer,) = [item for item in net.arrived[Port("florida", 3)] if ARP in item]
    assert (answer.src, answer.dst) == (GATEWAY, "02:00:00:00:07:07")
    arp = answer[ARP]
    assert (arp.op, arp.hwsrc, arp.psrc) == (2, GATEWAY, "10.0.2.254")
    assert (arp.hwdst, arp.pdst) == ("02:00:00:00:07:07", "10.0.2.9")


def test_links_are_found_and_sites_registered(net):
    assert {fields["site"] for fields in net.named("registered")} == {"elmira", "homestead", "lompoc"}
    assert {fields["site"] for fields in net.named("forecast_acknowledged")} == {
        "elmira", "homestead", "lompoc"
    }  # fmt: skip
    assert {fields["switch"] for fields in net.named("reconciled")} == set(NAMES)


def test_the_entries_are_exactly_those_of_the_path_both_ways_and_vanish_after_the_timeout(net):
    net.report(1, 9000)  # homestead, in Florida, is ahead
    net.receive(ALICE, packet(ALICE, 4000))
    entries = {name: net.switches[name].connection_entries() for name in NAMES}
    assert {name: len(flows) for name, flows in entries.items()} == {
        "new-york": 2, "florida": 2, "california": 0,
    }  # fmt: skip
    alice, server = "10.0.1.21", str(site(1).address)
    assert {_ends(flow) for flow in entries["new-york"]} == {
        (3, alice, 4000, VIP, 80), (1, server, 8080, alice, 4000)
    }  # fmt: skip
    assert {_ends(flow) for flow in entries["florida"]} == {
        (2, alice, 4000, server, 8080), (4, server, 8080, alice, 4000)
    }  # fmt: skip
    assert {flow.idle_timeout for flows in entries.values() for flow in flows} == {20}
    assert [flow.notify for flow in entries["new-york"]].count(True) == 1
    assert not any(flow.notify for flow in entries["florida"])

    net.wait(WEB_TIMEOUT - 1 * SECOND)
    assert len(net.switches["new-york"].connection_entries()) == 2
    net.wait(2 * SECOND)
    assert not any(net.switches[name].connection_entries() for name in NAMES)
    assert not net.baseline.connections


def _ends(flow):
    fields = dict(flow.match)
    assert fields["eth_type"] == 0x800
    assert fields["ip_proto"] == 6
    source, destination = (str(IPv4Address(fields[name])) for name in ("ipv4_src", "ipv4_dst"))
    return fields["in_port"], source, fields["tcp_src"], destination, fields["tcp_dst"]


def test_a_connection_is_rewritten_both_ways_and_only_its_first_packet_meets_the_controller(net):
    net.report(1, 9000)
    net.handed_over.clear()
    net.receive(ALICE, packet(ALICE, 4000))
    assert net.handed_over == {"new-york": 1}
    (first,) = served(net, 1)
    assert (first[Ether].src, first[Ether].dst) == (GATEWAY, site(1).mac.hex(":"))
    assert (first[IP].src, first[IP].dst) == ("10.0.1.21", str(site(1).address))
    assert (first[TCP].sport, first[TCP].dport, str(first[TCP].flags)) == (4000, 8080, "S")
    checked = Ether(bytes(first))
    sums = checked[IP].chksum, checked[TCP].chksum
    del checked[IP].chksum, checked[TCP].chksum
    rebuilt = Ether(bytes(checked))
    assert sums == (rebuilt[IP].chksum, rebuilt[TCP].chksum)

    net.receive(PLACES[1], reply(1, "10.0.1.21", 4000))
    net.receive(ALICE, packet(ALICE, 4000, "A"))
    assert net.handed_over == {"new-york": 1}
    (back,) = [item for item in net.arrived[ALICE] if TCP in item]
    assert (back[Ether].src, back[Ether].dst) == (GATEWAY, "02:00:00:00:02:00")
    assert (back[IP].src, back[IP].dst, back[TCP].sport, back[TCP].dport) == (VIP, "10.0.1.21", 80, 4000)
    assert [str(item[TCP].flags) for item in served(net, 1)] == ["S", "A"]


def test_sites_get_jobs_by_algorithm_2(net):
    for number, energy in enumerate((3000.0, 2000.0, 1000.0)):
        net.report(number, energy)
    for port in range(4000, 4012):
        net.receive((ALICE, BOB)[port % 2], packet((ALICE, BOB)[port % 2], port))
    expected = Green().allocate([3000.0, 2000.0, 1000.0], 250.0, 12).tolist()
    assert [len(served(net, number)) for number in range(3)] == expected == [8, 4, 0]
    net.wait(2 * SECOND)  # the core reads what was spent
    assert net.spent() == [count * JOB for count in expected]


def test_a_removed_entry_is_a_job_less_until_the_epoch_ends(net):
    net.report(1, 9000)
    net.receive(ALICE, packet(ALICE, 4000))
    net.wait(2 * SECOND)
    assert net.spent() == [0, JOB, 0]
    net.wait(WEB_TIMEOUT)
    assert net.spent() == [0, 0, 0]


def test_a_job_of_an_earlier_epoch_takes_nothing_off_the_present_one(tmp_path):
    net = network(tmp_path, ("seconds = 3600.0", "seconds = 15.0"), ("interval = 60.0", "interval = 15.0"))
    net.report(1, 9000)
    net.receive(ALICE, packet(ALICE, 4000))
    net.wait(15 * SECOND)
    for number, energy in enumerate((1000.0, 9000.0, 1000.0)):
        net.report(number, energy)
    net.receive(ALICE, packet(ALICE, 4001))
    net.wait(7 * SECOND)  # the first job's entry is over, long after its epoch
    assert net.spent() == [0, JOB, 0]


def test_a_repeated_first_packet_is_no_second_job(net):
    net.report(1, 9000)
    net.receive(ALICE, packet(ALICE, 4000))
    # One that waited behind the first goes nowhere: the entry is there, and the client repeats it if need be.
    assert net.baseline.packet_in("new-york", 3, bytes(packet(ALICE, 4000)), net.now) == []
    assert len(net.baseline.connections) == 1
    # Others that overtook their entries are forwarded, there and back.
    net.perform(net.baseline.packet_in("new-york", 3, bytes(packet(ALICE, 4000, "A")), net.now))
    assert [str(item[TCP].flags) for item in served(net, 1)] == ["S", "A"]
    net.perform(net.baseline.packet_in("florida", 4, bytes(reply(1, "10.0.1.21", 4000)), net.now))
    assert [item for item in net.arrived[ALICE] if TCP in item]
    net.wait(2 * SECOND)
    assert net.spent() == [0, JOB, 0]


def test_a_job_whose_end_was_not_told_is_no_obstacle_to_the_next_one(net):
    net.report(1, 9000)
    net.receive(ALICE, packet(ALICE, 4000))
    for name in NAMES:  # gone, and the word of it lost
        net.switches[name].entries = [
            entry for entry in net.switches[name].entries if not entry.message.cookie
        ]
    net.wait(6 * SECOND)
    net.receive(ALICE, packet(ALICE, 4000, seq=7))
    assert len(served(net, 1)) == 2
    assert len(net.baseline.connections) == 1
    assert len(net.switches["new-york"].connection_entries()) == 2
    net.wait(2 * SECOND)
    assert net.spent() == [0, JOB, 0]


def test_udp_jobs_have_their_service_and_timeout(net):
    net.report(2, 9000)
    net.receive(BOB, query(BOB, 5))
    (got,) = [item for item in net.arrived[PLACES[2]] if UDP in item]
    assert (got[IP].dst, got[UDP].dport) == ("10.0.3.11", 5353)
    (forward, backward) = net.switches["california"].connection_entries()
    assert forward.idle_timeout == backward.idle_timeout == 10
    net.wait(11 * SECOND)
    assert not net.switches["california"].connection_entries()


@pytest.mark.parametrize("full", ["new-york", "florida"])
def test_a_full_table_leaves_nothing_behind_and_takes_the_next_attempt(net, full):
    net.report(1, 9000)
    switch = net.switches[full]
    switch.capacity = len(switch.entries) + 1  # one of the two entries that it needs
    net.receive(ALICE, packet(ALICE, 4000))
    assert not any(net.switches[name].connection_entries() for name in NAMES)
    assert not net.baseline.connections
    assert net.core.counters["connections_refused"] == 1
    switch.capacity += 1
    net.wait(3 * SECOND)  # so long no job is led there by another way than the client's own switch
    net.receive(ALICE, packet(ALICE, 4000))
    assert sum(len(net.switches[name].connection_entries()) for name in NAMES) == 4
    net.wait(2 * SECOND)
    assert net.spent() == [0, JOB, 0]


def test_a_switch_that_reconnects_keeps_its_entries_and_loses_no_job(net):
    net.report(1, 9000)
    net.receive(ALICE, packet(ALICE, 4000))
    before = net.switches["florida"].listed()
    net.disconnect("florida")
    net.receive(ALICE, packet(ALICE, 4000, "A"))
    assert len(served(net, 1)) == 2
    net.connect("florida")
    assert net.switches["florida"].listed() == before
    assert len(net.baseline.connections) == 1


def test_a_switch_that_restarts_empty_gets_the_entries_of_running_jobs_again(net):
    net.report(1, 9000)
    net.receive(ALICE, packet(ALICE, 4000))
    before = {flow.key: flow for flow in net.switches["florida"].listed()}
    net.disconnect("florida")
    net.switches["florida"] = FakeSwitch()
    net.receive(ALICE, packet(ALICE, 4000, "A"))
    assert len(served(net, 1)) == 1
    net.connect("florida")
    assert {flow.key: flow for flow in net.switches["florida"].listed()} == before
    net.receive(ALICE, packet(ALICE, 4000, "A"))
    assert len(served(net, 1)) == 2


def test_what_is_not_the_controllers_own_is_removed(net):
    stranger = replace(net.switches["florida"].listed()[0], priority=5, match=(("in_port", 1),))
    net.perform([Add("florida", stranger)])
    net.disconnect("florida")
    net.connect("florida")
    assert all(flow.priority != 5 for flow in net.switches["florida"].listed())


def test_a_controller_that_starts_again_knows_the_jobs_under_way(net):
    net.report(1, 9000)
    for port in (4000, 4001, 4002):
        net.receive(ALICE, packet(ALICE, port))
    net.wait(2 * SECOND)
    before = {name: {flow.key: flow for flow in net.switches[name].listed()} for name in NAMES}
    net.start_controller()
    net.receive(ALICE, packet(ALICE, 4003))  # nobody decides
    assert len(served(net, 1)) == 3
    net.receive(ALICE, packet(ALICE, 4000, "A"))  # nobody needs to
    assert len(served(net, 1)) == 4
    net.connect()
    net.beat()
    assert {name: {flow.key: flow for flow in net.switches[name].listed()} for name in NAMES} == before
    assert len(net.baseline.connections) == 3
    net.receive(ALICE, packet(ALICE, 4000))  # the client's port again, while the entry lives: no new job
    net.receive(ALICE, packet(ALICE, 4003))
    assert len(net.baseline.connections) == 4
    net.wait(2 * SECOND)
    assert net.spent() == [0, 4 * JOB, 0]
    net.wait(WEB_TIMEOUT)
    assert net.spent() == [0, 0, 0]


def test_jobs_go_another_way_when_a_link_is_gone(net):
    net.report(1, 9000)
    net.receive(ALICE, packet(ALICE, 4000))
    for end in (Port("new-york", 1), Port("florida", 2)):
        del net.cables[end]
    net.receive(ALICE, packet(ALICE, 4000, "A"))
    assert len(served(net, 1)) == 1
    net.wait(6 * SECOND)
    assert net.named("link_down")
    counts = {name: len(net.switches[name].connection_entries()) for name in NAMES}
    assert counts == {"new-york": 2, "california": 2, "florida": 2}
    net.receive(ALICE, packet(ALICE, 4000, "A"))
    net.receive(PLACES[1], reply(1, "10.0.1.21", 4000, "A"))
    assert len(served(net, 1)) == 2
    assert [item for item in net.arrived[ALICE] if TCP in item]


def test_a_silent_site_gets_no_job_and_a_drained_one_neither(net):
    net.report(1, 9000)
    del net.agents[1]
    net.wait(1 * SECOND)
    net.receive(ALICE, packet(ALICE, 4000))
    assert not served(net, 1)
    chosen = 0 if served(net, 0) else 2
    net.perform(net.baseline.drain(chosen, True, net.now))
    net.receive(ALICE, packet(ALICE, 4001))
    assert len(served(net, 0)) == len(served(net, 2)) == 1
    del net.agents[0], net.agents[2]
    net.wait(1 * SECOND)
    net.receive(ALICE, packet(ALICE, 4002))
    assert not net.baseline.drops["new-york"][Drop.NO_SITE]  # nobody is heard: does the controller lag?
    net.wait(5 * SECOND)
    net.receive(ALICE, packet(ALICE, 4003))
    assert net.baseline.drops["new-york"][Drop.NO_SITE] == 1


def test_forged_heartbeats_and_sources_count_for_nothing(net):
    net.report(1, 9000)
    del net.agents[1]
    for _ in range(10):
        net.wait(SECOND // 10)
        net.receive(ALICE, Ether(heartbeat(site(1).mac, 1)))
    net.receive(ALICE, packet(ALICE, 4000))
    assert not served(net, 1)
    assert net.baseline.drops["new-york"][Drop.UNBOUND_SITE] == 10
    forged = packet(ALICE, 4001)
    forged[IP].src = "10.0.3.21"
    net.receive(ALICE, forged)
    assert net.baseline.drops["new-york"][Drop.SPOOFED] == 1
    assert len(net.baseline.connections) == 1


def test_what_opens_no_connection_is_dropped_and_counted(net):
    for frame in (
        packet(ALICE, 4000, "A"),
        packet(ALICE, 4000, "SA"),
        packet(ALICE, 4000, "S", to=81),
        Ether(dst=GATEWAY, src=CLIENTS[ALICE][0], type=0x86DD) / b"x",
        Ether(dst=GATEWAY, src=CLIENTS[ALICE][0], type=0x88B5) / b"\x01",
        Ether(bytes(packet(ALICE, 4000))[:40]),
    ):
        net.receive(ALICE, frame)
    assert net.baseline.drops["new-york"] == {Drop.NO_CONNECTION: 3, Drop.ETHERTYPE: 3}
    assert not net.baseline.connections


class Highest(Scheduler):
    """A rule that no budget expresses, to see that the baseline runs it all the same."""

    name = "highest"

    def budgets(self, forecast_wh):
        raise AssertionError("the rule decides for each job")

    def choose(self, forecast_wh, spent_wh, ready=None, origin=0):
        return max((index for index, is_ready in enumerate(ready) if is_ready), default=None)


def test_any_scheduler_runs(tmp_path):
    net = Network(example(), Store(tmp_path / "store.sqlite"))
    net.baseline = Baseline(net.config, net.core, Highest())
    net.connect()
    net.register(0, 1, 2)
    for port in (4000, 4001):
        net.receive(ALICE, packet(ALICE, port))
    assert len(served(net, 2)) == 2


def test_a_timeout_that_openflow_cannot_hold_is_refused(tmp_path):
    config = example(("timeout = 300.0", "timeout = 70000.0"))
    core = Core(config, Green(), Store(tmp_path / "store.sqlite"), 0)
    with pytest.raises(UserError, match=r"web.*timeout.*65535"):
        Baseline(config, core, Green())
