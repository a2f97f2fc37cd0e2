# SPDX-License-Identifier: Apache-2.0
"""Orders of an hour: all of them, each in its slice of time, dealt evenly, the same for the same seed."""

from dataclasses import replace

from grasp.topo.workload import Workload

WORKLOAD = Workload(jobs=50, clients=6, seconds=3.0, seed=5)


def test_every_job_once_in_its_slice() -> None:
    dealt = WORKLOAD.orders(4, 100.0, 102.5)
    orders = sorted((order for client in dealt for order in client), key=lambda order: order.job)
    assert [order.job for order in orders] == list(range(200, 250))
    assert all(order.hour == 4 for order in orders)
    width = 2.5 / 50
    assert all(
        100 + index * width <= order.at <= 100 + (index + 1) * width for index, order in enumerate(orders)
    )
    assert all(0 <= order.hold <= WORKLOAD.longest_hold for order in orders)
    assert {len(client) for client in dealt} == {8, 9}


def test_seeded() -> None:
    assert WORKLOAD.orders(0, 0, 1) == WORKLOAD.orders(0, 0, 1)
    assert WORKLOAD.orders(0, 0, 1) != WORKLOAD.orders(1, 0, 1)
    assert WORKLOAD.orders(0, 0, 1) != replace(WORKLOAD, seed=6).orders(0, 0, 1)


def test_no_pause_within_a_job_outlasts_the_service() -> None:
    slow = replace(WORKLOAD, seconds=600.0)
    assert max(order.hold for client in slow.orders(0, 0, 600) for order in client) <= 15.0
