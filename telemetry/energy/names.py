# SPDX-License-Identifier: Apache-2.0
"""Files' names: from what the user writes to a path, and from a path to what can be written anywhere."""

import os
from pathlib import Path

from grasp import UserError


def to_path(text: str) -> Path:
    """Return the path that a text names, ``~`` in its beginning written out.

    Raises UserError where nobody is called so, or the user has no home.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise UserError(f"{text}: {text.split('/')[0]} is nobody's home here; write the path out") from None


def readable(name: str) -> str:
    r"""Return a name as every document can hold it: bytes that are no UTF-8 are written as ``\xff``."""
    return os.fsencode(name).decode(errors="backslashreplace")
