# SPDX-License-Identifier: Apache-2.0
"""One P4Runtime connection to one switch.

finsy's Switch runs a switch as a set of tasks and logs what goes wrong in them; here a failure has to reach
the driver, which says it once and tries again, so the session stands on finsy's client and schema instead.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar
from urllib.parse import urlsplit

import finsy as fy
from finsy import p4entity, pbutil
from finsy.proto import U128, p4r

_Entity = TypeVar("_Entity", bound=p4entity.P4Entity)

_NO_PROXY = "no_grpc_proxy"


class LostError(Exception):
    """The switch went away, or was never there."""


class DemotedError(Exception):
    """Another controller became primary on the switch."""

    def __init__(self, primary: int):
        super().__init__(f"a controller with election id {primary} is primary")
        self.primary = primary


class Session:
    """Requests to a switch and messages from it.

    Requests raise LostError when the connection is gone and finsy.P4ClientError when the switch refuses.
    """

    def __init__(self, client: fy.P4Client, schema: fy.P4Schema, device_id: int):
        self._client = client
        self._schema = schema
        self._device_id = device_id
        self._election_id = 0

    @property
    def schema(self) -> fy.P4Schema:
        """P4Info of the program, by which entities are encoded."""
        return self._schema

    def complete(self, request: pbutil.PBMessage) -> None:
        """Put the election id into requests that change the switch."""
        if isinstance(request, p4r.WriteRequest | p4r.SetForwardingPipelineConfigRequest):
            request.election_id.CopyFrom(U128.encode(self._election_id))

    async def become_primary(self) -> None:
        """Bid for the role of primary, with an id above every one that was bid before.

        The clock gives the id, so that a controller which starts again outbids the one it replaces. Where a
        clock was set back, the switch names the highest id that it knows and the bid goes one above it.

        Raises DemotedError if a living controller has a higher id.
        """
        self._election_id = max(self._election_id + 1, time.time_ns())
        while True:
            await self._bid()
            message = await self._next()
            while message.WhichOneof("update") != "arbitration":
                message = await self._next()
            if message.arbitration.status.code == fy.GRPCStatusCode.OK:
                return
            highest = U128.decode(message.arbitration.election_id)
            if message.arbitration.status.code != fy.GRPCStatusCode.NOT_FOUND:
                raise DemotedError(highest)
            self._election_id = highest + 1

    async def regain_primary(self) -> None:
        """Wait until the primary is gone, then take its place."""
        while True:
            message = await self._next()
            if message.WhichOneof("update") != "arbitration":
                continue
            match message.arbitration.status.code:
                case fy.GRPCStatusCode.OK:
                    return
                case fy.GRPCStatusCode.NOT_FOUND:
                    return await self.become_primary()

    async def set_pipeline(self) -> bool:
        """Load the program unless the switch already runs the very same; tell whether it was loaded.

        Loading empties every table and register, so a running switch must never be given what it has.
        """
        if await self.has_pipeline():
            return False
        await self._forget_groups()
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=self._device_id,
            action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
            config=self._schema.get_pipeline_config(),
        )
        with _noticing_loss():
            await self._client.request(request)
        return True

    async def _forget_groups(self) -> None:
        """Delete the multicast groups of the program that is replaced.

        simple_switch keeps their copies while P4Runtime forgets them: written again, each would send twice.
        """
        try:
            groups = await self.read([fy.P4MulticastGroupEntry()])
        except fy.P4ClientError:
            return  # nothing is loaded, so there are none
        await self.write([-fy.P4MulticastGroupEntry(group.multicast_group_id) for group in groups])

    async def has_pipeline(self) -> bool:
        """Tell whether the switch runs the program, by the cookie that came with it."""
        request = p4r.GetForwardingPipelineConfigRequest(
            device_id=self._device_id,
            response_type=p4r.GetForwardingPipelineConfigRequest.COOKIE_ONLY,
        )
        try:
            with _noticing_loss():
                reply = await self._client.request(request)
        except fy.P4ClientError as error:
            if error.code in (fy.GRPCStatusCode.FAILED_PRECONDITION, fy.GRPCStatusCode.NOT_FOUND):
                return False
            raise
        return bool(reply.config.HasField("cookie")) and reply.config.cookie.cookie == self._schema.p4cookie

    async def write(self, updates: Iterable[p4entity.P4UpdateList]) -> None:
        """Write table entries and groups, in order, in one request."""
        encoded = p4entity.encode_updates(updates, self._schema)
        if encoded:
            with _noticing_loss():
                await self._client.request(p4r.WriteRequest(device_id=self._device_id, updates=encoded))

    async def read(self, entities: Iterable[_Entity]) -> list[_Entity]:
        """Read all entities that match those given, which may be wildcards."""
        request = p4r.ReadRequest(
            device_id=self._device_id, entities=p4entity.encode_entities(entities, self._schema)
        )
        found: list[_Entity] = []
        with _noticing_loss():
            async for reply in self._client.request_iter(request):
                found += [p4entity.decode_entity(entity, self._schema) for entity in reply.entities]
        return found

    async def send(self, packet: fy.P4PacketOut) -> None:
        """Send a packet-out."""
        await self._send(packet.encode_update(self._schema))

    async def receive(self) -> fy.P4PacketIn | p4entity.P4IdleTimeoutNotification | p4r.StreamError:
        """Wait for the next packet-in, idle timeout or stream error.

        Raises DemotedError when another controller becomes primary.
        """
        while True:
            message = await self._next()
            match message.WhichOneof("update"):
                case "packet":
                    return fy.P4PacketIn.decode(message, self._schema)
                case "idle_timeout_notification":
                    return p4entity.P4IdleTimeoutNotification.decode(message, self._schema)
                case "error":
                    return message.error
                case "arbitration" if message.arbitration.status.code != fy.GRPCStatusCode.OK:
                    raise DemotedError(U128.decode(message.arbitration.election_id))

    async def _bid(self) -> None:
        update = p4r.MasterArbitrationUpdate(
            device_id=self._device_id, election_id=U128.encode(self._election_id)
        )
        await self._send(p4r.StreamMessageRequest(arbitration=update))

    async def _send(self, request: p4r.StreamMessageRequest) -> None:
        try:
            await self._client.send(request)
        except (fy.P4ClientError, asyncio.InvalidStateError) as error:
            raise LostError(reason(error)) from None

    async def _next(self) -> p4r.StreamMessageResponse:
        try:
            return await self._client.receive()
        except (fy.P4ClientError, RuntimeError) as error:  # finsy raises RuntimeError at the stream's end
            raise LostError(reason(error)) from None


@asynccontextmanager
async def connect(address: str, schema: fy.P4Schema, device_id: int) -> AsyncIterator[Session]:
    """Open a session to the switch at ``host:port``; the first request tells whether a switch is there."""
    _bypass_proxy(address)
    client = fy.P4Client(address, wait_for_ready=False)
    session = Session(client, schema, device_id)
    await client.open(schema=schema, complete_request=session.complete)
    try:
        yield session
    finally:
        await client.close()


def _bypass_proxy(address: str) -> None:
    """Keep gRPC from sending the connection to the proxy that http_proxy and its kin name.

    gRPC reads the exceptions from the environment when a channel is made, and finsy takes no channel options.
    """
    host = urlsplit(f"//{address}").hostname or address
    exceptions = os.environ.get(_NO_PROXY, "").split(",")
    if host not in exceptions:
        os.environ[_NO_PROXY] = ",".join([*filter(None, exceptions), host])


@contextmanager
def _noticing_loss() -> Iterator[None]:
    """Turn the errors of a connection that is gone into LostError; let the switch's refusals pass."""
    try:
        yield
    except fy.P4ClientError as error:
        gone = (
            fy.GRPCStatusCode.UNAVAILABLE,
            fy.GRPCStatusCode.CANCELLED,
            fy.GRPCStatusCode.DEADLINE_EXCEEDED,
        )
        if error.code in gone:
            raise LostError(reason(error)) from None
        raise


def reason(error: Exception) -> str:
    """Say on one line why a request failed."""
    if not isinstance(error, fy.P4ClientError):
        return str(error)
    updates = [
        f"update {number}: {detail.canonical_code.name} {detail.message}"
        for number, detail in error.details.items()
    ]
    return "; ".join(updates) or f"{error.code.name} {error.message}"
