# SPDX-License-Identifier: Apache-2.0
"""Results folders: new or empty when the work begins, and filled with whole files or with none."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from grasp import UserError
from grasp.control.cli import EXHAUSTED

_HIDDEN = (Path("/run"), Path("/proc"), Path("/sys"))  # a world of its own (`enter`) sees its own there


def folder(text: str) -> Path:
    """Return the folder that --out names: the option's `type`."""
    if not text:  # a shell's variable that is not set, and not the folder in which one happens to be
        raise UserError("--out: the name of the folder is empty")
    return Path(text)


def make(wish: Path, *, isolated: bool = False, new: bool = False) -> Path:
    """Make a results folder before the work begins; return it as an absolute path.

    What is in a folder already is never written over. `isolated` work goes on in a world of its own, `new`
    folders are not even empty ones. Raises UserError for a folder that is not empty, or in which nothing can
    be written.
    """
    made = wish.absolute()
    if isolated and any(made.resolve().is_relative_to(hidden) for hidden in _HIDDEN):
        raise UserError(f"--out {made}: cannot be below {' or '.join(map(str, _HIDDEN))}")
    with named(made):
        made.mkdir(parents=True, exist_ok=not new)
        if any(made.iterdir()):
            raise UserError(f"--out {made}: is not empty; name a new folder, or remove it first")
        TemporaryFile(dir=made).close()
    return made


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

    So a full disk or Ctrl-C leaves no file that is cut off.
    """
    with named(where), TemporaryDirectory(prefix=".unfinished-", dir=where) as name:
        yield Path(name)
        # The page last, since it shows the others.
        for path in sorted(Path(name).iterdir(), key=lambda path: path.suffix == ".html"):
            path.rename(where / path.name)
