# SPDX-License-Identifier: Apache-2.0
"""Water-filling: how many jobs each site has after many jobs went, one by one, to the largest headroom.

Job after job takes the `jobs` largest of the headrooms ``budget - job * m``, m = 0, 1, ... of all sites. The
water level, at which the headrooms above it hold exactly the energy of all jobs, is the largest
``(sum of the j largest budgets - jobs * job) / j``; so one sort of each hour's sites replaces the jobs' loop.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grasp import UserError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_Number = TypeVar("_Number", np.float64, np.int64)

MWH_LIMIT = 2**46
"""Energies stay below this many mWh (70 GWh): the switches' signed 48 bits, with room for what is spent."""

SITES_LIMIT = 2**15

_BLOCK = 2**14  # sites x hours x cases reckoned at once: what fits into a processor's cache

_LEVEL_LIMIT = 2**62  # keeps sums over the sites and the energy of all jobs of an hour within int64


def milliwatt_hours(energy_wh: ArrayLike, what: str = "energy") -> IntArray:
    """Energy in whole mWh, rounded to the nearest, of energy in Wh.

    Raises UserError, naming `what`, for values that are not numbers or too large for the switches.
    """
    scaled = np.rint(np.asarray(energy_wh, dtype=np.float64) * 1000)
    if not np.all(np.abs(scaled) < MWH_LIMIT):  # also false for NaN
        raise UserError(f"{what}: every value must be a number of magnitude below {MWH_LIMIT / 1e3:.0f} Wh")
    return scaled.astype(np.int64)


def job_count(jobs: ArrayLike) -> IntArray:
    """Jobs as int64; raises UserError unless they are whole numbers, 0 or more."""
    count = np.asarray(jobs)
    if not np.issubdtype(count.dtype, np.integer) or np.any(count < 0):
        raise UserError("jobs: must be whole numbers, 0 or more")
    return count.astype(np.int64)


def fill(budget: IntArray, job: IntArray, jobs: ArrayLike) -> IntArray:
    """Allocate whole jobs to sites, in whole mWh; return int64 counts of shape (..., sites).

    `budget` has shape (..., sites), `job` and `jobs` the shape (...) or one that broadcasts to it. Ties go to
    the lower site, as job after job has them. The cost is that of sorting the sites of each hour. Raises
    UserError for what cannot be counted exactly.
    """
    count = job_count(jobs)
    if np.any(job < 1):
        raise UserError("job energy: must be at least 0.001 Wh, the unit of the switches")
    _check_sites(budget)
    if np.any(count.astype(np.float64) * job > _LEVEL_LIMIT):
        raise UserError("jobs: their energy in one hour exceeds what can be counted")

    sites = budget.shape[-1]
    hours = np.broadcast_shapes(budget.shape[:-1], job.shape, count.shape)
    if not hours:
        return _fill(budget, job, count)
    budget = np.atleast_2d(budget)
    job, count = np.broadcast_to(job, hours), np.broadcast_to(count, hours)
    filled = np.empty((*hours, sites), dtype=np.int64)
    rows = max(1, _BLOCK * hours[-1] // max(filled.size, 1))
    for first in range(0, hours[-1], rows):
        block = slice(first, first + rows)
        part = budget[..., block, :] if budget.shape[-2] > 1 else budget
        filled[..., block, :] = _fill(part, job[..., block], count[..., block])
    return filled


def _fill(budget: IntArray, job: IntArray, count: IntArray) -> IntArray:
    """Every site takes its whole jobs down to the level, rounded up to whole mWh; then the rest is dealt."""
    above = budget - _level(_pooled(budget), np.asarray(count * job))
    step = np.asarray(job)[..., np.newaxis]
    counts = np.maximum(above // step, 0)
    filled: IntArray = counts + _rest(above - counts * step, count - counts.sum(axis=-1))
    return filled


def _rest(headroom: IntArray, left: IntArray) -> NDArray[np.bool_]:
    """Which sites take one of the jobs that are left: the largest headrooms, ties to the lower site.

    Fewer jobs are left than there are sites with headroom above the level (0 here), which is below one job's.
    """
    # With the site's number in the low bits no two headrooms are equal, and the lower site's is the larger.
    sites = headroom.shape[-1]
    key = (np.maximum(headroom, -1) << (sites - 1).bit_length()) + np.arange(sites - 1, -1, -1)
    taking = left[..., np.newaxis]
    lowest = np.take_along_axis(np.sort(key, axis=-1), np.minimum(sites - taking, sites - 1), axis=-1)
    takes: NDArray[np.bool_] = (key >= lowest) & (taking > 0)
    return takes


def pour(budget_wh: ArrayLike, job_wh: ArrayLike, jobs: ArrayLike) -> FloatArray:
    """Allocate divisible jobs to sites: what `fill` gives as the jobs become many and small.

    Takes Wh and jobs (whole or real) in the shapes of `fill`; returns real counts of shape (..., sites).
    """
    budget = np.asarray(budget_wh, dtype=np.float64)
    job = np.asarray(job_wh, dtype=np.float64)
    count = np.asarray(jobs, dtype=np.float64)
    if not (np.all(job > 0) and np.all(np.isfinite(job))):
        raise UserError("job energy: must be a number above 0")
    if not (np.all(count >= 0) and np.all(np.isfinite(count))):
        raise UserError("jobs: must be 0 or more")
    if not np.all(np.isfinite(budget)):
        raise UserError("budget: every value must be a number")
    _check_sites(budget)
    demand = np.asarray(count * job)[..., np.newaxis]
    level = np.max((_pooled(budget) - demand) / np.arange(1, budget.shape[-1] + 1), axis=-1, keepdims=True)
    poured: FloatArray = np.maximum(budget - level, 0) / job[..., np.newaxis]
    return poured


def _level(pooled: IntArray, demand: IntArray) -> IntArray:
    """The water level of each hour, rounded up, of shape (..., 1)."""
    # One division by a constant for each number of sites is several times faster than an array of divisors.
    depth = demand - pooled[..., 0]
    for site in range(1, pooled.shape[-1]):
        depth = np.minimum(depth, (demand - pooled[..., site]) // (site + 1))
    return np.asarray(-depth)[..., np.newaxis]


def _check_sites(budget: FloatArray | IntArray) -> None:
    if budget.ndim == 0 or not 1 <= budget.shape[-1] <= SITES_LIMIT:
        raise UserError(f"budget: must be of 1 to {SITES_LIMIT} sites")


def _pooled(budget: NDArray[_Number]) -> NDArray[_Number]:
    """Sums of the 1, 2, ... largest budgets of each hour."""
    return np.cumsum(np.sort(budget, axis=-1)[..., ::-1], axis=-1)
