# SPDX-License-Identifier: Apache-2.0
"""A simulation of hosted services: requests one by one, reports at intervals, servers that wake and sleep."""

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from grasp.schedulers.base import FloatArray, IntArray
from grasp.schedulers.consolidation.demand import Demand, Service
from grasp.schedulers.consolidation.dispatcher import UNITS, Dispatcher
from grasp.schedulers.consolidation.machines import Machine, Sleep
from grasp.schedulers.consolidation.nodes import Node
from grasp.schedulers.consolidation.policy import Policy, State
from grasp.schedulers.faults import SimulationError

CAUSES = ("failure", "waking", "all on", "packed")
"""Why a request was late or lost: its server failed; one was waking; all were in use; some were not."""

STATES = tuple(State)


@dataclass(frozen=True)
class Failure:
    """A server fails at a time, and is back, asleep, after the repair."""

    at_s: float
    server: int
    repair_s: float


@dataclass(frozen=True)
class Site:
    """Servers in order of efficiency, how they sleep, the services, how often node managers report."""

    machines: Sequence[Machine]
    sleep: Sleep
    services: Sequence[Service]
    report_s: float = 10.0
    failures: Sequence[Failure] = ()


@dataclass(frozen=True)
class Hosted:
    """What happened.

    `response_s` and `server` have shape (requests,), infinite and any where a request was lost. `late` and
    `lost` count requests that are not an attacker's, `causes` tells why. `samples_s` are the ends of
    intervals, of shape (samples,), with the energy taken until then in `energy_wh` and each server's state
    (index in STATES) in `states` of shape (samples, servers). `total_wh` is until the end of the demand.
    `wakes` are the times and servers of wake-ups.
    """

    response_s: FloatArray
    late: int
    lost: int
    causes: dict[str, int]
    sessions: int
    sessions_cut_by_stops: int
    sessions_cut_by_failures: int
    wakes: list[tuple[float, int]]
    samples_s: FloatArray
    energy_wh: FloatArray
    states: IntArray
    server: IntArray
    total_wh: float


@dataclass
class _Run:
    """Where a simulation stands."""

    site: Site
    nodes: list[Node]
    dispatcher: Dispatcher
    policy: Policy
    coming: list[tuple[float, int, str, int, int]]  # time, number, what, server, its changes then
    response_s: list[float]
    sample_s: float
    servers: list[int] = field(default_factory=list)  # by request
    numbers: int = 0
    lost: list[int] = field(default_factory=list)
    cut_by_stops: int = 0
    cut_by_failures: int = 0
    wakes: list[tuple[float, int]] = field(default_factory=list)
    samples: list[tuple[float, float, list[int]]] = field(default_factory=list)

    def expect(self, time: float, what: str, server: int = -1) -> None:
        """Put down an event; it is void if the server's state has changed by then."""
        changes = self.nodes[server].changes if server >= 0 else 0
        heapq.heappush(self.coming, (time, self.numbers, what, server, changes))
        self.numbers += 1


def host(site: Site, policy: Policy, demand: Demand, seed: int = 0, sample_s: float = 300.0) -> Hosted:
    """Serve the demand, and return what happened. At first all servers are on, each used as it is fast.

    Raises SimulationError if the dispatcher's probabilities ever cease to sum to 1.
    """
    services = site.services
    run = _Run(
        site,
        [Node(machine, site.sleep, len(services)) for machine in site.machines],
        Dispatcher(len(services), [machine.speed for machine in site.machines]),
        policy,
        [],
        [0.0] * len(demand.times),
        sample_s,
    )
    run.expect(site.report_s, "report")
    run.expect(sample_s, "sample")
    for failure in site.failures:
        run.expect(failure.at_s, "failure", failure.server)
    causes, sessions = _serve(run, demand, seed)
    while run.coming and run.coming[0][0] <= demand.seconds:
        _happen(run)
    response_s = np.array(run.response_s)
    response_s[run.lost] = np.inf
    honest = ~demand.hostile
    limits = np.array([service.limit_s for service in services])[demand.service]
    late = honest & (response_s > limits) & np.isfinite(response_s)
    lost = honest & np.isinf(response_s)
    why = Counter(np.array(CAUSES)[causes[late]].tolist())
    why["failure"] += int(lost.sum())
    times, energy, states = zip(*run.samples, strict=True)
    return Hosted(
        response_s,
        int(late.sum()),
        int(lost.sum()),
        {cause: why[cause] for cause in CAUSES},
        sessions,
        run.cut_by_stops,
        run.cut_by_failures,
        run.wakes,
        np.array(times),
        np.array(energy),
        np.array(states),
        np.array(run.servers, dtype=np.int64),
        sum(node.joules(demand.seconds) for node in run.nodes) / 3600,
    )


