# SPDX-License-Identifier: Apache-2.0
"""SetForwardingPipelineConfig in all its actions, and GetForwardingPipelineConfig."""

from __future__ import annotations

import pytest
from finsy.proto import p4i, p4r, rpc_code

from grasp.targets.v1model.objects import Call, Counts
from grasp.targets.v1model.p4runtime.device_config import program_json
from grasp.targets.v1model.p4runtime.errors import P4RuntimeError

from . import rig
from .rig import (
    COUNTERS,
    INFO,
    JSON,
    PROFILES,
    REGISTERS,
    VALUE_SETS,
    Client,
    Refused,
    SetConfig,
    action,
    bits,
    call,
    entry,
    exact,
)

TEXT = JSON.read_bytes()
ONE = entry("exact_match", exact(1, b"\1"), exact(2, b"\2"), action=call("forward", b"\3"), metadata=b"m")
Get = p4r.GetForwardingPipelineConfigRequest


async def code_of(awaitable):
    with pytest.raises(Refused) as refused:
        await awaitable
    return refused.value.code


async def test_config_and_cookie_come_back_as_asked(client):
    await client.set_config(cookie=2**63)
    config = (await client.get_config()).config
    assert (config.p4info, config.p4_device_config, config.cookie.cookie) == (INFO, TEXT, 2**63)
    for kind, has_info, has_data in (
        (Get.COOKIE_ONLY, False, False),
        (Get.P4INFO_AND_COOKIE, True, False),
        (Get.DEVICE_CONFIG_AND_COOKIE, False, True),
    ):
        config = (await client.get_config(kind)).config
        shown = config.HasField("p4info"), bool(config.p4_device_config), config.cookie.cookie
        assert shown == (has_info, has_data, 2**63)
    await client.set_config()
    assert not (await client.get_config()).config.HasField("cookie")


async def test_without_a_pipeline_there_is_no_config(port):
    async with Client(port) as one:
        assert not (await one.get_config()).HasField("config")
        assert await code_of(one.get_config(device=rig.DEVICE + 1)) == rpc_code.NOT_FOUND


async def test_pipeline_outlives_its_client(port):
    async with Client(port) as one:
        await one.arbitrate()
        await one.set_config()
        await one.insert(ONE)
    async with Client(port) as two:
        assert await two.read(entry("exact_match")) == [ONE]  # needs no session


async def test_verify_changes_nothing(client, engine):
    running = engine.program
    await client.insert(ONE)
    await client.set_config(SetConfig.VERIFY, cookie=3)
    assert engine.program is running
    assert engine.loaded[-1].closed
    assert await client.read(entry("exact_match")) == [ONE]
    assert not (await client.get_config()).config.HasField("cookie")


async def test_commit_begins_afresh(client, engine):
    old = engine.program
    await client.insert(ONE)
    await client.set_config()
    assert old.closed
    assert await client.read(entry("exact_match")) == []


async def test_saved_config_takes_writes_until_it_is_committed(client, engine):
    running = engine.program
    await client.set_config(SetConfig.VERIFY_AND_SAVE, cookie=1)
    assert engine.program is running
    assert (await client.get_config()).config.cookie.cookie == 1
    await client.insert(ONE)
    assert running.rows["EverythingIngress.exact_match"] == {}
    assert await client.read(entry("exact_match")) == [ONE]
    await client.set_config(SetConfig.COMMIT, config=None)
    assert len(engine.program.rows["EverythingIngress.exact_match"]) == 1
    assert running.closed
    assert await client.read(entry("exact_match")) == [ONE]
    assert await code_of(client.set_config(SetConfig.COMMIT, config=None)) == rpc_code.NOT_FOUND


async def test_a_commit_discards_what_was_saved(client, engine):
    await client.set_config(SetConfig.VERIFY_AND_SAVE)
    saved = engine.loaded[-1]
    await client.set_config(SetConfig.VERIFY_AND_SAVE)
    assert saved.closed
    await client.set_config()
    assert engine.loaded[-2].closed
    assert not engine.loaded[-1].closed
    assert await code_of(client.set_config(SetConfig.COMMIT, config=None)) == rpc_code.NOT_FOUND


async def test_reconcile_keeps_the_forwarding_state(client, engine):
    member = p4r.ActionProfileMember(
        action_profile_id=PROFILES["selector"], member_id=3, action=action("drop")
    )
    group = p4r.ActionProfileGroup(
        action_profile_id=PROFILES["selector"],
        group_id=4,
        max_size=2,
        members=[p4r.ActionProfileGroup.Member(member_id=3, weight=2)],
    )
    await client.insert(member)
    await client.insert(group)
    point = entry("by_selector", exact(1, b"\1"), action=p4r.TableAction(action_profile_group_id=4))
    default = entry("keyless", is_default_action=True, action=call("learn"))
    multicast = p4r.MulticastGroupEntry(multicast_group_id=2, replicas=[p4r.Replica(egress_port=1)])
    clone = p4r.CloneSessionEntry(session_id=5, replicas=[p4r.Replica(egress_port=2)])
    await client.insert(ONE, point, multicast, clone)
    cell = p4r.RegisterEntry(register_id=REGISTERS["balances"], index=p4r.Index(index=1), data=bits(b"\x80"))
    values = p4r.ValueSetEntry(
        value_set_id=VALUE_SETS["special_types"], members=[p4r.ValueSetMember(match=[exact(1, b"\7")])]
    )
    await client.modify(default, cell, values)
    await client.delete(entry("prepared", exact(1, b"\x11\x11")))
    engine.program.counts["EverythingIngress.ports"][2] = Counts(5, 6)
    wildcards = (
        p4r.TableEntry(),
        p4r.TableEntry(is_default_action=True),
        p4r.ActionProfileMember(),
        p4r.ActionProfileGroup(),
        p4r.MulticastGroupEntry(),
        p4r.CloneSessionEntry(),
        p4r.RegisterEntry(),
        p4r.ValueSetEntry(),
        p4r.CounterEntry(counter_id=COUNTERS["ports"]),
    )
    before, old = await client.read(*wildcards), engine.program
    await client.set_config(SetConfig.RECONCILE_AND_COMMIT, cookie=9)
    assert engine.program is not old
    assert await client.read(*wildcards) == before
    assert engine.program.default("EverythingIngress.keyless") == Call("EverythingIngress.learn")
    assert (await client.get_config()).config.cookie.cookie == 9


