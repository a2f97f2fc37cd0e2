# SPDX-License-Identifier: Apache-2.0
"""Measure how fast GRASP is on this machine, beside other ways to do the same.

Figures are ratios taken in one run, in turns, with medians. A benchmark is an entry point of the group
``grasp.benchmarks``, a module like a command's.
"""

from __future__ import annotations

import argparse

from grasp.control.cli import add_commands

HELP = "measure how fast the switch and the simulator are"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the benchmarks."""
    add_commands(parser, "grasp.benchmarks", None)


def run(args: argparse.Namespace) -> int:
    """Never called: each benchmark has its own."""
    raise AssertionError("a benchmark is required")
