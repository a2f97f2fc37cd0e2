# SPDX-License-Identifier: Apache-2.0
"""The layout of the P4 sources: p4c's own formatter drops comments, and clang-format breaks `|+|`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parents[2] / "p4src").glob("*.p4"))
WIDTH, INDENT = 114, 4
OPENS, CLOSES = "({", ")}"


def faults(text: str) -> list[str]:
    """Lines that are too long, end in white space, or are not indented by the braces around them."""
    found = [] if text.endswith("\n") and not text.endswith("\n\n") else ["the end is not one line end"]
    opened: list[str] = []
    goes_on = False  # the line belongs to the statement before it, and stands where it reads best
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > WIDTH or line != line.rstrip() or "\t" in line:
            found.append(f"line {number}: over {WIDTH} columns, a tab, or white space at its end")
        code = re.sub(r'"[^"]*"', '""', line).split("//")[0].rstrip(" \\")
        levels = len(opened) - code.strip().startswith("}")
        if line and not goes_on and line != " " * INDENT * levels + line.strip():
            found.append(f"line {number}: not indented by {levels} levels")
        for sign in code:
            if sign in "({":
                opened.append(sign)
            elif sign in ")}":
                opened.pop()
        if code:
            goes_on = (
                line.endswith("\\")
                or "(" in opened
                or not (code.startswith(("#", "@")) or code[-1] in ";{},")
            )
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_layout(path: Path) -> None:
    assert faults(path.read_text()) == []


@pytest.mark.parametrize(
    "text", ["a {\n  b;\n}\n", "a {\n    b; \n}\n", "a;", "a;\n\n", "a {\n\tb;\n}\n", f"{'a' * 114};\n"]
)
def test_bad_layout_is_found(text: str) -> None:
    assert faults(text)
