# SPDX-License-Identifier: Apache-2.0
"""The socket by which `grasp controller drain`, `undrain` and `status` speak to a running controller.

One JSON object a line each way: {"command": ..., "site": ...} gets {"result": ...} or {"error": ...}.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from grasp import UserError

Request = dict[str, str]
Handler = Callable[[Request], Awaitable[object]]

TIMEOUT_SECONDS = 10.0


@asynccontextmanager
async def serve(path: Path, handler: Handler) -> AsyncIterator[None]:
    """Answer requests at a Unix socket while the context lasts.

    A UserError of the handler becomes the answer's error. A socket left behind by a killed controller is
    replaced; one at which a controller answers is a UserError.
    """

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(json.dumps(await _answer(handler, line)).encode() + b"\n")
                await writer.drain()
        except (ConnectionError, ValueError):
            pass  # a client that left, or a line longer than any request
        finally:
            writer.close()

    if _answers(path):
        raise UserError(f"a controller already answers at {path}: end it first, or name another admin socket")
    try:
        server = await asyncio.start_unix_server(converse, path)
    except OSError as error:
        raise UserError(f"the admin socket {path} cannot be opened: {error.strerror or error}") from None
    try:
        yield
    finally:
        server.close()
        _forget(path)


async def _answer(handler: Handler, line: bytes) -> dict[str, object]:
    try:
        request = json.loads(line)
    except ValueError as error:  # not JSON, or not UTF-8
        return {"error": f"a request is a JSON object on one line: {error}"}
    if not isinstance(request, dict):
        return {"error": "a request is a JSON object on one line"}
    try:
        return {"result": await handler(request)}
    except UserError as error:
        return {"error": str(error)}


def _forget(path: Path) -> None:
    """Remove the socket's file, which Python before 3.13 leaves behind."""
    path.unlink(missing_ok=True)


def _answers(path: Path) -> bool:
    """Tell whether something listens at the socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def ask(path: Path, **request: str) -> Any:
    """Send one request to the controller at a socket and return the result.

    Raises UserError with the controller's error, or when no controller answers.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(TIMEOUT_SECONDS)
        try:
            connection.connect(str(path))
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as lines:
                line = lines.readline()
        except OSError as error:
            reason = error.strerror or error
            raise UserError(f"no controller answers at {path} ({reason}): start grasp controller") from None
    if not line:
        raise UserError(f"the controller at {path} ended before it answered")
    answer = json.loads(line)
    if "error" in answer:
        raise UserError(answer["error"])
    return answer["result"]
