# SPDX-License-Identifier: Apache-2.0
"""Prices joined with green headroom: what the plants cover, and that it is used first."""

import numpy as np
import pytest

from grasp.schedulers.base import FloatArray
from grasp.schedulers.price import ranking
from grasp.schedulers.price.green import Plants
from grasp.schedulers.price.power import LADDER, PowerModel
from grasp.schedulers.price.system import STEPS_PER_HOUR, System

HOURS = 24
KM = np.array([[10.0, 900, 2000], [900, 10, 1100], [2000, 1100, 10], [1000, 700, 900]])


def system() -> System:
    random = np.random.default_rng(3)
    return System(random.uniform(50, 100, (HOURS * STEPS_PER_HOUR, 4)), KM, 0.3, servers=1000, peak_w=250)


def plants(model: PowerModel, share: float) -> Plants:
    clusters = system()
    sun = np.random.default_rng(5).uniform(0, share, (HOURS, 3)) * clusters.peak_mw
    sun[:6] = 0
    return Plants(clusters, model, sun)


@pytest.mark.parametrize("model", LADDER)
def test_plants_cover_the_load_whose_power_they_give(model: PowerModel) -> None:
    found = plants(model, 2.5)
    load = found.covered()
    utilization = load / found.system.capacity
    power = model.power(utilization) * found.system.peak_mw
    partly = (utilization > 0) & (utilization < 1)
    assert partly.any()
    assert power[partly] == pytest.approx(found.green_mw[partly], rel=1e-5, abs=1e-7)
    assert (found.green_mw[utilization == 1] >= power[utilization == 1] * (1 - 1e-9)).all()
    nothing = utilization == 0
    assert (found.green_mw <= model.fixed * found.system.peak_mw + 1e-9)[nothing].all()


def test_servers_that_draw_the_same_at_any_load() -> None:
    clusters = system()
    flat = Plants(clusters, PowerModel(1, 1.2), np.array([[1.1, 1.25, 1.3]] * HOURS) * clusters.peak_mw)
    assert (flat.covered() > 0).all(axis=0).tolist() == [False, True, True]


def test_green_parts_come_first_within_reach() -> None:
    order = plants(LADDER[-2], 1).ranking(np.array([[50.0, 40, 30]]), 950)
    # Clusters 0, 1, 2 are the green parts, 3, 4, 5 the rest; group 0 reaches the first two clusters.
    assert order[0, 0].tolist() == [0, 1, 4, 3, 2, 5]
    # Who is paid for drawing power does so first.
    order = plants(LADDER[-2], 1).ranking(np.array([[50.0, -40, 30]]), 950)
    assert order[0, 0].tolist() == [4, 0, 1, 3, 2, 5]


def test_what_a_plant_covers_goes_there_and_the_rest_where_it_is_cheapest() -> None:
    """Two clusters of 100 requests/s; the plant of the dearer one covers half of it, of 60 that are asked."""
    clusters = System(np.full((2 * STEPS_PER_HOUR, 2), 30.0), KM[:2, :2], 0.3, servers=1000, peak_w=250)
    assert clusters.capacity == pytest.approx([100, 100])
    half = 2 * 0.5 - 0.5**1.4  # of elastic servers' power
    joined = Plants(clusters, PowerModel(0, 1.0), np.array([[0, half]] * 2) * clusters.peak_mw)
    found = joined.run(joined.ranking(np.array([[40.0, 50]] * 2), 5000), False)
    np.testing.assert_allclose(found.load, [[10, 50]] * 2 * STEPS_PER_HOUR, rtol=1e-5)
    # 125 kW each at peak; the first draws 2 x 0.1 - 0.1^1.4 of it, the other nothing that is brown.
    brown = joined.brown_mwh(found.load)
    np.testing.assert_allclose(brown, [[0.125 * (0.2 - 0.1**1.4), 0]] * 2, rtol=1e-4, atol=1e-6)


def test_without_sun_it_is_routing_by_price() -> None:
    clusters = system()
    price = np.random.default_rng(8).lognormal(4, 0.5, (HOURS, 3))
    dark = Plants(clusters, LADDER[-2], np.zeros((HOURS, 3)))
    for constrained in (False, True):
        joined = dark.run(dark.ranking(price, 950, 5), constrained)
        plain = clusters.run(ranking.by_price(price, KM, 950, 5), constrained)
        assert np.allclose(joined.load, plain.placement.load)
        brown = dark.brown_mwh(joined.load)
        assert np.allclose(brown, clusters.energy_mwh(plain, LADDER[-2]))
        assert brown.sum() == pytest.approx(dark.energy_mwh(joined.load))


def _brown_plainly(found: Plants, load: FloatArray) -> float:
    """Step by step and cluster by cluster."""
    total = 0.0
    for step, row in enumerate(load):
        for cluster, rate in enumerate(row):
            u = rate / found.system.capacity[cluster]
            model, peak = found.model, found.system.peak_mw[cluster]
            drawn = (model.idle + model.pue - 1 + (1 - model.idle) * (2 * u - u**1.4)) * peak
            total += max(drawn - found.green_mw[step // STEPS_PER_HOUR, cluster], 0) / STEPS_PER_HOUR
    return total


@pytest.mark.parametrize("constrained", [False, True])
def test_green_first_takes_less_brown_energy_than_price_alone(constrained: bool) -> None:
    found = plants(LADDER[-2], 0.8)
    price = np.random.default_rng(8).lognormal(4, 0.5, (HOURS, 3))
    blind = found.system.run(ranking.by_price(price, KM, 5000), constrained).placement
    joined = found.run(found.ranking(price, 5000), constrained)
    brown = [found.brown_mwh(route.load) for route in (blind, joined)]
    assert (brown[1] * price).sum() < (brown[0] * price).sum()
    assert brown[1].sum() == pytest.approx(_brown_plainly(found, joined.load))
    assert brown[1].sum() < found.energy_mwh(joined.load)
