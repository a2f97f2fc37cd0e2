# SPDX-License-Identifier: Apache-2.0
"""Counters, meters, registers, value sets, multicast groups, clone sessions."""

from __future__ import annotations

import asyncio

import pytest
from finsy.proto import p4d, p4r, rpc_code

from grasp.targets.v1model.objects import CloneSession, Counts, Rates, Replica

from .rig import COUNTERS, METERS, REGISTERS, VALUE_SETS, Refused, Update, bits, exact, refusal

BOTH = p4r.CounterData(packet_count=3, byte_count=9)
RATES = p4r.MeterConfig(cir=1, cburst=2, pir=3, pburst=4)


def counter(name, index=None, **data):
    where = {} if index is None else {"index": p4r.Index(index=index)}
    return p4r.CounterEntry(counter_id=COUNTERS[name], **where, **data)


def meter(index=None, **config):
    where = {} if index is None else {"index": p4r.Index(index=index)}
    return p4r.MeterEntry(meter_id=METERS["policer"], **where, **config)


def cell(name, index=None, value=None):
    where = {} if index is None else {"index": p4r.Index(index=index)}
    data = {} if value is None else {"data": bits(value)}
    return p4r.RegisterEntry(register_id=REGISTERS[name], **where, **data)


async def test_counter_cells(client, engine):
    await client.modify(counter("ports", 2, data=BOTH), counter("types", 0, data=BOTH))
    assert engine.program.counts["EverythingIngress.ports"][2] == Counts(3, 9)
    assert await client.read(counter("ports", 2)) == [counter("ports", 2, data=BOTH)]
    only_packets = counter("types", 0, data=p4r.CounterData(packet_count=3))
    assert await client.read(counter("types", 0)) == [only_packets]
    await client.modify(counter("ports", 2))  # without data nothing changes
    assert await client.read(counter("ports", 2)) == [counter("ports", 2, data=BOTH)]


async def test_counter_wildcards(client):
    await client.modify(counter("types", data=BOTH))
    found = await client.read(counter("types"))
    assert [(one.index.index, one.data.packet_count) for one in found] == [(n, 3) for n in range(4)]
    assert len(await client.read(p4r.CounterEntry())) == 16 + 4


async def test_meter_cells(client, engine):
    await client.modify(meter(1, config=RATES))
    assert engine.program.rates["EverythingIngress.policer"][1] == Rates(1, 2, 3, 4)
    assert await client.read(meter(1), meter(2)) == [meter(1, config=RATES), meter(2)]
    await client.modify(meter(config=RATES))
    assert [one.config for one in await client.read(meter())] == [RATES] * 8
    await client.modify(meter(1), meter(2, config=p4r.MeterConfig(cir=-1, cburst=-1, pir=-1, pburst=-1)))
    assert [one.HasField("config") for one in await client.read(p4r.MeterEntry())][:4] == [
        True,
        False,
        False,
        True,
    ]


async def test_registers_are_read_and_written_by_cell_and_whole(client, engine):
    await client.modify(cell("cells", 3, b"\0\0\xff\xff\xff\xff"))
    assert engine.program.cells["EverythingIngress.cells"][3] == 0xFFFFFFFF
    assert await client.read(cell("cells", 3), cell("cells", 0)) == [
        cell("cells", 3, b"\xff\xff\xff\xff"),
        cell("cells", 0, b"\0"),
    ]
    await client.modify(cell("cells", None, b"\7"))
    assert await client.read(cell("cells")) == [cell("cells", n, b"\7") for n in range(16)]
    assert len(await client.read(p4r.RegisterEntry())) == 16 + 4


