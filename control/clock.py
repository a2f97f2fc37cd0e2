# SPDX-License-Identifier: Apache-2.0
"""The controllers' clock."""

import time


def now_us() -> int:
    """Return the time of day in microseconds since 1970."""
    return time.time_ns() // 1000
