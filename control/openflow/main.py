# SPDX-License-Identifier: Apache-2.0
"""Puts the OpenFlow controller together from its configuration and runs it until it is told to end."""

import asyncio
import contextlib
import signal
from pathlib import Path

from grasp.control.clock import now_us
from grasp.control.config import Config
from grasp.control.core import Core
from grasp.control.events import EventLog
from grasp.control.openflow.baseline import Baseline
from grasp.control.openflow.controller import Controller
from grasp.control.rules import rule_for_controller
from grasp.control.store import Store
from grasp.schedulers.green import Green


async def serve(config: Config, endpoint: str, events: Path | None) -> None:
    """Run a controller until SIGTERM ends it, cleanly, or SIGINT does, as KeyboardInterrupt."""
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(contextlib.closing(EventLog(events)))
        store = stack.enter_context(contextlib.closing(Store(config.store)))
        # Green distributes the forecasts as they are; the rule is applied where the jobs are decided about.
        core = Core(config, Green(), store, now_us())
        baseline = Baseline(config, core, rule_for_controller(config.scheduler))
        running = asyncio.ensure_future(Controller(config, core, baseline, log).run(endpoint))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await running
