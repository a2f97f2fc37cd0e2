# SPDX-License-Identifier: Apache-2.0
"""The programs of a run: started, awaited, asked and ended; each keeps a log, and none ends unnoticed."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

_LINE_LIMIT = 1 << 20


class RunError(Exception):
    """A part of the run failed; its one-line text names the part and its log."""


class Program:
    """A running program that writes lines of JSON (or of text) on its standard output."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self.log = log
        self.expected_to_end = False
        self._process = process

    @classmethod
    async def start(
        cls, name: str, command: Sequence[str], logs: Path, environment: Mapping[str, str] | None = None
    ) -> "Program":
        """Start a program; what it writes on standard error is appended to `logs`/`name`.log."""
        log = logs / f"{name}.log"
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                limit=_LINE_LIMIT,
                env=environment,
            )
        return cls(name, process, log)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    async def line(self) -> str:
        """Return the next line of standard output; RunError when there will be none."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            await self._process.wait()
            raise RunError(self.obituary())
        return line.decode().rstrip("\n")

    async def message(self) -> Any:
        """Return the next line of standard output, taken as JSON."""
        return json.loads(await self.line())

    async def read(self, receive: Callable[[Any], None]) -> None:
        """Hand every further line, taken as JSON, to `receive`, until the program ends."""
        with contextlib.suppress(RunError):
            while True:
                receive(await self.message())
        if not self.expected_to_end:
            raise RunError(self.obituary())

    async def tell(self, *messages: object) -> None:
        """Write each message as a line of JSON to the program's standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write("".join(json.dumps(message) + "\n" for message in messages).encode())
        with contextlib.suppress(ConnectionError):  # it has ended: whoever reads from it says so
            await self._process.stdin.drain()

    async def ask(self, message: object) -> Any:
        """Tell, and return the answer."""
        await self.tell(message)
        return await self.message()

    async def end(self, patience: float = 5.0) -> int:
        """Ask the program to end (SIGTERM), insist after `patience` seconds, and return its status."""
        self.expected_to_end = True
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            async with asyncio.timeout(patience):
                return await self._process.wait()
        except TimeoutError:
            return await self.kill()

    async def kill(self) -> int:
        """Kill the program (SIGKILL) and return its status."""
        self.expected_to_end = True
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        return await self._process.wait()

    async def close(self) -> None:
        """Close the program's standard input."""
        self.expected_to_end = True
        assert self._process.stdin is not None
        self._process.stdin.close()

    def obituary(self) -> str:
        """One line that says how the program ended and what it said last."""
        lines = self.log.read_text(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
        return f"{self.name} ended with status {self._process.returncode}: {last} (see {self.log})"
