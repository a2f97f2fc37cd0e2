# SPDX-License-Identifier: Apache-2.0
"""The cheapest placement of one step's requests, by linear programme: what the rule is measured against.

A cluster's power counts as proportional to its load. (The paper's model is concave: it rewards full clusters,
and its optimum is no linear programme.)
"""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, kron

from grasp.schedulers.base import FloatArray
from grasp.schedulers.price.ranking import BoolArray


def cheapest(demand: FloatArray, ceiling: FloatArray, price: FloatArray, reach: BoolArray) -> FloatArray:
    """Return requests/s by group and cluster, of shape (groups, clusters), of the least cost.

    `demand` has shape (groups,), `ceiling` and `price` (clusters,), `reach` (groups, clusters). As little as
    possible goes beyond reach; among such placements the cost, price times load, is least. Raises ValueError
    where the ceilings do not hold the demand.
    """
    groups, clusters = reach.shape
    each = csr_array(np.ones((1, clusters)))
    all_of = csr_array(np.ones((1, groups)))
    # Beyond reach costs more than any way within reach, of which an exchange may take several, saves.
    penalty = (np.ptp(price) + 1) * (groups + clusters)
    cost = price + np.where(reach, 0.0, penalty)
    found = linprog(
        cost.ravel(),
        A_eq=kron(eye_array(groups), each),
        b_eq=demand,
        A_ub=kron(all_of, eye_array(clusters)),
        b_ub=ceiling,
        method="highs",
    )
    if not found.success:
        raise ValueError(f"no placement: {found.message}")
    placed: FloatArray = found.x.reshape(groups, clusters)
    return placed
