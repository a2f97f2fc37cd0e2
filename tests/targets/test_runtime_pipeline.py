# SPDX-License-Identifier: Apache-2.0
"""What happens at the end of ingress and egress, as simple_switch does it."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grasp.targets.v1model.engine import Engine
from grasp.targets.v1model.objects import CloneSession, EngineError, Replica

from . import bare

pytestmark = pytest.mark.packet


@pytest.fixture
def switch():
    with Engine(cpu_port=255) as engine:
        bare.load(engine)
        yield engine


def report(switch, flags=0, port=0, **fields):
    """(port, answer) of every packet that comes out."""
    out = switch.process(port, bare.packet(flags | bare.REPORT, **fields), now_us=1000)
    return [(to, bare.answer(data)) for to, data in out]


def test_a_packet_goes_out_with_its_payload(switch):
    sent = bare.packet(port=7, payload=bytes(range(200)))
    assert switch.process(3, sent) == [(7, sent)]
    [(to, answer)] = report(switch, port=3, kept=0)
    assert (to, answer.instance, answer.ingress, answer.egress, answer.length) == (1, bare.NORMAL, 3, 1, 64)


def test_port_511_and_mark_to_drop(switch):
    assert switch.process(0, bare.packet(port=511)) == []
    assert switch.process(0, bare.packet(bare.DROP)) == []
    assert switch.process(0, bare.packet(bare.DROP_EGRESS)) == []
    counts = switch.counts()
    assert (counts.received, counts.dropped_ingress, counts.dropped_egress) == (3, 2, 1)


def test_another_drop_port():
    with Engine(drop_port=63) as engine:
        bare.load(engine)
        assert engine.process(0, bare.packet(port=63)) == []
        assert engine.process(0, bare.packet(bare.DROP)) == []
        assert [port for port, _ in engine.process(0, bare.packet(port=511))] == [511]


def test_a_packet_that_is_too_short_to_parse(switch):
    assert switch.process(0, b"short") == []
    assert switch.process(0, b"") == []


def test_multicast_copies_keep_metadata(switch):
    switch.program.set_multicast_group(9, [Replica(1, 10), Replica(2, 20), Replica(1, 11), Replica(255)])
    out = report(switch, port=4, group=9, kept=77)
    assert [(to, a.rid, a.instance, a.ingress, a.kept) for to, a in out] == [
        (1, 10, bare.REPLICATED, 4, 77), (2, 20, bare.REPLICATED, 4, 77),
        (1, 11, bare.REPLICATED, 4, 77), (255, 0, bare.REPLICATED, 4, 77),
    ]  # fmt: skip
    assert report(switch, group=8) == []
    assert switch.counts().no_multicast_group == 1
    switch.program.set_multicast_group(9, [Replica(3)])
    assert [to for to, _ in report(switch, group=9)] == [3]
    switch.program.delete_multicast_group(9)
    assert switch.program.multicast_groups() == {}


def test_an_ingress_clone_is_the_packet_as_it_came(switch):
    switch.program.set_clone_session(5, CloneSession((Replica(8, 3),)))
    out = report(switch, bare.CLONE, port=4, session=5, kept=66)
    (clone_to, clone), (to, original) = out  # the clone was made first
    assert (clone_to, clone.instance, clone.rid, clone.ingress, clone.kept) == (
        8,
        bare.INGRESS_CLONE,
        3,
        0,
        66,
    )
    assert (to, original.instance, original.ingress, original.kept) == (1, bare.NORMAL, 4, 66)
    assert [to for to, _ in report(switch, bare.CLONE | bare.DROP, session=5)] == [8]


def test_a_session_that_is_not_there_and_one_with_several_ports(switch):
    assert [to for to, _ in report(switch, bare.CLONE, session=6)] == [1]
    assert switch.counts().no_clone_session == 1
    switch.program.set_clone_session(0, CloneSession((Replica(8, 1), Replica(9, 2))))
    switch.program.set_clone_session(0, CloneSession((Replica(6, 1), Replica(9, 2)), 3, 0))
    assert [(to, a.rid) for to, a in report(switch, bare.CLONE)] == [(6, 1), (9, 2), (1, 0)]
    assert switch.program.clone_sessions() == {0: CloneSession((Replica(6, 1), Replica(9, 2)), 3, 0)}


def test_a_session_cuts_its_clones(switch):
    switch.program.set_clone_session(1, CloneSession((Replica(8),), packet_length=70))
    out = switch.process(0, bare.packet(bare.CLONE, session=1, payload=bytes(100)))
    assert [(to, len(data)) for to, data in out] == [(8, 70), (1, 164)]


def test_an_egress_clone_comes_after_its_original(switch):
    switch.program.set_clone_session(5, CloneSession((Replica(1, 9),)))
    (first, original), (second, clone) = report(switch, bare.CLONE_EGRESS, port=4, session=5, kept=66)
    assert (first, second, original.instance, clone.instance) == (1, 1, bare.NORMAL, bare.EGRESS_CLONE)
    assert (clone.rid, clone.ingress, clone.kept) == (9, 0, 66)
    out = report(switch, bare.CLONE_EGRESS | bare.DROP_EGRESS, session=5)
    assert [answer.instance for _, answer in out] == [bare.EGRESS_CLONE]


def test_both_clones_of_one_packet(switch):
    switch.program.set_clone_session(2, CloneSession((Replica(1),)))
    out = report(switch, bare.CLONE | bare.CLONE_EGRESS, session=2)
    instances = [answer.instance for _, answer in out]
    assert instances == [bare.INGRESS_CLONE, bare.NORMAL, bare.EGRESS_CLONE, bare.EGRESS_CLONE]


def test_resubmission_starts_from_the_packet_as_it_came(switch):
    [(to, answer)] = report(switch, bare.RESUBMIT, port=4, kept=12)
    assert (to, answer.instance, answer.ingress, answer.kept) == (1, bare.NORMAL, 0, 12)
    switch.program.set_clone_session(5, CloneSession((Replica(8),)))
    out = report(switch, bare.RESUBMIT | bare.CLONE | bare.CLONE_EGRESS, session=5, kept=12)
    assert [(to, a.instance, a.kept) for to, a in out] == [
        (8, bare.INGRESS_CLONE, 12), (8, bare.EGRESS_CLONE, 12),
        (1, bare.NORMAL, 12), (8, bare.EGRESS_CLONE, 12),
    ]  # fmt: skip


def test_recirculation_parses_what_the_deparser_wrote(switch):
    payload = bytes(range(100))
    [(to, data)] = switch.process(4, bare.packet(bare.RECIRCULATE, payload=payload, kept=5))
    words = bare.HEADER.unpack_from(data)
    assert (to, words[6], words[7], data[64:]) == (1, bare.RECIRCULATED, 5, payload)


def test_loops_end(switch):
    for loop in (bare.RESUBMIT, bare.RECIRCULATE):
        before = switch.counts().dropped_loop
        assert switch.process(0, bare.packet(loop | bare.FOR_EVER)) == []
        assert switch.counts().dropped_loop == before + 1
    switch.program.set_multicast_group(1, [Replica(p) for p in range(300)])
    assert switch.process(0, bare.packet(bare.RECIRCULATE | bare.FOR_EVER, group=1)) == []
    assert switch.process(0, bare.packet()) == [(1, bare.packet())]


def test_truncation(switch):
    for length, expected in [(80, 80), (64, 64), (10, 10), (500, 164)]:
        out = switch.process(0, bare.packet(bare.TRUNCATE, kept=length, payload=bytes(100)))
        assert [len(data) for _, data in out] == [expected]
    switch.program.set_multicast_group(1, [Replica(1), Replica(2)])
    out = switch.process(0, bare.packet(bare.TRUNCATE, group=1, kept=70, payload=bytes(100)))
    assert [(to, len(data)) for to, data in out] == [(1, 164), (2, 164)]  # as BMv2 does it


def test_priorities_need_queues(switch):
    assert switch.process(0, bare.packet(bare.PRIORITY, kept=1)) == []
    assert switch.counts().dropped_priority == 1
    with Engine(queues=8) as engine:
        bare.load(engine)
        assert len(engine.process(0, bare.packet(bare.PRIORITY, kept=7))) == 1
        assert engine.process(0, bare.packet(bare.PRIORITY, kept=8)) == []


def test_a_failed_assertion_drops_the_packet(switch, caplog):
    assert switch.process(0, bare.packet(bare.FAIL)) == []
    assert switch.process(0, bare.packet(bare.FAIL)) == []
    assert switch.counts().assertions == 2
    assert caplog.text.count("assertion failed") == 1


@settings(max_examples=20, deadline=None)
@given(st.integers(0, (1 << 128) - 1), st.integers(0, 255))
def test_messages_of_a_program_are_logged(wide, kept):
    logger = logging.getLogger("grasp.targets.v1model.engine")
    handler, before = _Lines(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with Engine() as engine:
            bare.load(engine)
            key = (wide & (1 << 64) - 1, wide >> 64)
            engine.process(0, bare.packet(bare.LOG, port=300, key=key, kept=kept))
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
    signed = wide - (1 << 128) if wide >> 127 else wide
    text = f"port 300, wide {wide}, signed {kept - 256 if kept > 127 else kept} {signed}; {{}}"
    assert handler.lines == [text]


class _Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def test_packets_of_any_length(switch):
    for length in (0, 1, 1436, 8936, 65536 - 64):
        sent = bare.packet(port=7, payload=b"\xa5" * length)
        assert switch.process(3, sent) == [(7, sent)]


def test_another_program_starts_empty(switch):
    switch.program.set_multicast_group(1, [Replica(1)])
    switch.program.write_register("r32", 3, 9)
    old = switch.program
    fresh = switch.load(bare.compile_program(bare.PROGRAM.read_text()))
    fresh.write_register("r32", 4, 8)  # before it runs
    switch.activate(fresh)
    assert switch.program is fresh
    assert fresh.read_registers("r32")[3:5] == [0, 8]
    assert fresh.multicast_groups() == {}
    with pytest.raises(EngineError, match="closed"):
        old.read_register("r32", 3)


def test_a_closed_engine_leaves_nothing_to_touch(switch):
    prepared = switch.load(bare.compile_program(bare.PROGRAM.read_text()))
    switch.close()
    switch.close()
    for attempt in (lambda: prepared.read_register("r32", 0), lambda: switch.load(bare.PROGRAM)):
        with pytest.raises(EngineError, match="closed"):
            attempt()


def test_bench_runs_the_packets(switch):
    packets = [(0, bare.packet(bare.COUNT, number=n, payload=bytes(n))) for n in range(3)]
    assert switch.bench(packets, 3000) > 0
    assert [c.packets for c in switch.program.read_counters("counter")] == [1000, 1000, 1000, 0]
    assert switch.program.read_counter("counter", 2).bytes == 66000
