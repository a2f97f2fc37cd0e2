# SPDX-License-Identifier: Apache-2.0
"""The controller's events as they happen: read from a pipe, kept in a file, waited for."""

import asyncio
import json
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grasp.topo.pulse import Pulse

Event = dict[str, Any]


class Feed:
    """Reads a controller's event lines from the named pipe `pipe` and appends them to the file `record`.

    The pipe outlives the controllers that write to it, so that one which is started again is heard as well.
    """

    def __init__(self, pipe: Path, record: Path) -> None:
        os.mkfifo(pipe)
        # Open in both directions: opening does not wait for a writer, and no writer's end is the pipe's.
        self._file = os.fdopen(os.open(pipe, os.O_RDWR | os.O_NONBLOCK), "rb")
        self._record = record
        self._events: defaultdict[str, list[Event]] = defaultdict(list)
        self._pulse = Pulse()

    async def follow(self) -> None:
        """Take events in until cancelled."""
        lines = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), self._file
        )
        try:
            with self._record.open("ab", buffering=0) as record:
                while line := await lines.readline():
                    record.write(line)
                    event = json.loads(line)
                    self._events[event["event"]].append(event)
                    self._pulse.beat()
        finally:
            transport.close()

    def named(self, name: str) -> list[Event]:
        """All events of a name so far, in order."""
        return self._events[name]

    async def until(self, satisfied: Callable[[], bool]) -> None:
        """Return as soon as `satisfied`, asked again after every event, is true."""
        await self._pulse.until(satisfied)
