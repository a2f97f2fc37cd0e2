# SPDX-License-Identifier: Apache-2.0
"""The programs of a run: started, awaited, asked and ended; each keeps a log, and none ends unnoticed."""

import asyncio
import contextlib
import json
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_LINE_LIMIT = 1 << 20


class RunError(Exception):
    """A part of the run failed; its one-line text names the part and where to read more."""


class Program:
    """A running program. The lines that it writes on standard output go to `receive`, or wait for `line`."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self.log = log
        self.pid = process.pid
        self.receive: Callable[[str], None] | None = None
        self._process = process
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._may_end = False

    @classmethod
    async def start(cls, name: str, command: Sequence[str], logs: Path, speaks: bool = True) -> "Program":
        """Start a program; what it writes on standard error is appended to `logs`/`name`.log.

        So is what it writes on standard output, unless it `speaks` to the caller there.
        """
        log = logs / f"{name}.log"
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE if speaks else errors,
                stderr=errors,
                start_new_session=True,
                limit=_LINE_LIMIT,
            )
        return cls(name, process, log)

    async def watch(self) -> None:
        """Take the program's lines in until it ends; RunError if nobody wanted it to."""
        if self._process.stdout is not None:
            await self._listen(self._process.stdout)
        status = await self._process.wait()
        if not self._may_end:
            # What it said last has nothing to do with a signal that came from outside.
            reason = f"status {status}: {self._last_words()}" if status >= 0 else signal.strsignal(-status)
            raise RunError(f"{self.name} ended with {reason} (see {self.log})")

    async def _listen(self, output: asyncio.StreamReader) -> None:
        while line := await output.readline():
            text = line.decode(errors="replace").rstrip("\n")
            if self.receive is not None:
                self.receive(text)
            else:
                self._lines.put_nowait(text)
        self._lines.put_nowait(None)

    async def line(self) -> str:
        """Return the next line of standard output; RunError when there will be none."""
        line = await self._lines.get()
        if line is None:
            self._lines.put_nowait(None)
            raise RunError(f"{self.name} ended: {self._last_words()} (see {self.log})")
        return line

    async def tell(self, *messages: object) -> None:
        """Write each message as a line of JSON to the program's standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write("".join(json.dumps(message) + "\n" for message in messages).encode())
        with contextlib.suppress(ConnectionError):  # it has ended: whoever watches it says so
            await self._process.stdin.drain()

    async def ask(self, message: object) -> Any:
        """Tell, and return the answer."""
        await self.tell(message)
        return json.loads(await self.line())

    async def end(self, patience: float = 5.0) -> int:
        """Ask the program to end (SIGTERM), insist after `patience` seconds, and return its status."""
        self._may_end = True
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            async with asyncio.timeout(patience):
                return await self._process.wait()
        except TimeoutError:
            return await self.kill()

    async def kill(self) -> int:
        """Kill the program (SIGKILL) and return its status."""
        self._may_end = True
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        return await self._process.wait()

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
