# SPDX-License-Identifier: Apache-2.0
"""Forwarding pipeline configurations: verified, saved, committed.

A configuration is tried on an engine of its own, without ports, before the switch's engine takes it. One that
is saved lives there until it is committed, and takes the controllers' writes meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from finsy.proto import p4r

from grasp import UserError
from grasp.targets.v1model.engine import Engine

from . import reconcile
from .device_config import program_json
from .errors import P4RuntimeError, failed_precondition, invalid_argument, not_found
from .forwarding import Forwarding
from .ports import Ports

_Set = p4r.SetForwardingPipelineConfigRequest
_Get = p4r.GetForwardingPipelineConfigRequest


@dataclass(frozen=True)
class Pipeline:
    """A configuration, its compiled program and the state that controllers gave it."""

    config: p4r.ForwardingPipelineConfig
    program: Path
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
        self._changing = asyncio.Lock()
        self.committed: Pipeline | None = None
        self.saved: Pipeline | None = None

    @property
    def current(self) -> Forwarding:
        """What reads and writes are about: the saved pipeline, if any, else the one that runs."""
        pipeline = self.saved or self.committed
        if pipeline is None:
            raise failed_precondition("no forwarding pipeline config is set")
        return pipeline.forwarding

    async def set(self, action: _Set.Action.ValueType, config: p4r.ForwardingPipelineConfig | None) -> None:
        """Carry out a SetForwardingPipelineConfig request."""
        async with self._changing:
            if action == _Set.COMMIT:
                self._commit_saved(config)
            elif action in (
                _Set.VERIFY, _Set.VERIFY_AND_SAVE, _Set.VERIFY_AND_COMMIT, _Set.RECONCILE_AND_COMMIT,
            ):  # fmt: skip
                await self._verify(action, config)
            else:
                raise invalid_argument("the request has no action")

    def _commit_saved(self, config: p4r.ForwardingPipelineConfig | None) -> None:
        if config is not None:
            raise invalid_argument("COMMIT takes no config")
        if self.saved is None:
            raise not_found("no config was saved")
        self._commit(self.saved, reconcile.snapshot(self.saved.forwarding))

    async def _verify(
        self, action: _Set.Action.ValueType, config: p4r.ForwardingPipelineConfig | None
    ) -> None:
        if config is None:
            raise invalid_argument("the request has no config")
        source = program_json(config.p4_device_config) or self._initial
        if not source:
            raise invalid_argument("the config has no p4_device_config")
        try:
            program = await asyncio.to_thread(self._compile, source)
        except UserError as error:
            raise invalid_argument(str(error)) from error
        trial = self._try(config, program)
        try:
            if action == _Set.VERIFY_AND_SAVE:
                self._forget_saved()
                self.saved = trial
            elif action == _Set.VERIFY_AND_COMMIT:
                self._commit(trial, ())
            elif action == _Set.RECONCILE_AND_COMMIT:
                updates = (
                    [] if self.committed is None else list(reconcile.snapshot(self.committed.forwarding))
                )
                _restore(trial.forwarding, updates)
                self._commit(trial, updates)
        finally:
            if trial is not self.saved:
                trial.forwarding.engine.close()

    def _try(self, config: p4r.ForwardingPipelineConfig, program: Path) -> Pipeline:
        """The configuration on an engine of its own."""
        engine = Engine()
        try:
            engine.load(program)
            return Pipeline(config, program, Forwarding(config.p4info, engine, self.ports))
        except Exception:
            engine.close()
            raise

    def _commit(self, pipeline: Pipeline, updates: Iterable[p4r.Update]) -> None:
        """Let the switch run a verified pipeline, with the state that the updates make."""
        self.engine.load(pipeline.program)
        forwarding = Forwarding(pipeline.config.p4info, self.engine, self.ports)
        reconcile.restore(forwarding, updates)
        self.committed = Pipeline(pipeline.config, pipeline.program, forwarding)
        self._forget_saved()

    def _forget_saved(self) -> None:
        if self.saved is not None:
            self.saved.forwarding.engine.close()
            self.saved = None

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

    def close(self) -> None:
        """Free what a saved configuration holds; the switch's engine is its owner's."""
        self._forget_saved()


def _restore(forwarding: Forwarding, updates: Iterable[p4r.Update]) -> None:
    try:
        reconcile.restore(forwarding, updates)
    except P4RuntimeError as error:
        raise invalid_argument(f"the forwarding state cannot be kept: {error.message}") from error
