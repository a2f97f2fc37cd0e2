# SPDX-License-Identifier: Apache-2.0
"""Translates a program from BMv2 JSON to one C file, which runtime/*.h explains to the C compiler.

The C is meant to be read: it has the P4 program's names, one function for each parser state, action and
table, and ifs and switches where the P4 program has them.
"""

from __future__ import annotations

from grasp.targets.v1model.p4json import Program
from grasp.targets.v1model.translate.program import Writer


def translate(program: Program) -> str:
    """The C text of a program; a UserError names what the embedded target lacks."""
    return Writer(program).text()