async def test_reconcile_refuses_what_cannot_be_kept(client, engine):
    await client.insert(ONE)
    info = p4i.P4Info()
    info.CopyFrom(INFO)
    info.tables.remove(next(one for one in info.tables if one.preamble.alias == "exact_match"))
    running = engine.program
    assert (
        await code_of(client.set_config(SetConfig.RECONCILE_AND_COMMIT, info=info))
        == rpc_code.INVALID_ARGUMENT
    )
    assert engine.program is running
    assert await client.read(entry("exact_match")) == [ONE]


@pytest.mark.parametrize("kind", [1, 2, 3, 5])
async def test_config_is_needed_and_must_be_good(client, engine, kind):
    running = engine.program
    assert await code_of(client.set_config(kind, config=None)) == rpc_code.INVALID_ARGUMENT
    with pytest.raises(Refused, match="'levitate'") as refused:
        await client.set_config(kind, data=b'{"program": "another"}')
    assert refused.value.code == rpc_code.INVALID_ARGUMENT
    assert engine.program is running


async def test_wrong_requests(client):
    assert await code_of(client.set_config(0)) == rpc_code.INVALID_ARGUMENT
    assert await code_of(client.set_config(SetConfig.COMMIT)) == rpc_code.INVALID_ARGUMENT
    assert await code_of(client.set_config(data=b"")) == rpc_code.INVALID_ARGUMENT
    client.election_id = 99
    assert await code_of(client.set_config()) == rpc_code.PERMISSION_DENIED


def without_name(info):
    info.tables[0].preamble.name = "EverythingIngress.other"


def without_key(info):
    del info.tables[0].match_fields[1]


def string_type(info):
    info.tables[0].match_fields[1].type_name.name = "port_id_t"
    info.type_info.new_types["port_id_t"].translated_type.sdn_string.SetInParent()


def same_id(info):
    info.tables[0].preamble.id = info.tables[1].preamble.id


def absent_action(info):
    info.tables[0].action_refs.add(id=0x01FFFFFF)


def strange_match(info):
    info.tables[0].match_fields[1].other_match_type = "fuzzy"


def absent_table(info):
    info.action_profiles[0].table_ids.append(0x02FFFFFF)


def absent_struct(info):
    info.type_info.structs.clear()


def ternary_value_set(info):
    info.value_sets[0].match[0].match_type = p4i.MatchField.TERNARY


def wider_value_set(info):
    info.value_sets[0].match.add(id=2, bitwidth=8, match_type=p4i.MatchField.EXACT)


@pytest.mark.parametrize(
    "spoil",
    [
        without_name,
        without_key,
        string_type,
        same_id,
        absent_action,
        strange_match,
        absent_table,
        absent_struct,
        ternary_value_set,
        wider_value_set,
    ],
)
async def test_p4info_has_to_describe_the_program(client, engine, spoil):
    info = p4i.P4Info()
    info.CopyFrom(INFO)
    spoil(info)
    running = engine.program
    assert await code_of(client.set_config(info=info)) == rpc_code.INVALID_ARGUMENT
    assert engine.program is running
    assert engine.loaded[-1].closed


async def test_config_without_a_program_means_the_one_at_the_start(engine):
    server, port = await rig.start(engine, initial=TEXT)
    async with Client(port) as one:
        await one.arbitrate()
        await one.set_config(data=b"")
        await one.insert(ONE)
    await server.stop()
    assert len(engine.program.rows["EverythingIngress.exact_match"]) == 1


def wrapped(data):
    """A p4.tmp.P4DeviceConfig: reassign = true, extras {kv {key: "a" value: "b"}}, device_data."""
    length = bytearray()
    rest = len(data)
    while True:
        length.append(rest & 0x7F | (0x80 if rest > 0x7F else 0))
        rest >>= 7
        if not rest:
            break
    return b"\x08\x01" + b"\x12\x08\x0a\x06\x0a\x01a\x12\x01b" + b"\x1a" + bytes(length) + data


async def test_program_may_be_wrapped_in_a_message(client, engine):
    await client.set_config(data=wrapped(TEXT))
    assert len(engine.loaded) == 2


def test_device_config_forms():
    assert program_json(b' \n{"a": 1}\n') == b'{"a": 1}'
    assert program_json(b"") == b""
    assert program_json(wrapped(TEXT)) == TEXT
    assert program_json(b"\x08\x01") == b""
    for broken in (b"\x1a", b"\x1a\x05abc", b"\x1b\x00", b"hello", b"\xff" * 12):
        with pytest.raises(P4RuntimeError):
            program_json(broken)
