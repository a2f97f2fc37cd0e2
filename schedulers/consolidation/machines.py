# SPDX-License-Identifier: Apache-2.0
"""Servers: how fast, how much power, and how they sleep."""

from collections.abc import Sequence
from dataclasses import dataclass

from grasp import UserError


@dataclass(frozen=True)
class Sleep:
    """A way to sleep: power while asleep (the network card listens), time to fall asleep and to wake up.

    Falling asleep takes the idle power, waking up the peak power.
    """

    name: str
    power_w: float
    enter_s: float
    wake_s: float


SLEEPS = {
    sleep.name: sleep
    for sleep in (Sleep("off", 4, 20, 90), Sleep("hibernate", 4, 15, 40), Sleep("standby", 10, 3, 6))
}


def sleep(name: str) -> Sleep:
    """Return the way to sleep of that name; raises UserError that lists those there are."""
    try:
        return SLEEPS[name]
    except KeyError:
        raise UserError(f"sleep {name!r}: there are {', '.join(SLEEPS)}") from None


@dataclass(frozen=True)
class Machine:
    """A server: units of work a second, power when idle and when busy."""

    name: str
    speed: float
    idle_w: float
    peak_w: float

    @property
    def cost(self) -> float:
        """Energy in joules for a unit of work at full use; the smaller, the more efficient."""
        return self.peak_w / self.speed


KINDS = {
    "new": Machine("new", 4.0, 80, 200),
    "middle": Machine("middle", 3.0, 110, 220),
    "old": Machine("old", 2.0, 130, 230),
}


def fleet(counts: Sequence[tuple[str, int]]) -> list[Machine]:
    """Return servers, the most efficient first; `counts` are names of KINDS and numbers of them."""
    machines = []
    for kind, count in counts:
        if kind not in KINDS:
            raise UserError(f"servers {kind!r}: there are {', '.join(KINDS)}")
        made = KINDS[kind]
        machines += [
            Machine(f"{kind}-{number + 1}", made.speed, made.idle_w, made.peak_w) for number in range(count)
        ]
    return sorted(machines, key=lambda machine: machine.cost)
