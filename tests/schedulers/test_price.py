# SPDX-License-Identifier: Apache-2.0
"""Price-aware routing against hand-made cases, plain loops, and a linear programme."""

import math
from collections.abc import Callable
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grasp import UserError
from grasp.schedulers.base import FloatArray
from grasp.schedulers.price import bandwidth, optimum, placement, ranking
from grasp.schedulers.price.placement import ConservationError, Placement
from grasp.schedulers.price.power import LADDER, PowerModel, activity
from grasp.schedulers.price.system import STEPS_PER_HOUR, Outcome, System, distances

SEEDS = st.integers(0, 2**32 - 1)


def test_power_at_no_and_full_load() -> None:
    model = PowerModel(0.65, 1.3)
    assert float(model.power(0)) == pytest.approx(0.95)
    assert float(model.power(1)) == pytest.approx(1.3)
    # 2 x 0.5 - 0.5^1.4 = 0.62107...
    assert float(model.power(0.5)) == pytest.approx(0.95 + 0.35 * (1 - math.exp(1.4 * math.log(0.5))))
    assert (np.diff(activity(np.linspace(0, 1, 101))) > 0).all()


def test_ladder_is_the_published_one() -> None:
    assert [(model.idle, model.pue) for model in LADDER] == [
        (0.65, 2.0),
        (0.65, 1.3),
        (0.33, 1.7),
        (0.33, 1.3),
        (0.25, 1.3),
        (0, 1.1),
        (0, 1.0),
    ]


@pytest.mark.parametrize(("idle", "pue"), [(-0.1, 1.3), (1.1, 1.3), (0.5, 0.9), (float("nan"), 1.3)])
def test_power_models_that_cannot_be(idle: float, pue: float) -> None:
    with pytest.raises(UserError, match="power model"):
        PowerModel(idle, pue)


def test_who_has_nothing_within_reach_takes_the_closest_and_its_neighbours() -> None:
    km = np.array([[10.0, 400, 900], [700, 690, 741], [700, 690, 739]])
    assert ranking.within_reach(km, 500).tolist() == [
        [True, True, False],
        [True, True, False],
        [True, True, True],
    ]


def test_cheapest_first_then_what_is_beyond_reach_by_distance() -> None:
    km = np.array([[100.0, 200, 300, 950, 900]])
    price = np.array([[50.0, 40, 30, 10, 20], [30, 40, 50, 10, 20]])
    assert ranking.by_price(price, km, 500).tolist() == [[[2, 1, 0, 4, 3]], [[0, 1, 2, 4, 3]]]


def test_differences_below_the_threshold_count_for_nothing() -> None:
    km = np.array([[300.0, 200, 100, 50]])
    # 31 and 34 are equals of 30 within 5, 36 is not; 39 is an equal of 36.
    assert ranking.by_price(np.array([[30.0, 31, 34, 39]]), km, 500, 5).tolist() == [[[2, 1, 0, 3]]]
    assert ranking.by_price(np.array([[36.0, 30, 34, 39]]), km, 500, 5).tolist() == [[[2, 1, 3, 0]]]
    assert ranking.by_price(np.array([[36.0, 30, 34, 39]]), km, 500, 0).tolist() == [[[1, 2, 0, 3]]]


def _rank_plainly(price: list[float], km: list[float], reach: set[int], threshold: float) -> list[int]:
    """Tier after tier: the equals of the cheapest that is left, by distance."""
    left, found = sorted(reach, key=lambda c: price[c]), []
    while left:
        equals = [c for c in left if price[c] <= price[left[0]] + threshold]
        found += sorted(equals, key=lambda c: (km[c], c))
        left = [c for c in left if c not in equals]
    return found + sorted(set(range(len(km))) - reach, key=lambda c: (km[c], c))


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_ranking_equals_a_plain_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    groups, clusters, hours = (int(random.integers(1, 6)) for _ in range(3))
    price = random.integers(-3, 12, (hours, clusters)).astype(float)
    km = random.integers(0, 9, (groups, clusters)) * 100.0
    reach_km, threshold = float(random.integers(0, 900)), float(random.integers(0, 5))
    reach = ranking.within_reach(km, reach_km)
    found = ranking.by_price(price, km, reach_km, threshold)
    for hour, group in product(range(hours), range(groups)):
        allowed = set(np.flatnonzero(reach[group]).tolist())
        plain = _rank_plainly(price[hour].tolist(), km[group].tolist(), allowed, threshold)
        assert found[hour, group].tolist() == plain


