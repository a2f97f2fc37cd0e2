# SPDX-License-Identifier: Apache-2.0
"""The controller's process against fake switches: what reaches the switches, and what never does."""

import asyncio
import struct
import urllib.request
from dataclasses import replace
from ipaddress import IPv4Address

import pytest
from fake_switch import DRAINED, OVERFLOW, SET_DRAIN, SET_FORECAST
from rig import Agent, client_mac, cut, ring_config, running, site_mac, wire_ring

from grasp import UserError
from grasp.control import admin
from grasp.control.store import Store

GATEWAY = 0x0200000000FE
VIP = int(IPv4Address("10.100.0.1"))


def client(number: int) -> int:
    return int(IPv4Address(f"10.0.0.{number}"))


def server(number: int) -> int:
    return int(IPv4Address(f"10.0.1.{number}"))


def linked(switches):
    """Whether every switch floods to both its neighbours."""
    return all(switch.groups.get(1) == {1, 2} for switch in switches)


def scrape(port):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        return answer.read().decode()


@pytest.fixture
async def ring(fake):
    switches = [await fake(number) for number in (1, 2, 3)]
    wire_ring(switches)
    return switches


@pytest.fixture
def config(ring, tmp_path):
    return ring_config(ring, tmp_path)


async def settled(ring):
    """Wait until every link is known and written everywhere."""
    for switch in ring:
        await switch.until(lambda switch=switch: switch.groups.get(1) == {1, 2})


async def test_a_switch_is_brought_to_the_configured_state(ring, config, schema):
    async with running(config, schema):
        await settled(ring)
        s1 = ring[0]
        assert s1.entries("ports") == {(1,): ("set_role", 1), (2,): ("set_role", 1), (3,): ("set_role", 2)}
        assert s1.entries("sources") == {(3, int.from_bytes(client_mac(1)), client(1)): ("NoAction",)}
        assert s1.entries("arp_responder") == {
            (VIP,): ("answer_arp", GATEWAY),
            (int(IPv4Address("10.0.0.254")),): ("answer_arp", GATEWAY),
        }
        assert s1.entries("services") == {(VIP, 6, 80): ("set_service", 7, 8080, 1500, 30_000_000)}
        assert s1.entries("site_services") == {(6, 8080): ("set_site_service", 7, VIP, 80, 1500, 30_000_000)}
        assert s1.entries("site_servers") == {(n,): ("set_server", server(n)) for n in (1, 2, 3)}
        assert s1.entries("routes") == {
            (client(1), 32): ("deliver", 3, int.from_bytes(client_mac(1))),
            (client(2), 32): ("forward", 1),
            (client(3), 32): ("forward", 2),
        }
        assert s1.entries("local_sites") == {}
        assert s1.default("parameters") == ("set_parameters", 100_000, 1_000_000, 10_000_000, 50_000, GATEWAY)
        assert s1.groups == {1: {1, 2}, 2: {1, 2, 255}}


async def test_a_site_registers_and_the_switches_know_it_before_the_agent_does(ring, config, schema):
    async with running(config, schema) as control:
        await settled(ring)
        agent = Agent(ring[1], 2)
        registered = await agent.register()
        assert ring[1].entries("local_sites") == {(2,): ("deliver_to_site", 4, int.from_bytes(site_mac(2)))}
        assert (registered.site, registered.interval, registered.heartbeat) == (2, 100_000, 20_000)
        await ring[0].until(lambda: ring[0].entries("routes").get((server(2), 32)) == ("forward", 1))
        await control.events.until("registered", site="site2")


async def test_a_forecast_is_sent_again_until_the_switch_confirms_it(ring, config, schema):
    async with running(config, schema) as control:
        await settled(ring)
        agent = Agent(ring[0], 1)
        await agent.register()
        ring[0].lose_answers = 3
        await agent.report(1000, 5.0)
        await control.events.until("forecast_acknowledged", site="site1", epoch=1000)
        site = ring[0].sites[1]
        assert (site.epoch, site.budget, site.headroom) == (1000, 5000, 5000)
        assert sum(out["operation"] == SET_FORECAST for out in ring[0].operations) > 1


