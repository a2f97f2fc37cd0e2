# SPDX-License-Identifier: Apache-2.0
"""What goes over the stream besides arbitration: packets, digests, errors, and who gets what."""

from __future__ import annotations

import pytest
from finsy.proto import p4i, p4r, rpc_code, stratum
from google.protobuf.any_pb2 import Any

from grasp.targets.v1model.objects import DigestConfig, DigestList, PacketIn
from grasp.targets.v1model.p4runtime.errors import P4RuntimeError
from grasp.targets.v1model.p4runtime.packet_io import PacketIO

from .rig import DIGESTS, INFO, Client, Refused, refusal

FRAME = bytes(range(64))
LEARNED = "learned_t"


def out(**values):
    metadata = [p4r.PacketMetadata(metadata_id=int(key[1:]), value=value) for key, value in values.items()]
    return p4r.PacketOut(payload=FRAME, metadata=metadata)


# packet_out is egress_port: 9, mode: 3, padding: 4; packet_in is ingress_port: 9, reason: 7
@pytest.mark.parametrize(
    ("packet", "header"),
    [
        (out(_1=b"\1\xff", _2=b"\7", _3=b"\x0f"), b"\xff\xff"),
        (out(_3=b"\1", _1=b"\1", _2=b"\0"), b"\0\x81"),  # any order
        (out(_1=b"\0\0\1\0", _2=b"\0\3", _3=b"\0"), b"\x80\x30"),  # leading zeros
        (out(_1=b"\2"), b"\1\0"),  # the rest is 0
        (out(), b"\0\0"),
    ],
)
async def test_packet_out_gets_its_header(client, engine, packet, header):
    await client.send(packet=packet)
    await client.settle(engine)
    assert engine.sent == [header + FRAME]


@pytest.mark.parametrize(
    ("packet", "code"),
    [
        (out(_1=b"\2\0"), rpc_code.OUT_OF_RANGE),
        (out(_2=b""), rpc_code.OUT_OF_RANGE),
        (out(_9=b"\1"), rpc_code.INVALID_ARGUMENT),
        (
            p4r.PacketOut(metadata=[p4r.PacketMetadata(metadata_id=1, value=b"\1")] * 2),
            rpc_code.INVALID_ARGUMENT,
        ),
    ],
)
async def test_bad_packet_out_is_reported_and_not_sent(client, engine, packet, code):
    await client.send(packet=packet)
    error = (await client.receive()).error
    assert (error.canonical_code, error.packet_out.packet_out) == (code, packet)
    assert engine.sent == []


async def test_packet_in_metadata_is_canonical(client, engine):
    engine.events.put(PacketIn(b"\x80\x85" + FRAME))
    packet = (await client.receive()).packet
    assert packet.payload == FRAME
    assert [(one.metadata_id, one.value) for one in packet.metadata] == [(1, b"\1\1"), (2, b"\5")]
    engine.events.put(PacketIn(b"\x80"))  # shorter than the header: nothing that could be told
    engine.events.put(PacketIn(b"\0\0"))
    packet = (await client.receive()).packet
    assert (packet.payload, [one.value for one in packet.metadata]) == (b"", [b"\0", b"\0"])


def test_program_without_controller_headers_passes_packets_unchanged():
    plain = PacketIO(p4i.P4Info())
    assert plain.pack(p4r.PacketOut(payload=FRAME)) == FRAME
    assert plain.unpack(FRAME) == p4r.PacketIn(payload=FRAME)
    with pytest.raises(P4RuntimeError):
        plain.pack(out(_1=b"\1"))


async def test_packets_are_the_primarys_alone(client, port, engine):
    async with Client(port) as backup:
        await backup.arbitrate(0)
        await backup.send(packet=out(_1=b"\1"))
        error = (await backup.receive()).error
        assert error.canonical_code == rpc_code.PERMISSION_DENIED
        engine.events.put(PacketIn(b"\0\1" + FRAME))
        assert (await client.receive()).packet.payload == FRAME
        assert engine.sent == []
        await backup.arbitrate(9)  # nothing came before the answer


