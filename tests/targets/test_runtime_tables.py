# SPDX-License-Identifier: Apache-2.0
"""Look-ups against brute force over the same entries, and the rules of adding, changing and reading them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grasp.targets.v1model.engine import Engine
from grasp.targets.v1model.objects import Call, Code, Counts, EngineError, Group, GroupMember, Member, Rates

from . import bare

pytestmark = pytest.mark.packet
NO_ACTION = 0xFFFFFFFF


@pytest.fixture(scope="module")
def module_switch():
    with Engine() as engine:
        bare.load(engine)
        yield engine


@pytest.fixture
def switch():
    with Engine() as engine:
        bare.load(engine)
        yield engine


def refill(engine, table, entries):
    """Replace a table's entries; returns those that were taken, equal ones once."""
    for entry in engine.program.entries(table):
        engine.program.delete(table, entry.key, entry.priority)
    taken = []
    for number, (key, priority) in enumerate(entries):
        if (key, priority) not in [(k, p) for k, p, _ in taken]:
            engine.program.insert(table, key, Call("one", (number,)), priority)
            taken.append((key, priority, number))
    return taken


def bits(width):
    return st.integers(0, (1 << width) - 1)


def masked(width):
    """Few distinct masks and values, so that entries overlap."""
    masks = st.sampled_from([0, (1 << width) - 1, 0xF << (width - 4), 0x3, 1 << (width - 1)])
    return st.tuples(bits(width), masks).map(lambda pair: (pair[0] & pair[1], pair[1]) if pair[1] else None)


def covers(item, value):
    return item is None or value & item[1] == item[0]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.tuples(bits(8), st.integers(0, 32), bits(32)), st.just(0)), max_size=24),
    st.lists(st.tuples(bits(8), bits(32)), min_size=1, max_size=24),
)
def test_the_longest_prefix_wins(module_switch, raw, probes):
    entries = []
    for (tag, length, value), priority in raw:
        prefix = value >> (32 - length) << (32 - length) if length else 0
        entries.append(((tag % 2, (prefix, length) if length else None), priority))
    taken = refill(module_switch, "lpm", entries)
    for tag, value in [*((tag % 2, value) for tag, value in probes), *((t, v) for (t, _, v), _ in raw)]:
        best, winner = -1, None
        for (entry_tag, prefix), _, number in taken:
            base, length = prefix or (0, 0)
            if entry_tag == tag and value >> (32 - length) == base >> (32 - length) and length > best:
                best, winner = length, number
        hit, _, argument = bare.look_up(module_switch, "lpm", tag | value << 8)
        assert (hit, argument if hit else None) == (winner is not None, winner)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.tuples(masked(16), masked(16), st.integers(0, 1)), st.integers(1, 1 << 30)), max_size=24
    ),
    st.lists(st.tuples(bits(16), bits(16), st.integers(0, 1)), min_size=1, max_size=24),
    st.data(),
)
def test_the_largest_priority_wins_in_a_ternary_table(module_switch, entries, probes, data):
    priorities = {priority: (key, priority) for key, priority in entries}  # distinct: no ties
    taken = refill(module_switch, "ternary", list(priorities.values()))
    if taken:  # deletions must leave the rest in order
        for key, priority, number in data.draw(st.lists(st.sampled_from(taken), unique_by=lambda e: e[1])):
            module_switch.program.delete("ternary", key, priority)
            taken.remove((key, priority, number))
    for a, b, c in probes:
        matching = [e for e in taken if covers(e[0][0], a) and covers(e[0][1], b) and e[0][2] == c]
        winner = max(matching, key=lambda entry: entry[1], default=None)
        hit, _, argument = bare.look_up(module_switch, "ternary", a | b << 16 | c << 32)
        assert (hit, argument if hit else None) == (winner is not None, winner and winner[2])


def ranges(width):
    return st.one_of(st.none(), st.tuples(bits(width), bits(width)).map(lambda p: (min(p), max(p))))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.tuples(ranges(16), masked(8), ranges(40)), st.integers(1, 99)), max_size=12),
    st.lists(st.tuples(bits(16), bits(8), bits(40)), min_size=1, max_size=24),
)
def test_ranges_hold_their_bounds(module_switch, entries, probes):
    unique = {priority: (key, priority) for key, priority in entries}
    taken = refill(module_switch, "range", list(unique.values()))
    edges = [(low[0], 0, high[1]) for (low, _, high), _, _ in taken if low and high]
    for low, t, high in probes + edges:
        matching = [
            e for e in taken
            if (e[0][0] is None or e[0][0][0] <= low <= e[0][0][1])
            and covers(e[0][1], t)
            and (e[0][2] is None or e[0][2][0] <= high <= e[0][2][1])
        ]  # fmt: skip
        winner = max(matching, key=lambda entry: entry[1], default=None)
        hit, _, argument = bare.look_up(module_switch, "range", low | t << 16 | high << 24)
        assert (hit, argument if hit else None) == (winner is not None, winner and winner[2])


