# SPDX-License-Identifier: Apache-2.0
"""Clones, resubmission, recirculation, multicast: which packets come, and which metadata they have kept."""

from __future__ import annotations

import struct

import pytest

from grasp.targets.v1model.objects import CloneSession, Replica

from .documents import switch

pytestmark = pytest.mark.packet

CLONE, RESUBMIT, RECIRCULATE, EGRESS_CLONE, MULTICAST, TRUNCATE, DROP, BARE_CLONE = range(1, 9)
NORMAL, INGRESS_COPY, EGRESS_COPY, RECIRCULATED, REPLICATED = 0, 1, 2, 4, 5
PAYLOAD = b"payload that is kept"


@pytest.fixture(scope="module")
def engine():
    with switch("copying") as (engine, program):
        program.set_clone_session(7, CloneSession((Replica(6),)))
        program.set_multicast_group(1, [Replica(2, 21), Replica(3, 31), Replica(3, 32)])
        yield engine


def ask(engine, operation, rounds=0):
    """Each packet out: port, rounds, kept, lost, kind of instance, replication id, length."""
    packet = bytes([operation, rounds, 0, 0, 0, 0, 0, 0]) + PAYLOAD
    found = []
    for port, out in engine.process(0, packet):
        assert out[0] == operation
        assert out[8:] == PAYLOAD[: 12 if operation == TRUNCATE else None]
        found.append((port, *struct.unpack("!BBBBBH", out[1:8])))
    return found


LENGTH = 8 + len(PAYLOAD)


def test_an_ingress_clone_is_the_packet_as_it_came(engine):
    # With the preserved metadata as it was at the end of ingress, the rest zero.
    assert sorted(ask(engine, CLONE, 3)) == [
        (1, 99, 8, 6, NORMAL, 0, LENGTH),
        (6, 3, 8, 0, INGRESS_COPY, 0, LENGTH),
    ]


def test_a_clone_of_a_dropped_packet(engine):
    assert ask(engine, BARE_CLONE) == [(6, 0, 0, 0, INGRESS_COPY, 0, LENGTH)]


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_resubmission_keeps_its_field_list(engine, rounds):
    assert ask(engine, RESUBMIT, rounds) == [(1, 0, rounds, 0, NORMAL, 0, LENGTH)]


@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_recirculation_ends_when_the_program_wants(engine, rounds):
    assert ask(engine, RECIRCULATE, rounds) == [(1, 0, 0, 0, NORMAL, 0, LENGTH)]


def test_an_egress_clone_passes_egress_again(engine):
    found = sorted(ask(engine, EGRESS_CLONE))
    kept = 0xA | 0x123456789 & 0xFF  # bit<4> and bit<200> of the field list
    assert [one[0] for one in found] == [1, 6]
    assert found[0][2] == kept
    assert found[1][2:5] == (kept, 0, EGRESS_COPY)


def test_multicast_copies_have_their_number(engine):
    assert sorted(ask(engine, MULTICAST)) == [
        (port, 0, 0, 0, REPLICATED, number, LENGTH) for port, number in ((2, 21), (3, 31), (3, 32))
    ]


def test_truncation(engine):
    assert ask(engine, TRUNCATE) == [(1, 0, 0, 0, NORMAL, 0, LENGTH)]


@pytest.mark.parametrize("operation", [DROP, 9, 10, 200])
def test_drops(engine, operation):
    assert ask(engine, operation) == []
