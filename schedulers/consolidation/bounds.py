# SPDX-License-Identifier: Apache-2.0
"""Between which powers a fleet can be: all servers on, and just enough of them."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from grasp.schedulers.base import FloatArray
from grasp.schedulers.consolidation.machines import Machine, Sleep


def all_on(machines: Sequence[Machine], load: FloatArray) -> FloatArray:
    """Return the power in W with every server on, each as busy as the others, at loads in work a second."""
    speed = sum(machine.speed for machine in machines)
    idle = sum(machine.idle_w for machine in machines)
    span = sum(machine.peak_w - machine.idle_w for machine in machines)
    return np.asarray(idle + span * np.minimum(load / speed, 1))


def just_enough(machines: Sequence[Machine], sleep: Sleep, load: FloatArray) -> FloatArray:
    """Return the least power in W that carries the loads, with servers that wake and sleep in no time.

    The servers are chosen for each load anew, of all selections the best; the work is on those where a unit
    costs least beyond idling; the others sleep.
    """
    kinds = sorted({(one.speed, one.idle_w, one.peak_w) for one in machines}, key=_marginal)
    counts = [sum((one.speed, one.idle_w, one.peak_w) == kind for one in machines) for kind in kinds]
    best = np.full(load.shape, np.inf)
    *others, (speed, idle, peak) = kinds
    for chosen in product(*(range(count + 1) for count in counts[:-1])):
        power = np.full(load.shape, sleep.power_w * len(machines))
        left = load
        for (each, idle_w, peak_w), number in zip(others, chosen, strict=True):
            done = np.minimum(left, each * number)
            power = power + (idle_w - sleep.power_w) * number + done * (peak_w - idle_w) / each
            left = left - done
        # As few as possible of the kind whose work costs most: more would only idle.
        last = np.ceil(left / speed - 1e-9)
        power = power + (idle - sleep.power_w) * last + left * (peak - idle) / speed
        best = np.where(last <= counts[-1], np.minimum(best, power), best)
    # What no selection can carry keeps all of them busy.
    return np.where(np.isinf(best), sum(one.peak_w for one in machines), best)


def _marginal(kind: tuple[float, float, float]) -> float:
    speed, idle, peak = kind
    return (peak - idle) / speed
