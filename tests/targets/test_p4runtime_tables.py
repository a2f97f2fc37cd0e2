# SPDX-License-Identifier: Apache-2.0
"""TableEntry: what is written is read back in canonical form, and what is wrong is refused by its code."""

from __future__ import annotations

import pytest
from finsy.proto import p4r, rpc_code

from grasp.targets.v1model.objects import Call

from .rig import (
    ACTIONS,
    TABLES,
    Refused,
    Update,
    between,
    call,
    entry,
    exact,
    lpm,
    optional,
    refusal,
    ternary,
)

EXACT, LPM, TERNARY = (f"EverythingIngress.{name}_match" for name in ("exact", "lpm", "ternary"))
FORWARD = "EverythingIngress.forward"
SELECTOR = "EverythingIngress.selector"
REMEMBER = call("remember", b"\1", b"\1")
ONE = entry("exact_match", exact(1, b"\1"), exact(2, b"\2"), action=call("forward", b"\3"))
NET = entry("lpm_match", lpm(1, b"\x0a\0\0\0\0\0", 8), action=call("count_forward", b"\1"))
RANGED = entry(
    "ternary_match",
    ternary(1, b"\x10", b"\xf0"),
    between(2, b"\1", b"\1\0"),
    optional(3, b"\1\1"),
    priority=5,
    action=call("drop"),
)


@pytest.mark.parametrize("message", [ONE, NET, RANGED], ids=lambda one: str(one.table_id))
async def test_entry_is_read_back_as_written(client, message):
    await client.insert(message)
    assert await client.read(p4r.TableEntry(table_id=message.table_id)) == [message]
    query = p4r.TableEntry(table_id=message.table_id, match=message.match, priority=message.priority)
    assert await client.read(query) == [message]
    await client.delete(message)
    assert await client.read(query) == []


async def test_engine_gets_keys_in_its_form(client, engine):
    await client.insert(ONE, NET, RANGED)
    rows = engine.program.rows
    assert list(rows[EXACT]) == [((1, 2), 0)]
    assert rows[EXACT][(1, 2), 0].target == Call(FORWARD, (3,))
    assert list(rows[LPM]) == [(((0x0A << 40, 8),), 0)]
    assert list(rows[TERNARY]) == [(((0x10, 0xF0), (1, 256), (257, 511)), 5)]


async def test_do_not_care_fields_are_left_out_both_ways(client, engine):
    everything = entry("ternary_match", priority=1, action=call("drop"))
    default_route = entry("lpm_match", action=call("count_forward", b"\1"))
    await client.insert(everything, default_route)
    assert await client.read(entry("ternary_match"), entry("lpm_match")) == [everything, default_route]
    assert list(engine.program.rows[TERNARY]) == [((None, None, None), 1)]
    assert list(engine.program.rows[LPM]) == [((None,), 0)]


async def test_byte_strings_of_any_length_come_back_canonical(client):
    padded = entry(
        "exact_match", exact(2, b"\0\0\2"), exact(1, b"\0" * 9 + b"\1"), action=call("forward", b"\0\0\3")
    )
    await client.insert(padded)
    assert await client.read(entry("exact_match")) == [ONE]
    assert await refusal(client.insert(ONE)) == rpc_code.ALREADY_EXISTS


