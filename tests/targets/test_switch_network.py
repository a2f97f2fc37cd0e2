# SPDX-License-Identifier: Apache-2.0
"""The whole switch: controller, P4Runtime server, engine, and frames on real interfaces."""

from __future__ import annotations

import asyncio
import ctypes
import os
import time

import pytest
import pytest_asyncio
from finsy.proto import p4r

from grasp.targets.v1model.daemon import compile_json
from grasp.targets.v1model.engine import Engine
from grasp.targets.v1model.p4runtime.server import P4RuntimeServer

from .rig import (
    COUNTERS,
    DEVICE,
    DIGESTS,
    REGISTERS,
    VALUE_SETS,
    WAIT,
    Client,
    action,
    call,
    entry,
    exact,
    lpm,
    ternary,
)
from .test_runtime_ports import QUIET, Host, in_namespace, ip

pytestmark = [pytest.mark.packet, pytest.mark.network]
HOST_MAC, OTHER_MAC = b"\x02\0\0\0\0\1", b"\x02\0\0\0\0\2"


def frame(destination=OTHER_MAC, source=HOST_MAC, ethertype=b"\x12\x34", payload=b"payload"):
    return destination + source + ethertype + payload.ljust(46, b"\0")


@pytest.fixture
def hosts():
    """A running engine and the hosts at its ports 1 to 3, in a namespace that ends with the test."""
    with Engine(cpu_port=255) as engine:
        made, namespaces = {}, []

        @in_namespace
        def connect():
            for number in (1, 2, 3):
                made[number] = Host(number)
                engine.add_port(number, made[number].near)
            engine.start()
            namespaces.append(os.open("/proc/thread-self/ns/net", os.O_RDONLY))

        connect()
        yield engine, made, namespaces[0]
        for host in made.values():
            host.socket.close()
        os.close(namespaces[0])


@pytest_asyncio.fixture
async def switch(hosts):
    """(controller, hosts) of a switch that runs the test program."""
    engine, made, _ = hosts
    server = P4RuntimeServer(engine, DEVICE, compile_json)
    port = server.bind("127.0.0.1:0")
    await server.start()
    async with Client(port) as client:
        await client.arbitrate()
        await client.set_config()
        yield client, made
    await server.stop()


def set_link(namespace, *words):
    """Do something to a link in a namespace."""

    @in_namespace
    def change():
        if ctypes.CDLL(None).setns(namespace, 0):
            raise OSError("setns")
        ip(f"link set {' '.join(words)}")

    change()


async def heard(host, wait=WAIT):
    return await asyncio.to_thread(host.receive, wait)


FORWARD = entry("exact_match", exact(1, OTHER_MAC), exact(2, b"\1"), action=call("forward", b"\2"))


async def test_entries_decide_where_frames_go(switch):
    client, hosts = switch
    hosts[1].send(frame())
    assert await heard(hosts[2], QUIET) is None
    await client.insert(FORWARD)
    hosts[1].send(frame())
    assert await heard(hosts[2]) == frame()
    await client.delete(FORWARD)
    hosts[1].send(frame())
    assert await heard(hosts[2], QUIET) is None
    counted = p4r.CounterEntry(counter_id=COUNTERS["ports"], index=p4r.Index(index=1))
    (cell,) = await client.read(counted)
    assert (cell.data.packet_count, cell.data.byte_count) == (3, 3 * len(frame()))


async def test_packets_to_and_from_the_controller(switch):
    client, hosts = switch
    metadata = [p4r.PacketMetadata(metadata_id=1, value=b"\0\3")]
    await client.send(packet=p4r.PacketOut(payload=frame(), metadata=metadata))
    assert await heard(hosts[3]) == frame()
    await client.insert(entry("exact_match", *FORWARD.match, action=call("to_controller", b"\5")))
    hosts[1].send(frame())
    packet = (await client.receive()).packet
    assert packet.payload == frame()
    assert [(one.metadata_id, one.value) for one in packet.metadata] == [(1, b"\1"), (2, b"\5")]


async def test_a_priority_decides_between_two_entries(switch):
    client, hosts = switch
    matching = ternary(1, HOST_MAC, b"\xff" * 6)
    await client.insert(entry("ternary_match", matching, priority=1, action=call("forward", b"\2")))
    await client.insert(entry("ternary_match", matching, priority=2, action=call("forward", b"\3")))
    hosts[1].send(frame())
    assert await heard(hosts[3]) == frame()


async def test_constant_entries_work(switch):
    client, hosts = switch
    await client.insert(entry("exact_match", exact(1, b"\0"), exact(2, b"\1"), action=call("forward", b"\2")))
    (default,) = await client.read(entry("fixed", is_default_action=True))
    default.is_const = False
    default.action.CopyFrom(call("forward", b"\3"))
    await client.modify(default)
    hosts[1].send(frame())
    assert await heard(hosts[3]) == frame()
    hosts[1].send(frame(ethertype=b"\x88\x12"))  # a constant entry drops it
    assert await heard(hosts[3], QUIET) is None


