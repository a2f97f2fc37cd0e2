# SPDX-License-Identifier: Apache-2.0
"""finsy, the controller's library, as a client of the server."""

from __future__ import annotations

import asyncio

import finsy as fy
import pytest

from grasp.targets.v1model.objects import PacketIn

from .rig import DEVICE, JSON, PROGRAMS, WAIT


async def run(port, ready_handler):
    """Connect, let finsy set the pipeline, and run the handler; its mistakes are raised here."""
    done = asyncio.get_running_loop().create_future()

    async def handler(switch):
        try:
            done.set_result(await ready_handler(switch))
        except Exception as error:
            done.set_exception(error)

    options = fy.SwitchOptions(
        p4info=PROGRAMS / "everything.p4info.txtpb",
        p4blob=JSON,
        device_id=DEVICE,
        ready_handler=handler,
    )
    async with fy.Switch("sw", f"127.0.0.1:{port}", options):
        return await asyncio.wait_for(done, WAIT)


def one():
    return fy.P4TableEntry(
        "exact_match",
        match=fy.Match(destination=1, ingress_port=2),
        action=fy.Action("forward", port=3),
    )


def masked():
    return fy.P4TableEntry(
        "ternary_match",
        match=fy.Match(source=(0x10, 0xF0), ingress_port=257),
        action=fy.Action("drop"),
        priority=5,
    )


async def test_entries_groups_and_registers(port):
    async def handler(switch):
        await switch.write([+one(), +masked(), +fy.P4MulticastGroupEntry(1, replicas=[1, 2])])
        await switch.write([~fy.P4RegisterEntry("cells", index=1, data=7)])
        tables = [entry async for entry in switch.read(fy.P4TableEntry())]
        groups = [entry async for entry in switch.read(fy.P4MulticastGroupEntry())]
        cells = [entry.data async for entry in switch.read(fy.P4RegisterEntry("cells"))]
        return tables, groups, cells

    tables, groups, cells = await run(port, handler)
    assert [row for row in tables if row.table_id in ("exact_match", "ternary_match")] == [one(), masked()]
    assert [list(group.replicas) for group in groups] == [[1, 2]]
    assert cells == [0, 7] + [0] * 14


async def test_everything_can_be_deleted(port, engine):
    async def handler(switch):
        await switch.write([+one(), +masked()])
        await switch.delete_all()

    await run(port, handler)
    left = {name: len(rows) for name, rows in engine.program.rows.items() if rows}
    assert left == {"EverythingIngress.fixed": 2}  # the constant ones


async def test_errors_arrive_by_update(port):
    async def handler(switch):
        await switch.write([+one()])
        await switch.write([+one(), +masked()])

    with pytest.raises(fy.P4ClientError) as refused:
        await run(port, handler)
    assert [detail.canonical_code.name for detail in refused.value.details.values()] == ["ALREADY_EXISTS"]


async def test_packets_go_both_ways(port, engine):
    async def handler(switch):
        async with asyncio.TaskGroup() as group:
            first = group.create_task(anext(aiter(switch.read_packets())))
            await asyncio.sleep(0)
            await switch.write([fy.P4PacketOut(b"frame", egress_port=2, mode=0, padding=0)])
            engine.events.put(PacketIn(b"\x80\x85in"))
            return await first

    packet = await run(port, handler)
    assert (packet.payload, packet["ingress_port"], packet["reason"]) == (b"in", 257, 5)
    assert engine.sent == [b"\x01\x00frame"]
