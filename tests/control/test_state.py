# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp.control.state import TABLES, Changes, Entry, Prefix, SwitchState, apply, diff

P4INFO = Path(__file__).parents[2] / "p4src" / "build" / "grasp.p4info.txtpb"


def blocks(kind, text):
    """The top-level messages of a kind in a P4Info's text form."""
    return re.findall(rf"^{kind} \{{\n(.*?)^\}}", text, re.DOTALL | re.MULTILINE)


def test_tables_are_those_of_the_compiled_program():
    text = P4INFO.read_text()
    actions, declared = {}, {}
    for block in blocks("actions", text):
        number, alias = re.search(r"id: (\d+)", block).group(1), re.search(r'alias: "(.*)"', block).group(1)
        actions[number] = alias, tuple(re.findall(r'params \{\n    id: \d+\n    name: "(.*)"', block))
    for block in blocks("tables", text):
        alias = re.search(r'alias: "(.*)"', block).group(1)
        keys = tuple(re.findall(r'match_fields \{\n    id: \d+\n    name: "(.*)"', block))
        refs = re.findall(r"action_refs \{\n    id: (\d+)", block)
        declared[alias] = keys, dict(actions[number] for number in refs)
    for name, table in TABLES.items():
        keys, choices = declared.pop(name)
        assert table.keys == keys, name
        assert table.actions.items() <= choices.items(), name
        assert choices.keys() - table.actions.keys() <= {"NoAction"}, name
    assert not declared, "tables that nobody fills"


FORWARD = Entry("routes", (Prefix(0x0A000001, 32),), "forward", (1,))
DELIVER = Entry("routes", (Prefix(0x0A000001, 32),), "deliver", (2, 0x0200_0000_0001))
TIMES = Entry("parameters", (), "set_parameters", (1, 2, 3, 4, 5))
PIN = Entry("pinned", (1, 0x0A000001, 1234), "pin", (7,), 30_000_000)


def state(*entries, groups=None):
    return SwitchState.of(entries, groups or {})


def test_what_is_missing_is_inserted_what_differs_modified_what_is_over_deleted():
    assert diff(state(FORWARD), state()) == Changes(insert=(FORWARD,))
    assert diff(state(DELIVER), state(FORWARD)) == Changes(modify=(DELIVER,))
    assert diff(state(), state(FORWARD)) == Changes(delete=(FORWARD,))
    assert not diff(state(FORWARD, TIMES), state(FORWARD, TIMES))


def test_the_entry_of_a_keyless_table_is_modified_and_never_deleted():
    assert diff(state(TIMES), state()) == Changes(modify=(TIMES,))
    assert not diff(state(), state(TIMES))


def test_a_connection_that_only_the_switch_knows_keeps_its_entry():
    assert not diff(state(), state(PIN))
    assert diff(state(PIN), state()) == Changes(insert=(PIN,))


def test_groups_are_compared_by_their_ports():
    actual = state(groups={1: [1, 2], 3: [9]})
    changes = diff(state(groups={1: [2, 1], 2: [1, 255]}), actual)
    assert changes == Changes(set_groups={2: frozenset({1, 255})}, delete_groups=(3,))
    assert diff(state(groups={1: [1]}), actual).set_groups == {1: {1}}


def test_one_key_has_one_entry():
    assert state(FORWARD, FORWARD).entries == {FORWARD.key: FORWARD}
    with pytest.raises(ValueError, match="two entries"):
        state(FORWARD, DELIVER)


def entries_of(name):
    table = TABLES[name]
    value = st.integers(0, 3) if name != "routes" else st.builds(Prefix, st.integers(0, 3), st.just(32))
    actions = st.sampled_from(sorted(table.actions))
    return st.tuples(st.tuples(*[value] * len(table.keys)), actions).flatmap(
        lambda chosen: st.builds(
            Entry,
            st.just(name),
            st.just(chosen[0]),
            st.just(chosen[1]),
            st.tuples(*[st.integers(0, 2)] * len(table.actions[chosen[1]])),
        )
    )


any_entry = st.sampled_from(sorted(TABLES)).flatmap(entries_of)
states = st.builds(
    SwitchState.of,
    st.lists(any_entry, max_size=30, unique_by=lambda entry: entry.key),
    st.dictionaries(st.integers(1, 3), st.frozensets(st.integers(1, 4), min_size=1)),
)


@given(states, states)
def test_what_is_written_makes_the_switch_as_desired(desired, actual):
    result = apply(diff(desired, actual), actual)
    stays = {
        key: entry
        for key, entry in actual.entries.items()
        if entry.table in ("pinned", "parameters") and key not in desired.entries
    }
    assert result.entries == desired.entries | stays
    assert result.groups == desired.groups
    assert not diff(desired, result)
