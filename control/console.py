# SPDX-License-Identifier: Apache-2.0
"""The terminal, for text that is shown as it is."""

from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """Return a console that reads no markup: names of files and sites may have brackets and colons."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)
