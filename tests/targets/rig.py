# SPDX-License-Identifier: Apache-2.0
"""A P4Runtime server over the fake engine, a plain gRPC client, shorthand for the test program's messages."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc
import pytest
from finsy.proto import U128, p4d, p4i, p4r, p4r_grpc, rpc_code, rpc_status
from google.protobuf import text_format

from grasp.targets.v1model.objects import PacketIn
from grasp.targets.v1model.p4runtime.server import P4RuntimeServer

PROGRAMS = Path(__file__).parent / "programs"
JSON = PROGRAMS / "everything.json"
INFO = text_format.Parse((PROGRAMS / "everything.p4info.txtpb").read_text(), p4i.P4Info())
DEVICE = 7
WAIT = 5.0  # s, for what should come at once

Update = p4r.Update
SetConfig = p4r.SetForwardingPipelineConfigRequest


def ids(objects):
    return {one.preamble.alias: one.preamble.id for one in objects}


TABLES, ACTIONS = ids(INFO.tables), ids(INFO.actions)
PROFILES, COUNTERS, METERS = ids(INFO.action_profiles), ids(INFO.counters), ids(INFO.meters)
REGISTERS, VALUE_SETS, DIGESTS = ids(INFO.registers), ids(INFO.value_sets), ids(INFO.digests)


def action(name, *values):
    params = [p4r.Action.Param(param_id=n, value=value) for n, value in enumerate(values, 1)]
    return p4r.Action(action_id=ACTIONS[name], params=params)


def call(name, *values):
    return p4r.TableAction(action=action(name, *values))


def exact(field, value):
    return p4r.FieldMatch(field_id=field, exact=p4r.FieldMatch.Exact(value=value))


def lpm(field, value, length):
    return p4r.FieldMatch(field_id=field, lpm=p4r.FieldMatch.LPM(value=value, prefix_len=length))


def ternary(field, value, mask):
    return p4r.FieldMatch(field_id=field, ternary=p4r.FieldMatch.Ternary(value=value, mask=mask))


def between(field, low, high):
    return p4r.FieldMatch(field_id=field, range=p4r.FieldMatch.Range(low=low, high=high))


def optional(field, value):
    return p4r.FieldMatch(field_id=field, optional=p4r.FieldMatch.Optional(value=value))


def entry(table, *match, action=None, **fields):
    return p4r.TableEntry(table_id=TABLES[table], match=match, action=action, **fields)


def entity(message):
    """Any message as the entity that it is."""
    for field in p4r.Entity.DESCRIPTOR.fields:
        if field.message_type is message.DESCRIPTOR:
            return p4r.Entity(**{field.name: message})
    inner = p4r.PacketReplicationEngineEntry
    name = "multicast_group_entry" if isinstance(message, p4r.MulticastGroupEntry) else "clone_session_entry"
    return p4r.Entity(packet_replication_engine_entry=inner(**{name: message}))


def bits(value):
    return p4d.P4Data(bitstring=value)


class Refused(Exception):  # noqa: N818
    """A call that failed: its status code, and the codes and texts of its batch's elements."""

    def __init__(self, error):
        super().__init__(error.details())
        self.code = error.code().value[0]
        self.details = []
        for key, value in error.trailing_metadata() or ():
            if key == "grpc-status-details-bin":
                status = rpc_status.Status.FromString(value)
                assert (status.code, status.message) == (self.code, error.details())
                for detail in status.details:
                    one = p4r.Error()
                    assert detail.Unpack(one)
                    self.details.append(one)

    @property
    def codes(self):
        return [one.canonical_code for one in self.details]


async def refusal(write):
    """The code with which the only update of a batch is refused."""
    with pytest.raises(Refused) as refused:
        await write
    assert refused.value.code == rpc_code.UNKNOWN
    (code,) = refused.value.codes
    return code


async def answer(awaitable):
    try:
        return await asyncio.wait_for(awaitable, WAIT)
    except grpc.aio.AioRpcError as error:
        raise Refused(error) from None


