# SPDX-License-Identifier: Apache-2.0
"""Forwarding pipeline configurations: verified, saved, committed.

A configuration is tried on a program that does not run yet. A saved one takes the controllers' writes until
it is committed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from finsy.proto import p4r

from grasp import UserError
from grasp.targets.v1model.engine import Engine

from . import reconcile
from .device_config import program_json
from .errors import P4RuntimeError, failed_precondition, invalid_argument, not_found
from .forwarding import Forwarding, engine_refusals
from .ports import Ports

_LOG = logging.getLogger(__name__)
_Set = p4r.SetForwardingPipelineConfigRequest
_NEED_CONFIG = (
    _Set.VERIFY,
    _Set.VERIFY_AND_SAVE,
    _Set.VERIFY_AND_COMMIT,
    _Set.RECONCILE_AND_COMMIT,
)
_Get = p4r.GetForwardingPipelineConfigRequest


@dataclass(frozen=True)
class Pipeline:
    """A configuration and its loaded program with the state that controllers gave it."""

    config: p4r.ForwardingPipelineConfig
    forwarding: Forwarding


class Pipelines:
    """The pipeline that runs and the one that is saved, if there are any.

    `compile` turns JSON into a program for the engine; it may take seconds and is called in another thread.
    `initial` is the JSON that the switch was started with: a configuration without a program means this one.
    """

    def __init__(
        self, engine: Engine, ports: Ports, compile_json: Callable[[bytes], Path], initial: bytes = b""
    ) -> None:
        self.engine, self.ports = engine, ports
        self._compile, self._initial = compile_json, initial
        self.lock = asyncio.Lock()  # held while entities are read or written, or a pipeline takes effect
        self.committed: Pipeline | None = None
        self.saved: Pipeline | None = None

    @property
    def current(self) -> Forwarding:
        """What reads and writes are about: the saved pipeline, if any, else the one that runs."""
        pipeline = self.saved or self.committed
        if pipeline is None:
            raise failed_precondition("no forwarding pipeline config is set")
        return pipeline.forwarding

    @property
    def running(self) -> Forwarding:
        """What packets and acknowledgements are about: the pipeline that runs, not one that is saved."""
        if self.committed is None:
            raise failed_precondition("no forwarding pipeline config is set")
        return self.committed.forwarding

    async def set(self, action: _Set.Action.ValueType, config: p4r.ForwardingPipelineConfig | None) -> None:
        """Carry out a SetForwardingPipelineConfig request."""
        if action == _Set.COMMIT:
            async with self.lock:
                self._commit_saved(config)
            return
        if action not in _NEED_CONFIG or config is None:
            raise invalid_argument("the request has no action or no config")
        path = await self._translate(config)
        async with self.lock:
            self._apply(action, self._load(config, path))

    def _commit_saved(self, config: p4r.ForwardingPipelineConfig | None) -> None:
        if config is not None:
            raise invalid_argument("COMMIT takes no config")
        if self.saved is None:
            raise not_found("no config was saved")
        self._commit(self.saved)

    async def _translate(self, config: p4r.ForwardingPipelineConfig) -> Path:
        """The compiled program of a configuration."""
        source = program_json(config.p4_device_config) or self._initial
        if not source:
            raise invalid_argument("the config has no p4_device_config")
        try:
            return await asyncio.to_thread(self._compile, source)
        except UserError as error:
            raise invalid_argument(str(error)) from error

    def _load(self, config: p4r.ForwardingPipelineConfig, path: Path) -> Pipeline:
        """A pipeline whose program does not run yet."""
        try:
            program = self.engine.load(path)
        except UserError as error:
            raise invalid_argument(str(error)) from error
        try:
            return Pipeline(config, Forwarding(config.p4info, program, self.ports))
        except P4RuntimeError:
            program.close()
            raise

    def _apply(self, action: _Set.Action.ValueType, pipeline: Pipeline) -> None:
        """Do what the action says with a pipeline that the target can run."""
        if action == _Set.VERIFY:
            pipeline.forwarding.program.close()
        elif action == _Set.VERIFY_AND_SAVE:
            self._forget_saved()
            self.saved = pipeline
        else:
            if action == _Set.RECONCILE_AND_COMMIT and self.committed is not None:
                _carry_over(self.committed.forwarding, pipeline.forwarding)
            self._commit(pipeline)

    def _commit(self, pipeline: Pipeline) -> None:
        """Let the switch run a pipeline; the program that ran before is gone."""
        self.engine.activate(pipeline.forwarding.program)
        self.committed = pipeline
        if pipeline is self.saved:
            self.saved = None
        self._forget_saved()
        _LOG.info("running %s", pipeline.config.p4info.pkg_info.name or "a controller's pipeline")

    def send(self, packet: p4r.PacketOut) -> None:
        """Let a packet enter the running pipeline on the CPU port."""
        with engine_refusals():
            self.engine.packet_out(self.running.packet_io.pack(packet))

    def _forget_saved(self) -> None:
        if self.saved is not None:
            self.saved.forwarding.program.close()
            self.saved = None

    def port_changed(self, number: int, up: bool) -> None:
        """Take note that a port came up or went down."""
        self.ports.changed(number, up)
        for pipeline in (self.committed, self.saved):
            if pipeline is not None:
                pipeline.forwarding.port_changed(number)

    def get(self, wanted: _Get.ResponseType.ValueType) -> p4r.GetForwardingPipelineConfigResponse:
        """What a GetForwardingPipelineConfig request asks for; empty if no configuration is set."""
        pipeline = self.saved or self.committed
        response = p4r.GetForwardingPipelineConfigResponse()
        if pipeline is None:
            return response
        if wanted not in _Get.ResponseType.values():
            raise invalid_argument(f"response type {wanted} is unknown")
        config = response.config
        config.SetInParent()
        if wanted in (_Get.ALL, _Get.P4INFO_AND_COOKIE):
            config.p4info.CopyFrom(pipeline.config.p4info)
        if wanted in (_Get.ALL, _Get.DEVICE_CONFIG_AND_COOKIE):
            config.p4_device_config = pipeline.config.p4_device_config
        if pipeline.config.HasField("cookie"):
            config.cookie.CopyFrom(pipeline.config.cookie)
        return response


def _carry_over(old: Forwarding, new: Forwarding) -> None:
    try:
        reconcile.restore(new, reconcile.snapshot(old))
    except P4RuntimeError as error:
        new.program.close()
        raise invalid_argument(f"the forwarding state cannot be kept: {error.message}") from error
