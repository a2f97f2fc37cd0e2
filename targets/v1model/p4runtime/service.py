# SPDX-License-Identifier: Apache-2.0
"""The P4Runtime service: one method per RPC."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import islice
from typing import Any, TypeAlias

import grpc
from finsy.proto import p4r, p4r_grpc

from grasp.targets.v1model.objects import DigestList, IdleTimeout, PacketIn

from .arbitration import Arbitration, Controller, Role
from .entities import p4_id
from .errors import (
    DETAILS_KEY,
    SPACE,
    BatchError,
    P4RuntimeError,
    failed_precondition,
    permission_denied,
    unimplemented,
)
from .forwarding import Forwarding
from .pipeline import Pipelines

API_VERSION = "1.5.0"
READ_CHUNK = 512  # entities per message of a read
RESTART_GRACE = 1.0  # s; a controller that was restarted may come back before its old stream is seen to end

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_STATUS_CODES = {code.value[0]: code for code in grpc.StatusCode}
_LOG = logging.getLogger(__name__)


class P4RuntimeService(p4r_grpc.P4RuntimeServicer):
    """Serves one device to all its controllers."""

    def __init__(self, device_id: int, pipelines: Pipelines) -> None:
        self.arbitration = Arbitration(device_id)
        self.pipelines = pipelines

    # ---- unary calls

    async def Capabilities(  # noqa: N802
        self, request: p4r.CapabilitiesRequest, context: _Context
    ) -> p4r.CapabilitiesResponse:
        """The version of the specification."""
        async with _refusals(context):
            if request.device_id:
                self.arbitration.check_device(request.device_id)
        return p4r.CapabilitiesResponse(p4runtime_api_version=API_VERSION)

    async def SetForwardingPipelineConfig(  # noqa: N802
        self, request: p4r.SetForwardingPipelineConfigRequest, context: _Context
    ) -> p4r.SetForwardingPipelineConfigResponse:
        """Verify, save or commit a pipeline."""
        async with _refusals(context):
            election_id = request.election_id if request.HasField("election_id") else None
            role = self.arbitration.authorize(request.device_id, request.role, election_id)
            if not role.access.pipeline:
                raise permission_denied(f"role '{role.name}' cannot push a pipeline")
            config = request.config if request.HasField("config") else None
            await self.pipelines.set(request.action, config)
        return p4r.SetForwardingPipelineConfigResponse()

    async def GetForwardingPipelineConfig(  # noqa: N802
        self, request: p4r.GetForwardingPipelineConfigRequest, context: _Context
    ) -> p4r.GetForwardingPipelineConfigResponse:
        """The pipeline, or parts of it."""
        async with _refusals(context):
            self.arbitration.check_device(request.device_id)
            return self.pipelines.get(request.response_type)

    async def Write(  # noqa: N802
        self, request: p4r.WriteRequest, context: _Context
    ) -> p4r.WriteResponse:
        """Apply a batch of updates, each on its own."""
        async with _refusals(context):
            election_id = request.election_id if request.HasField("election_id") else None
            self.arbitration.authorize(request.device_id, request.role, election_id)
            async with self.pipelines.lock:
                # Another may be primary by now. From here to the end of the batch nothing comes between.
                role = self.arbitration.authorize(request.device_id, request.role, election_id)
                _raise_refused(self._write_batch(role, request))
        return p4r.WriteResponse()

    def _write_batch(self, role: Role, request: p4r.WriteRequest) -> list[P4RuntimeError | None]:
        """How each update of a batch fared."""
        forwarding = self.pipelines.current
        if request.atomicity != p4r.WriteRequest.CONTINUE_ON_ERROR:
            raise unimplemented("atomic batches are not supported")
        outcomes: list[P4RuntimeError | None] = []
        for update in request.updates:
            try:
                if not role.access.covers(p4_id(update.entity)):
                    raise permission_denied(f"role '{role.name}' does not cover this entity")
                forwarding.write(update)
                outcomes.append(None)
            except P4RuntimeError as error:
                outcomes.append(error)
        return outcomes

    # ---- streams

    async def Read(  # noqa: N802
        self, request: p4r.ReadRequest, context: _Context
    ) -> AsyncIterator[p4r.ReadResponse]:
        """The entities that a batch of requests selects; those of refused requests are missing."""
        async with _refusals(context):
            role = self.arbitration.find_role(request.device_id, request.role)
            found: list[p4r.Entity] = []
            outcomes: list[P4RuntimeError | None] = []
            async with self.pipelines.lock:
                forwarding = self.pipelines.current
            for wanted in request.entities:
                entities = forwarding.read(wanted)
                # Register arrays are large, and each is copied when it is come to: writes and packets go on
                # between their parts. What writes change in number is read at once.
                size = READ_CHUNK if wanted.HasField("register_entry") else None
                try:
                    while part := await self._read_part(forwarding, entities, size):
                        found += [entity for entity in part if role.access.covers(p4_id(entity))]
                    outcomes.append(None)
                except P4RuntimeError as error:
                    if forwarding is not self.pipelines.current:
                        raise
                    outcomes.append(error)
            for start in range(0, len(found), READ_CHUNK):
                yield p4r.ReadResponse(entities=found[start : start + READ_CHUNK])
            _raise_refused(outcomes)

    async def _read_part(
        self, forwarding: Forwarding, entities: Iterator[p4r.Entity], size: int | None
    ) -> list[p4r.Entity]:
        """The next `size` entities, or all that are left; refused when the pipeline is another by now."""
        async with self.pipelines.lock:
            if forwarding is not self.pipelines.current:
                raise failed_precondition("the pipeline was replaced while it was read")
            part = list(islice(entities, size))
        await asyncio.sleep(0)
        return part

    async def StreamChannel(  # noqa: N802
        self, requests: AsyncIterator[p4r.StreamMessageRequest], context: _Context
    ) -> AsyncIterator[p4r.StreamMessageResponse]:
        """A controller's session: arbitration, packets, digests, idle timeouts."""
        controller = Controller()
        reader = asyncio.create_task(self._read_all(controller, requests))
        try:
            async with _refusals(context):
                while (message := await controller.outbox.get()) is not None:
                    yield message
                await reader
        finally:
            reader.cancel()
            self.arbitration.leave(controller)

    async def _read_all(
        self, controller: Controller, requests: AsyncIterator[p4r.StreamMessageRequest]
    ) -> None:
        """Take in what a controller sends until it ends, or says something that ends its session."""
        try:
            async for request in requests:
                await self._handle(controller, request)
        finally:
            controller.outbox.put_nowait(None)

    async def _handle(self, controller: Controller, request: p4r.StreamMessageRequest) -> None:
        which = request.WhichOneof("update")
        if which == "arbitration":
            await self._arbitrate(controller, request.arbitration)
            return
        try:
            if not controller.is_primary:
                raise permission_denied("not the primary controller")
            if which == "packet":
                self.pipelines.send(request.packet)
            elif which == "digest_ack":
                self.pipelines.running.acknowledge(request.digest_ack)
            else:
                raise unimplemented("v1model has no stream messages of its own")
        except P4RuntimeError as error:
            controller.notify(_stream_error(error, request))

    async def _arbitrate(self, controller: Controller, message: p4r.MasterArbitrationUpdate) -> None:
        holder = self.arbitration.holder(controller, message)
        if holder is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(holder.gone.wait(), RESTART_GRACE)
        self.arbitration.update(controller, message)

    # ---- what the switch tells its controllers

    def tell(self, event: PacketIn | DigestList | IdleTimeout) -> None:
        """Pass an event on to the primary controllers whose roles cover it."""
        pipeline = self.pipelines.committed
        message = None if pipeline is None else pipeline.forwarding.tell(event)
        if message is None:
            return
        for controller in self.arbitration.primaries():
            if controller.role is not None and controller.role.access.wants(message):
                controller.notify(message)


