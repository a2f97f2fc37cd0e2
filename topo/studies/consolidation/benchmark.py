# SPDX-License-Identifier: Apache-2.0
"""What ``grasp bench studies`` times of the consolidation study."""

import heapq
import math
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from grasp.schedulers.base import FloatArray
from grasp.schedulers.consolidation.bounds import just_enough
from grasp.schedulers.consolidation.demand import SERVICES, Demand, daily, demand
from grasp.schedulers.consolidation.dispatcher import UNITS, Dispatcher
from grasp.schedulers.consolidation.hosting import Site, host
from grasp.schedulers.consolidation.machines import SLEEPS, Machine, Sleep, fleet
from grasp.schedulers.consolidation.policy import AllOn
from grasp.topo.studies.benchmark import Case

_REQUESTS_AT_PEAK_1 = 49_700  # in a day of `daily(1)`
_PEAK_OF_A_SERVER = 1.0  # requests a second
_WORK_A_REQUEST = sum(service.share * service.work for service in SERVICES)


def cases(size: int) -> Iterator[Case]:
    """Yield a day of so many requests with all servers on, and the least power of each of its minutes.

    Answers are response times in s, and powers in kW.
    """
    peak = size / _REQUESTS_AT_PEAK_1
    each = max(1, round(peak / _PEAK_OF_A_SERVER / 3))
    machines = fleet([("new", each), ("middle", each), ("old", each)])
    site = Site(machines, SLEEPS["standby"], SERVICES)
    asked = demand(daily(peak), SERVICES, seed=0)
    speeds = [machine.speed for machine in machines]
    jobs = len(asked.times)
    yield Case(
        "consolidation",
        f"a day of requests, {len(machines)} servers",
        jobs,
        lambda: host(site, AllOn(speeds, len(SERVICES)), asked).response_s,
        "an event for each response, no reports",
        jobs,
        lambda: responses(machines, asked),
    )
    few, sleep = fleet([("new", 4), ("middle", 4), ("old", 4)]), SLEEPS["standby"]
    load = daily(10) * _WORK_A_REQUEST
    yield Case(
        "consolidation",
        f"least power by minute, {len(few)} servers",
        len(load),
        lambda: just_enough(few, sleep, load) / 1000,
        "every selection, minute by minute",
        len(load),
        lambda: np.array([least_power(few, sleep, one) for one in load.tolist()]) / 1000,
    )


def responses(machines: Sequence[Machine], asked: Demand) -> FloatArray:
    """Return the response times in s with all servers on, told by an event for each request and response."""
    draws = np.random.default_rng((0, 1)).integers(1, UNITS + 1, len(asked.times)).tolist()
    row = Dispatcher(1, [machine.speed for machine in machines]).row(0)
    times, session = asked.times.tolist(), asked.session.tolist()
    work = asked.work.tolist()
    timeout = [SERVICES[service].timeout_s for service in asked.service.tolist()]
    coming = [(now, request, -1) for request, now in enumerate(times)]
    queues: list[deque[int]] = [deque() for _ in machines]
    where: dict[int, int] = {}
    until: dict[int, float] = {}
    open_requests: Counter[int] = Counter()
    response_s = [0.0] * len(times)
    while coming:
        now, request, server = heapq.heappop(coming)
        mine = session[request]
        if server < 0:
            if mine >= 0 and (open_requests[mine] or until.get(mine, -1.0) >= now):
                server = where[mine]
            else:
                server, reached = 0, row[0]
                while reached < draws[request]:
                    server += 1
                    reached += row[server]
            if mine >= 0:
                where[mine] = server
                open_requests[mine] += 1
            queues[server].append(request)
            if len(queues[server]) == 1:
                heapq.heappush(coming, (now + work[request] / machines[server].speed, request, server))
            continue
        response_s[request] = now - times[request]
        if mine >= 0:
            open_requests[mine] -= 1
            until[mine] = now + timeout[request]
        queues[server].popleft()
        if queues[server]:
            following = queues[server][0]
            heapq.heappush(coming, (now + work[following] / machines[server].speed, following, server))
    return np.array(response_s)


def least_power(machines: Sequence[Machine], sleep: Sleep, load: float) -> float:
    """Return the least power in W that carries a load, of every selection by kind: as `just_enough`."""
    kinds = Counter((machine.speed, machine.idle_w, machine.peak_w) for machine in machines)
    ordered = sorted(kinds, key=lambda kind: (kind[2] - kind[1]) / kind[0])
    best = math.inf
    for chosen in product(*(range(kinds[kind] + 1) for kind in ordered)):
        left, power = load, sleep.power_w * (len(machines) - sum(chosen))
        for (speed, idle_w, peak_w), count in zip(ordered, chosen, strict=True):
            done = min(left, speed * count)
            power += idle_w * count + done * (peak_w - idle_w) / speed
            left -= done
        if left < 1e-9:
            best = min(best, power)
    return best if best < math.inf else sum(machine.peak_w for machine in machines)
