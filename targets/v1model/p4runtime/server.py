# SPDX-License-Identifier: Apache-2.0
"""The gRPC server of one switch, and the thread that brings the engine's events to it."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import grpc
from finsy.proto import p4r_grpc

from grasp import UserError
from grasp.targets.v1model.engine import Engine
from grasp.targets.v1model.objects import Event, PortEvent

from .pipeline import Pipelines
from .ports import Ports
from .service import P4RuntimeService

EVENT_BATCH = 64  # events handed to the loop at a time
STOP_GRACE = 0.5  # s for calls under way when the server stops

_LOG = logging.getLogger(__name__)
_OPTIONS = (
    ("grpc.so_reuseport", 0),  # two switches on one address would share its connections at random
    ("grpc.max_receive_message_length", 256 << 20),  # programs are large
    ("grpc.keepalive_time_ms", 10_000),  # a controller whose machine vanished is not primary for ever
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 1_000),
    ("grpc.http2.max_ping_strikes", 0),
)


class P4RuntimeServer:
    """Serves P4Runtime for an engine. To be used inside a running asyncio loop; start it once.

    compile_json: JSON to a program that the engine loads; may raise UserError with the reason for a refusal.
    initial: JSON that the engine runs already, for configurations that bring none.
    """

    def __init__(
        self,
        engine: Engine,
        device_id: int,
        compile_json: Callable[[bytes], Path],
        initial: bytes = b"",
    ) -> None:
        self.engine = engine
        self.pipelines = Pipelines(engine, Ports(engine.ports()), compile_json, initial)
        self.service = P4RuntimeService(device_id, self.pipelines)
        self._server = grpc.aio.server(options=_OPTIONS)
        self._stopping = threading.Event()
        self._events = threading.Thread(target=self._pump, name="events", daemon=True)
        p4r_grpc.add_P4RuntimeServicer_to_server(self.service, self._server)

    def bind(self, address: str) -> int:
        """Listen at host:port (port 0: any that is free) or unix:path; returns the port, for a path 1.

        Calls wait until `start`.
        """
        if not address.startswith("unix:"):
            _check_address(address)
        try:
            return self._server.add_insecure_port(address)
        except RuntimeError:
            raise UserError(f"cannot listen on {address}: it is in use, or cannot be made") from None

    async def start(self) -> None:
        """Begin to answer calls and to pass events on."""
        self._loop = asyncio.get_running_loop()
        await self._server.start()
        self._events.start()

    async def stop(self) -> None:
        """End calls, then the server; the engine stays."""
        self._stopping.set()
        await self._server.stop(STOP_GRACE)
        self.engine.wake()
        await asyncio.to_thread(self._events.join)

    def _pump(self) -> None:
        """Wait for events in this thread; hand over the next ones only when the last have been told.

        So a flood of events fills the engine's queue, which is bounded, and not the loop's.
        """
        while not self._stopping.is_set():
            events = self._next_events()
            if events:
                asyncio.run_coroutine_threadsafe(self._tell(events), self._loop).result()

    def _next_events(self) -> list[Event]:
        events = []
        event = self.engine.next_event()
        while event is not None:
            events.append(event)
            event = self.engine.next_event(0) if len(events) < EVENT_BATCH else None
        return events

    async def _tell(self, events: list[Event]) -> None:
        for event in events:
            try:
                if isinstance(event, PortEvent):
                    self.pipelines.port_changed(event.number, event.up)
                else:
                    self.service.tell(event)
            except Exception:  # an event of a program that was replaced a moment ago must not end all others
                _LOG.exception("lost an event: %s", type(event).__name__)


def _check_address(address: str) -> None:
    """Say why an address cannot be listened on: gRPC does not tell."""
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal() and int(port) < 1 << 16):  # gRPC would take another in its place
        raise UserError(f"the address '{address}' is not of the form HOST:PORT or unix:PATH")
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM
        )[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(place)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"cannot listen on {address}: {reason}") from None