async def test_packet_out_without_a_pipeline_or_session(port):
    async with Client(port) as one, Client(port) as two:
        await one.arbitrate()
        await one.send(packet=out())
        assert (await one.receive()).error.canonical_code == rpc_code.FAILED_PRECONDITION
        await two.send(packet=out())
        assert (await two.receive()).error.canonical_code == rpc_code.PERMISSION_DENIED


async def test_roles_get_the_packets_they_ask_for(client, port, engine):
    config = Any()
    wanted = stratum.P4RoleConfig.PacketFilter(metadata_id=2, value=b"\0\5")
    config.Pack(stratum.P4RoleConfig(receives_packet_ins=True, packet_in_filter=wanted))
    deaf = Any()
    deaf.Pack(stratum.P4RoleConfig())
    async with Client(port, role="five") as five, Client(port, role="none") as none:
        await five.arbitrate(1, config=config)
        await none.arbitrate(1, config=deaf)
        for reason in (4, 5):
            engine.events.put(PacketIn(bytes([0, reason]) + FRAME))
        assert [(await client.receive()).packet.metadata[1].value for _ in range(2)] == [b"\4", b"\5"]
        assert (await five.receive()).packet.metadata[1].value == b"\5"
        await none.arbitrate(1, config=deaf)  # nothing came before the answer


async def test_unknown_stream_message_is_reported(client):
    await client.send(other=Any(type_url="x"))
    error = (await client.receive()).error
    assert (error.canonical_code, error.other.other.type_url) == (rpc_code.UNIMPLEMENTED, "x")


async def test_capabilities(client):
    request = p4r.CapabilitiesRequest()
    assert (await client.stub.Capabilities(request)).p4runtime_api_version == "1.5.0"


# ---- digests


def digest(**config):
    return p4r.DigestEntry(digest_id=DIGESTS[LEARNED], config=p4r.DigestEntry.Config(**config))


async def test_digest_is_configured_once(client, engine):
    assert await client.read(p4r.DigestEntry()) == []
    await client.insert(digest(max_timeout_ns=1_500, max_list_size=2, ack_timeout_ns=3_000_000))
    assert engine.program.digest_configs == {LEARNED: DigestConfig(2, 2, 3000)}
    assert await refusal(client.insert(digest())) == rpc_code.ALREADY_EXISTS
    await client.modify(digest(max_list_size=1))
    assert await client.read(digest()) == [digest(max_list_size=1)]
    assert await refusal(client.modify(digest(max_list_size=-1))) == rpc_code.INVALID_ARGUMENT
    await client.delete(digest())
    assert engine.program.digest_configs == {LEARNED: None}
    for write in (client.delete, client.modify):
        assert await refusal(write(digest())) == rpc_code.NOT_FOUND


async def test_digest_lists_are_told_and_acknowledged(client, engine):
    await client.insert(digest(max_list_size=2))
    engine.events.put(DigestList(LEARNED, 8, ((0xA, 1), (1 << 47, 511))))
    told = (await client.receive()).digest
    assert (told.digest_id, told.list_id) == (DIGESTS[LEARNED], 8)
    assert told.timestamp > 0
    shapes = [[member.bitstring for member in one.struct.members] for one in told.data]
    assert shapes == [[b"\x0a", b"\1"], [b"\x80\0\0\0\0\0", b"\1\xff"]]
    await client.send(digest_ack=p4r.DigestListAck(digest_id=DIGESTS[LEARNED], list_id=8))
    await client.settle(engine)
    assert engine.program.acknowledged == [(LEARNED, 8)]


async def test_wrong_acknowledgement_is_reported(client):
    ack = p4r.DigestListAck(digest_id=1, list_id=8)
    await client.send(digest_ack=ack)
    error = (await client.receive()).error
    assert error.canonical_code == rpc_code.INVALID_ARGUMENT
    assert error.digest_list_ack.digest_list_ack == ack


async def test_digest_of_a_type_that_v1model_lacks_is_refused_at_load(client):
    info = p4i.P4Info()
    info.CopyFrom(INFO)
    info.digests[0].type_spec.header_stack.SetInParent()
    with pytest.raises(Refused, match="unsupported type"):
        await client.set_config(info=info)
