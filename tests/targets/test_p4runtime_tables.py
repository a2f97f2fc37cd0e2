# SPDX-License-Identifier: Apache-2.0
"""TableEntry: what is written is read back in canonical form, and what is wrong is refused by its code."""

from __future__ import annotations

import pytest
from finsy.proto import p4r, rpc_code

from grasp.targets.v1model.objects import Call, Counts, IdleTimeout, Rates

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


# ---- direct counters and meters

COUNTED = p4r.CounterData(packet_count=3, byte_count=200)
POLICED = p4r.MeterConfig(cir=1, cburst=2, pir=3, pburst=4)
COLOURS = p4r.MeterCounterData()
PLAIN = entry("lpm_match", *NET.match)


def asking(**fields):
    return entry("lpm_match", **fields)


async def test_direct_resources_travel_with_the_entry(client, engine):
    full = p4r.TableEntry(counter_data=COUNTED, meter_config=POLICED)
    full.MergeFrom(NET)
    await client.insert(full)
    (row,) = engine.program.rows[LPM].values()
    assert (row.counts, row.rates) == (Counts(3, 200), Rates(1, 2, 3, 4))
    assert await client.read(asking()) == [NET]
    both = asking(counter_data=p4r.CounterData(), meter_config=p4r.MeterConfig())
    assert await client.read(both) == [full]
    await client.modify(NET)  # the counter stays, the meter goes back to green
    (now,) = await client.read(both)
    assert (now.counter_data, now.HasField("meter_config")) == (COUNTED, False)


async def test_direct_resources_have_entities_of_their_own(client):
    await client.insert(NET)
    counter = p4r.DirectCounterEntry(table_entry=PLAIN, data=COUNTED)
    meter = p4r.DirectMeterEntry(table_entry=PLAIN, config=POLICED)
    await client.modify(counter, meter)
    for query in (PLAIN, asking(), p4r.TableEntry()):
        assert await client.read(p4r.DirectCounterEntry(table_entry=query)) == [counter]
        assert await client.read(p4r.DirectMeterEntry(table_entry=query)) == [meter]
    await client.modify(p4r.DirectCounterEntry(table_entry=PLAIN), p4r.DirectMeterEntry(table_entry=PLAIN))
    assert await client.read(p4r.DirectCounterEntry(table_entry=PLAIN)) == [counter]
    assert await client.read(p4r.DirectMeterEntry(table_entry=PLAIN)) == [
        p4r.DirectMeterEntry(table_entry=PLAIN)
    ]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (rpc_code.NOT_FOUND, p4r.DirectCounterEntry(table_entry=PLAIN, data=COUNTED)),
        (rpc_code.NOT_FOUND, p4r.DirectMeterEntry(table_entry=PLAIN, config=POLICED)),
        (rpc_code.INVALID_ARGUMENT, p4r.DirectCounterEntry(table_entry=ONE, data=COUNTED)),
        (rpc_code.INVALID_ARGUMENT, p4r.DirectMeterEntry(table_entry=ONE, config=POLICED)),
        (rpc_code.UNIMPLEMENTED, p4r.DirectCounterEntry(table_entry=asking(is_default_action=True))),
        (
            rpc_code.UNIMPLEMENTED,
            p4r.DirectMeterEntry(table_entry=PLAIN, counter_data=p4r.MeterCounterData()),
        ),
    ],
)
async def test_wrong_direct_resource_is_refused(client, code, message):
    assert await refusal(client.modify(message)) == code
    assert await refusal(client.insert(message)) == rpc_code.INVALID_ARGUMENT


async def test_resources_that_a_table_lacks_are_refused(client):
    for extra in (p4r.TableEntry(counter_data=COUNTED), p4r.TableEntry(meter_config=POLICED)):
        extra.MergeFrom(ONE)
        assert await refusal(client.insert(extra)) == rpc_code.INVALID_ARGUMENT


# ---- idle timeouts


async def test_idle_timeout_reaches_the_engine_and_comes_back(client, engine):
    timed = p4r.TableEntry(idle_timeout_ns=2_500_001)
    timed.MergeFrom(ONE)
    await client.insert(timed)
    (row,) = engine.program.rows[EXACT].values()
    assert row.timeout_us == 2501  # never earlier than asked for
    query = entry("exact_match", time_since_last_hit=p4r.TableEntry.IdleTimeout())
    (found,) = await client.read(query)
    assert found.time_since_last_hit.elapsed_ns == 7000
    found.ClearField("time_since_last_hit")
    assert found == timed


async def test_idle_entries_are_told_to_the_primary(client, engine):
    timed = p4r.TableEntry(idle_timeout_ns=1_000_000, metadata=b"mine", controller_metadata=3)
    timed.MergeFrom(ONE)
    await client.insert(timed)
    (row,) = engine.program.rows[EXACT].values()
    engine.events.put(IdleTimeout(EXACT, (row,)))
    notification = (await client.receive()).idle_timeout_notification
    timed.ClearField("action")
    assert list(notification.table_entry) == [timed]
    assert notification.timestamp > 0


@pytest.mark.parametrize("nanoseconds", [-1, 5])
async def test_idle_timeout_is_refused_where_there_is_none(client, nanoseconds):
    timed = p4r.TableEntry(idle_timeout_ns=nanoseconds)
    timed.MergeFrom(NET)
    assert await refusal(client.insert(timed)) == rpc_code.INVALID_ARGUMENT


async def test_fields_for_reads_are_refused_in_writes(client):
    for extra in (
        p4r.TableEntry(is_const=True),
        p4r.TableEntry(time_since_last_hit=p4r.TableEntry.IdleTimeout()),
    ):
        extra.MergeFrom(ONE)
        assert await refusal(client.insert(extra)) == rpc_code.INVALID_ARGUMENT
