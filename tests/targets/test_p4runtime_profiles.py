# SPDX-License-Identifier: Apache-2.0
"""Action profiles and selectors: members, groups, one-shot action sets, watched ports."""

from __future__ import annotations

import pytest
from finsy.proto import p4r, rpc_code

from grasp.targets.v1model.objects import Call, Group, GroupMember, Member, PortEvent

from .rig import PROFILES, action, entry, exact, refusal

FORWARD = "EverythingIngress.forward"
SELECTOR = "EverythingIngress.selector"


def member(number, *values, profile="selector", name="forward"):
    return p4r.ActionProfileMember(
        action_profile_id=PROFILES[profile], member_id=number, action=action(name, *values)
    )


def group(number, *members, max_size=4):
    return p4r.ActionProfileGroup(
        action_profile_id=PROFILES["selector"],
        group_id=number,
        max_size=max_size,
        members=[
            p4r.ActionProfileGroup.Member(
                member_id=one[0], weight=one[1], watch_port=one[2] if len(one) > 2 else None
            )
            for one in members
        ],
    )


def selected(value, **action):
    return entry("by_selector", exact(1, value), action=p4r.TableAction(**action))


def one_shot(*values, watch=None):
    return p4r.ActionProfileActionSet(
        action_profile_actions=[
            p4r.ActionProfileAction(action=action("forward", value), weight=weight, watch_port=watch)
            for value, weight in values
        ]
    )


async def test_members_and_groups_are_read_back(client, engine):
    two, many = member(2, b"\2"), group(1, (2, 3))
    await client.insert(member(1, b"\1"), two, member(1, b"\5", profile="members"))
    await client.insert(many)
    assert await client.read(p4r.ActionProfileMember()) == [
        member(1, b"\5", profile="members"),
        member(1, b"\1"),
        two,
    ]
    assert await client.read(
        p4r.ActionProfileMember(action_profile_id=PROFILES["selector"], member_id=2)
    ) == [two]
    assert await client.read(p4r.ActionProfileGroup()) == [many]
    await client.modify(group(1, (1, 1), (2, 2)), member(1, b"\7"))
    assert engine.program.group_members[SELECTOR] == {1: [GroupMember(1, 1), GroupMember(2, 2)]}
    assert engine.program.member_calls[SELECTOR][1] == Call(FORWARD, (7,))


async def test_entries_point_to_members_and_groups(client, engine):
    await client.insert(member(1, b"\1"))
    await client.insert(group(1, (1, 1)))
    rows = [selected(b"\1", action_profile_member_id=1), selected(b"\2", action_profile_group_id=1)]
    await client.insert(*rows)
    assert await client.read(entry("by_selector")) == rows
    targets = [row.target for row in engine.program.rows["EverythingIngress.by_selector"].values()]
    assert targets == [Member(1), Group(1)]
    assert await refusal(client.delete(group(1))) == rpc_code.FAILED_PRECONDITION
    assert await refusal(client.delete(member(1))) == rpc_code.FAILED_PRECONDITION
    for missing in ({"action_profile_member_id": 9}, {"action_profile_group_id": 9}):
        assert await refusal(client.insert(selected(b"\3", **missing))) == rpc_code.NOT_FOUND
    assert await refusal(client.insert(selected(b"\3", action=action("drop")))) == rpc_code.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        (rpc_code.INVALID_ARGUMENT, member(0, b"\1")),
        (rpc_code.ALREADY_EXISTS, member(1, b"\1")),
        (rpc_code.INVALID_ARGUMENT, member(2, name="learn")),
        (rpc_code.INVALID_ARGUMENT, p4r.ActionProfileMember(action_profile_id=3, member_id=2)),
        (rpc_code.INVALID_ARGUMENT, group(0)),
        (rpc_code.ALREADY_EXISTS, group(1)),
        (rpc_code.NOT_FOUND, group(2, (9, 1))),
        (rpc_code.INVALID_ARGUMENT, group(2, (1, 1), (1, 1))),
        (rpc_code.INVALID_ARGUMENT, group(2, (1, 0))),
        (rpc_code.INVALID_ARGUMENT, group(2, (1, -1))),
        (rpc_code.RESOURCE_EXHAUSTED, group(2, (1, 5))),
        (rpc_code.INVALID_ARGUMENT, group(2, (1, 1), max_size=5)),
        (rpc_code.INVALID_ARGUMENT, group(2, (1, 1, b"\x09"))),  # no such port
    ],
)
async def test_wrong_member_or_group_is_refused(client, code, wrong):
    await client.insert(member(1, b"\1"))
    await client.insert(group(1))
    assert await refusal(client.insert(wrong)) == code


