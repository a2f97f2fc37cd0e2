# SPDX-License-Identifier: Apache-2.0
"""A server in a simulation: its queue, its sessions, its power, and what its node manager reports."""

from collections import OrderedDict, deque
from collections.abc import Sequence

from grasp.schedulers.consolidation.machines import Machine, Sleep
from grasp.schedulers.consolidation.policy import Report, State


class Node:
    """One server, which serves requests one at a time in the order in which they come."""

    def __init__(self, machine: Machine, sleep: Sleep, services: int) -> None:
        self.machine = machine
        self.state = State.ON
        self.changes = 0  # of state: tells events that were overtaken
        self.free_at = 0.0  # when all that was accepted is done
        self.pending: deque[tuple[float, int, int, bool]] = deque()  # end, request, service, late
        self.sessions: OrderedDict[int, float] = OrderedDict()  # until when each lives, the last used last
        self._services = services
        self._given_s = 0.0  # work accepted, as time
        self._reported_s = self._reported_at = 0.0
        self._since = self._joules = 0.0
        self._watts = {
            State.ON: machine.idle_w,
            State.FALLING_ASLEEP: machine.idle_w,
            State.ASLEEP: sleep.power_w,
            State.WAKING: machine.peak_w,
            State.FAILED: 0.0,
        }

    def accept(self, now: float, request: int, service: int, work: float, limit_s: float) -> float:
        """Queue a request and return when its response goes out."""
        time = work / self.machine.speed
        self.free_at = end = max(now, self.free_at) + time
        self._given_s += time
        self.pending.append((end, request, service, end - now > limit_s))
        return end

    def keep(self, session: int, until: float) -> None:
        """Let a session live until then."""
        self.sessions[session] = until
        self.sessions.move_to_end(session)

    def turn(self, now: float, state: State) -> None:
        """Change state."""
        self._joules += (now - self._since) * self._watts[self.state]
        self._since = now
        self.state = state
        self.changes += 1
        if state is State.ON:
            self._reported_s, self._reported_at = self._busy_s(now), now

    def lose(self, now: float) -> tuple[list[int], int]:
        """Lose all that was accepted; return the requests, and how many living sessions are cut."""
        lost = [request for end, request, _, _ in self.pending if end > now]
        living = sum(until > now for until in self.sessions.values())
        self._given_s = self._busy_s(now)
        self.free_at = now
        self.pending.clear()
        self.sessions.clear()
        return lost, living

    def joules(self, now: float) -> float:
        """Energy taken so far."""
        idle = self._joules + (now - self._since) * self._watts[self.state]
        return idle + self._busy_s(now) * (self.machine.peak_w - self.machine.idle_w)

    def report(self, now: float) -> Report:
        """Report on the time since the last report."""
        answered, late = [0] * self._services, [0] * self._services
        while self.pending and self.pending[0][0] <= now:
            _, _, service, was_late = self.pending.popleft()
            answered[service] += 1
            late[service] += was_late
        busy_s = self._busy_s(now)
        idle = 1 - (busy_s - self._reported_s) / max(now - self._reported_at, 1e-9)
        self._reported_s, self._reported_at = busy_s, now
        return Report(idle, _shares(late, answered), self.held(now))

    def held(self, now: float) -> bool:
        """Say whether accepted requests or living sessions are left."""
        while self.sessions and self.sessions[oldest := next(iter(self.sessions))] <= now:
            del self.sessions[oldest]
        return self.free_at > now or any(until > now for until in self.sessions.values())

    def _busy_s(self, now: float) -> float:
        return self._given_s - max(self.free_at - now, 0.0)


def _shares(part: Sequence[int], whole: Sequence[int]) -> list[float]:
    return [few / many if many else 0.0 for few, many in zip(part, whole, strict=True)]
