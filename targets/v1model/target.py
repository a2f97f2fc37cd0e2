# SPDX-License-Identifier: Apache-2.0
"""The v1model target: ``grasp switch``."""

from __future__ import annotations

import sys
from typing import ClassVar

from grasp.targets.interface import Target

from .compile import compiler


class V1Model(Target):
    """A switch run by this package."""

    name: ClassVar[str] = "v1model"

    @classmethod
    def check(cls) -> None:
        """Refuse if there is no C compiler."""
        compiler()

    def command(self) -> list[str]:
        """The command line of ``grasp switch``."""
        program = [sys.executable, "-m", "grasp.targets.v1model.command"]
        return [*program, *self.general_options(), "--", *self.grpc_options()]


TARGET = V1Model
