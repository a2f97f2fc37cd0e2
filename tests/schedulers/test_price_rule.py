# SPDX-License-Identifier: Apache-2.0
"""The price-aware scheduler: single jobs and whole hours agree, and its choices by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp import UserError
from grasp.schedulers.base import Setting
from grasp.schedulers.price.rule import PriceAware

# From the first origin the last site is beyond 1,500 km; the second has none within it.
KM = np.array([[100.0, 900, 1400, 1600], [1700, 1720, 1760, 1800]])
NONE = np.zeros(4)


def rule() -> PriceAware:
    return PriceAware(Setting(distance_km=KM))


@pytest.mark.parametrize(
    ("price", "ready", "origin", "site"),
    [
        ([50, 40, 30, 0], None, 0, 2),
        ([34, 40, 30, 0], None, 0, 0),
        ([50, 40, 30, 0], [True, True, False, True], 0, 1),
        ([50, 40, 30, 0], [False, False, False, True], 0, 3),
        ([50, 40, 30, 0], [False] * 4, 0, None),
        ([50, 40, 30, 0], None, 1, 1),
        ([50, 40, 30, 0], [True, False, True, True], 1, 0),
        ([-50, 40, -60, -70], None, 0, 2),
    ],
)
def test_choices(price: list[float], ready: list[bool] | None, origin: int, site: int | None) -> None:
    mask = None if ready is None else np.array(ready)
    assert rule().choose(price, NONE, mask, origin) == site


@given(st.lists(st.lists(st.integers(-20, 60), min_size=4, max_size=4), min_size=1, max_size=4), st.data())
def test_allocate_is_choose_repeated(prices: list[list[int]], data: st.DataObject) -> None:
    jobs = data.draw(st.lists(st.integers(0, 9), min_size=len(prices), max_size=len(prices)))
    expected = np.zeros((len(prices), 4), dtype=int)
    for hour, (price, count) in enumerate(zip(prices, jobs, strict=True)):
        for number in range(count):
            expected[hour, rule().choose(price, NONE, origin=number % 2)] += 1
    assert rule().allocate(prices, 1, jobs).tolist() == expected.tolist()
    assert rule().allocate(prices[0], [1, 2], jobs[0]).tolist() == [expected[0].tolist()] * 2


def test_divisible_jobs() -> None:
    assert rule().divide([[50, 40, 30, 0], [50, 60, 70, 0]], 1, [5, 3]).tolist() == [
        [0, 2.5, 2.5, 0],
        [3, 0, 0, 0],
    ]


def test_what_it_needs() -> None:
    for setting in (None, Setting()):
        with pytest.raises(UserError, match="scheduler 'price': the distances"):
            PriceAware(setting)
    with pytest.raises(UserError, match="needs the parameter 'price'; the energy source has green_energy"):
        rule().forecast({"green_energy": NONE})
    assert rule().forecast({"price": [1, 2, 3, 4]}).tolist() == [1, 2, 3, 4]
    with pytest.raises(UserError, match="budgets cannot"):
        rule().budgets(NONE)
    with pytest.raises(UserError, match="distances are to 4 sites"):
        rule().choose([1, 2], [0, 0])
