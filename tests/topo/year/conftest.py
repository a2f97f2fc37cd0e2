# SPDX-License-Identifier: Apache-2.0
"""What the studies' tests share with those of the energy sources."""

from tests.telemetry.conftest import real_tmy3

__all__ = ["real_tmy3"]