async def test_multicast_and_direct_resources(switch):
    client, hosts = switch
    await client.insert(
        p4r.MulticastGroupEntry(multicast_group_id=1, replicas=[p4r.Replica(egress_port=n) for n in (2, 3)]),
        entry("exact_match", *FORWARD.match, action=call("flood", b"\1")),
    )
    hosts[1].send(frame())
    assert [await heard(hosts[2]), await heard(hosts[3])] == [frame()] * 2
    route = entry("lpm_match", lpm(1, b"\x02\0\0\0\0\0", 8), action=call("count_forward", b"\2"))
    await client.insert(route)
    hosts[2].send(frame())
    assert await heard(hosts[2]) == frame()
    query = p4r.DirectCounterEntry(table_entry=entry("lpm_match", *route.match))
    (direct,) = await client.read(query)
    assert (direct.data.packet_count, direct.data.byte_count) == (1, len(frame()))


async def test_registers_written_by_packets_and_by_the_controller(switch):
    client, hosts = switch
    await client.insert(
        entry("exact_match", *FORWARD.match, action=call("remember", b"\xde\xad", b"\xff\xfe"))
    )
    hosts[1].send(frame())
    cells = p4r.RegisterEntry(register_id=REGISTERS["cells"], index=p4r.Index(index=1))
    balances = p4r.RegisterEntry(register_id=REGISTERS["balances"], index=p4r.Index(index=1))
    deadline = time.monotonic() + WAIT
    while (found := await client.read(cells, balances))[1].data.bitstring == b"\0":
        assert time.monotonic() < deadline
    assert [one.data.bitstring for one in found] == [b"\xde\xad", b"\xfe"]


async def test_value_set_steers_the_parser(switch):
    client, hosts = switch
    types = p4r.CounterEntry(counter_id=COUNTERS["types"])
    member = p4r.ValueSetMember(match=[exact(1, b"\x12\x34")])
    await client.insert(FORWARD)
    for members, counts in (([], [1, 0]), ([member], [1, 1])):
        await client.modify(p4r.ValueSetEntry(value_set_id=VALUE_SETS["special_types"], members=members))
        hosts[1].send(frame())
        assert await heard(hosts[2]) == frame()
        assert [one.data.packet_count for one in await client.read(types)][:2] == counts


async def test_digests_are_told_again_after_their_acknowledgement(switch):
    client, hosts = switch
    await client.modify(entry("keyless", is_default_action=True, action=call("learn")))
    config = p4r.DigestEntry.Config(max_list_size=1, ack_timeout_ns=10**12)
    await client.insert(FORWARD, p4r.DigestEntry(digest_id=DIGESTS["learned_t"], config=config))
    hosts[1].send(frame())
    hosts[1].send(frame())
    told = (await client.receive()).digest
    (sample,) = told.data
    assert [one.bitstring for one in sample.struct.members] == [HOST_MAC, b"\1"]
    assert [await heard(hosts[2]) for _ in range(2)] == [frame()] * 2  # the second was not told
    await client.send(digest_ack=p4r.DigestListAck(digest_id=told.digest_id, list_id=told.list_id))
    await client.read(FORWARD)
    hosts[1].send(frame())
    again = (await client.receive()).digest
    assert (again.data, again.list_id) == (told.data, told.list_id + 1)


async def test_idle_entry_is_told_again_until_it_is_deleted(switch):
    client, hosts = switch
    timed = p4r.TableEntry(idle_timeout_ns=300_000_000)
    timed.MergeFrom(FORWARD)
    await client.insert(timed)
    started = time.monotonic()
    for _ in range(2):
        (idle,) = (await client.receive()).idle_timeout_notification.table_entry
        assert list(idle.match) == list(FORWARD.match)
        assert idle.idle_timeout_ns == timed.idle_timeout_ns
    assert time.monotonic() - started > 0.6
    query = entry("exact_match", time_since_last_hit=p4r.TableEntry.IdleTimeout())
    hosts[1].send(frame())
    assert await heard(hosts[2]) == frame()
    (row,) = await client.read(query)
    assert row.time_since_last_hit.elapsed_ns < 300_000_000
    await client.delete(FORWARD)
    assert await client.read(query) == []


async def test_selector_leaves_out_a_member_whose_port_is_down(hosts, switch):
    client, links = switch
    namespace = hosts[2]
    actions = [
        p4r.ActionProfileAction(action=action("forward", port), weight=1, watch_port=port)
        for port in (b"\2", b"\3")
    ]
    action_set = p4r.ActionProfileActionSet(action_profile_actions=actions)
    row = entry(
        "by_selector", exact(1, b"\x12\x34"), action=p4r.TableAction(action_profile_action_set=action_set)
    )
    await client.insert(row)

    async def used():
        """Where sixteen frames of different sources go."""
        for number in range(16):
            links[1].send(frame(source=b"\x06\0\0\0\0" + bytes([number])))
        found = {2: 0, 3: 0}
        for number in (2, 3):
            while await heard(links[number], QUIET) is not None:
                found[number] += 1
        return found

    both = await used()
    assert sum(both.values()) == 16
    assert min(both.values()) > 0
    set_link(namespace, links[3].near, "down")
    deadline = time.monotonic() + WAIT
    while (await used())[2] != 16:
        assert time.monotonic() < deadline
    set_link(namespace, links[3].near, "up")
    deadline = time.monotonic() + WAIT
    while await used() != both:
        assert time.monotonic() < deadline
