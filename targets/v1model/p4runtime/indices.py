# SPDX-License-Identifier: Apache-2.0
"""Which cells of an array a message means."""

from finsy.proto import p4r

from .errors import invalid_argument, out_of_range


def indices(index: p4r.Index | None, size: int, what: str) -> range:
    """One cell, or all of them if the message has no index."""
    if index is None:
        return range(size)
    if index.index < 0:
        raise invalid_argument(f"{what}: index {index.index} is negative")
    if index.index >= size:
        raise out_of_range(f"{what}: index {index.index} is not below {size}")
    return range(index.index, index.index + 1)
