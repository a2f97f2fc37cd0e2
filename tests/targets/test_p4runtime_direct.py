# SPDX-License-Identifier: Apache-2.0
"""What a table keeps for each entry: direct counters, direct meters, idle timeouts."""

from __future__ import annotations

import pytest
from finsy.proto import p4r, rpc_code

from grasp.targets.v1model.objects import Counts, IdleTimeout, Rates

from .rig import call, entry, exact, lpm, refusal

EXACT, LPM = "EverythingIngress.exact_match", "EverythingIngress.lpm_match"
ONE = entry("exact_match", exact(1, b"\1"), exact(2, b"\2"), action=call("forward", b"\3"))
NET = entry("lpm_match", lpm(1, b"\x0a\0\0\0\0\0", 8), action=call("count_forward", b"\1"))

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
