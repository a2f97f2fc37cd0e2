# SPDX-License-Identifier: Apache-2.0
"""What queueing theory says of mean waits with exponential service times, to hold the simulations against.

Waits are in mean service times, loads in parts of the servers' capacity.
"""

import numpy as np


def wait_of_one(load: float) -> float:
    """Mean wait in M/M/1, so in random assignment: ρ / (1 - ρ)."""
    return load / (1 - load)


def wait_of_many(load: float, servers: int) -> float:
    """Mean wait in M/M/c: Erlang's C over c (1 - ρ).

    So it is for the least work of all servers, and for replicas on all of them without delay.
    """
    blocked = 1.0  # Erlang's B, by its recursion
    for count in range(1, servers + 1):
        blocked = load * servers * blocked / (count + load * servers * blocked)
    waits = blocked / (1 - load * (1 - blocked))
    return waits / (servers * (1 - load))


def wait_of_least_loaded(load: float, d: int) -> float:
    """Mean wait when the least loaded of d random servers is joined, as the servers become many.

    The work at a server exceeds w with the probability (ρ + (ρ^(1-d) - ρ) e^((d-1) w))^(1/(1-d)); the job
    waits longer if it does so at all d. Integrated over w by Simpson's rule.

    Source: T. Hellemans, B. Van Houdt, "On the Power-of-d-choices with Least Loaded Server Selection",
    Proceedings of the ACM on Measurement and Analysis of Computing Systems 2(2), 2018.
    """
    if d == 1:
        return wait_of_one(load)
    work = np.linspace(0, 60, 60_001)
    exceeds = (load + (load ** (1.0 - d) - load) * np.exp((d - 1) * work)) ** (1 / (1 - d))
    weights = np.ones(len(work))
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    return float((weights * exceeds**d).sum() * (work[1] - work[0]) / 3)