def test_overflow_is_shared_in_proportion_and_goes_to_the_next() -> None:
    demand = np.array([[30.0, 10.0]])
    order = np.array([[[0, 1, 2], [0, 2, 1]]], dtype=np.int16)
    found = placement.place(demand, order, np.array([[20.0, 100, 100]]), 12)
    assert found.load.tolist() == [[20, 15, 5]]
    assert found.served.tolist() == [[15, 15, 0], [5, 0, 5]]


def test_demand_beyond_all_ceilings_is_not_lost_silently() -> None:
    order = np.array([[[0, 1]]], dtype=np.int16)
    with pytest.raises(ConservationError, match="1 requests/s found no room"):
        placement.place(np.array([[4.0]]), order, np.array([[1.0, 2.0]]), 12)


def test_moves_count_requests_whose_first_choice_changed() -> None:
    demand = np.full((3, 2), 1.0) * [1, 3]
    order = np.array([[[0, 1], [0, 1]], [[1, 0], [0, 1]], [[1, 0], [1, 0]]], dtype=np.int16)
    found = placement.place(demand, order, np.full((3, 2), 10.0), steps_per_hour=1)
    assert found.moves == pytest.approx((1 + 3) / 8)


def test_moves_are_of_the_requests_that_are_there_when_the_choice_has_changed() -> None:
    """The first group, then of 2 requests, changes in the second hour, the second, of 7, in the third."""
    demand = np.array([[1.0, 3], [2, 5], [4, 7]])
    order = np.array([[[0, 1], [0, 1]], [[1, 0], [0, 1]], [[1, 0], [1, 0]]], dtype=np.int16)
    found = placement.place(demand, order, np.full((3, 2), 99.0), steps_per_hour=1)
    assert found.moves == pytest.approx((2 + 7) / (2 + 5 + 4 + 7))


def _place_plainly(demand: FloatArray, order: FloatArray, ceiling: FloatArray) -> FloatArray:
    """One step, rank after rank and cluster after cluster."""
    left, room = demand.copy(), ceiling.copy()
    served = np.zeros((len(demand), len(ceiling)))
    for rank in range(len(ceiling)):
        for cluster in range(len(ceiling)):
            asking = [group for group in range(len(demand)) if order[group, rank] == cluster]
            asked = sum(left[group] for group in asking)
            part = 1 if asked <= room[cluster] else room[cluster] / asked
            for group in asking:
                served[group, cluster] += left[group] * part
            room[cluster] -= min(asked, room[cluster])
            for group in asking:
                left[group] *= 1 - part
    return served


