# SPDX-License-Identifier: Apache-2.0
"""Packet-outs: each operation, its answer, and what it leaves alone."""

from __future__ import annotations

from typing import cast

import pytest
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether
from tests.p4src.site_switch import (
    CLIENTS,
    EXPIRY,
    LATER,
    NO_ROLE,
    PORTS,
    SITES,
    WEB,
    Event,
    announce,
    connect,
    drain,
    forecast,
    grasp,
    heartbeat,
    ipv4,
    probe,
    to_service,
)
from tests.p4src.switch import Switch, pack

from grasp.control.wire import CPU_PORT, Drop, Operation, PacketIn, PacketOut, Reason, SiteFlag, Status
from grasp.telemetry.protocol import FrameType

LOCAL_AND_SET = SiteFlag.KNOWN | SiteFlag.AUTHORITATIVE | SiteFlag.LOCAL


def test_transmit_sends_the_payload_as_it_is(switch: Switch) -> None:
    syn = ipv4(CLIENTS[0], WEB.address, to_service(1))
    payloads = [bytes(14), bytes(range(60)), syn, grasp(FrameType.PROBE), bytes(1514)]
    for port in PORTS:
        for payload in payloads:
            assert switch.packet_out(PacketOut(Operation.TRANSMIT, port=port), payload) == [(port, payload)]


def test_an_injected_packet_is_one_of_its_port(switch: Switch) -> None:
    announce(switch, {10: 0, 11: 500})
    syn = ipv4(CLIENTS[0], WEB.address, to_service(40000))
    ((port, frame),) = switch.packet_out(PacketOut(Operation.INJECT, port=1), syn)
    assert port == SITES[11].port
    assert Ether(frame)[IP].dst == SITES[11].address
    assert switch.packet_out(PacketOut(Operation.INJECT, port=2), syn) == []
    assert switch.packet_out(PacketOut(Operation.INJECT, port=NO_ROLE), syn) == []
    assert switch.packet_out(PacketOut(Operation.INJECT, port=CPU_PORT), syn) == []
    assert switch.counts("drops") == {Drop.SPOOFED: 1, Drop.UNKNOWN_PORT: 2}


def test_an_injected_packet_outlives_a_winner_that_is_struck_out(switch: Switch) -> None:
    announce(switch, {10: 900, 11: 500})
    switch.advance(EXPIRY + LATER)
    heartbeat(switch, 11)
    syn = ipv4(CLIENTS[0], WEB.address, to_service(40000))
    ((port, _),) = switch.packet_out(PacketOut(Operation.INJECT, port=1), syn)
    assert port == SITES[11].port
    assert switch.count("events", Event.STRUCK_OUT) == 1
    assert switch.counts("drops") == {}


@pytest.mark.parametrize("operation", [0, 6, 7, 128, 255])
def test_an_unknown_operation_is_dropped_and_counted(switch: Switch, operation: int) -> None:
    header = PacketOut(cast("Operation", operation), port=1, site=10)
    assert switch.packet_out(header, ipv4(CLIENTS[0], WEB.address, to_service(1))) == []
    assert switch.counts("drops") == {Drop.OPERATION: 1}


def test_reading_an_unknown_site(switch: Switch) -> None:
    answer = switch.operate(PacketOut(Operation.READ_SITE, site=77, sequence=0xFFFF_FFFF))
    assert answer.heard > 0
    assert answer == PacketIn(
        Reason.ANSWER, ingress_port=CPU_PORT, site=77, sequence=0xFFFF_FFFF, heard=answer.heard
    )
    assert switch.read_site(10).flags == SiteFlag.LOCAL


def test_reading_a_site_says_all_that_is_known(switch: Switch) -> None:
    forecast(switch, 10, 9, 5000, spent=700)
    switch.advance(20_000)
    heartbeat(switch, 10)
    switch.advance(10_000)
    answer = switch.operate(PacketOut(Operation.READ_SITE, site=10, sequence=3))
    assert answer.flags == LOCAL_AND_SET | SiteFlag.ALIVE
    assert (answer.epoch, answer.budget, answer.headroom) == (9, 5000, 4300)
    assert (answer.next_hop, answer.sequence) == (SITES[10].port, 3)
    assert 10_000 <= answer.heard < (EXPIRY * switch.pace if switch.real_time else 10_001)


def test_reading_changes_nothing(switch: Switch) -> None:
    announce(switch, {10: 500, 200: 400})
    for site in (10, 200, 77):
        before = switch.read_site(site)
        assert switch.packet_out(PacketOut(Operation.READ_SITE, site=site))[0][0] == CPU_PORT
        after = switch.read_site(site)
        assert (before.flags, before.epoch, before.headroom) == (after.flags, after.epoch, after.headroom)
    assert switch.counts("events").get(Event.FORECAST_SET) == 1


def test_the_first_forecast_counts_what_was_spent_before_a_restart(switch: Switch) -> None:
    answer = forecast(switch, 10, 4, 5000, spent=1200)
    assert (answer.status, answer.epoch, answer.budget, answer.headroom) == (Status.OK, 4, 5000, 3800)
    assert answer.flags == LOCAL_AND_SET
    assert switch.counts("events") == {Event.FORECAST_SET: 1}


