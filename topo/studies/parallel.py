# SPDX-License-Identifier: Apache-2.0
"""A study's tasks, spread over processes, and its progress on standard error.

That is a bar in a terminal, and a line for each phase elsewhere, as in a log.
"""

import ctypes
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from grasp import UserError
from grasp.console import console

_PR_SET_PDEATHSIG = 1  # linux/prctl.h

Task = TypeVar("Task")
Answer = TypeVar("Answer")


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def phase(text: str, terminal: Console | None = None) -> None:
    """Say on standard error what is being done, where it is no terminal."""
    terminal = terminal or console(stderr=True)
    if not terminal.is_terminal:
        terminal.print(text, soft_wrap=True)


def each(
    work: Callable[[Task], Answer],
    tasks: Sequence[Task],
    workers: int,
    heading: str,
    name: Callable[[Task], str] = str,
) -> list[Answer]:
    """Return the answers in the tasks' order; one worker means this process itself.

    `heading` is what all the tasks are, `name` what one of them is.
    """
    answers: dict[int, Answer] = {}
    terminal = console(stderr=True)
    phase(f"{len(tasks)} {heading}", terminal)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as progress:
        bar = progress.add_task("", total=len(tasks))
        if workers == 1:
            for index, task in enumerate(tasks):
                progress.update(bar, description=name(task))
                answers[index] = work(task)
                progress.advance(bar)
        else:
            for index, answer in _elsewhere(work, tasks, workers):
                answers[index] = answer
                progress.update(bar, advance=1, description=name(tasks[index]))
    return [answers[index] for index in range(len(tasks))]


def _begin(parent: int, ctrl_c: signal.Handlers) -> None:
    """Set a process up: it ends with its parent, whatever ended that, and by Ctrl-C if that does."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    signal.signal(signal.SIGINT, ctrl_c)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _elsewhere(
    work: Callable[[Task], Answer], tasks: Sequence[Task], workers: int
) -> Iterator[tuple[int, Answer]]:
    """Yield the tasks' numbers and answers as they come from so many processes."""
    ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN  # as in the background of a script (&)
    pool = ProcessPoolExecutor(
        workers,
        mp_context=get_context("spawn"),  # not forked: the progress bar has a thread
        initializer=_begin,
        initargs=(os.getpid(), signal.SIG_IGN if ignored else signal.SIG_DFL),
    )
    try:
        # Ctrl-C ends them at once and without a word, also while they are still loading: it waits for
        # `_begin`.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            running = {pool.submit(work, task): index for index, task in enumerate(tasks)}
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for done in as_completed(running):
            yield running[done], done.result()
    except BrokenProcessPool:
        raise UserError(
            "a process of the study was killed, perhaps for want of memory: give fewer --workers"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)
