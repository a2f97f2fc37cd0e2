# SPDX-License-Identifier: Apache-2.0
"""What the consolidation study says of how requests were served, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from grasp.schedulers.consolidation.demand import Demand, Service
from grasp.schedulers.consolidation.hosting import Site, host
from grasp.schedulers.consolidation.machines import SLEEPS, Machine
from grasp.schedulers.consolidation.policy import AllOn
from grasp.topo.studies.consolidation import measure


def test_response_times_are_of_all_that_were_answered_but_an_attacker() -> None:
    """Responses of 0 to 100 s, in any order; one request is lost, two are hostile."""
    count = 104
    hostile = np.arange(count) >= 102
    nothing = np.zeros(count, dtype=int)
    asked = Demand(np.arange(1.0, 105), nothing, np.ones(count), nothing - 1, hostile & False, hostile, 600.0)
    site = Site([Machine("one", 9.0, 100, 200)], SLEEPS["off"], [Service("s", 1, 1, 50.0)])
    waits = np.concatenate([np.random.default_rng(1).permutation(101), [np.inf, 7000, 8000]])
    row = measure._served(asked, replace(host(site, AllOn([9.0], 1), asked), response_s=waits))
    assert (row["requests"], row["hostile_requests"]) == (102, 2)
    assert row["mean_response_s"] == pytest.approx(50)
    assert row["p99_response_s"] == pytest.approx(99)
