# SPDX-License-Identifier: Apache-2.0
"""Several reported parameters in one score, as the configuration of the GRASP paper has them."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from grasp.schedulers.base import FloatArray
from grasp.schedulers.green import Green


class Weighted(Green):
    """As green, on the sum of weight x value over the parameters, in Wh and at least 0.

    A weight has the unit Wh per unit of its parameter. In a running system the controller forms this sum
    from its configuration; in a simulation this class does.
    """

    name: ClassVar[str] = "weighted"

    def forecast(self, reports: Mapping[str, ArrayLike]) -> FloatArray:
        """Return the weighted sum; raises UserError for a parameter that is not reported."""
        terms = [
            weight * np.asarray(self._reported(reports, parameter), dtype=np.float64)
            for parameter, weight in self.setting.weights.items()
        ]
        score: FloatArray = np.maximum(np.sum(terms, axis=0), 0)
        return score
