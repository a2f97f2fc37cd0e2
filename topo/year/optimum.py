# SPDX-License-Identifier: Apache-2.0
"""The most that waiting jobs and batteries can gain, knowing all hours: a linear programme, solved by HiGHS.

Energies are divided by the job's, so the unit is one job. With X the deferrable jobs begun up to an hour, A
those that have come, g an hour's green jobs, and of each site what its battery takes (c), gives (d) and
holds (s):

  maximise the sum of g
  A(t - D) <= X(t) <= A(t),  X not falling           no job begins early or too late
  g(t) <= jobs that may not wait + X(t) - X(t-1)     green jobs are begun jobs
  g(t) <= sum over sites of (E - c + d)              and have energy
  s(t) = s(t-1) + efficiency c(t) - d(t)             batteries start empty
  0 <= s <= capacity,  0 <= c <= min(power, E),  0 <= d <= power

Deadlines may be met in the order of arrival, which is why totals up to an hour say it all.
"""

import numpy as np

from grasp import UserError
from grasp.schedulers.base import FloatArray
from grasp.schedulers.shifting import Battery, Waiting


def optimum(energy_wh: FloatArray, job_wh: float, jobs: float, waiting: Waiting, battery: Battery) -> float:
    """Return the largest green ratio that any schedule of the hours reaches; `energy_wh` (hours, sites)."""
    from scipy import sparse
    from scipy.optimize import linprog

    energy = energy_wh / job_wh
    hours, sites = energy.shape
    capacity, power = battery.capacity_wh / job_wh, battery.power_w / job_wh
    deferrable = jobs * waiting.share
    come = deferrable * np.arange(1, hours + 1)
    due = np.concatenate([np.zeros(waiting.hours), come])[:hours]
    due[-1] = come[-1]  # the last hour ends all waiting

    # Columns: X, g, then c, d and s by hour and site. A site's hours are linked by its battery alone.
    eye = sparse.eye_array(hours, format="csr")
    step = eye - sparse.eye_array(hours, k=-1, format="csr")
    total = sparse.kron(eye, np.ones((1, sites)), format="csr")
    links = sparse.kron(step, sparse.eye_array(sites), format="csr")
    each = sparse.eye_array(hours * sites, format="csr")
    at_most = sparse.block_array(
        [
            [-step, None, None, None, None],
            [-step, eye, None, None, None],
            [None, eye, total, -total, None],
        ],
        format="csr",
    )
    at_most.resize((3 * hours, 2 * hours + 3 * hours * sites))
    balance = sparse.hstack(
        [sparse.csr_array((hours * sites, 2 * hours)), -battery.efficiency * each, each, links], format="csr"
    )
    lower = np.concatenate([due, np.zeros(hours + 3 * hours * sites)])
    upper = np.concatenate(
        [
            come,
            np.full(hours, np.inf),
            np.minimum(energy, power if capacity else 0).ravel(),
            np.full(hours * sites, power if capacity else 0),
            np.full(hours * sites, capacity),
        ]
    )
    cost = np.zeros(len(lower))
    cost[hours : 2 * hours] = -1
    limits = np.concatenate([np.zeros(hours), np.full(hours, jobs - deferrable), energy.sum(axis=1)])
    found = linprog(
        cost,
        A_ub=at_most,
        b_ub=limits,
        A_eq=balance if capacity else None,
        b_eq=np.zeros(hours * sites) if capacity else None,
        bounds=np.column_stack([lower, upper]),
        method="highs",
    )
    if found.status != 0:
        raise UserError(f"the optimum for k = {job_wh:g} Wh and {jobs:g} jobs was not found: {found.message}")
    return float(-found.fun / (hours * jobs))
