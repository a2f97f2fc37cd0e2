# SPDX-License-Identifier: Apache-2.0
"""The measurements of the replica study: every policy over loads and delays, and the gains.

What must be equal is compared in every run: a difference raises SimulationError. Waits are in mean service
times; confidence intervals are of 95 %, by Student's t over the seeds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from grasp.schedulers.base import FloatArray
from grasp.schedulers.faults import SimulationError
from grasp.schedulers.replicas.events import Jobs, tell
from grasp.schedulers.replicas.inputs import Inputs
from grasp.schedulers.replicas.queues import Case, LeastWork, Policy, Replicas, ShortestQueue, simulate
from grasp.schedulers.replicas.work import join_least_work

PUBLISHED = {2: 9.4, 3: 19.9, 5: 47.4}
"""Mean wait of random assignment over that of d replicas, as the source reports it (no delay)."""

QUANTILES = (0.5, 0.9, 0.99, 0.999)

MOST_VALUES = 60_000_000  # waits kept at once, 4 bytes each
DELAY_SEEDS = 5  # of the study of delays, and half of the jobs: its differences are large
COMPARED_LOADS = 5  # of other policies, and half of the jobs: they cost more
COMPARED = (("least-work", 1), ("shortest-queue", 1), ("shortest-of", 2))
CHECKED_LOADS, CHECKED_SEEDS = 3, 10  # of the checks, which simulate a quarter of the jobs
CHECKED_JOBS = 20_000  # at most, event by event

MOST_APART = 1e-3
"""Of a job's waits in the two simulations, in mean service times, or in thousands of these where waits are so
long: what may come of rounding, as they are stored with 7 digits."""

MOST_APART_CI = 3
"""Of two means, in what those of equals differ by at most 19 times of 20. With 10 seeds equals differ by more
than that a few times of a million."""
FEWEST_TO_JUDGE = 5
"""Seeds: with 2, equals differ by as much seven times of ten thousand."""


@dataclass(frozen=True)
class Settings:
    """What is simulated; the names are those of the command line."""

    servers: int = 100
    jobs: int = 100_000
    warmup: int = 100_000
    seeds: int = 25
    loads: tuple[float, ...] = (0.5, 0.6, 0.7, 0.8, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97)
    d: tuple[int, ...] = (2, 3, 5)
    delays: tuple[float, ...] = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
    delay_loads: tuple[float, ...] = (0.5, 0.8, 0.9)
    service: str = "exponential"


@dataclass(frozen=True)
class Task:
    """A policy (`random`, `replicas`, `least-work`, `shortest-queue`, `shortest-of`) and what it meets.

    `late` tells the study of delays from that of loads.
    """

    late: bool
    policy: str
    d: int
    cases: tuple[Case, ...]
    settings: Settings
    seeds: int


@dataclass(frozen=True)
class Window:
    """Waits of the jobs of one stretch: `mean` of shape (seeds,), `quantiles` of shape (QUANTILES, seeds)."""

    mean: FloatArray
    quantiles: FloatArray


@dataclass(frozen=True)
class Row:
    """What one policy did in one case: the first `jobs` jobs, from empty queues, and those after the warm-up.

    `duplicates` and `wasted` time are per job, over all `jobs` of a seed, of shape (seeds,).
    """

    late: bool
    policy: str
    d: int
    case: Case
    jobs: int
    first: Window
    later: Window
    duplicates: FloatArray
    wasted: FloatArray


def tasks(settings: Settings) -> list[Task]:
    """Return all simulations of the study, in parts that fit into memory."""
    at_once = tuple(Case(load) for load in settings.loads)
    some = tuple(Case(load) for load in spread(settings.loads, COMPARED_LOADS))
    late = tuple(Case(load, delay) for load in settings.delay_loads for delay in settings.delays)
    alone = tuple(Case(load) for load in settings.delay_loads)
    few = min(DELAY_SEEDS, settings.seeds)
    wanted = [
        *((False, "replicas", d, at_once, settings.seeds) for d in settings.d),
        (False, "random", 1, at_once, settings.seeds),
        *((False, policy, d, some, settings.seeds) for policy, d in COMPARED),
        *((True, "replicas", d, late, few) for d in settings.d),
        (True, "random", 1, alone, few),
        (True, "shortest-of", 2, alone, few),
    ]
    found = []
    half = replace(settings, jobs=max(settings.jobs // 2, 1), warmup=settings.warmup // 2)
    for is_late, policy, d, cases, seeds in wanted:
        mine = half if is_late or (policy, d) in COMPARED else settings
        size = max(1, MOST_VALUES // ((mine.jobs + mine.warmup) * seeds))
        parts = [cases[start : start + size] for start in range(0, len(cases), size)]
        found += [Task(is_late, policy, d, part, mine, seeds) for part in parts]
    return found


def spread(values: Sequence[float], most: int) -> list[float]:
    """At most so many of the values, evenly spread, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    return [values[round(index * (len(values) - 1) / (most - 1))] for index in range(most)]


def measure(task: Task) -> list[Row]:
    """Simulate a task and return a row for each case."""
    settings = task.settings
    policies: dict[str, Policy] = {
        "random": Replicas(1),
        "replicas": Replicas(task.d),
        "least-work": LeastWork(),
        "shortest-queue": ShortestQueue(),
        "shortest-of": ShortestQueue(task.d),
    }
    total = settings.jobs + settings.warmup
    inputs = Inputs(settings.servers, total, range(task.seeds), settings.service)
    seen = simulate(policies[task.policy], inputs, task.cases)
    for index, case in enumerate(task.cases):
        if case.delay == 0 and (seen.duplicates[index].any() or seen.wasted[index].any()):
            raise SimulationError(f"{task.d} replicas at load {case.load:g}: some ran twice without a delay")
    return [
        Row(
            task.late,
            task.policy,
            task.d,
            case,
            total,
            window(seen.waits[: settings.jobs, index]),
            window(seen.waits[settings.warmup :, index]),
            seen.duplicates[index] / total,
            seen.wasted[index] / total,
        )
        for index, case in enumerate(task.cases)
    ]


