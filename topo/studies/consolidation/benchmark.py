# SPDX-License-Identifier: Apache-2.0
"""What ``grasp bench studies`` times of the consolidation study."""

import heapq
import math
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, product

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
        "an event for each response; no reports, states, energy or causes",
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
        lambda: np.array([least_power(few, sleep, one) for one in load.tolist()]) / 1000,
    )


def responses(machines: Sequence[Machine], asked: Demand) -> FloatArray:
    """Return the response times in s with all servers on, told by an event for each response.

    Unlike `hosting.host` it has no reports, no states, energy, causes or failures, and nothing wakes or
    sleeps.
    """
    draws = np.random.default_rng((0, 1)).integers(1, UNITS + 1, len(asked.times)).tolist()
    sums = list(accumulate(Dispatcher(1, [machine.speed for machine in machines]).row(0)))
    speeds = [machine.speed for machine in machines]
    timeouts = np.array([service.timeout_s for service in SERVICES])[asked.service].tolist()
    times, work, sessions = asked.times.tolist(), asked.work.tolist(), asked.session.tolist()
    queues: list[deque[int]] = [deque() for _ in machines]
    coming: list[tuple[float, int]] = []  # when a server's next response goes out
    living: dict[int, _Session] = {}
    response_s = [0.0] * len(times)

    def answer() -> None:
        now, server = heapq.heappop(coming)
        queue = queues[server]
        request = queue.popleft()
        if queue:
            heapq.heappush(coming, (now + work[queue[0]] / speeds[server], server))
        response_s[request] = now - times[request]
        if (mine := sessions[request]) >= 0:
            living[mine].open -= 1
            living[mine].until = now + timeouts[request]

    for request, (now, mine, z) in enumerate(zip(times, sessions, draws, strict=True)):
        while coming and coming[0][0] <= now:
            answer()
        session = living.get(mine)
        if session is not None and (session.open or session.until >= now):
            server = session.server
            session.open += 1
        else:
            server = bisect_left(sums, z)
            if mine >= 0:
                living[mine] = _Session(server)
        queues[server].append(request)
        if len(queues[server]) == 1:
            heapq.heappush(coming, (now + work[request] / speeds[server], server))
    while coming:
        answer()
    return np.array(response_s)


@dataclass(slots=True)
class _Session:
    """Where a session is, how many of its requests are open, and until when it lives if none is."""

    server: int
    open: int = 1
    until: float = 0.0


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
