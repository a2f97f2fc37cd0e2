# SPDX-License-Identifier: Apache-2.0
"""Which jobs an hour brings: when each is opened, by which client, and how long it goes on. Seeded."""

import random
from dataclasses import dataclass

from grasp.topo.configuration import SERVICE_ADDRESS, SERVICE_PORT
from grasp.topo.traffic import Order

_EXCHANGES = 3
_MEAN_HOLD = 0.3  # of an hour: many connections live on in the next hour, under its forecasts
_LONGEST_HOLD = 1.0
_LONGEST_HOLD_S = 15.0  # between two requests the service's timeout must not pass


@dataclass(frozen=True)
class Workload:
    """`jobs` an hour, dealt to `clients`; an hour lasts `seconds`."""

    jobs: int
    clients: int
    seconds: float
    seed: int

    def orders(self, hour: int, begin: float, end: float) -> list[list[Order]]:
        """Return the orders of an hour for each client.

        Jobs are opened between `begin` and `end` (CLOCK_MONOTONIC): one in each of as many equal slices of
        that time as there are jobs, somewhere within the slice. The seed fixes everything but the clock.
        """
        random_ = random.Random(f"{self.seed}/{hour}")
        dealt: list[list[Order]] = [[] for _ in range(self.clients)]
        turn = list(range(self.clients))
        for index in range(self.jobs):
            if index % self.clients == 0:
                random_.shuffle(turn)
            order = Order(
                hour=hour,
                job=hour * self.jobs + index,
                at=begin + (end - begin) * (index + random_.random()) / self.jobs,
                address=SERVICE_ADDRESS,
                port=SERVICE_PORT,
                exchanges=_EXCHANGES,
                hold=self._hold(random_),
            )
            dealt[turn[index % self.clients]].append(order)
        return dealt

    @property
    def longest_hold(self) -> float:
        """Seconds that no job goes on for longer."""
        return min(self.seconds * _LONGEST_HOLD, _LONGEST_HOLD_S)

    def _hold(self, random_: random.Random) -> float:
        return min(self.seconds * random_.expovariate(1 / _MEAN_HOLD), self.longest_hold)
