# SPDX-License-Identifier: Apache-2.0
"""The paper's measure: which part of the jobs ran on green energy, and what is the most that could have."""

import numpy as np
from numpy.typing import ArrayLike

from grasp import UserError
from grasp.schedulers.base import FloatArray


def green_ratio(counts: ArrayLike, energy_wh: ArrayLike, job_wh: ArrayLike) -> FloatArray:
    """Jobs served by green energy over all jobs: sum of min(count, E/k) / sum of count.

    `counts` (whole or real) and `energy_wh` have shape (..., hours, sites); the sums run over both of these
    axes, so the result has shape (...), and is a scalar array for a single table. `job_wh` (k) is a scalar or
    of shape (...). A site's energy serves jobs of its own hour only. Raises UserError when there are no jobs.
    """
    jobs = np.atleast_2d(np.asarray(counts, dtype=np.float64))
    energy = np.atleast_2d(np.asarray(energy_wh, dtype=np.float64))
    job = np.asarray(job_wh, dtype=np.float64)[..., np.newaxis, np.newaxis]
    served = np.minimum(jobs, np.maximum(energy, 0) / job).sum(axis=(-2, -1))
    return _over(served, jobs.sum(axis=(-2, -1)))


def green_ratio_limit(energy_wh: ArrayLike, job_wh: ArrayLike, jobs: ArrayLike) -> FloatArray:
    """Return the largest green ratio that any distribution of the jobs within their hours can reach.

    It is the sum over hours of min(n, sum over sites of E/k), over the sum of n. `energy_wh` has shape
    (..., hours, sites), `jobs` (n) is a scalar or of shape (..., hours), `job_wh` as for `green_ratio`.
    """
    energy = np.atleast_2d(np.asarray(energy_wh, dtype=np.float64))
    job = np.asarray(job_wh, dtype=np.float64)[..., np.newaxis]
    powered = np.maximum(energy, 0).sum(axis=-1) / job
    count = np.broadcast_to(np.asarray(jobs, dtype=np.float64), powered.shape)
    return _over(np.minimum(count, powered).sum(axis=-1), count.sum(axis=-1))


def _over(served: FloatArray, jobs: FloatArray) -> FloatArray:
    if not np.all(jobs > 0):
        raise UserError("green ratio: there are no jobs to take it of")
    return np.asarray(served / jobs)
