# SPDX-License-Identifier: Apache-2.0
"""The compiled P4 program: where it lies, and its P4Info as a schema."""

from importlib.resources import files
from pathlib import Path

import finsy as fy

from grasp import UserError

BUILD = Path(str(files("grasp"))) / "p4src" / "build"


def load_pipeline(folder: Path = BUILD) -> fy.P4Schema:
    """Read ``grasp.p4info.txtpb`` and ``grasp.json`` of a folder; the package's own when none is given.

    Raises UserError when one of them is missing.
    """
    p4info, blob = folder / "grasp.p4info.txtpb", folder / "grasp.json"
    for path in (p4info, blob):
        if not path.is_file():
            raise UserError(f"the compiled P4 program lacks {path}: run ./build.sh")
    return fy.P4Schema(p4info, blob)
