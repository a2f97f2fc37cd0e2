# SPDX-License-Identifier: Apache-2.0
"""Puts the controller together from its configuration and runs it until it is told to end."""

import asyncio
import contextlib
import signal
from pathlib import Path

from grasp.control.clock import now_us
from grasp.control.config import Config
from grasp.control.core import Core
from grasp.control.events import EventLog
from grasp.control.p4runtime.controller import Controller
from grasp.control.p4runtime.pipeline import load_pipeline
from grasp.control.rules import rule_for_switches
from grasp.control.store import Store


async def serve(config: Config, events: Path | None) -> None:
    """Run a controller until SIGTERM ends it, cleanly, or SIGINT does, as KeyboardInterrupt."""
    schema = load_pipeline()
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(contextlib.closing(EventLog(events)))
        store = stack.enter_context(contextlib.closing(Store(config.store)))
        core = Core(config, rule_for_switches(config.scheduler), store, now_us())
        running = asyncio.ensure_future(Controller(config, core, schema, log).run())
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await running