def _serve(run: _Run, demand: Demand, seed: int) -> tuple[IntArray, int]:
    """Take all requests in turn; return the state of affairs that each met (in CAUSES), and sessions."""
    services = run.site.services
    limits = [service.limit_s for service in services]
    timeouts = [service.timeout_s for service in services]
    draws = np.random.default_rng((seed, 1)).integers(1, UNITS + 1, len(demand.times)).tolist()
    nodes, choose = run.nodes, run.dispatcher.choose
    where: dict[int, int] = {}
    met = []
    opened = 0
    affairs = _affairs(run)
    rows = zip(
        demand.times.tolist(),
        demand.service.tolist(),
        demand.work.tolist(),
        demand.session.tolist(),
        demand.last.tolist(),
        draws,
        strict=True,
    )
    for request, (now, service, work, session, last, z) in enumerate(rows):
        while run.coming[0][0] <= now:
            _happen(run)
            affairs = _affairs(run)
        met.append(affairs)
        server, node = -1, None
        if session >= 0 and session in where:
            server = where[session]
            node = nodes[server]
            if node.sessions.get(session, -1.0) < now:  # timed out, or lost with its server
                node = None
        if node is None:
            server = choose(service, z)
            node = nodes[server]
            if session >= 0:
                where[session] = server
                opened += 1
        run.servers.append(server)
        if node.state is not State.ON:
            run.lost.append(request)
            continue
        end = node.accept(now, request, service, work, limits[service])
        run.response_s[request] = end - now
        if session >= 0:
            if last:
                node.sessions.pop(session, None)
            else:
                node.keep(session, end + timeouts[service])
    return np.array(met, dtype=np.int64), opened


def _affairs(run: _Run) -> int:
    """Return which of CAUSES (from waking on) a late response would have now."""
    states = [node.state for node in run.nodes]
    if State.WAKING in states:
        return CAUSES.index("waking")
    used = (state is State.ON and not run.dispatcher.unused(server) for server, state in enumerate(states))
    spare = [state for state, is_used in zip(states, used, strict=True) if not is_used]
    return CAUSES.index("all on" if all(state is State.FAILED for state in spare) else "packed")


def _happen(run: _Run) -> None:
    """Take the next event."""
    now, _, what, server, changes = heapq.heappop(run.coming)
    if what == "report":
        _review(run, now)
        run.expect(now + run.site.report_s, what)
    elif what == "sample":
        energy = sum(node.joules(now) for node in run.nodes) / 3600
        run.samples.append((now, energy, [STATES.index(node.state) for node in run.nodes]))
        run.expect(now + run.sample_s, what)
    elif what == "failure":
        _fail(run, now, server)
    elif run.nodes[server].changes == changes:
        run.nodes[server].turn(now, State.ON if what == "awake" else State.ASLEEP)


def _fail(run: _Run, now: float, server: int) -> None:
    lost, cut = run.nodes[server].lose(now)
    run.lost += lost
    run.cut_by_failures += cut
    run.nodes[server].turn(now, State.FAILED)
    (failure,) = [one for one in run.site.failures if (one.at_s, one.server) == (now, server)]
    run.expect(now + failure.repair_s, "repaired", server)


def _review(run: _Run, now: float) -> None:
    """Let the policy decide on the node managers' reports, and do what it orders."""
    reports = {server: node.report(now) for server, node in enumerate(run.nodes) if node.state is State.ON}
    states = [node.state for node in run.nodes]
    orders = run.policy.review(now, states, reports, run.dispatcher)
    if not run.dispatcher.whole():
        raise SimulationError(f"the probabilities do not sum to 1 at {now:g} s")
    for server in orders.wake:
        run.nodes[server].turn(now, State.WAKING)
        run.wakes.append((now, server))
        run.expect(now + run.site.sleep.wake_s, "awake", server)
    for server in orders.stop:
        node = run.nodes[server]
        run.cut_by_stops += sum(until > now for until in node.sessions.values())
        node.sessions.clear()
        node.turn(now, State.FALLING_ASLEEP)
        run.expect(now + run.site.sleep.enter_s, "asleep", server)