async def test_a_forecast_for_the_next_epoch_reaches_the_switch_when_it_begins(ring, tmp_path, schema):
    config = ring_config(ring, tmp_path, epoch_seconds=1.5)
    async with running(config, schema) as control:
        await settled(ring)
        agent = Agent(ring[0], 1)
        await agent.register()
        for epoch, energy in ((1000, 5.0), (1001, 6.0)):
            if (await agent.report(epoch, energy)).status != 0:
                pytest.skip("the machine was too slow for the epoch")
        assert all(out["epoch"] < 1001 for out in ring[0].operations)
        await control.events.until("forecast_acknowledged", epoch=1001)
        assert (ring[0].sites[1].epoch, ring[0].sites[1].headroom) == (1001, 6000)


async def test_a_controller_that_starts_again_takes_over_and_writes_nothing(ring, config, schema):
    async with running(config, schema) as control:
        await settled(ring)
        agent = Agent(ring[0], 1)
        await agent.register()
        await agent.report(1000, 5.0)
        await control.events.until("forecast_acknowledged")
        await ring[1].until(lambda: (server(1), 32) in ring[1].entries("routes"))
    ring[0].sites[1].headroom -= 1500  # a job, meanwhile
    writes = [len(switch.writes) for switch in ring]
    first = [switch.primaries[-1] for switch in ring]
    async with running(config, schema) as control:
        for _ in ring:
            await control.events.until("reconciled", written=0)
        status = await agent.report(1000, 6.0)  # in the session of before
        assert status.status == 0
        await control.events.until("forecast_acknowledged", site="site1", budget_wh=6.0)
    assert [len(switch.writes) for switch in ring] == writes
    assert [switch.pipelines_set for switch in ring] == [1, 1, 1]
    assert all(new > old for new, old in zip((switch.primaries[-1] for switch in ring), first, strict=True))
    assert (ring[0].sites[1].budget, ring[0].sites[1].headroom) == (6000, 4500)


async def test_a_switch_that_restarts_is_brought_back(ring, config, schema):
    async with running(config, schema) as control:
        await settled(ring)
        agent = Agent(ring[0], 1)
        await agent.register()
        await agent.report(1000, 5.0)
        await control.events.until("forecast_acknowledged")
        s1 = ring[0]
        s1.sites[1].headroom -= 1500
        reads = len(s1.operations)
        await s1.until(lambda: len(s1.operations) > reads + 20)  # among them readings of the site
        before = {table.alias: s1.entries(table.alias) for table in schema.tables}
        parameters = s1.default("parameters")
        await s1.stop()
        await control.events.until("switch_down", switch="s1")
        await s1.start()
        await control.events.until("switch_up", switch="s1", fresh=True)
        await s1.until(lambda: s1.sites[1].epoch == 1000)
        await s1.until(lambda: {table.alias: s1.entries(table.alias) for table in schema.tables} == before)
        assert s1.default("parameters") == parameters
        assert (s1.sites[1].budget, s1.sites[1].headroom) == (5000, 3500)


async def test_refused_messages_change_nothing(ring, config, schema):
    async with running(config, schema) as control:
        await settled(ring)
        agent = Agent(ring[0], 1)
        await agent.register()
        await agent.report(1000, 5.0)
        await control.events.until("forecast_acknowledged")
        await ring[2].until(lambda: (server(1), 32) in ring[2].entries("routes"))
        replayed = agent.report_frame(1000, green_energy=7.0)
        await agent.send(replayed)
        await control.events.until("forecast_acknowledged", budget_wh=7.0)

        writes = [len(switch.writes) for switch in ring]
        impostor = Agent(ring[1], 2)
        impostor.secret = bytes(32)
        stranger = Agent(ring[1], 2)
        stranger.name = "nobody"
        elsewhere = Agent(ring[1], 1)
        spoofed = Agent(ring[1], 2)
        spoofed.mac = site_mac(3)
        for sender in (impostor, stranger, elsewhere, spoofed):
            await sender.send(sender.register_frame())
        await agent.send(replayed)
        await agent.send(agent.report_frame(1000, green_energy=9.0, moonlight=1.0))
        await agent.send(b"\x00" * 60)
        for reason in ("authentication", "unenrolled", "alive", "hardware_address", "replay"):
            await control.events.until("refused", reason=reason)
        await control.events.until("refused", reason="unknown_parameter")
        assert [len(switch.writes) for switch in ring] == writes
        assert ring[0].sites[1].budget == 7000
        assert ring[1].entries("local_sites") == {}