WRONG = {
    "value too wide": (rpc_code.OUT_OF_RANGE, entry("exact_match", exact(1, b"\1"), exact(2, b"\2\0"))),
    "empty value": (rpc_code.OUT_OF_RANGE, entry("exact_match", exact(1, b""), exact(2, b"\1"))),
    "exact field missing": (rpc_code.INVALID_ARGUMENT, entry("exact_match", exact(1, b"\1"))),
    "unknown field": (
        rpc_code.INVALID_ARGUMENT,
        entry("exact_match", exact(1, b"\1"), exact(2, b"\1"), exact(3, b"\1")),
    ),
    "field twice": (
        rpc_code.INVALID_ARGUMENT,
        entry("exact_match", exact(1, b"\1"), exact(1, b"\1"), exact(2, b"\1")),
    ),
    "wrong kind": (rpc_code.INVALID_ARGUMENT, entry("exact_match", exact(1, b"\1"), optional(2, b"\1"))),
    "priority where none is": (
        rpc_code.INVALID_ARGUMENT,
        entry("exact_match", exact(1, b"\1"), exact(2, b"\1"), priority=1),
    ),
    "prefix 0": (rpc_code.INVALID_ARGUMENT, entry("lpm_match", lpm(1, b"\0", 0))),
    "prefix too long": (rpc_code.INVALID_ARGUMENT, entry("lpm_match", lpm(1, b"\1", 49))),
    "negative prefix": (rpc_code.INVALID_ARGUMENT, entry("lpm_match", lpm(1, b"\1", -1))),
    "bits after the prefix": (rpc_code.INVALID_ARGUMENT, entry("lpm_match", lpm(1, b"\1", 40))),
    "no priority": (rpc_code.INVALID_ARGUMENT, entry("ternary_match", ternary(1, b"\1", b"\1"))),
    "negative priority": (rpc_code.INVALID_ARGUMENT, entry("ternary_match", priority=-1)),
    "mask 0": (rpc_code.INVALID_ARGUMENT, entry("ternary_match", ternary(1, b"\0", b"\0"), priority=1)),
    "bits outside the mask": (
        rpc_code.INVALID_ARGUMENT,
        entry("ternary_match", ternary(1, b"\3", b"\1"), priority=1),
    ),
    "range upside down": (
        rpc_code.INVALID_ARGUMENT,
        entry("ternary_match", between(2, b"\2", b"\1"), priority=1),
    ),
    "full range": (
        rpc_code.INVALID_ARGUMENT,
        entry("ternary_match", between(2, b"\0", b"\xff\xff"), priority=1),
    ),
    "key in a table without": (rpc_code.INVALID_ARGUMENT, entry("keyless", exact(1, b"\1"))),
    "insert into a table without key": (rpc_code.INVALID_ARGUMENT, entry("keyless")),
    "no such table": (rpc_code.INVALID_ARGUMENT, p4r.TableEntry(table_id=5)),
    "table id 0": (rpc_code.INVALID_ARGUMENT, p4r.TableEntry()),
}


@pytest.mark.parametrize("name", WRONG)
async def test_wrong_key_is_refused(client, engine, name):
    code, message = WRONG[name]
    wrong = p4r.TableEntry(action=call("forward", b"\1"))
    if message.table_id == TABLES["lpm_match"]:
        wrong.action.CopyFrom(call("count_forward", b"\1"))
    wrong.MergeFrom(message)
    before = {name: dict(rows) for name, rows in engine.program.rows.items()}
    assert await refusal(client.insert(wrong)) == code
    assert engine.program.rows == before


@pytest.mark.parametrize(
    ("code", "given"),
    [
        (rpc_code.INVALID_ARGUMENT, None),
        (rpc_code.INVALID_ARGUMENT, call("learn")),  # of another table
        (rpc_code.INVALID_ARGUMENT, p4r.TableAction(action=p4r.Action(action_id=1))),
        (rpc_code.INVALID_ARGUMENT, call("forward")),
        (rpc_code.INVALID_ARGUMENT, call("forward", b"\1", b"\1")),
        (rpc_code.OUT_OF_RANGE, call("forward", b"\2\0")),
        (rpc_code.OUT_OF_RANGE, call("forward", b"")),
        (rpc_code.INVALID_ARGUMENT, p4r.TableAction(action_profile_member_id=1)),
        (rpc_code.PERMISSION_DENIED, call("NoAction")),  # only as the default action
    ],
)
async def test_wrong_action_is_refused(client, code, given):
    wrong = entry("exact_match", exact(1, b"\1"), exact(2, b"\2"), action=given)
    assert await refusal(client.insert(wrong)) == code