def _case(seed: int) -> tuple[FloatArray, FloatArray, FloatArray, int]:
    """Demand, ranking and ceilings that hold it, but not every cluster's first choices."""
    random = np.random.default_rng(seed)
    steps, per_hour = int(random.integers(1, 30)), int(random.integers(1, 5))
    groups, clusters = int(random.integers(1, 8)), int(random.integers(1, 6))
    demand = random.exponential(10, (steps, groups)) * (random.random((steps, groups)) < 0.9)
    hours = -(-steps // per_hour)
    order = random.permuted(np.tile(np.arange(clusters), (hours, groups, 1)), axis=2)
    ceiling = random.dirichlet(np.ones(clusters), steps) * demand.sum(axis=1, keepdims=True)
    return demand, order, ceiling * random.uniform(1.0001, 2), per_hour


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_placement_equals_a_plain_one(seed: int) -> None:
    demand, order, ceiling, per_hour = _case(seed)
    found = placement.place(demand, order.astype(np.int16), ceiling, per_hour)
    placement.verify(demand, found, ceiling)
    plain = [_place_plainly(demand[t], order[t // per_hour], ceiling[t]) for t in range(len(demand))]
    assert np.allclose(found.load, [step.sum(axis=0) for step in plain])
    assert np.allclose(found.served, sum(plain))


def test_placement_over_many_weeks_is_that_of_its_parts() -> None:
    random = np.random.default_rng(4)
    demand = random.exponential(1, (12 * 24 * 16, 3))
    order = random.permuted(np.tile(np.arange(4), (24 * 16, 3, 1)), axis=2).astype(np.int16)
    ceiling = np.full((len(demand), 4), demand.sum(axis=1).max() / 3)
    whole = placement.place(demand, order, ceiling, 12)
    half = len(demand) // 2
    parts = [
        placement.place(demand[part], order[part.start // 12 : part.stop // 12], ceiling[part], 12)
        for part in (slice(0, half), slice(half, len(demand)))
    ]
    assert np.allclose(whole.load, np.concatenate([part.load for part in parts]))
    assert np.allclose(whole.served, parts[0].served + parts[1].served)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda load, served: (load * 1.01, served), "of a step were lost"),
        (lambda load, served: (load, served * 0.99), "of a group were lost"),
        (lambda load, served: (load[:, ::-1], served), "not what was sent"),
        (lambda load, served: (load, served), "more than its ceiling"),
    ],
)
def test_verification_can_fail(
    spoil: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]], reason: str
) -> None:
    demand = np.array([[3.0, 1.0], [1.0, 1.0]])
    order = np.array([[[0, 1], [1, 0]]], dtype=np.int16)
    ceiling = np.full((2, 2), 5.0)
    found = placement.place(demand, order, ceiling, 12)
    placement.verify(demand, found, ceiling)
    limit = np.full((2, 2), 2.9) if "ceiling" in reason else ceiling
    with pytest.raises(ConservationError, match=reason):
        placement.verify(demand, Placement(*spoil(found.load, found.served), 0.0), limit)


@pytest.mark.parametrize(
    ("samples", "place"), [(1, 1), (19, 19), (20, 19), (100, 95), (101, 96), (8640, 8208)]
)
def test_percentile_leaves_out_the_busiest_twentieth(samples: int, place: int) -> None:
    load = np.random.default_rng(0).permutation(np.arange(1.0, samples + 1))[:, np.newaxis]
    assert bandwidth.billed(load, samples).tolist() == [[place]]


def test_each_period_is_billed_by_itself() -> None:
    load = np.concatenate([np.full((40, 1), 7.0), np.full((10, 1), 3.0)])
    assert bandwidth.billed(load, 40).tolist() == [[7.0], [3.0]]


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_what_keeps_to_the_ceilings_raises_no_percentile(seed: int) -> None:
    random = np.random.default_rng(seed)
    before = random.exponential(1, (int(random.integers(1, 130)), 3))
    period = int(random.integers(1, 60))
    limit = bandwidth.ceilings(before, period)
    assert (limit >= before).all()
    bandwidth.verify(before, limit * random.uniform(0, 1, limit.shape), period)
    bandwidth.verify(before, limit, period)


def test_a_raised_percentile_is_found() -> None:
    before = np.arange(40.0)[:, np.newaxis]
    with pytest.raises(ConservationError, match="95th percentile rose"):
        bandwidth.verify(before, before * 1.01, 40)


def test_optimum_of_a_case_that_greed_gets_wrong() -> None:
    """Both groups want the cheap cluster; only one of them has another that is not dear."""
    demand, ceiling, price = np.array([1.0, 1.0]), np.array([1.0, 9, 9]), np.array([10.0, 20, 100])
    reach = np.array([[True, True, False], [True, False, True]])
    best = optimum.cheapest(demand, ceiling, price, reach)
    assert best == pytest.approx(np.array([[0, 1, 0], [1, 0, 0]]))
    km = np.where(reach, 1.0, 1e4)
    rule = placement.place(
        demand[np.newaxis], ranking.by_price(price[np.newaxis], km, 10), ceiling[np.newaxis], 1
    )
    assert (rule.served * price).sum() == pytest.approx(0.5 * 10 + 0.5 * 20 + 0.5 * 10 + 0.5 * 100)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_without_a_distance_limit_the_rule_is_the_optimum(seed: int) -> None:
    random = np.random.default_rng(seed)
    groups, clusters = int(random.integers(1, 6)), int(random.integers(2, 6))
    demand = random.exponential(10, groups)
    ceiling = random.dirichlet(np.ones(clusters)) * demand.sum() * random.uniform(1.001, 3)
    price, km = random.normal(40, 30, clusters), random.uniform(0, 4000, (groups, clusters))
    order = ranking.by_price(price[np.newaxis], km, 1e5)
    rule = placement.place(demand[np.newaxis], order, ceiling[np.newaxis], 1).served
    best = optimum.cheapest(demand, ceiling, price, np.ones((groups, clusters), dtype=bool))
    assert (rule * price).sum() == pytest.approx((best * price).sum(), rel=1e-6, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_no_rule_is_cheaper_than_the_optimum_within_reach(seed: int) -> None:
    random = np.random.default_rng(seed)
    groups, clusters = int(random.integers(1, 6)), int(random.integers(2, 6))
    demand = random.exponential(10, groups)
    price, km = random.normal(40, 30, clusters), random.uniform(0, 4000, (groups, clusters))
    reach = ranking.within_reach(km, 2000)
    ceiling = np.full(clusters, demand.sum() * random.uniform(0.5, 1.5))
    order = ranking.by_price(price[np.newaxis], km, 2000)
    rule = placement.place(demand[np.newaxis], order, ceiling[np.newaxis], 1).served
    best = optimum.cheapest(demand, ceiling, price, reach)
    assert best.sum(axis=1) == pytest.approx(demand)
    assert (best.sum(axis=0) <= ceiling + 1e-6).all()
    beyond = rule[~reach].sum(), best[~reach].sum()
    assert beyond[1] <= beyond[0] + 1e-6
    if beyond[0] <= beyond[1] + 1e-9:
        assert (best * price).sum() <= (rule * price).sum() + 1e-6


def test_optimum_says_when_there_is_none() -> None:
    with pytest.raises(ValueError, match="no placement"):
        optimum.cheapest(np.array([2.0]), np.array([1.0]), np.array([1.0]), np.array([[True]]))


def _system() -> System:
    """Two days; a group near each of three clusters, another in the middle."""
    random = np.random.default_rng(11)
    clock = np.arange(48 * STEPS_PER_HOUR)[:, np.newaxis] / STEPS_PER_HOUR
    demand = (100 + 60 * np.cos(2 * np.pi * (clock - [20, 21, 23, 22]) / 24)) * random.uniform(
        0.9, 1.1, (len(clock), 4)
    )
    km = np.array([[10.0, 900, 2000], [900, 10, 1100], [2000, 1100, 10], [1000, 700, 900]])
    return System(demand, km, utilization=0.3, servers=1000, peak_w=250)


def test_capacity_follows_from_the_utilization() -> None:
    system = _system()
    assert (system.before.load.mean(axis=0) / system.capacity) == pytest.approx([0.3] * 3)
    assert system.peak_mw.sum() == pytest.approx(0.25)
    assert distances(system.baseline, system.distance_km)[1] == 700


def test_99_of_100_requests_are_no_further_away() -> None:
    """Of 1000 requests 970 go 100 km, 15 go 500 km and 15 go 900 km."""
    served = np.array([[900.0, 15], [15, 70]])
    nothing = np.zeros((1, 2))
    outcome = Outcome(Placement(nothing, served, 0.0), nothing)
    mean, most = distances(outcome, np.array([[100.0, 900], [500, 100]]))
    assert mean == pytest.approx((970 * 100 + 15 * 500 + 15 * 900) / 1000)
    assert most == 900


def test_cost_by_hand() -> None:
    """A constant load at half of the capacity, one cluster: 0.5 MW of servers, two hours, 40 and 60 $/MWh."""
    system = System(np.full((24, 1), 50.0), np.array([[1.0]]), 0.5, servers=2000, peak_w=250)
    model = PowerModel(0.2, 1.5)
    watt = 0.2 + 0.5 + 0.8 * (1 - 0.5**1.4)
    assert system.cost(system.baseline, model, np.array([[40.0], [60.0]])) == pytest.approx(0.5 * watt * 100)


@pytest.mark.parametrize("constrained", [False, True])
def test_savings_grow_along_the_ladder_and_with_the_reach(constrained: bool) -> None:
    system = _system()
    price = np.random.default_rng(2).lognormal(4, 0.6, (48, 3))
    saved = [
        [
            system.saving(
                system.run(ranking.by_price(price, system.distance_km, reach), constrained), model, price
            )
            for model in LADDER
        ]
        for reach in (0, 950, 5000)
    ]
    assert saved[0] == pytest.approx([0] * len(LADDER), abs=1e-12)
    assert all(a < b for row in saved[1:] for a, b in pairwise(row))
    assert all(near < far for near, far in pairwise(row[-1] for row in saved))


def test_95_5_costs_savings_and_holds() -> None:
    system = _system()
    price = np.random.default_rng(2).lognormal(4, 0.6, (48, 3))
    order = ranking.by_price(price, system.distance_km, 5000)
    free, bound = system.run(order, False), system.run(order, True)
    assert 0 < system.saving(bound, LADDER[-1], price) < system.saving(free, LADDER[-1], price)
    before = system.billed(system.before.load)
    assert (system.billed(bound.placement.load) <= before * (1 + 1e-9)).all()
    assert (system.billed(free.placement.load) > before * 1.2).any()
