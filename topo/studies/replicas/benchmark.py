# SPDX-License-Identifier: Apache-2.0
"""What ``grasp bench studies`` times of the replica study."""

from collections.abc import Callable, Iterator

import numpy as np

from grasp.schedulers.replicas.events import tell
from grasp.schedulers.replicas.inputs import Inputs
from grasp.schedulers.replicas.queues import Case as Met
from grasp.schedulers.replicas.queues import LeastWork, Policy, Replicas, ShortestQueue, simulate
from grasp.topo.studies.benchmark import Case
from grasp.topo.studies.replicas.measure import all_jobs

_SERVERS, _LOAD, _SEEDS, _TOLERANCE = 100, 0.9, 10, 1e-4


def cases(size: int) -> Iterator[Case]:
    """Yield the policies over ten seeds at once, and replicas event by event."""
    policies: tuple[tuple[str, Callable[[], Policy]], ...] = (
        ("2 replicas", lambda: Replicas(2)),
        ("5 replicas", lambda: Replicas(5)),
        ("least work", LeastWork),
        ("shortest queue", ShortestQueue),
        ("shorter of two queues", lambda: ShortestQueue(2)),
    )
    inputs = Inputs(_SERVERS, size // _SEEDS, range(_SEEDS))
    for name, make in policies:

        def work(make: Callable[[], Policy] = make) -> int:
            return simulate(make(), inputs, [Met(_LOAD)]).waits.size

        yield Case("replicas", f"{name}, {_SEEDS} seeds at once", work)
    yield Case("replicas", "2 replicas, event by event and at once", lambda: _both(size))


def _both(size: int) -> int:
    """Simulate one seed in both ways; raises AssertionError if a wait differs."""
    inputs = Inputs(_SERVERS, size, (0,))
    told = tell(all_jobs(inputs, 2, _LOAD), _SERVERS)
    fast = simulate(Replicas(2), inputs, [Met(_LOAD)]).waits[:, 0, 0]
    assert np.abs(told.waits - fast).max() < _TOLERANCE
    return 2 * size