def window(waits: NDArray[np.float32]) -> Window:
    """Return the means and quantiles of waits of shape (jobs, seeds)."""
    ordered = np.sort(np.ascontiguousarray(waits.T), axis=1)  # in rows: that is fast
    ranks = np.ceil(np.multiply(QUANTILES, len(waits))).astype(int) - 1
    return Window(waits.mean(axis=0, dtype=np.float64), ordered[:, ranks].T.astype(np.float64))


def interval(values: FloatArray) -> tuple[float, float | None]:
    """Return the mean and the half-width of its 95 % confidence interval; none for a single value."""
    count = len(values)
    if count < 2:
        return float(values.mean()), None
    spread_out = float(values.std(ddof=1)) / count**0.5
    return float(values.mean()), float(special.stdtrit(count - 1, 0.975)) * spread_out


def crossings(x: Sequence[float], y: Sequence[float], level: float) -> list[float]:
    """Return where the line through the points meets the level, by linear interpolation."""
    found = []
    for (x0, y0), (x1, y1) in zip(zip(x, y, strict=True), zip(x[1:], y[1:], strict=True), strict=False):
        if (y0 - level) * (y1 - level) < 0 or y1 == level != y0:
            found.append(x0 + (x1 - x0) * (level - y0) / (y1 - y0))
    return found


@dataclass(frozen=True)
class Check:
    """d replicas without delay beside joining the least work of d: mean waits of shape (seeds,)."""

    d: int
    load: float
    replicas: FloatArray
    least_work: FloatArray

    @property
    def apart(self) -> float:
        """How much longer replicas wait, in the mean."""
        return float(self.replicas.mean() - self.least_work.mean())

    @property
    def may_differ_by(self) -> float | None:
        """What 19 of 20 such pairs of equals differ by at most; none for a single seed."""
        (_, half), (_, other_half) = interval(self.replicas), interval(self.least_work)
        return None if half is None or other_half is None else math.hypot(half, other_half)

    def verify(self) -> None:
        """Raise SimulationError if the two are no equals; of a few seeds chance alone may differ so much."""
        may = self.may_differ_by
        if (
            may is not None
            and len(self.replicas) >= FEWEST_TO_JUDGE
            and abs(self.apart) > MOST_APART_CI * may
        ):
            raise SimulationError(
                f"{self.d} replicas at load {self.load:g} wait {self.apart:+.3g} beside the least work of as "
                f"many, where ± {may:.3g} is usual"
            )


def check_by_least_work(settings: Settings, d: int) -> list[Check]:
    """Simulate both at some loads, over the later half of the jobs, with random numbers of their own.

    Raises SimulationError if they differ by more than chance.
    """
    loads = spread(settings.delay_loads, CHECKED_LOADS)
    seeds = min(CHECKED_SEEDS, settings.seeds)
    jobs = max((settings.jobs + settings.warmup) // 4, 1)
    inputs = Inputs(settings.servers, jobs, range(seeds), settings.service)
    seen = simulate(Replicas(d), inputs, [Case(load) for load in loads]).waits
    plain = join_least_work(settings.servers, d, loads, jobs, seeds, settings.service)
    mine, other = (waits[jobs // 2 :].mean(axis=0, dtype=np.float64) for waits in (seen, plain))
    checks = [Check(d, load, mine[index], other[index]) for index, load in enumerate(loads)]
    for check in checks:
        check.verify()
    return checks


def check_by_events(settings: Settings, d: int) -> float:
    """Simulate some jobs event by event as well; return the largest difference between the waits of a job.

    Raises SimulationError if that is more than rounding, or if not as many replicas ran in vain.
    """
    load, delay = settings.delay_loads[-1], settings.delays[-1]
    inputs = Inputs(settings.servers, checked_jobs(settings), (0,), settings.service)
    fast = simulate(Replicas(d), inputs, [Case(load, delay)])
    told = tell(all_jobs(inputs, d, load), settings.servers, delay)
    apart = np.abs(told.waits - fast.waits[:, 0, 0])
    in_vain = int(fast.duplicates[0, 0]), int(told.duplicates.sum())
    if not (apart <= MOST_APART * np.maximum(told.waits / 1000, 1)).all() or in_vain[0] != in_vain[1]:
        raise SimulationError(
            f"{d} replicas at load {load:g}, delay {delay:g}: event by event a job's wait differs by "
            f"{apart.max():.3g}, and {in_vain[1]} replicas ran in vain, not {in_vain[0]}"
        )
    return float(apart.max())


def checked_jobs(settings: Settings) -> int:
    """Return how many jobs are simulated event by event."""
    return min(CHECKED_JOBS, settings.jobs)


def all_jobs(inputs: Inputs, d: int, load: float) -> Jobs:
    """Return the jobs of the first seed, as the event simulation takes them."""
    blocks = list(inputs.blocks(d))
    gaps = np.concatenate([block.gaps[:, 0] for block in blocks])
    return Jobs(
        np.cumsum(gaps / (load * inputs.servers)),
        np.concatenate([block.lengths[:, 0] for block in blocks]),
        np.concatenate([block.choices[:, :, 0] for block in blocks]),
    )
