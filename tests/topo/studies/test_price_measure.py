# SPDX-License-Identifier: Apache-2.0
"""What the price study's routings go by, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from grasp.schedulers.base import FloatArray
from grasp.schedulers.price.system import STEPS_PER_HOUR, System
from grasp.telemetry.energy.weather import typical_hours
from grasp.telemetry.prices import synthetic
from grasp.telemetry.prices.hubs import HUBS
from grasp.topo.studies.price import measure
from grasp.topo.studies.price.measure import Data, Settings, Task

TWO = HUBS[:2]


def data(price: FloatArray, carbon: FloatArray, before: int) -> Data:
    """Two hubs with a group of clients beside each, 100 km apart."""
    hours = len(price) - before
    system = System(
        np.ones((hours * STEPS_PER_HOUR, 2)), np.array([[1.0, 100], [100, 1]]), 0.3, servers=100, peak_w=250
    )
    return Data(TWO, synthetic.prices(TWO, 0), typical_hours()[:hours], before, price, carbon, system)


def settings(delay: int, update: int) -> Settings:
    return Settings((1000.0,), 1000.0, 0.0, 0.0, delay, update, (delay,), (100.0,))


def test_both_is_the_price_and_that_of_the_carbon() -> None:
    """400 kg/MWh at $100/t are $40/MWh, so that $50/MWh are 90: dearer than 89, and cheaper than 91."""
    price = np.array([[50.0, 91], [50, 89], [50, 91]])
    found = data(price, np.array([[400.0, 0]] * 3), before=0)
    task = Task("both", 1000.0, False, 0, carbon_price=100.0)
    order = measure.order(found, settings(0, 1), task)
    first, second = [[0, 1], [0, 1]], [[1, 0], [1, 0]]  # of both groups
    assert order.tolist() == [first, second, first]
    late = measure.order(data(price, found.carbon, before=1), settings(1, 1), replace(task, delay=1))
    assert late.tolist() == [first, second]


@pytest.mark.parametrize(
    ("delay", "update", "known"),
    [
        (0, 1, [2, 3, 4, 5, 6, 7, 8]),
        (1, 1, [1, 2, 3, 4, 5, 6, 7]),
        (1, 3, [1, 1, 1, 4, 4, 4, 7]),
        (2, 4, [0, 0, 0, 0, 4, 4, 4]),
    ],
)
def test_routes_go_by_what_was_known_when_they_were_made(delay: int, update: int, known: list[int]) -> None:
    """Hour h of the series is worth h, and the simulated ones begin with hour 2."""
    values = np.arange(9.0)[:, np.newaxis] * [1, 1]
    found = data(values, values, before=2)
    assert found.known(values, delay, update)[:, 0].tolist() == known
