# SPDX-License-Identifier: Apache-2.0
"""Hours or years of jobs under a scheduling rule, without a loop over jobs, hours or sites."""

import numpy as np
from numpy.typing import ArrayLike

from grasp.schedulers.base import FloatArray, Scheduler
from grasp.schedulers.ratio import green_ratio

BATCH = 4
"""Cases reckoned at once: enough to share the sorting of sites, few enough for the processor's cache."""


def green_ratios(
    rule: Scheduler,
    forecast_wh: FloatArray,
    energy_wh: FloatArray,
    job_wh: ArrayLike,
    jobs: ArrayLike,
    divisible: bool = False,
) -> FloatArray:
    """Return the green ratio of each case: a job energy k in Wh, and a number of jobs in every hour.

    The rule goes by `forecast_wh`; jobs then run on `energy_wh`; both have shape (hours, sites). `job_wh` and
    `jobs` have shape (cases,), as the result has. `divisible` jobs are dealt out in real numbers, as in the
    paper's arithmetic, and may be any number from 0; else they are whole.
    """
    deal = rule.divide if divisible else rule.allocate
    job, count = np.broadcast_arrays(np.atleast_1d(job_wh), np.atleast_1d(jobs))
    ratios = [
        green_ratio(
            deal(
                forecast_wh, job[first : first + BATCH, np.newaxis], count[first : first + BATCH, np.newaxis]
            ),
            energy_wh,
            job[first : first + BATCH],
        )
        for first in range(0, len(job), BATCH)
    ]
    return np.concatenate(ratios)
