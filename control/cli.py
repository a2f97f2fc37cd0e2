# SPDX-License-Identifier: Apache-2.0
"""The ``grasp`` command: finds its subcommands and turns users' mistakes into one line and status 2.

A subcommand is an entry point of the group ``grasp.commands``. It names a module with ``HELP`` (one line),
``configure(parser)`` and ``run(args) -> exit status``; the module's docstring is shown by ``--help``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Protocol, cast

import grasp


class Command(Protocol):
    """What a subcommand's module holds."""

    HELP: str
    __doc__: str | None

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the options."""

    def run(self, args: argparse.Namespace) -> int:
        """Do the work; return the exit status."""


def build_parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the command line; it knows the one subcommand that is asked for, or else all."""
    parser = argparse.ArgumentParser(prog="grasp", description=grasp.__doc__)
    parser.add_argument("--version", action="version", version=f"grasp {grasp.__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    found = sorted(entry_points(group="grasp.commands"), key=lambda point: point.name)
    # Modules take time to load, which shows when a run starts a dozen agents at once.
    for point in [point for point in found if argv and point.name == argv[0]] or found:
        command = cast(Command, point.load())
        subparser = subparsers.add_parser(
            point.name,
            help=command.HELP,
            description=command.__doc__ or command.HELP,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status (2 for a user's mistake, 130 when interrupted)."""
    argv = sys.argv[1:] if argv is None else argv
    args = build_parser(argv).parse_args(argv)
    try:
        return cast(int, args.run(args))
    except grasp.UserError as error:
        print(f"grasp: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader (head, less) has left; keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