@pytest.mark.parametrize(
    ("sent", "stored", "shown"),
    [
        (b"\x80", 0xFF80, b"\x80"),  # -128
        (b"\xff\xff\xff\x7f", 0xFF7F, b"\xff\x7f"),  # -129
        (b"\0\x80", 0x0080, b"\0\x80"),  # 128
        (b"\xff", 0xFFFF, b"\xff"),
        (b"\x80\0", 0x8000, b"\x80\0"),
    ],
)
async def test_signed_registers_are_twos_complement(client, engine, sent, stored, shown):
    await client.modify(cell("balances", 1, sent))
    assert engine.program.cells["EverythingIngress.balances"][1] == stored
    assert await client.read(cell("balances", 1)) == [cell("balances", 1, shown)]


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        (rpc_code.INVALID_ARGUMENT, counter("types", -1, data=BOTH)),
        (rpc_code.OUT_OF_RANGE, counter("types", 4, data=BOTH)),
        (rpc_code.INVALID_ARGUMENT, counter("types", 1, data=p4r.CounterData(packet_count=-1))),
        (rpc_code.INVALID_ARGUMENT, p4r.CounterEntry(counter_id=1)),
        (rpc_code.INVALID_ARGUMENT, meter(-1)),
        (rpc_code.OUT_OF_RANGE, meter(8)),
        (rpc_code.INVALID_ARGUMENT, meter(1, config=p4r.MeterConfig(cir=-1))),
        (rpc_code.INVALID_ARGUMENT, meter(1, config=p4r.MeterConfig(eburst=1))),
        (rpc_code.INVALID_ARGUMENT, meter(1, config=p4r.MeterConfig(cir=2, pir=1))),
        (rpc_code.UNIMPLEMENTED, meter(1, counter_data=p4r.MeterCounterData())),
        (rpc_code.INVALID_ARGUMENT, cell("cells", -1, b"\1")),
        (rpc_code.OUT_OF_RANGE, cell("cells", 16, b"\1")),
        (rpc_code.OUT_OF_RANGE, cell("cells", 1, b"\1\0\0\0\0")),
        (rpc_code.OUT_OF_RANGE, cell("balances", 1, b"\1\0\0")),
        (rpc_code.OUT_OF_RANGE, cell("cells", 1, b"")),
        (rpc_code.INVALID_ARGUMENT, cell("cells", 1)),
        (
            rpc_code.INVALID_ARGUMENT,
            p4r.RegisterEntry(register_id=REGISTERS["cells"], data=p4d.P4Data(bool=True)),
        ),
    ],
)
async def test_wrong_cell_is_refused(client, code, wrong):
    assert await refusal(client.modify(wrong)) == code


@pytest.mark.parametrize("which", [counter("types", 1, data=BOTH), meter(1), cell("cells", 1, b"\1")])
@pytest.mark.parametrize("kind", [Update.INSERT, Update.DELETE])
async def test_cells_can_only_be_modified(client, which, kind):
    assert await refusal(client.write((kind, which))) == rpc_code.INVALID_ARGUMENT


# ---- value sets


def value_set(*values):
    members = [p4r.ValueSetMember(match=[exact(1, value)]) for value in values]
    return p4r.ValueSetEntry(value_set_id=VALUE_SETS["special_types"], members=members)


async def test_value_set_is_replaced_whole(client, engine):
    for values in ((b"\x08\0", b"\1"), (b"\2",), ()):
        await client.modify(value_set(*values))
        assert await client.read(p4r.ValueSetEntry()) == [value_set(*values)]
    await client.modify(value_set(b"\0\3"))
    assert engine.program.sets == {"EverythingParser.special_types": [(3,)]}


@pytest.mark.parametrize(
    ("kind", "code", "wrong"),
    [
        (Update.INSERT, rpc_code.INVALID_ARGUMENT, value_set(b"\1")),
        (Update.DELETE, rpc_code.INVALID_ARGUMENT, value_set()),
        (Update.MODIFY, rpc_code.ALREADY_EXISTS, value_set(b"\1", b"\0\1")),
        (Update.MODIFY, rpc_code.RESOURCE_EXHAUSTED, value_set(b"\1", b"\2", b"\3", b"\4", b"\5")),
        (Update.MODIFY, rpc_code.OUT_OF_RANGE, value_set(b"\1\0\0")),
    ],
)
async def test_wrong_value_set_is_refused(client, kind, code, wrong):
    assert await refusal(client.write((kind, wrong))) == code


# ---- replication


def multicast(number, *replicas, **fields):
    return p4r.MulticastGroupEntry(multicast_group_id=number, replicas=replicas, **fields)