async def test_modify_replaces_all_but_the_key(client):
    await client.insert(ONE)
    changed = p4r.TableEntry()
    changed.CopyFrom(ONE)
    changed.action.CopyFrom(call("to_controller", b"\1"))
    changed.metadata, changed.controller_metadata, changed.idle_timeout_ns = b"m", 4, 1_500
    await client.modify(changed)
    assert await client.read(entry("exact_match")) == [changed]


async def test_absent_entry_cannot_be_modified_or_deleted(client):
    assert await refusal(client.modify(ONE)) == rpc_code.NOT_FOUND
    assert await refusal(client.delete(ONE)) == rpc_code.NOT_FOUND


async def test_delete_looks_at_the_key_alone(client):
    await client.insert(ONE)
    query = entry("exact_match", *ONE.match, action=call("learn"), idle_timeout_ns=-1, is_const=True)
    await client.delete(query)
    assert await client.read(entry("exact_match")) == []


async def test_full_table_says_so(client):
    rows = [
        entry("ternary_match", priority=number, action=call("drop")) for number in range(1, 10)
    ]  # its size is 8
    with pytest.raises(Refused) as refused:
        await client.insert(*rows)
    assert refused.value.codes == [rpc_code.OK] * 8 + [rpc_code.RESOURCE_EXHAUSTED]


async def test_every_update_of_a_batch_is_tried(client):
    with pytest.raises(Refused) as refused:
        await client.write((Update.INSERT, ONE), (Update.INSERT, ONE), (Update.INSERT, NET), (0, NET))
    assert refused.value.codes == [
        rpc_code.OK,
        rpc_code.ALREADY_EXISTS,
        rpc_code.OK,
        rpc_code.INVALID_ARGUMENT,
    ]
    assert [bool(one.message) for one in refused.value.details] == [False, True, False, True]
    assert await client.read(entry("exact_match"), entry("lpm_match")) == [ONE, NET]


@pytest.mark.parametrize("atomicity", [1, 2])
async def test_atomic_batches_are_refused_whole(client, atomicity):
    with pytest.raises(Refused) as refused:
        await client.write((Update.INSERT, ONE), atomicity=atomicity)
    assert (refused.value.code, refused.value.details) == (rpc_code.UNIMPLEMENTED, [])
    assert await client.read(entry("exact_match")) == []


# ---- filters


