# SPDX-License-Identifier: Apache-2.0
"""What an agent remembers across restarts, in a JSON file that is never seen half written."""

import fcntl
import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from grasp import UserError


@dataclass(slots=True)
class Memory:
    """Of the site `name`: sequence numbers up to `reserved` may have been used.

    `site` is the id that the controller gave, `heartbeat` the interval between heartbeats in microseconds;
    both None before the first registration.
    """

    name: str
    reserved: int = 0
    site: int | None = None
    heartbeat: int | None = None


class MemoryFile:
    """The file and the right to use it: two agents on one file would use the same sequence numbers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._lock = os.open(
                path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise UserError(f"state {path}: cannot be written ({error.strerror})") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"state {path}: another agent is using it") from None

    def load(self, name: str) -> Memory:
        """Return what is remembered of the site `name`: nothing, when there is no file yet."""
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return Memory(name)
        except OSError as error:
            raise UserError(f"state {self.path}: cannot be read ({error.strerror})") from error
        except ValueError:
            raise self._damaged() from None
        if not isinstance(data, dict) or data.keys() != {field.name for field in fields(Memory)}:
            raise self._damaged()
        memory = Memory(**data)
        if not (
            isinstance(memory.name, str)
            and _within(memory.reserved, 2**32)
            and (memory.site is None or _within(memory.site, 256))
            and (memory.heartbeat is None or (_within(memory.heartbeat, 2**64) and memory.heartbeat > 0))
        ):
            raise self._damaged()
        if memory.name != name:
            raise UserError(f"state {self.path}: belongs to site {memory.name!r}, not {name!r}")
        return memory

    def save(self, memory: Memory) -> None:
        """Replace the file in one step, and only once the new content is on the disk."""
        fresh = self.path.with_name(self.path.name + ".new")
        try:
            with fresh.open("w", encoding="utf-8") as file:
                json.dump(asdict(memory), file)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self.path)
        except OSError as error:
            raise UserError(f"state {self.path}: cannot be written ({error.strerror})") from error

    def close(self) -> None:
        """Let another agent use the file."""
        os.close(self._lock)

    def _damaged(self) -> UserError:
        return UserError(f"state {self.path}: not an agent's state; remove it, and the site registers anew")


def _within(value: object, limit: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit
