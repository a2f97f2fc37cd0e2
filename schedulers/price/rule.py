# SPDX-License-Identifier: Apache-2.0
"""Price-aware routing as a scheduler of single jobs, beside the others of `grasp.schedulers`."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grasp import UserError
from grasp.schedulers.base import FloatArray, IntArray, Setting
from grasp.schedulers.nearest import Nearest
from grasp.schedulers.price.ranking import RankArray, by_price

PRICE = "price"
"""The parameter that the sites report, in $/MWh."""


class PriceAware(Nearest):
    """A job goes to the cheapest ready site within reach of where it comes from.

    Sites that are dearer by less than the threshold are equals, of which the nearest is taken. What the other
    rules know as the forecast is the sites' price here. Capacity is the sites' own affair: one that is full
    is not ready. Raises UserError if the setting has no distances.
    """

    name: ClassVar[str] = PRICE

    REACH_KM: ClassVar[float] = 1500.0
    THRESHOLD: ClassVar[float] = 5.0

    def __init__(self, setting: Setting | None = None) -> None:
        if setting is None or setting.distance_km is None:
            raise UserError(
                "scheduler 'price': the distances from clients to sites are not known here; "
                "grasp simulate knows them"
            )
        super().__init__(setting)

    def forecast(self, reports: Mapping[str, ArrayLike]) -> FloatArray:
        """Return the reported prices; raises UserError where there are none."""
        return np.asarray(self._reported(reports, PRICE), dtype=np.float64)

    def budgets(self, forecast_wh: ArrayLike) -> FloatArray:
        """Refuse: a budget says nothing about where a job comes from."""
        raise UserError(
            "scheduler 'price' goes by each client's place and by prices, which the sites' budgets cannot "
            "express; switches that decide by headroom cannot run it"
        )

    def choose(
        self,
        forecast_wh: ArrayLike,
        spent_wh: ArrayLike,
        ready: NDArray[np.bool_] | None = None,
        origin: int = 0,
    ) -> int | None:
        """Return the first ready site of the origin's ranking, or None when no site is ready."""
        order = self._rank(np.atleast_2d(np.asarray(forecast_wh, dtype=np.float64)))[0, origin]
        return next((int(site) for site in order if ready is None or ready[site]), None)

    def _rank(self, price: FloatArray) -> RankArray:
        sites = self._distance.shape[1]
        if price.shape[-1] != sites:
            raise UserError(f"scheduler 'price': distances are to {sites} sites, not as many as prices")
        return by_price(price, self._distance, self.REACH_KM, self.THRESHOLD)

    def _collect(
        self, forecast_wh: ArrayLike, job_wh: ArrayLike, sent: "FloatArray | IntArray"
    ) -> NDArray[Any]:
        """Add up at each hour's first choices what the origins send, in its type: (..., origins)."""
        price = np.atleast_1d(np.asarray(forecast_wh, dtype=np.float64))
        first = self._rank(price.reshape(-1, price.shape[-1]))[:, :, 0]
        sites = price.shape[-1]
        chosen = np.eye(sites, dtype=sent.dtype)[first].reshape(*price.shape[:-1], self.origins, sites)
        counts: NDArray[Any] = (sent[..., np.newaxis] * chosen).sum(axis=-2)
        hours = np.broadcast_shapes(np.shape(job_wh), counts.shape[:-1])
        return np.broadcast_to(counts, (*hours, sites))