async def test_reads_filter(client):
    rows = []
    for number in range(1, 5):
        kind = call("drop") if number % 2 else call("forward", b"\1")
        rows.append(entry("ternary_match", priority=number, action=kind, controller_metadata=number // 3))
        rows[-1].metadata = bytes([number // 2 + 1])
    await client.insert(*rows)
    assert await client.read(entry("ternary_match", priority=3)) == [rows[2]]
    assert await client.read(entry("ternary_match", controller_metadata=1)) == rows[2:]
    assert await client.read(entry("ternary_match", metadata=b"\2")) == rows[1:3]
    by_action = entry("ternary_match", action=p4r.TableAction(action=p4r.Action(action_id=ACTIONS["drop"])))
    assert await client.read(by_action) == rows[::2]


async def test_wildcard_reads_all_tables_and_no_default_entry(client):
    await client.insert(ONE, NET, RANGED)
    found = await client.read(p4r.TableEntry())
    assert [one for one in found if one.table_id not in (TABLES["fixed"], TABLES["prepared"])] == [
        ONE,
        NET,
        RANGED,
    ]
    assert len(found) == 7


async def test_answers_to_good_requests_of_a_bad_batch_arrive(client):
    await client.insert(ONE)
    with pytest.raises(Refused) as refused:
        await client.read(entry("exact_match"), p4r.TableEntry(table_id=5), entry("lpm_match"))
    assert refused.value.code == rpc_code.UNKNOWN
    assert refused.value.codes == [rpc_code.OK, rpc_code.INVALID_ARGUMENT, rpc_code.OK]
    assert len(refused.value.found) == 1


# ---- default entries


async def default_of(client, table):
    (found,) = await client.read(entry(table, is_default_action=True))
    return found


async def test_default_entry_is_the_programs_until_modified(client, engine):
    before = await default_of(client, "keyless")
    assert before == entry("keyless", is_default_action=True, action=call("NoAction"))
    changed = entry("keyless", is_default_action=True, action=call("learn"), metadata=b"x")
    await client.modify(changed)
    assert await default_of(client, "keyless") == changed
    assert engine.program.default("EverythingIngress.keyless") == Call("EverythingIngress.learn")
    await client.modify(entry("keyless", is_default_action=True))
    assert await default_of(client, "keyless") == before
    await client.insert(changed)  # of a table without key only
    assert await default_of(client, "keyless") == changed


@pytest.mark.parametrize(
    ("kind", "code", "message"),
    [
        (Update.INSERT, rpc_code.INVALID_ARGUMENT, entry("exact_match", action=call("NoAction"))),
        (Update.DELETE, rpc_code.INVALID_ARGUMENT, entry("keyless")),
        (Update.MODIFY, rpc_code.PERMISSION_DENIED, entry("ternary_match", action=call("NoAction"))),
        (Update.MODIFY, rpc_code.PERMISSION_DENIED, entry("ternary_match")),
        (
            Update.MODIFY,
            rpc_code.PERMISSION_DENIED,
            entry("exact_match", action=call("remember", b"1", b"1")),
        ),
        (
            Update.MODIFY,
            rpc_code.INVALID_ARGUMENT,
            entry("exact_match", exact(1, b"\1"), exact(2, b"\1"), action=call("NoAction")),
        ),
        (Update.MODIFY, rpc_code.INVALID_ARGUMENT, entry("fixed", action=call("drop"), priority=1)),
        (
            Update.MODIFY,
            rpc_code.INVALID_ARGUMENT,
            entry("exact_match", action=call("NoAction"), idle_timeout_ns=1),
        ),
        (Update.MODIFY, rpc_code.INVALID_ARGUMENT, entry("by_member", action=call("drop"))),
        (
            Update.MODIFY,
            rpc_code.UNIMPLEMENTED,
            entry("lpm_match", action=call("NoAction"), counter_data=p4r.CounterData()),
        ),
    ],
)
async def test_wrong_change_of_a_default_entry_is_refused(client, kind, code, message):
    wrong = p4r.TableEntry(is_default_action=True)
    wrong.MergeFrom(message)
    assert await refusal(client.write((kind, wrong))) == code


# ---- entries that come with the program


async def test_constant_entries_are_read_and_cannot_be_changed(client):
    first, second = await client.read(entry("fixed"))
    assert first == entry(
        "fixed",
        ternary(1, b"\x08\x06", b"\xff\xff"),
        priority=2,
        is_const=True,
        action=call("forward", b"\7"),
    )
    assert second == entry(
        "fixed", ternary(1, b"\x88\0", b"\xff\0"), priority=1, is_const=True, action=call("drop")
    )
    plain = entry("fixed", *first.match, priority=2, action=call("drop"))
    for kind in (Update.MODIFY, Update.DELETE):
        assert await refusal(client.write((kind, plain))) == rpc_code.PERMISSION_DENIED
    new = entry("fixed", ternary(1, b"\1", b"\1"), priority=1, action=call("drop"))
    assert await refusal(client.insert(new)) == rpc_code.PERMISSION_DENIED
    await client.modify(entry("fixed", is_default_action=True, action=call("forward", b"\1")))


async def test_initial_entries_that_are_not_constant_can_be_changed(client):
    assert [one.match[0].exact.value for one in await client.read(entry("prepared"))] == [
        b"\x11\x11",
        b"\x22\x22",
    ]
    await client.delete(entry("prepared", exact(1, b"\x11\x11")))
    changed = entry("prepared", exact(1, b"\x22\x22"), action=call("forward", b"\x09"))
    new = entry("prepared", exact(1, b"\x33\x33"), action=call("forward", b"\x03"))
    await client.modify(changed)
    await client.insert(new)
    assert await client.read(entry("prepared")) == [changed, new]