def test_values_wider_than_a_word(switch):
    low, high = (1 << 70) + 5, (1 << 90) + 3
    switch.program.insert("wide_range", ((low, high),), Call("two", (511, (1 << 99) | 7)), 3)
    for key, expected in [(low - 1, False), (low, True), (1 << 80, True), (high, True), (high + 1, False)]:
        assert bare.look_up(switch, "wide_range", key)[0] is expected
    assert bare.look_up(switch, "wide_range", low) == (True, 2, 7 ^ (1 << 35))
    mask = 0xFF << 120 | 0xFF
    switch.program.insert("wide_ternary", ((0xAB << 120 | 0xCD, mask),), Call("one", (1,)), 1)
    assert bare.look_up(switch, "wide_ternary", 0xAB << 120 | 0x1234 << 60 | 0xCD)[0]
    assert not bare.look_up(switch, "wide_ternary", 0xAC << 120 | 0xCD)[0]
    entries = switch.program.entries("wide_range") + switch.program.entries("wide_ternary")
    assert [entry.key for entry in entries] == [((low, high),), ((0xAB << 120 | 0xCD, mask),)]
    assert entries[0].target == Call("two", (511, (1 << 99) | 7))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 40)), max_size=200))
def test_an_exact_table_is_a_dictionary(module_switch, steps):
    refill(module_switch, "exact", [])
    model: dict[int, int] = {}
    program = module_switch.program
    for number, (add, key) in enumerate(steps):
        spread = key * 0x10001  # collisions in the hash table come from its small size
        if add and key not in model:
            program.insert("exact", (spread, key), Call("one", (number,)))
            model[key] = number
        elif not add and key in model:
            program.delete("exact", (spread, key))
            del model[key]
    for key in range(41):
        hit, _, argument = bare.look_up(module_switch, "exact", key * 0x10001 | key << 48)
        assert (argument if hit else None) == model.get(key)
    assert [entry.key[1] for entry in program.entries("exact")] == list(model)


def test_refusals_change_nothing(switch):
    program, one = switch.program, Call("one", (1,))
    program.insert("exact", (1, 2), one)
    for code, attempt in {
        Code.ALREADY_EXISTS: lambda: program.insert("exact", (1, 2), Call("one", (2,))),
        Code.NOT_FOUND: lambda: program.modify("exact", (1, 3), one),
        Code.INVALID_ARGUMENT: lambda: program.insert("exact", (1 << 48, 2), one),
        Code.PERMISSION_DENIED: lambda: program.insert("constant", ((1, 1),), one, 1),
    }.items():
        with pytest.raises(EngineError) as refusal:
            attempt()
        assert refusal.value.code is code
    for call in [
        lambda: program.insert("exact", (1,), one),
        lambda: program.insert("exact", (1, None), one),
        lambda: program.insert("exact", (1, 3), Call("one", (1 << 48,))),
        lambda: program.insert("exact", (1, 3), Call("one")),
        lambda: program.insert("exact", (1, 3), Call("none")),
        lambda: program.insert("exact", (1, 3), Member(1)),
        lambda: program.insert("indirect", (1,), one),
        lambda: program.insert("lpm", (1, (1, 31)), one),
        lambda: program.insert("lpm", (1, (0, 33)), one),
        lambda: program.insert("ternary", ((3, 1), None, 0), one, 1),
        lambda: program.insert("range", ((2, 1), None, None), one, 1),
        lambda: program.insert("lpm", (1, None), one, timeout_us=5),
        lambda: program.insert("keyless", (), one),
        lambda: program.set_default("keyless", Call("nothing")),
    ]:
        with pytest.raises(EngineError) as refusal:
            call()
        assert refusal.value.code is Code.INVALID_ARGUMENT
    assert [(e.key, e.target) for e in program.entries("exact")] == [((1, 2), one)]
    assert not program.entries("lpm") + program.entries("ternary") + program.entries("range")


def test_a_table_takes_its_size_and_no_more(switch):
    for number in range(1024):
        switch.program.insert("exact", (number, 0), Call("nothing"))
    with pytest.raises(EngineError) as refusal:
        switch.program.insert("exact", (5000, 0), Call("nothing"))
    assert refusal.value.code is Code.RESOURCE_EXHAUSTED
    switch.program.delete("exact", (17, 0))
    switch.program.insert("exact", (5000, 0), Call("nothing"))
    assert len(switch.program.entries("exact")) == 1024


def test_default_entries(switch):
    program = switch.program
    assert bare.look_up(switch, "keyless", 0) == (False, 1, 7)
    program.set_default("keyless", Call("one", (9,)))
    assert bare.look_up(switch, "keyless", 0) == (False, 1, 9)
    assert program.default("keyless") == Call("one", (9,))
    program.set_default("keyless", None)
    assert program.default("keyless") == Call("one", (7,))
    assert program.default("exact") is None
    assert bare.look_up(switch, "exact", 0)[:2] == (False, NO_ACTION)
    program.set_default("exact", Call("two", (3, 1 << 80)))
    assert program.default("exact") == Call("two", (3, 1 << 80))