def test_a_new_epoch_starts_from_its_budget(switch: Switch) -> None:
    announce(switch, {10: 5000}, epoch=4)
    connect(switch, 40000)
    assert forecast(switch, 10, 5, 7000).headroom == 7000


def test_a_correction_keeps_what_was_charged_and_can_be_repeated(switch: Switch) -> None:
    announce(switch, {10: 5000}, epoch=4)
    connect(switch, 40000)
    for _ in range(3):
        assert forecast(switch, 10, 4, 6000).headroom == 6000 - WEB.energy
    connect(switch, 40001)
    assert forecast(switch, 10, 4, 100).headroom == 100 - 2 * WEB.energy
    assert forecast(switch, 10, 4, 6000, spent=10**6).headroom == 6000 - 2 * WEB.energy


def test_a_repeated_new_epoch_is_a_correction(switch: Switch) -> None:
    announce(switch, {10: 5000}, epoch=4)
    forecast(switch, 10, 5, 8000)
    connect(switch, 40000)
    assert forecast(switch, 10, 5, 8000).headroom == 8000 - WEB.energy


def test_an_older_forecast_is_stale_and_changes_nothing(switch: Switch) -> None:
    announce(switch, {10: 5000}, epoch=4)
    before = switch.read_site(10)
    out = switch.packet_out(PacketOut(Operation.SET_FORECAST, site=10, epoch=3, budget=10**6, sequence=1))
    assert [port for port, _ in out] == [CPU_PORT]
    answer = forecast(switch, 10, 3, 10**6)
    assert (answer.status, answer.epoch, answer.budget, answer.headroom) == (Status.STALE, 4, 5000, 5000)
    after = switch.read_site(10)
    assert (after.epoch, after.budget, after.headroom) == (before.epoch, before.budget, before.headroom)
    assert switch.count("events", Event.FORECAST_SET) == 1


@pytest.mark.parametrize(
    ("known", "new", "status"),
    [
        (2**32 - 1, 0, Status.OK),
        (0, 2**32 - 1, Status.STALE),
        (5, 5 + 2**31 - 1, Status.OK),
        (5, 5 + 2**31, Status.STALE),  # half the circle away is not newer
        (2**31, 0, Status.STALE),
    ],
)
def test_epochs_are_serial_numbers(switch: Switch, known: int, new: int, status: Status) -> None:
    forecast(switch, 10, known, 1000)
    answer = forecast(switch, 10, new, 2000)
    assert (answer.status, answer.headroom) == (status, 2000 if status == Status.OK else 1000)


@pytest.mark.parametrize("operation", [Operation.SET_FORECAST, Operation.SET_DRAIN])
@pytest.mark.parametrize("site", [200, 77])
def test_operations_belong_to_the_switch_of_the_site(switch: Switch, operation: Operation, site: int) -> None:
    switch.send(6, probe(200, epoch=1, headroom=300))
    before = switch.read_site(site)
    header = PacketOut(operation, flags=1, site=site, sequence=5, epoch=9, budget=10**6)
    out = switch.packet_out(header)
    assert [port for port, _ in out] == [CPU_PORT]
    assert switch.operate(header).status == Status.NOT_HERE
    after = switch.read_site(site)
    assert (before.flags, before.epoch, before.headroom) == (after.flags, after.epoch, after.headroom)
    assert Event.FORECAST_SET not in switch.counts("events")


def test_a_drain_is_answered_and_can_be_repeated(switch: Switch) -> None:
    announce(switch, {10: 500})
    for drained in (True, True, False, False):
        answer = drain(switch, 10, drained)
        assert answer.status == Status.OK
        assert bool(answer.flags & SiteFlag.DRAINED) == drained
        assert (answer.epoch, answer.headroom) == (1, 500)


def test_energies_stop_at_the_ends_of_their_range(switch: Switch) -> None:
    top = 2**47 - 1
    assert forecast(switch, 10, 1, top, spent=-100).headroom == top
    assert forecast(switch, 10, 2, -top, spent=100).headroom == -top - 1
    assert forecast(switch, 10, 2, top).headroom == -1  # up by 2**47 - 1, not by twice as much


def test_an_operation_that_is_cut_short_is_malformed(switch: Switch) -> None:
    if switch.real_time:
        pytest.skip("P4Runtime sends whole headers only")
    whole = pack(PacketOut(Operation.READ_SITE, site=10))
    for length in range(len(whole)):
        assert switch.send(CPU_PORT, whole[:length]) == []
    assert switch.counts("drops") == {Drop.MALFORMED: len(whole)}


def test_an_injected_frame_that_is_cut_short_is_malformed(switch: Switch) -> None:
    syn = ipv4(CLIENTS[0], WEB.address, to_service(40000))
    announce(switch, {10: 100})
    for length in range(len(syn)):
        assert switch.packet_out(PacketOut(Operation.INJECT, port=1), syn[:length]) == []
    assert switch.counts("drops") == {Drop.MALFORMED: len(syn)}
    assert switch.read_site(10).headroom == 100