class Client:
    """One controller. Its requests carry its role and election id."""

    def __init__(self, port, election_id=1, role="", device=DEVICE):
        self.channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}", [("grpc.enable_http_proxy", 0)])
        self.stub = p4r_grpc.P4RuntimeStub(self.channel)
        self.device, self.role, self.election_id = device, role, election_id
        self.stream = None

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.channel.close()

    async def send(self, **update):
        if self.stream is None:
            self.stream = self.stub.StreamChannel()
        await self.stream.write(p4r.StreamMessageRequest(**update))

    async def receive(self):
        message = await answer(self.stream.read())
        if message is grpc.aio.EOF:
            raise Refused(await self.ended())
        return message

    async def ended(self):
        """The error that the server ended the stream with."""
        code, details = await self.stream.code(), await self.stream.details()
        return grpc.aio.AioRpcError(code, None, await self.stream.trailing_metadata(), details)

    async def arbitrate(self, election_id=None, config=None, device=None):
        """Introduce itself; returns the answer's (status code, election id or None)."""
        if election_id is not None:
            self.election_id = election_id
        message = p4r.MasterArbitrationUpdate(device_id=self.device if device is None else device)
        if self.election_id is not False:
            message.election_id.CopyFrom(U128.encode(self.election_id))
        if self.role or config is not None:
            message.role.CopyFrom(p4r.Role(name=self.role, config=config))
        await self.send(arbitration=message)
        return await self.advice()

    async def advice(self):
        update = (await self.receive()).arbitration
        assert update.device_id == self.device
        number = U128.decode(update.election_id) if update.HasField("election_id") else None
        return update.status.code, number

    def _me(self):
        return {"device_id": self.device, "role": self.role, "election_id": U128.encode(self.election_id)}

    async def set_config(
        self, action=SetConfig.VERIFY_AND_COMMIT, info=INFO, data=None, cookie=None, **fields
    ):
        config = p4r.ForwardingPipelineConfig(
            p4info=info, p4_device_config=JSON.read_bytes() if data is None else data
        )
        if cookie is not None:
            config.cookie.cookie = cookie
        request = SetConfig(**self._me() | {"action": action, "config": config} | fields)
        await answer(self.stub.SetForwardingPipelineConfig(request))

    async def get_config(self, response_type=0, device=DEVICE):
        request = p4r.GetForwardingPipelineConfigRequest(device_id=device, response_type=response_type)
        return await answer(self.stub.GetForwardingPipelineConfig(request))

    async def write(self, *updates, **fields):
        """Each update is (type, message)."""
        request = p4r.WriteRequest(**self._me() | fields)
        request.updates.extend(Update(type=kind, entity=entity(message)) for kind, message in updates)
        await answer(self.stub.Write(request))

    async def insert(self, *messages):
        await self.write(*((Update.INSERT, message) for message in messages))

    async def modify(self, *messages):
        await self.write(*((Update.MODIFY, message) for message in messages))

    async def delete(self, *messages):
        await self.write(*((Update.DELETE, message) for message in messages))

    async def read(self, *messages, role=""):
        request = p4r.ReadRequest(device_id=self.device, role=role)
        request.entities.extend(entity(message) for message in messages)
        found = []

        async def collect():
            async for response in self.stub.Read(request):
                found.extend(response.entities)

        try:
            await answer(collect())
        except Refused as refused:
            refused.found = found
            raise
        return [_message(one) for one in found]

    async def settle(self, engine):
        """Wait until the events before now have been dealt with: a packet-in comes behind them."""
        engine.events.put(PacketIn(bytes(2)))
        await self.receive()


def _message(one):
    message = getattr(one, one.WhichOneof("entity"))
    if isinstance(message, p4r.PacketReplicationEngineEntry):
        return getattr(message, message.WhichOneof("type"))
    return message


def the_json(data):
    """Stands for the compiler: the fake engine reads the JSON itself."""
    if data.strip() != JSON.read_bytes().strip():
        from grasp import UserError

        raise UserError("this program has a primitive 'levitate', which the target cannot run")
    return JSON


async def start(engine, **options):
    server = P4RuntimeServer(engine, DEVICE, the_json, **options)
    port = server.bind("127.0.0.1:0")
    await server.start()
    return server, port