def _stream_error(error: P4RuntimeError, request: p4r.StreamMessageRequest) -> p4r.StreamMessageResponse:
    """The report of a stream message that was refused, with a copy of it."""
    report = p4r.StreamError(canonical_code=error.code, message=error.message, space=SPACE)
    which = request.WhichOneof("update")
    if which == "packet":
        report.packet_out.packet_out.CopyFrom(request.packet)
    elif which == "digest_ack":
        report.digest_list_ack.digest_list_ack.CopyFrom(request.digest_ack)
    else:
        report.other.other.CopyFrom(request.other)
    return p4r.StreamMessageResponse(error=report)


def _raise_refused(outcomes: list[P4RuntimeError | None]) -> None:
    if any(outcomes):
        raise BatchError(outcomes)


@asynccontextmanager
async def _refusals(context: _Context) -> AsyncIterator[None]:
    """End the call with the status of what is refused inside."""
    try:
        yield
    except P4RuntimeError as error:
        _LOG.info("refused: %s", error.message)
        await context.abort(_STATUS_CODES[error.code], error.message)
    except BatchError as error:
        _LOG.info("refused: %s", error)
        status = error.to_proto()
        details = ((DETAILS_KEY, status.SerializeToString()),)
        await context.abort(_STATUS_CODES[status.code], status.message, details)