def syn(source: int, port: int) -> bytes:
    """A TCP SYN of a client to the service."""
    tcp = struct.pack("!HHIIBBHHH", port, 80, 1, 0, 5 << 4, 2, 8192, 0, 0)
    ip = struct.pack("!BBHHHBBHII", 0x45, 0, 40, 1, 0, 64, 6, 0, source, VIP)
    return bytes.fromhex("0200000000fe") + client_mac(1) + b"\x08\x00" + ip + tcp


async def test_a_connection_without_room_is_pinned_injected_and_forgotten_when_idle(ring, config, schema):
    s1 = ring[0]
    async with running(config, schema):
        await settled(ring)
        packet = syn(client(1), 40000)
        await s1.packet_in(packet, reason=OVERFLOW, ingress_port=3, site=2, service=7)
        await s1.until(lambda: s1.injected)
        assert s1.entries("pinned") == {(7, client(1), 40000): ("pin", 2)}
        entry = next(entry for entry in s1.tables.values() if entry.idle_timeout_ns)
        assert entry.idle_timeout_ns == 30 * 10**9
        assert s1.injected == [(1, 3, packet)]

        await s1.packet_in(packet, reason=OVERFLOW, ingress_port=3, site=3, service=7)
        await s1.until(lambda: len(s1.injected) == 2)
        assert s1.entries("pinned") == {(7, client(1), 40000): ("pin", 2)}
        assert s1.injected[1] == (0, 3, packet)  # the same connection, charged once

        await s1.idle("pinned")
        await s1.until(lambda: not s1.entries("pinned"))


async def test_a_packet_that_is_not_the_programs_is_counted_and_changes_nothing(ring, config, schema):
    async with running(config, schema) as control:
        await settled(ring)
        await ring[0].packet_in(b"", reason=99)
        await Agent(ring[0], 1).register()
        assert control.core.counters["packets_other"] == 1


async def test_pins_outlive_the_controller_and_the_switch(ring, config, schema):
    s1 = ring[0]
    pin = {(7, client(1), 40000): ("pin", 2)}
    async with running(config, schema) as control:
        await settled(ring)
        await s1.packet_in(syn(client(1), 40000), reason=OVERFLOW, ingress_port=3, site=2, service=7)
        await s1.until(lambda: s1.injected)
    async with running(config, schema) as control:
        await control.events.until("reconciled", switch="s1", written=0)
        assert s1.entries("pinned") == pin
        await s1.stop()
        await control.events.until("switch_down", switch="s1")
        await s1.start()
        await control.events.until("reconciled", switch="s1")
        assert s1.entries("pinned") == pin
        await s1.idle("pinned")
        await s1.until(lambda: not s1.entries("pinned"))


async def test_traffic_goes_round_a_link_that_vanishes_and_back_when_it_returns(ring, config, schema):
    s1, s2, _ = ring
    async with running(config, schema) as control:
        await settled(ring)
        assert s1.entries("routes")[client(2), 32] == ("forward", 1)
        cut(s1, 1)
        await control.events.until("link_down")
        await s1.until(lambda: s1.entries("routes")[client(2), 32] == ("forward", 2))
        await s2.until(lambda: s2.entries("routes")[client(1), 32] == ("forward", 1))
        assert s1.groups == {1: {2}, 2: {2, 255}}
        wire_ring(ring)
        await control.events.until("link_up")
        await s1.until(lambda: s1.entries("routes")[client(2), 32] == ("forward", 1))