def clone(number, *replicas, **fields):
    return p4r.CloneSessionEntry(session_id=number, replicas=replicas, **fields)


OLD, NEW = p4r.Replica(egress_port=1, instance=2), p4r.Replica(port=b"\0\xff", instance=3)


@pytest.mark.parametrize(("make", "everything"), [(multicast, multicast(0)), (clone, clone(0))])
async def test_replication_entries(client, make, everything):
    one, two = make(1, OLD, NEW), make(2)
    await client.insert(one, two)
    assert await client.read(everything) == [one, two]
    assert await client.read(make(2)) == [two]
    await client.modify(make(2, NEW))
    await client.delete(make(1))
    assert await client.read(everything) == [make(2, NEW)]
    assert await refusal(client.read(make(1))) == rpc_code.NOT_FOUND


async def test_replication_reaches_the_engine(client, engine):
    await client.insert(multicast(1, OLD, NEW), clone(9, OLD, packet_length_bytes=64))
    assert engine.program.multicast == {1: (Replica(1, 2), Replica(255, 3))}
    assert engine.program.clones == {9: CloneSession((Replica(1, 2),), 0, 64)}


async def test_multicast_metadata_comes_back(client):
    await client.insert(multicast(1, OLD, metadata=b"abc"))
    assert await client.read(multicast(1)) == [multicast(1, OLD, metadata=b"abc")]


FAR = p4r.Replica(egress_port=1, instance=0x10000)
BACKUP = p4r.Replica(egress_port=1, backup_replicas=[p4r.BackupReplica(port=b"\2")])


@pytest.mark.parametrize(
    ("kind", "code", "wrong"),
    [
        (Update.INSERT, rpc_code.INVALID_ARGUMENT, multicast(0)),
        (Update.INSERT, rpc_code.OUT_OF_RANGE, multicast(0x10000)),
        (Update.INSERT, rpc_code.INVALID_ARGUMENT, multicast(2, OLD, OLD)),
        (Update.INSERT, rpc_code.INVALID_ARGUMENT, multicast(2, p4r.Replica(instance=1))),
        (
            Update.INSERT,
            rpc_code.INVALID_ARGUMENT,
            multicast(2, FAR),
        ),
        (Update.INSERT, rpc_code.UNIMPLEMENTED, multicast(2, BACKUP)),
        (Update.INSERT, rpc_code.ALREADY_EXISTS, multicast(1)),
        (Update.MODIFY, rpc_code.NOT_FOUND, multicast(2)),
        (Update.DELETE, rpc_code.NOT_FOUND, multicast(2)),
        (Update.INSERT, rpc_code.INVALID_ARGUMENT, clone(0)),
        (Update.INSERT, rpc_code.OUT_OF_RANGE, clone(0x8000)),
        (Update.INSERT, rpc_code.UNIMPLEMENTED, clone(2, OLD, class_of_service=1)),
        (Update.INSERT, rpc_code.INVALID_ARGUMENT, clone(2, OLD, packet_length_bytes=-1)),
        (Update.INSERT, rpc_code.ALREADY_EXISTS, clone(1)),
        (Update.MODIFY, rpc_code.NOT_FOUND, clone(2)),
        (Update.DELETE, rpc_code.NOT_FOUND, clone(2)),
    ],
)
async def test_wrong_replication_is_refused(client, kind, code, wrong):
    await client.insert(multicast(1), clone(1))
    assert await refusal(client.write((kind, wrong))) == code


async def test_writes_go_on_while_registers_are_read(client, engine):
    read = asyncio.create_task(client.read(*[cell("cells")] * 4000))
    written = 0
    while not read.done():
        await client.modify(cell("cells", 0, b"\7"))
        written += not read.done()
    assert len(await read) == 4000 * 16
    assert written > 1  # of which one may have been on its way before the read began


async def test_registers_of_a_pipeline_that_is_replaced_meanwhile(client):
    read = asyncio.create_task(client.read(*[cell("cells")] * 4000))
    await client.modify(cell("cells", 0, b"\7"))
    await client.set_config()
    with pytest.raises(Refused) as refused:
        await read
    assert refused.value.code == rpc_code.FAILED_PRECONDITION
