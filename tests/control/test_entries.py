# SPDX-License-Identifier: Apache-2.0
import finsy as fy
import pytest

from grasp.control.p4runtime.entries import from_table_entry, to_state, to_table_entry, to_updates, wildcards
from grasp.control.p4runtime.session import connect
from grasp.control.state import TABLES, Entry, Prefix, SwitchState, apply, diff

ENTRIES = (
    Entry("ports", (1,), "set_role", (2,)),
    Entry("sources", (1, 0x020000000001, 0x0A000001), "NoAction"),
    Entry("services", (0x0A640001, 6, 80), "set_service", (7, 8080, 1500, 30_000_000)),
    Entry("pinned", (7, 0x0A000001, 40000), "pin", (3,), idle_timeout_us=30_000_000),
    Entry("routes", (Prefix(0x0A000100, 24),), "deliver", (3, 0x020000000003)),
    Entry("routes", (Prefix(0x0A000200, 24),), "forward", (4,)),
    Entry("parameters", (), "set_parameters", (500_000, 1_000_000, 10_000_000, 50_000, 0x0200000000FE)),
)


def test_the_program_has_every_table_with_the_keys_and_parameters_that_the_core_writes(schema):
    for name, table in TABLES.items():
        p4table = schema.tables[name]
        assert len(p4table.match_fields) == len(table.keys), name
        actions = {action.alias for action in p4table.actions}
        for action, parameters in table.actions.items():
            assert action in actions
            assert tuple(parameter.name for parameter in schema.actions[action].params) == parameters


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.table)
def test_an_entry_survives_the_way_to_a_switch_and_back(schema, entry):
    message = to_table_entry(entry, schema).encode(schema)
    assert from_table_entry(fy.P4TableEntry.decode(message, schema), schema) == entry


def test_an_entry_is_written_as_the_specification_asks(schema):
    entry = to_table_entry(ENTRIES[4], schema).encode_entry(schema)
    assert entry.match[0].lpm.value == bytes([10, 0, 1, 0])
    assert entry.match[0].lpm.prefix_len == 24
    assert [param.value for param in entry.action.action.params] == [b"\x03", bytes([2, 0, 0, 0, 0, 3])]
    pin = to_table_entry(ENTRIES[3], schema).encode_entry(schema)
    assert pin.idle_timeout_ns == 30 * 10**9
    assert to_table_entry(ENTRIES[6], schema).encode_entry(schema).is_default_action


async def test_a_switch_reads_back_what_was_written_and_follows_changes(fake, schema):
    switch = await fake()
    first = SwitchState.of(ENTRIES, {1: [2, 3], 2: [2, 3, 255]})
    second = SwitchState.of((ENTRIES[1], *ENTRIES[3:], Entry("ports", (1,), "set_role", (1,))), {2: [255]})
    async with connect(switch.address, schema, 1) as session:
        await session.become_primary()
        await session.set_pipeline()
        held = to_state(await session.read(wildcards()), schema)
        for wanted in (first, second):
            changes = diff(wanted, held)
            await session.write(to_updates(changes, held, schema))
            held = apply(changes, held)
            assert to_state(await session.read(wildcards()), schema) == held == wanted
