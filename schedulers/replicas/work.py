# SPDX-License-Identifier: Apache-2.0
"""Joining the least work of d random servers, which replicas without delay must equal.

Nothing is shared with the other simulations but how random numbers are drawn: here the work left at every
server runs down as time passes, and a job looks at d of them.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from grasp.schedulers.base import FloatArray
from grasp.schedulers.replicas.inputs import distinct, service_time

_STREAM = 9  # no other simulation draws from it
_BLOCK = 1000


def join_least_work(
    servers: int, d: int, loads: Sequence[float], jobs: int, seeds: int, service: str = "exponential"
) -> NDArray[np.float32]:
    """Return the jobs' waits in mean service times, of shape (jobs, loads, seeds)."""
    random, draw = np.random.default_rng((seeds, _STREAM)), service_time(service)
    columns = len(loads) * seeds
    scale = 1 / (np.repeat(loads, seeds) * servers)
    work: FloatArray = np.zeros((columns, servers))
    waits = np.empty((jobs, columns), dtype=np.float32)
    every = np.arange(columns)
    for done in range(0, jobs, _BLOCK):
        count = min(_BLOCK, jobs - done)
        gaps = random.exponential(scale, (count, columns))
        lengths = draw(random, count * columns).reshape(count, columns)
        chosen = distinct(random, count * columns, d, servers).reshape(count, columns, d)
        for job in range(count):
            work -= gaps[job, :, np.newaxis]
            np.maximum(work, 0, out=work)
            best = chosen[job, every, work[every[:, np.newaxis], chosen[job]].argmin(axis=1)]
            waits[done + job] = work[every, best]
            work[every, best] += lengths[job]
    return waits.reshape(jobs, len(loads), seeds)
