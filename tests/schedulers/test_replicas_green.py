# SPDX-License-Identifier: Apache-2.0
"""Replicas joined with green headroom: what sites have left, who gives way, what switches choose."""

import numpy as np
import pytest

from grasp.schedulers.green import Green
from grasp.schedulers.ratio import green_ratio
from grasp.schedulers.replicas.events import Jobs, tell
from grasp.schedulers.replicas.green import Charged, Cheapest, Sites, assign_to_greenest


def two_sites(*hours: tuple[float, float]) -> Sites:
    """Two sites of one server each, jobs of 1 Wh, hours of 10 mean service times."""
    return Sites(np.array(hours, dtype=np.float64), 1.0, 10.0, 1)


def jobs(arrivals: list[float], lengths: list[float], choices: list[list[int]]) -> Jobs:
    return Jobs(np.array(arrivals), np.array(lengths), np.array(choices))


def test_headroom_is_charged_and_turns_with_the_hour() -> None:
    sites = two_sites((1.5, 0.0), (0.0, 9.0))
    assert sites.brown_wh(0, 0.0) == 0.0
    assert sites.brown_wh(1, 0.0) == 1.0
    sites.charge(0, 1.0)
    assert sites.brown_wh(0, 9.99) == 0.5
    sites.charge(0, 9.99)
    assert sites.brown_wh(0, 9.99) == 1.0
    assert sites.green_wh == 1.5
    assert sites.brown_wh(0, 10.0) == 1.0
    assert sites.brown_wh(1, 10.0) == 0.0
    assert sites.brown_wh(1, 999.0) == 0.0  # what waits beyond the last hour is still of that hour


def test_a_replica_gives_way_to_a_greener_site() -> None:
    """The green site's server is busy until 3; the brown one's is idle."""
    work = jobs([0.0, 1.0], [3.0, 1.0], [[1, 1], [0, 1]])
    for rule, waits, places in (
        (Charged, [0.0, 0.0], [1, 0]),
        (Cheapest, [0.0, 2.0], [1, 1]),
    ):
        sites = two_sites((0.0, 5.0))
        told = tell(work, 2, rule=rule(sites))
        assert told.waits.tolist() == waits
        assert told.servers.tolist() == places
        assert sites.green_wh == places.count(1)


def test_patience_ends() -> None:
    """Both servers are busy until 3; the brown one is free first once the job has lost its patience."""
    work = jobs([0.0, 0.0, 1.0], [3.0, 4.0, 1.0], [[0, 0], [1, 1], [0, 1]])
    for patience, wait, place in ((1.5, 2.0, 0), (2.5, 3.0, 1)):
        told = tell(work, 2, rule=Cheapest(two_sites((0.0, 5.0)), patience))
        assert told.waits[2] == wait
        assert told.servers[2] == place


def test_nobody_gives_way_when_all_is_brown_and_every_job_starts() -> None:
    draw = np.random.default_rng(1)
    count, servers = 3000, 6
    work = Jobs(
        np.cumsum(draw.exponential(1 / (0.8 * servers), count)),
        draw.exponential(size=count),
        np.array([draw.permutation(servers)[:3] for _ in range(count)]),
    )
    plain = tell(work, servers)
    dark = tell(work, servers, rule=Cheapest(Sites(np.zeros((1, servers)), 1.0, 1e9, 1)))
    np.testing.assert_array_equal(plain.waits, dark.waits)
    energy = draw.uniform(0, 2 * count / servers, (1, servers))
    bright = Sites(energy, 1.0, 1e9, 1)
    lit = tell(work, servers, rule=Cheapest(bright))
    assert (lit.servers >= 0).all()
    assert (lit.duplicates == 0).all()
    even = Sites(energy, 1.0, 1e9, 1)
    tell(work, servers, rule=Charged(even))
    assert bright.green_wh > even.green_wh


def test_greenest_is_what_the_switches_do() -> None:
    """Job after job equals the scheduler's counts of whole hours, and its green ratio."""
    draw = np.random.default_rng(2)
    energy = draw.uniform(0, 900, (3, 5))
    arrivals = np.sort(draw.uniform(0, 30, 900))
    hours = np.floor(arrivals / 10).astype(int)
    sites = Sites(energy, 4.0, 10.0, 7)
    places = assign_to_greenest(sites, arrivals, draw.integers(7, size=900))[:, 0]
    counts = np.array([np.bincount(places[hours == hour] // 7, minlength=5) for hour in range(3)])
    expected = Green().allocate(energy, 4.0, np.bincount(hours))
    np.testing.assert_array_equal(counts, expected)
    assert sites.green_wh / (4.0 * 900) == pytest.approx(float(green_ratio(counts, energy, 4.0)))
