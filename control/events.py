# SPDX-License-Identifier: Apache-2.0
"""What happened, for people and programs: a log line and, where asked for, a line of JSON in a file."""

import json
import logging
import time
from pathlib import Path
from typing import IO

from grasp import UserError

LOG = logging.getLogger("grasp.events")


class EventLog:
    """Appends one JSON object a line: `time` (seconds since 1970), `event`, and the event's own fields.

    Each line is written when `emit` returns: a program that follows the file waits for nothing else.
    """

    def __init__(self, path: Path | None = None):
        self._file: IO[str] | None = None
        if path is not None:
            try:
                self._file = path.open("a", encoding="utf-8", buffering=1)
            except OSError as error:
                raise UserError(f"events cannot be written to {path}: {error.strerror}") from None

    def emit(self, event: str, **fields: object) -> None:
        """Note an event."""
        LOG.info("%s %s", event, " ".join(f"{name}={value}" for name, value in fields.items()))
        if self._file is not None:
            line = json.dumps({"time": time.time(), "event": event, **fields}, default=str)
            self._file.write(line + "\n")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
