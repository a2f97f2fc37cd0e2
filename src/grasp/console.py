# SPDX-License-Identifier: Apache-2.0
"""The terminal, for text that is shown as it is."""

import os

from rich.console import Console

_PAGE = 120
"""Columns where there is no terminal that says how many it has: rich's 80 would fold what a log shows."""


def console(*, stderr: bool = False) -> Console:
    """Return a console that reads no markup: names of files and sites may have brackets and colons."""
    made = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = _PAGE
    return made
