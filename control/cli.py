# SPDX-License-Identifier: Apache-2.0
"""The ``grasp`` command: finds its subcommands and turns users' mistakes into one line and status 2.

A subcommand is an entry point of the group ``grasp.commands``. It names a module with ``HELP`` (one line),
``configure(parser)`` and ``run(args) -> exit status``; the module's docstring is shown by ``--help``.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import select
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

import grasp

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

EXHAUSTED = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""What a machine has no more of: such an OSError is one line and status 1."""


class Command(Protocol):
    """What a subcommand's module holds."""

    HELP: str
    __doc__: str | None

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the options."""

    def run(self, args: argparse.Namespace) -> int:
        """Do the work; return the exit status."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong with the options in one line, without the list of all of them before it.

    Options are written out: what begins alike can be another option in the next command.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        """Print the message and exit with status 2."""
        self.exit(2, f"{self.prog}: {message} ({self.prog} --help tells more)\n")


def add_commands(parser: argparse.ArgumentParser, group: str, wanted: str | None) -> None:
    """Add the commands of an entry point group to a parser: the one that is asked for, or else all.

    Modules take time to load, which shows when a run starts a dozen agents at once.
    """
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    found = sorted(entry_points(group=group), key=lambda point: point.name)
    for point in [point for point in found if point.name == wanted] or found:
        command = cast(Command, point.load())
        subparser = subparsers.add_parser(
            point.name,
            help=command.HELP,
            description=command.__doc__ or command.HELP,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(subparser)
        # Commands below it (grasp bench) put theirs in its place.
        subparser.set_defaults(run=command.run, parser=subparser)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status.

    2 for a user's mistake, 1 when the machine has no more of something, 130 when interrupted.
    """
    argv = sys.argv[1:] if argv is None else argv
    _open_closed_streams()
    _escape_what_cannot_be_written()
    _let_standard_error_fail()
    os.environ["MPLBACKEND"] = "agg"  # figures become files; what stands there may not even load here
    try:
        _check_folder()
        status = _run(argv)
        sys.stdout.flush()  # here, where a full disk can still be told
        return status
    except grasp.UserError as error:
        print(f"grasp: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        if not _reader_has_left():  # another pipe or socket of the command's broke
            raise
        discard_output()
        return 0
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # rich has seen it first, and done the same
            return 0
        raise
    except MemoryError:
        print("grasp: this machine has not enough memory for that; ask for less", file=sys.stderr)
        return 1
    except OSError as error:
        if error.errno not in EXHAUSTED:
            raise
        discard_output()
        print(f"grasp: {error.filename or 'output'}: {error.strerror}", file=sys.stderr)
        return 1


def discard_output() -> None:
    """Let the rest of standard output go nowhere, so that the interpreter does not complain of it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _reader_has_left() -> bool:
    """Say whether whoever read standard output (head, less) does so no longer."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)  # errors and hang-ups are told in any case
    return bool(poll.poll(0))


def _run(argv: Sequence[str]) -> int:
    parser = Parser(prog="grasp", description=grasp.__doc__)
    parser.add_argument("--version", action="version", version=f"grasp {grasp.__version__}")
    add_commands(parser, "grasp.commands", argv[0] if argv else None)
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        # By the command's own parser, whose --help has what was meant.
        args.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    return cast(int, args.run(args))


def _check_folder() -> None:
    """Raise UserError where relative paths have no meaning."""
    try:
        os.getcwd()
    except OSError:
        raise grasp.UserError("the working directory no longer exists: cd to one that does") from None


def _escape_what_cannot_be_written() -> None:
    r"""Let a terminal without Unicode show \xb5 for a character that it has not, as standard error does."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


class _Unheeded(io.FileIO):
    """A file whose writes may fail: what is said on the way must not end the work, nor lose its result."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write what can be written, and take all for written."""
        try:
            return super().write(data) or memoryview(data).nbytes
        except OSError:
            return memoryview(data).nbytes


def _let_standard_error_fail() -> None:
    """Go on where nobody reads standard error any more, or its disk is full."""
    if sys.stderr is sys.__stderr__ and isinstance(sys.stderr, io.TextIOWrapper):
        raw = _Unheeded(sys.stderr.fileno(), "w", closefd=False)
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(raw), sys.stderr.encoding, sys.stderr.errors, line_buffering=True
        )


def _open_closed_streams() -> None:
    """Open /dev/null as each standard stream that is closed: a file opened later would take its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            mode = "r" if number == 0 else "w"
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 (open until the end)


if __name__ == "__main__":
    sys.exit(main())