async def test_groups_need_a_selector_and_keep_their_size(client):
    await client.insert(group(1))
    assert await refusal(client.modify(group(1, max_size=3))) == rpc_code.INVALID_ARGUMENT
    wrong = p4r.ActionProfileGroup(action_profile_id=PROFILES["members"], group_id=1)
    assert await refusal(client.insert(wrong)) == rpc_code.INVALID_ARGUMENT


async def test_member_of_a_group_cannot_be_deleted(client):
    await client.insert(member(1, b"\1"))
    await client.insert(group(1, (1, 1)))
    assert await refusal(client.delete(member(1))) == rpc_code.FAILED_PRECONDITION
    await client.delete(group(1))
    await client.delete(member(1))
    assert await client.read(p4r.ActionProfileMember(), p4r.ActionProfileGroup()) == []


async def test_one_shot_entries_bring_and_take_their_group(client, engine):
    first = selected(b"\1", action_profile_action_set=one_shot((b"\1", 1), (b"\1", 2)))
    await client.insert(first)
    assert await client.read(entry("by_selector")) == [first]
    assert await client.read(p4r.ActionProfileMember(), p4r.ActionProfileGroup()) == []
    program = engine.program
    ((_, members),) = program.group_members[SELECTOR].items()
    assert [(program.member_calls[SELECTOR][one.member], one.weight) for one in members] == [
        (Call(FORWARD, (1,)), 1),
        (Call(FORWARD, (1,)), 2),
    ]
    second = selected(b"\1", action_profile_action_set=one_shot((b"\2", 4)))
    await client.modify(second)
    assert await client.read(entry("by_selector")) == [second]
    assert list(program.member_calls[SELECTOR].values()) == [Call(FORWARD, (2,))]
    await client.delete(second)
    assert program.member_calls[SELECTOR] == program.group_members[SELECTOR] == {}


async def test_refused_one_shot_leaves_nothing(client, engine):
    too_large = selected(b"\1", action_profile_action_set=one_shot((b"\1", 5)))
    assert await refusal(client.insert(too_large)) == rpc_code.RESOURCE_EXHAUSTED
    good = selected(b"\1", action_profile_action_set=one_shot((b"\1", 1)))
    await client.insert(good)
    assert await refusal(client.insert(good)) == rpc_code.ALREADY_EXISTS
    program = engine.program
    assert (len(program.member_calls[SELECTOR]), len(program.group_members[SELECTOR])) == (1, 1)


async def test_one_selector_is_programmed_in_one_style(client):
    shot = selected(b"\1", action_profile_action_set=one_shot((b"\1", 1)))
    await client.insert(shot)
    assert await refusal(client.insert(member(1, b"\1"))) == rpc_code.INVALID_ARGUMENT
    await client.delete(shot)
    await client.insert(member(1, b"\1"))
    assert await refusal(client.insert(shot)) == rpc_code.INVALID_ARGUMENT


async def test_member_is_left_out_while_its_port_is_down(client, engine):
    await client.insert(member(1, b"\1"), member(2, b"\2"))
    await client.insert(group(1, (1, 1, b"\1"), (2, 2, b"\0\2")))
    shown = await client.read(p4r.ActionProfileGroup())
    members = engine.program.group_members[SELECTOR]
    assert members == {1: [GroupMember(1, 1), GroupMember(2, 2)]}
    engine.events.put(PortEvent(2, False))
    await client.settle(engine)
    assert members == {1: [GroupMember(1, 1)]}
    assert await client.read(p4r.ActionProfileGroup()) == shown
    engine.events.put(PortEvent(2, True))
    await client.settle(engine)
    assert members == {1: [GroupMember(1, 1), GroupMember(2, 2)]}
