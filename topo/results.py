# SPDX-License-Identifier: Apache-2.0
"""Results folders: new or empty when the work begins, and filled with whole files or with none."""

import atexit
import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from types import FrameType

from grasp import UserError
from grasp.control.cli import EXHAUSTED, discard_output

_HIDDEN = (Path("/run"), Path("/proc"), Path("/sys"))  # a world of its own (`enter`) sees its own there


def folder(text: str) -> Path:
    """Return the folder that --out names: the option's `type`."""
    if not text:  # a shell's variable that is not set, and not the folder in which one happens to be
        raise UserError("--out: the name of the folder is empty")
    return Path(text)


def make(wish: Path, *, isolated: bool = False, new: bool = False) -> Path:
    """Make a results folder before the work begins; return it as an absolute path.

    What is in a folder already is never written over. `isolated` work goes on in a world of its own, `new`
    folders are not even empty ones. A folder that is made here and still empty when the program ends, as
    after a mistake that shows late, is removed then. Raises UserError for a folder that is not empty, or in
    which nothing can be written.
    """
    made = wish.absolute()
    with named(made):
        if isolated and any(_resolved(made).is_relative_to(hidden) for hidden in _HIDDEN):
            raise UserError(f"--out {made}: cannot be below {' or '.join(map(str, _HIDDEN))}")
        atexit.register(_remove_empty, [path for path in (made, *made.parents) if not path.exists()])
        made.mkdir(parents=True, exist_ok=not new)
        if any(made.iterdir()):
            raise UserError(f"--out {made}: is not empty; name a new folder, or remove it first")
        TemporaryFile(dir=made).close()
    return made


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except RuntimeError:  # before Python 3.13
        raise UserError(f"results folder {path}: Too many levels of symbolic links; name another") from None


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders, innermost first, that hold nothing."""
    with contextlib.suppress(OSError):
        for path in folders:
            path.rmdir()


@contextmanager
def named(where: Path) -> Iterator[None]:
    """Name the folder in what goes wrong with its files.

    A machine that has no more room stays an OSError (status 1), all else is a UserError (status 2).
    """
    try:
        yield
    except OSError as error:
        if error.errno in EXHAUSTED:
            raise OSError(error.errno, error.strerror, str(where)) from error
        raise UserError(f"results folder {where}: {error.strerror}; name another with --out") from None


@contextmanager
def whole(where: Path) -> Iterator[Path]:
    """Yield a folder to write into; its files are moved to `where` in the end, if there is nothing amiss.

    So a full disk, Ctrl-C or a SIGTERM leaves no file that is cut off, and of two programs at once the later
    one is refused.
    """
    with named(where), _terminated_cleanly():
        where.mkdir(parents=True, exist_ok=True)  # another's mistake may have removed it while it was empty
        with TemporaryDirectory(prefix=".unfinished-", dir=where) as name:
            yield Path(name)
            # The page last, since it shows the others.
            files = sorted(Path(name).iterdir(), key=lambda path: (path.suffix == ".html", path.name))
            _move(files, where)


def _move(files: Sequence[Path], where: Path) -> None:
    """Move all files or none; an empty file claims each name first, since moving replaces what is there."""
    with contextlib.ExitStack() as undo:
        for path in files:
            try:
                (where / path.name).touch(exist_ok=False)
            except FileExistsError:
                raise UserError(
                    f"results folder {where}: another program has put its {path.name} there meanwhile; "
                    "name another with --out"
                ) from None
            undo.callback((where / path.name).unlink)
        for path in files:
            path.rename(where / path.name)
        undo.pop_all()


@contextmanager
def _terminated_cleanly() -> Iterator[None]:
    """Let SIGTERM end the program as Ctrl-C does, with status 143, where it would end it at once."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + signal.SIGTERM)

    plain = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if not plain or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def deliver(write: Callable[[], None], show: Callable[[], None]) -> None:
    """Write a folder and print, also when it cannot be written: minutes of work are not lost on a full disk.

    Raises what went wrong with the folder, also when printing fails as well.
    """
    try:
        write()
    except (OSError, UserError):
        try:
            show()
            sys.stdout.flush()
        except (OSError, SystemExit):  # the latter by rich, where the reader has left
            discard_output()
        raise
    show()
