# SPDX-License-Identifier: Apache-2.0
"""Run a P4 program behind P4Runtime, with simple_switch_grpc's options (grasp switch --help lists them)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from grasp import UserError

HELP = "run a P4 program behind P4Runtime"


def configure(parser: argparse.ArgumentParser) -> None:
    """Leave all words to the switch's own parser: they may stand in any order and contain ``--``."""
    parser.prefix_chars = "\0"
    parser.add_argument("words", nargs=argparse.REMAINDER)


def run(args: argparse.Namespace) -> int:
    """Run a switch until it is told to end."""
    return start(args.words)


def start(words: Sequence[str]) -> int:
    """The same, given the words of the command line."""
    from . import options

    chosen = options.parse(words)
    from . import daemon  # imports gRPC, which takes its time

    return daemon.run(chosen)


if __name__ == "__main__":
    try:
        sys.exit(start(sys.argv[1:]))
    except UserError as error:
        print(f"grasp: {error}", file=sys.stderr)
        sys.exit(2)
