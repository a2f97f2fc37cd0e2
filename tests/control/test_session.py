# SPDX-License-Identifier: Apache-2.0
import asyncio
import time

import finsy as fy
import pytest

from grasp import UserError
from grasp.control.p4runtime.pipeline import load_pipeline
from grasp.control.p4runtime.session import DemotedError, LostError, connect, reason


def role() -> fy.P4TableEntry:
    return fy.P4TableEntry("ports", match=fy.Match(ingress_port=1), action=fy.Action("set_role", role=2))


async def test_election_id_comes_from_the_clock(fake, schema):
    switch = await fake()
    before = time.time_ns()
    async with connect(switch.address, schema, 1) as session:
        await session.become_primary()
    assert before <= switch.primaries[0] <= time.time_ns()


async def test_a_controller_that_starts_again_outbids_the_one_that_still_hangs_on(fake, schema):
    switch = await fake()
    async with connect(switch.address, schema, 1) as old, connect(switch.address, schema, 1) as new:
        await old.become_primary()
        await old.set_pipeline()
        await new.become_primary()
        with pytest.raises(DemotedError):
            await old.receive()
        await new.write([+role()])
        with pytest.raises(fy.P4ClientError) as refusal:
            await old.write([~role()])
        assert reason(refusal.value) == "PERMISSION_DENIED not primary"


async def test_a_bid_goes_above_the_highest_id_known_when_the_clock_was_set_back(fake, schema):
    switch = await fake()
    future = time.time_ns() * 2
    switch._highest = future
    async with connect(switch.address, schema, 1) as session:
        await session.become_primary()
    assert switch.primaries == [future + 1]


async def test_a_bid_never_takes_a_switch_from_a_living_controller_with_a_higher_id(fake, schema):
    switch = await fake()
    async with connect(switch.address, schema, 1) as old, connect(switch.address, schema, 1) as new:
        old._election_id = time.time_ns() * 2
        await old.become_primary()
        with pytest.raises(DemotedError):
            await new.become_primary()


async def test_a_standby_takes_over_when_the_primary_leaves(fake, schema):
    switch = await fake()
    async with connect(switch.address, schema, 1) as old:
        await old.become_primary()
        async with connect(switch.address, schema, 1) as new:
            await new.become_primary()
            await new.set_pipeline()
        await old.regain_primary()
        await old.write([+role()])
    assert switch.entries("ports") == {(1,): ("set_role", 2)}


async def test_the_pipeline_is_set_only_when_it_differs(fake, schema):
    switch = await fake()
    for fresh in (True, False):
        async with connect(switch.address, schema, 1) as session:
            await session.become_primary()
            assert await session.set_pipeline() is fresh
            if fresh:
                await session.write([+role()])
    assert switch.pipelines_set == 1
    assert switch.entries("ports") == {(1,): ("set_role", 2)}
    switch.pipeline.cookie.cookie ^= 1
    async with connect(switch.address, schema, 1) as session:
        await session.become_primary()
        assert await session.set_pipeline()
    assert switch.pipelines_set == 2


async def test_the_groups_of_a_program_are_deleted_before_it_is_replaced(fake, schema):
    switch = await fake()
    async with connect(switch.address, schema, 1) as session:
        await session.become_primary()
        await session.set_pipeline()
        await session.write([+fy.P4MulticastGroupEntry(number, replicas=[1, 2]) for number in (1, 2)])
        assert switch.groups.keys() == {1, 2}
        switch.pipeline.cookie.cookie ^= 1
        assert await session.set_pipeline()
    assert switch.groups_at_load == {}


async def test_a_switch_that_is_not_there_and_one_that_goes_away_are_lost(fake, schema):
    switch = await fake()
    async with connect(switch.address, schema, 1) as session:
        await session.become_primary()
        receiving = asyncio.create_task(session.receive())
        await switch.stop()
        with pytest.raises(LostError):
            await receiving
        with pytest.raises(LostError):
            await session.read([fy.P4TableEntry()])
    async with connect(switch.address, schema, 1) as session:
        with pytest.raises(LostError):
            await session.become_primary()


@pytest.mark.parametrize("variable", ["grpc_proxy", "https_proxy", "http_proxy"])
async def test_a_proxy_is_never_asked(fake, schema, monkeypatch, variable):
    monkeypatch.setenv(variable, "http://127.0.0.1:1")
    monkeypatch.setenv("no_grpc_proxy", "example.org")
    switch = await fake()
    async with connect(switch.address, schema, 1) as session:
        await session.become_primary()


def test_a_missing_program_is_the_users_to_build(tmp_path):
    with pytest.raises(UserError, match=r"build\.sh"):
        load_pipeline(tmp_path)