def test_const_entries(switch):
    assert bare.look_up(switch, "constant", 5) == (True, 1, 7)
    assert bare.look_up(switch, "constant", 4)[:2] == (True, 0)
    assert not bare.look_up(switch, "constant", 6)[0]
    entries = switch.program.entries("constant")
    assert [(e.key, e.priority, e.const) for e in entries] == [
        (((5, 0xFFFF),), 2, True),
        (((4, 0xFFFE),), 1, True),
    ]


def test_modifying_keeps_counters_and_meters(switch):
    program, rates = switch.program, Rates(1, 1, 2, 2)
    program.insert("exact", (1, 0), Call("one", (1,)))
    bare.look_up(switch, "exact", 1)
    program.modify("exact", (1, 0), Call("two", (1, 2)))
    assert program.entry("exact", (1, 0)).counts == Counts(1, 64)
    assert bare.look_up(switch, "exact", 1)[1] == 2
    program.set_entry_counts("exact", (1, 0), Counts(5, 6))
    assert program.entry("exact", (1, 0)).counts == Counts(5, 6)
    program.insert("ternary", (None, None, 1), Call("one", (1,)), 4)
    program.set_entry_rates("ternary", (None, None, 1), rates, 4)
    program.modify("ternary", (None, None, 1), Call("nothing"), 4)
    assert program.entry("ternary", (None, None, 1), 4).rates == rates


def test_a_direct_meter_colours_hits(switch):
    program = switch.program
    program.insert("ternary", (None, None, 0), Call("nothing"), 1)
    program.set_entry_rates("ternary", (None, None, 0), Rates(1, 1, 1, 2), 1)
    colors = []
    for _ in range(3):
        [(_, data)] = switch.process(0, bare.packet(bare.LOOK_UP, number=2), now_us=10)
        colors.append(bare.HEADER.unpack_from(data)[6])
    assert colors == [0, 1, 2]


def test_members_and_groups(switch):
    program = switch.program
    for member in (30, 10, 20):
        program.insert_member("profile", member, Call("one", (member,)))
    program.insert_group("profile", 5, [GroupMember(20, 2), GroupMember(10)])
    program.insert("indirect", (1,), Member(30))
    program.insert("indirect", (2,), Group(5))
    assert bare.look_up(switch, "indirect", 1)[2] == 30
    buckets = [bare.look_up(switch, "indirect", 2 | choice << 64)[2] for choice in range(6)]
    assert buckets == [10, 20, 20, 10, 20, 20]  # by member id, hash modulo weight
    program.modify_member("profile", 10, Call("one", (11,)))
    program.modify_group("profile", 5, [GroupMember(10)])
    assert bare.look_up(switch, "indirect", 2 | 1 << 64)[2] == 11
    assert program.members("profile") == {n: Call("one", (v,)) for n, v in ((10, 11), (20, 20), (30, 30))}
    assert program.groups("profile") == {5: (GroupMember(10),)}
    assert [e.target for e in program.entries("indirect")] == [Member(30), Group(5)]
    program.modify_group("profile", 5, [])
    hit, action, _ = bare.look_up(switch, "indirect", 2)
    assert (hit, action) == (True, NO_ACTION)


def test_what_is_used_stays(switch):
    program = switch.program
    program.insert_member("profile", 1, Call("nothing"))
    program.insert_group("profile", 1, [GroupMember(1)])
    program.insert("indirect", (1,), Group(1))
    for attempt in [lambda: program.delete_member("profile", 1), lambda: program.delete_group("profile", 1)]:
        with pytest.raises(EngineError) as refusal:
            attempt()
        assert refusal.value.code is Code.FAILED_PRECONDITION
    program.delete("indirect", (1,))
    program.delete_group("profile", 1)
    program.delete_member("profile", 1)
    assert not program.members("profile")
    for attempt in [
        lambda: program.insert_group("profile", 1, [GroupMember(9)]),
        lambda: program.insert("indirect", (1,), Group(1)),
        lambda: program.insert("indirect", (1,), Member(1)),
    ]:
        with pytest.raises(EngineError) as refusal:
            attempt()
        assert refusal.value.code is Code.NOT_FOUND
    assert not program.groups("profile")


def test_value_sets(switch):
    def holds(value):
        [(_, data)] = switch.process(0, bare.packet(bare.LOOK_UP, number=bare.VALUE_SET, key=(value, 0)))
        return bool(bare.HEADER.unpack_from(data)[5])

    assert not holds(7)
    switch.program.set_value_set("set", [(7,), (9,), (7,)])
    assert holds(7)
    assert holds(9)
    switch.program.set_value_set("set", [(8,)])
    assert not holds(7)
    assert switch.program.value_set("set") == [(8,)]
    with pytest.raises(EngineError) as refusal:
        switch.program.set_value_set("set", [(n,) for n in range(5)])
    assert refusal.value.code is Code.RESOURCE_EXHAUSTED
    assert holds(8)
