# SPDX-License-Identifier: Apache-2.0
"""A study's tasks, spread over processes, with a progress bar on standard error."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Task = TypeVar("Task")
Answer = TypeVar("Answer")


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def each(
    work: Callable[[Task], Answer], tasks: Sequence[Task], workers: int, name: Callable[[Task], str] = str
) -> list[Answer]:
    """Return the answers in the tasks' order; one worker means this process itself."""
    answers: dict[int, Answer] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=len(tasks))
        if workers == 1:
            for index, task in enumerate(tasks):
                progress.update(bar, description=name(task))
                answers[index] = work(task)
                progress.advance(bar)
        else:
            # Not forked: the progress bar has a thread.
            with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
                running = {pool.submit(work, task): index for index, task in enumerate(tasks)}
                for done in as_completed(running):
                    answers[running[done]] = done.result()
                    progress.update(bar, advance=1, description=name(tasks[running[done]]))
    return [answers[index] for index in range(len(tasks))]
