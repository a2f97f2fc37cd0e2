# SPDX-License-Identifier: Apache-2.0
"""Coroutines that belong together: they end together, and the first error is everybody's."""

import asyncio
from collections.abc import Coroutine


async def until_one_fails(*endless: Coroutine[None, None, None]) -> None:
    """Run coroutines that never return; raise the first error as it is, when the others have ended."""
    tasks = [asyncio.create_task(coroutine) for coroutine in endless]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
