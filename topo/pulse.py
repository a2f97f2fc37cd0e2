# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition that changes by events."""

import asyncio
from collections.abc import Callable


class Pulse:
    """Wakes whoever waits for a condition, each time that something it may depend on has changed."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def beat(self) -> None:
        """Say that something has changed."""
        self._next.set()
        self._next = asyncio.Event()

    async def until(self, satisfied: Callable[[], bool]) -> None:
        """Return as soon as `satisfied`, asked now and after every beat, is true."""
        while not satisfied():
            await self._next.wait()
