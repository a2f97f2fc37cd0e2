# SPDX-License-Identifier: Apache-2.0
"""What ``grasp bench studies`` times of the consolidation study."""

from collections.abc import Callable, Iterator

from grasp.schedulers.consolidation.demand import SERVICES, daily, demand
from grasp.schedulers.consolidation.hosting import Site, host
from grasp.schedulers.consolidation.machines import SLEEPS, fleet
from grasp.schedulers.consolidation.policy import AllOn, Consolidation, Policy
from grasp.topo.studies.benchmark import Case

_REQUESTS_AT_PEAK_1 = 49_700  # in a day of `daily(1)`
_PEAK_OF_A_SERVER = 1.0  # requests a second


def cases(size: int) -> Iterator[Case]:
    """Yield a day of so many requests with all servers on, and with consolidation."""
    peak = size / _REQUESTS_AT_PEAK_1
    each = max(1, round(peak / _PEAK_OF_A_SERVER / 3))
    machines = fleet([("new", each), ("middle", each), ("old", each)])
    site = Site(machines, SLEEPS["standby"], SERVICES)
    asked = demand(daily(peak), SERVICES, seed=0)
    speeds = [machine.speed for machine in machines]
    policies: tuple[tuple[str, Callable[[], Policy]], ...] = (
        ("all on", lambda: AllOn(speeds, len(SERVICES))),
        ("consolidation", lambda: Consolidation(len(SERVICES))),
    )
    for name, policy in policies:

        def work(policy: Callable[[], Policy] = policy) -> int:
            return len(host(site, policy(), asked).response_s)  # a policy remembers its day

        yield Case("consolidation", f"a day, {len(machines)} servers, {name}", work)
