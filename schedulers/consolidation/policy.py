# SPDX-License-Identifier: Apache-2.0
"""What is decided when the node managers report: where probability moves, who wakes up, who goes to sleep.

A policy knows reports and states only. How servers are woken and stopped is another's business.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from grasp.schedulers.consolidation.dispatcher import UNITS, Dispatcher


class State(Enum):
    """What a server is doing. One without probability that is still on is draining."""

    ON = "on"
    FALLING_ASLEEP = "falling asleep"
    ASLEEP = "asleep"
    WAKING = "waking"
    FAILED = "failed"


@dataclass(frozen=True)
class Report:
    """A node manager's report: idle share of the time since the last, late share of each service's responses.

    `held` is whether accepted requests or living sessions are left. No report comes from a server that is not
    on; of a failed one that is how the dispatcher knows.
    """

    idle: float
    late: Sequence[float]
    held: bool


@dataclass
class Orders:
    """Servers to wake and servers to put to sleep."""

    wake: list[int] = field(default_factory=list)
    stop: list[int] = field(default_factory=list)


class Policy(ABC):
    """Decides at each round of reports."""

    @abstractmethod
    def review(
        self, now: float, states: Sequence[State], reports: dict[int, Report], dispatcher: Dispatcher
    ) -> Orders:
        """Move probabilities and return what servers shall do; `reports` are by server."""


class AllOn(Policy):
    """Every server stays on and gets what its speed can do."""

    def __init__(self, speeds: Sequence[float], services: int) -> None:
        self._speeds, self._services = speeds, services

    def review(
        self, now: float, states: Sequence[State], reports: dict[int, Report], dispatcher: Dispatcher
    ) -> Orders:
        """Spread what a failed server had; give it its part again when it is back."""
        speeds = self._speeds
        for server in range(len(states)):
            others = [other for other in reports if other != server]
            for service in range(self._services):
                if server not in reports:
                    while others and dispatcher.units(service, server):
                        poorest = min(others, key=lambda one: dispatcher.units(service, one) / speeds[one])
                        dispatcher.move(service, server, poorest, 1)
                elif not dispatcher.units(service, server) and others:
                    for _ in range(round(speeds[server] / sum(speeds) * UNITS)):
                        richest = max(others, key=lambda one: dispatcher.units(service, one) / speeds[one])
                        dispatcher.move(service, richest, server, 1)
        return Orders([server for server, state in enumerate(states) if state is State.ASLEEP])


@dataclass(frozen=True)
class Tuning:
    """The dials: `step` is dp in thousandths, `idle` the idle share from which a server may take more.

    `late` is the share of late responses that a service-level agreement still allows; after a violation
    nothing is packed for `calm_s`; while one lasts, a further server is woken every `again_s`.
    """

    step: int = 20
    idle: float = 0.4
    late: float = 0.05
    calm_s: float = 60.0
    again_s: float = 30.0


class Consolidation(Policy):
    """Binder and Suri's rule: probability moves by dp towards the efficient servers that idle and comply.

    A violating server's load moves to a complying idle one; if there is none, the next is woken. A server
    without probability is put to sleep when nothing accepted and no session is left on it.
    """

    def __init__(self, services: int, tuning: Tuning | None = None) -> None:
        self._services = services
        self._tuning = tuning or Tuning()
        self._violated = self._woken = float("-inf")
        self._expected: set[int] = set()  # woken, and without probability so far

    def review(
        self, now: float, states: Sequence[State], reports: dict[int, Report], dispatcher: Dispatcher
    ) -> Orders:
        """See the class."""
        tuning = self._tuning
        orders = Orders()
        self._leave_silent(states, reports, dispatcher)
        self._welcome(reports, dispatcher)
        complying = [
            server
            for server, report in sorted(reports.items())
            if report.idle >= tuning.idle and max(report.late) <= tuning.late
        ]
        short = False
        for service in range(self._services):
            violating = [
                server
                for server, report in reports.items()
                if dispatcher.units(service, server) and report.late[service] > tuning.late
            ]
            for server in violating:
                self._violated = now
                if complying:
                    # Each in turn, so that what is relieved does not overload the next.
                    dispatcher.move(service, server, complying[0], tuning.step)
                    complying.append(complying.pop(0))
                else:
                    short = True
            if not violating and now - self._violated >= tuning.calm_s:
                self._pack(service, reports, dispatcher)
        if short or not reports:
            orders.wake = self._next(now, states)
        orders.stop = [
            server
            for server, report in reports.items()
            if dispatcher.unused(server) and not report.held and now - self._violated >= tuning.calm_s
        ]
        return orders

    def _pack(self, service: int, reports: dict[int, Report], dispatcher: Dispatcher) -> None:
        """Move dp from the least efficient server in use to the most efficient that idles and complies."""
        tuning = self._tuning
        source = max(server for server, units in enumerate(dispatcher.row(service)) if units)
        for target in sorted(reports):
            report = reports[target]
            if target < source and report.idle >= tuning.idle and max(report.late) <= tuning.late:
                dispatcher.move(service, source, target, tuning.step)
                return

    def _leave_silent(
        self, states: Sequence[State], reports: dict[int, Report], dispatcher: Dispatcher
    ) -> None:
        """Take all probability from servers that no longer report, and spread it over the idlest."""
        if not reports:
            return
        for server in range(len(states)):
            if server in reports:
                continue
            for service in range(self._services):
                idlest = sorted(reports, key=lambda one: -reports[one].idle)
                while dispatcher.units(service, server):
                    dispatcher.move(service, server, idlest[0], self._tuning.step)
                    idlest.append(idlest.pop(0))

    def _welcome(self, reports: dict[int, Report], dispatcher: Dispatcher) -> None:
        """Give a server that has woken up dp of every service, from the one that idles least."""
        for server in sorted(self._expected & reports.keys()):
            self._expected.remove(server)
            for service in range(self._services):
                sources = [one for one in reports if one != server and dispatcher.units(service, one)]
                if sources:
                    busiest = min(sources, key=lambda one: reports[one].idle)
                    dispatcher.move(service, busiest, server, self._tuning.step)

    def _next(self, now: float, states: Sequence[State]) -> list[int]:
        """Return the most efficient server that sleeps, if it is time to wake one."""
        waking = State.WAKING in states
        if waking and now - self._woken < self._tuning.again_s:
            return []
        for server, state in enumerate(states):
            if state is State.ASLEEP:
                self._woken = now
                self._expected.add(server)
                return [server]
        return []
