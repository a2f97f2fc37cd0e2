# SPDX-License-Identifier: Apache-2.0
"""Arbitration, by the rules of the specification's section on client arbitration."""

from __future__ import annotations

import asyncio

import pytest
from finsy.proto import p4r, rpc_code, stratum
from google.protobuf.any_pb2 import Any
from google.protobuf.empty_pb2 import Empty

from .rig import ACTIONS, DEVICE, TABLES, Client, Refused, call, entry, exact

OK, BACKUP, NO_PRIMARY = rpc_code.OK, rpc_code.ALREADY_EXISTS, rpc_code.NOT_FOUND
UNSET = False


def packed(message):
    result = Any()
    result.Pack(message)
    return result


async def test_first_is_primary(port):
    async with Client(port) as one:
        assert await one.arbitrate(5) == (OK, 5)


async def test_lower_id_becomes_backup_and_only_it_is_told(port):
    async with Client(port) as one, Client(port) as two:
        await one.arbitrate(5)
        assert await two.arbitrate(3) == (BACKUP, 5)
        await two.arbitrate(4)  # a backup that stays one
        assert await one.arbitrate(5) == (OK, 5)  # the next message of `one` answers itself


async def test_higher_id_takes_over_and_both_are_told(port):
    async with Client(port) as one, Client(port) as two:
        await one.arbitrate(5)
        assert await two.arbitrate(6) == (OK, 6)
        assert await one.advice() == (BACKUP, 6)


async def test_election_ids_have_128_bits(port):
    high = (1 << 127) + 3
    async with Client(port) as one, Client(port) as two:
        assert await one.arbitrate((1 << 64) - 1) == (OK, (1 << 64) - 1)
        assert await two.arbitrate(high) == (OK, high)


async def test_id_zero_is_an_id_and_unset_is_none(port):
    async with Client(port) as one, Client(port) as two, Client(port) as three:
        assert await one.arbitrate(UNSET) == (NO_PRIMARY, None)
        assert await two.arbitrate(UNSET) == (NO_PRIMARY, None)  # may be shared
        assert await three.arbitrate(0) == (OK, 0)
        assert await one.advice() == (BACKUP, 0)


async def test_departure_of_the_primary_leaves_none(port):
    async with Client(port) as backup:
        async with Client(port) as primary:
            await primary.arbitrate(9)
            await backup.arbitrate(2)
        assert await backup.advice() == (NO_PRIMARY, 9)
        assert await backup.arbitrate(8) == (NO_PRIMARY, 9)  # lower than the highest ever seen
        assert await backup.arbitrate(9) == (OK, 9)


async def test_primary_may_step_down(port):
    async with Client(port) as one, Client(port) as two:
        await one.arbitrate(9)
        await two.arbitrate(2)
        assert await one.arbitrate(1) == (NO_PRIMARY, 9)
        assert await two.advice() == (NO_PRIMARY, 9)


async def test_same_id_as_a_live_controller_is_refused(port):
    async with Client(port) as one, Client(port) as two:
        await one.arbitrate(5)
        with pytest.raises(Refused) as refused:
            await two.arbitrate(5)
        assert refused.value.code == rpc_code.INVALID_ARGUMENT
        assert await one.arbitrate(5) == (OK, 5)


async def test_restarted_controller_gets_its_id_back(port):
    """Its new stream may arrive before the server has seen the old one end."""
    async with Client(port) as old, Client(port) as new:
        await old.arbitrate(5)
        arbitration = asyncio.create_task(new.arbitrate(5))
        await asyncio.sleep(0)
        old.stream.cancel()
        assert await arbitration == (OK, 5)


async def test_unknown_device_ends_the_stream(port):
    async with Client(port) as one:
        with pytest.raises(Refused) as refused:
            await one.arbitrate(1, device=DEVICE + 1)
        assert refused.value.code == rpc_code.NOT_FOUND


async def test_stream_keeps_its_device_and_role(port):
    async with Client(port) as one, Client(port, role="a") as two:
        await one.arbitrate(1)
        with pytest.raises(Refused) as refused:
            await one.arbitrate(1, device=DEVICE + 1)
        assert refused.value.code == rpc_code.FAILED_PRECONDITION
        await two.arbitrate(1)
        two.role = "b"
        with pytest.raises(Refused) as refused:
            await two.arbitrate(1)
        assert refused.value.code == rpc_code.FAILED_PRECONDITION


async def test_each_role_has_its_primary(port):
    async with Client(port) as one, Client(port, role="left") as two, Client(port, role="right") as three:
        assert await one.arbitrate(5) == (OK, 5)
        assert await two.arbitrate(3) == (OK, 3)
        assert await three.arbitrate(5) == (OK, 5)


async def test_role_configuration_comes_back(port):
    config = packed(stratum.P4RoleConfig(exclusive_p4_ids=[TABLES["keyless"]], receives_packet_ins=True))
    async with Client(port, role="left") as one:
        await one.send(
            arbitration=p4r.MasterArbitrationUpdate(
                device_id=DEVICE,
                role=p4r.Role(name="left", config=config),
                election_id=p4r.Uint128(low=1),
            )
        )
        assert (await one.receive()).arbitration.role == p4r.Role(name="left", config=config)


async def test_unknown_role_configuration_is_refused(port):
    async with Client(port, role="left") as one:
        with pytest.raises(Refused) as refused:
            await one.arbitrate(1, config=packed(Empty()))
        assert refused.value.code == rpc_code.INVALID_ARGUMENT


KNOWN = entry("exact_match", exact(1, b"\1"), exact(2, b"\2"), action=call("forward", b"\1"))


async def write_code(client):
    try:
        await client.insert(KNOWN)
    except Refused as refused:
        return refused.code
    return OK


async def test_only_the_primary_writes(client, port):
    async with Client(port) as backup:
        await backup.arbitrate(0)
        assert await write_code(backup) == rpc_code.PERMISSION_DENIED
        backup.election_id = 77  # nobody's
        assert await write_code(backup) == rpc_code.PERMISSION_DENIED
        assert await write_code(client) == OK


async def test_checks_come_in_the_order_of_the_specification(port):
    async with Client(port) as one:
        one.device = DEVICE + 1
        assert await write_code(one) == rpc_code.NOT_FOUND
        one.device, one.role = DEVICE, "never seen"
        assert await write_code(one) == rpc_code.NOT_FOUND
        one.role = ""
        assert await write_code(one) == rpc_code.PERMISSION_DENIED
        await one.arbitrate(1)
        assert await write_code(one) == rpc_code.FAILED_PRECONDITION


async def test_role_covers_what_its_configuration_names(client, port):
    config = packed(stratum.P4RoleConfig(exclusive_p4_ids=[TABLES["keyless"]]))
    async with Client(port, role="left") as left:
        await left.arbitrate(1, config=config)
        with pytest.raises(Refused) as refused:
            await left.insert(KNOWN)
        assert refused.value.codes == [rpc_code.PERMISSION_DENIED]
        await left.modify(entry("keyless", action=call("learn"), is_default_action=True))
        with pytest.raises(Refused) as refused:
            await left.set_config()
        assert refused.value.code == rpc_code.PERMISSION_DENIED
        await client.insert(KNOWN)
        everything = entry("keyless")
        everything.table_id = 0
        assert await client.read(everything) != []
        assert await left.read(everything, role="left") == []
        (default,) = await left.read(entry("keyless", is_default_action=True), role="left")
        assert default.action.action.action_id == ACTIONS["learn"]
