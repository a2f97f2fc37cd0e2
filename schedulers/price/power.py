# SPDX-License-Identifier: Apache-2.0
"""What a cluster of servers draws at a utilisation (section 5.1 of the paper)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grasp import UserError
from grasp.schedulers.base import FloatArray

EXPONENT = 1.4
"""The paper's r, from measurements of a warehouse of servers (Fan, Weber, Barroso, ISCA 2007)."""


@dataclass(frozen=True)
class PowerModel:
    """P(u) = n [P_idle + (PUE - 1) P_peak] + n (P_peak - P_idle) (2u - u^r).

    `idle` is P_idle over P_peak, from 0 to 1; `pue` the facility's power over the servers', at peak and at
    least 1. Its overhead is drawn whatever the load is.
    """

    idle: float
    pue: float

    def __post_init__(self) -> None:
        if not (0 <= self.idle <= 1 and 1 <= self.pue <= 100):
            raise UserError(f"power model {self.idle:g}, {self.pue:g}: idle share 0 to 1, PUE 1 to 100")

    @property
    def fixed(self) -> float:
        """Power at no load, over n P_peak."""
        return self.idle + self.pue - 1

    def power(self, utilization: ArrayLike) -> FloatArray:
        """Power over n P_peak at a utilisation from 0 to 1, in the shape of the argument."""
        return self.fixed + (1 - self.idle) * activity(utilization)

    def __str__(self) -> str:
        return f"({self.idle:.0%} idle, PUE {self.pue:g})"


LADDER = tuple(
    PowerModel(idle, pue)
    for idle, pue in ((0.65, 2.0), (0.65, 1.3), (0.33, 1.7), (0.33, 1.3), (0.25, 1.3), (0, 1.1), (0, 1.0))
)
"""The paper's scenarios, from servers of its day to fully elastic ones."""


def activity(utilization: ArrayLike) -> FloatArray:
    """Return 2u - u^r: how much of its variable power a cluster draws at utilisation u; 0 to 1, concave."""
    u = np.asarray(utilization, dtype=np.float64)
    result: FloatArray = 2 * u - u**EXPONENT
    return result