async def test_a_switch_that_is_not_up_yet_is_waited_for_and_complained_of_once(ring, config, schema, caplog):
    await ring[0].stop()
    async with running(config, schema) as control:
        await control.events.until("switch_up", switch="s2")
        await control.events.until("switch_up", switch="s3")
        await asyncio.sleep(0.5)  # a few tries that must stay silent
        await ring[0].start()
        await control.events.until("switch_up", switch="s1")
        await settled(ring)
    assert sum("s1 at" in record.message for record in caplog.records) == 1


async def test_a_program_that_was_replaced_is_put_back(ring, config, schema, monkeypatch):
    monkeypatch.setattr("grasp.control.p4runtime.switch.WATCH_SECONDS", 0.05)
    async with running(config, schema) as control:
        await settled(ring)
        before = ring[0].entries("services")
        await ring[0].replace_pipeline()
        await control.events.until("switch_down", switch="s1")
        await ring[0].until(lambda: ring[0].entries("services") == before)
        assert ring[0].pipelines_set == 2


async def test_counters_of_switches_that_are_up_are_shown(ring, config, schema, unused_tcp_port):
    config = replace(config, metrics=f"127.0.0.1:{unused_tcp_port}")
    async with running(config, schema) as control:
        await settled(ring)
        await ring[2].stop()
        await control.events.until("switch_down", switch="s3")
        text = await asyncio.to_thread(scrape, unused_tcp_port)
    assert 'grasp_switch_up{switch="s1"} 1.0' in text
    assert 'grasp_switch_up{switch="s3"} 0.0' in text
    assert 'grasp_jobs_total{site="site2",switch="s1"} 2.0' in text  # the fake counts as many as the index
    assert 'grasp_jobs_total{site="site2",switch="s3"}' not in text
    assert 'grasp_controller_packets_total{kind="discovery"}' in text


async def test_a_refused_write_is_tried_again_and_leaves_other_switches_alone(ring, config, schema):
    ring[0].refuse = True
    async with running(config, schema) as control:
        await control.events.until("reconciled", switch="s2")
        assert not ring[0].tables
        ring[0].refuse = False
        await control.events.until("reconciled", switch="s1")
        await settled(ring)


async def test_a_second_controller_takes_the_switches_and_gives_them_back(ring, config, schema, tmp_path):
    other = ring_config(ring, tmp_path / "other")
    (tmp_path / "other").mkdir()
    async with running(config, schema) as first:
        await settled(ring)
        async with running(other, schema) as second:
            await first.events.until("standby", switch="s1")
            await second.events.until("reconciled", switch="s1")
        await first.events.until("switch_up", switch="s1")
        await first.events.until("reconciled", switch="s1")


async def test_a_store_that_cannot_be_written_ends_the_controller_as_a_user_error(
    ring, config, schema, monkeypatch
):
    def fail(*_: object) -> None:
        raise UserError("the disk is full")

    monkeypatch.setattr(Store, "save_links", fail)
    with pytest.raises(UserError, match="the disk is full"):
        async with running(config, schema) as control:
            await control.events.until("end")
    assert not config.admin.exists()


async def test_an_administrator_drains_and_asks(ring, config, schema):
    async with running(config, schema):
        await settled(ring)
        await Agent(ring[0], 1).register()
        for command, flag in (("drain", 1), ("undrain", 0)):
            await asyncio.to_thread(admin.ask, config.admin, command=command, site="site1")
            await ring[0].until(
                lambda flag=flag: any(
                    out["operation"] == SET_DRAIN and out["site"] == 1 and out["flags"] == flag
                    for out in ring[0].operations
                )
            )
            assert bool(ring[0].sites[1].flags & DRAINED) is bool(flag)
        with pytest.raises(UserError, match="no site is named 'atlantis'"):
            await asyncio.to_thread(admin.ask, config.admin, command="drain", site="atlantis")
        with pytest.raises(UserError, match="status, drain or undrain"):
            await asyncio.to_thread(admin.ask, config.admin, command="explode")
        status = await asyncio.to_thread(admin.ask, config.admin, command="status")
        assert {name: switch["up"] for name, switch in status["switches"].items()} == dict.fromkeys(
            ("s1", "s2", "s3"), True
        )
