# SPDX-License-Identifier: Apache-2.0
"""The 95/5 rule: bandwidth is billed by the 95th percentile of a period's 5-minute samples.

The busiest 5 % of the samples are free. What must not rise is therefore not the peak but that percentile.
"""

import numpy as np

from grasp.schedulers.base import FloatArray
from grasp.schedulers.price.placement import TOLERANCE, ConservationError


def billed(load: FloatArray, period_steps: int) -> FloatArray:
    """Return the 95th percentiles of consecutive periods, of shape (periods, clusters).

    `load` has shape (steps, clusters). The percentile is a sample: the largest when the busiest 5 %, rounded
    down, are left out. The last period may be shorter.
    """
    return np.array(
        [_percentile(load[first : first + period_steps]) for first in _starts(load, period_steps)]
    )


def _starts(load: FloatArray, period_steps: int) -> range:
    return range(0, len(load), period_steps)


def _percentile(load: FloatArray) -> FloatArray:
    place = -(-95 * len(load) // 100) - 1
    percentile: FloatArray = np.partition(load, place, axis=0)[place]
    return percentile


def ceilings(before: FloatArray, period_steps: int) -> FloatArray:
    """Return what each cluster may take in each step so that no 95th percentile rises; shape as `before`.

    `before` is the load that the bills were for. Below the percentile of its period a cluster may go up to
    it; in the steps in which it was above, it may be so again, as far. Then at most as many steps are above
    the old percentile as were before, so the new one is no higher; and as no ceiling is below the load
    before, there is room for every demand that there was room for.
    """
    limit = np.empty_like(before)
    for first, percentile in zip(_starts(before, period_steps), billed(before, period_steps), strict=True):
        period = slice(first, first + period_steps)
        limit[period] = np.maximum(before[period], percentile)
    return limit


def verify(before: FloatArray, after: FloatArray, period_steps: int) -> None:
    """Raise ConservationError if a cluster's 95th percentile of a period rose."""
    if (billed(after, period_steps) > billed(before, period_steps) * (1 + TOLERANCE)).any():
        raise ConservationError("a 95th percentile rose")
