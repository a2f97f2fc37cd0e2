# SPDX-License-Identifier: Apache-2.0
"""A sweep over schedulers, job energies and numbers of jobs, in one process or spread over many.

A sweep is cut into the same tasks wherever it runs, each reckoned alone, so the numbers are the same to the
last bit.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NotRequired, TypedDict

import numpy as np

from grasp import UserError
from grasp.schedulers.base import FloatArray, Reports, Scheduler, Setting
from grasp.schedulers.ratio import green_ratio_limit
from grasp.schedulers.registry import scheduler
from grasp.schedulers.shifting import Battery, Waiting, shift
from grasp.schedulers.simulate import green_ratios
from grasp.telemetry.energy.names import readable
from grasp.telemetry.energy.places import distances_km
from grasp.telemetry.energy.sources import Energy, Source
from grasp.topo.year.optimum import optimum

if TYPE_CHECKING:
    from distributed import Client

LIMIT = "limit"
"""Takes the place of a scheduler: the most that any could reach."""

OPTIMUM = "-optimum"
"""Behind a policy's name: the most that it could reach, knowing all hours."""

POLICIES = ("deferrable", "battery", "deferrable-battery")
"""What moves green energy in time: jobs that may wait, batteries, or both."""

FORECASTS = ("yesterday", "perfect")
"""What a policy believes of an hour to come: that it will be as on the day before, or the truth."""

TASK_CASES = 16
DIGITS = 9
CLUSTER_PATIENCE_S = 10


@dataclass(frozen=True)
class Span:
    """Hours of the year from an hour of a date on, in UTC-5; without a date, the whole year."""

    date: str | None = None
    start_hour: int = 0
    hours: int = 24


@dataclass(frozen=True)
class Study:
    """What is the same for all cases of a sweep."""

    span: Span = Span()
    sites: tuple[str, ...] = ()  # none: all that the source has
    divisible: bool = False
    weights: tuple[tuple[str, float], ...] = ()
    clients: tuple[tuple[float, float], ...] = ()  # degrees north and east
    waiting: Waiting = field(default_factory=Waiting)
    battery: Battery = field(default_factory=Battery)
    forecast: str = "yesterday"  # one of FORECASTS


@dataclass(frozen=True)
class Sweep:
    """Every source with every scheduler, number of jobs an hour, and job energy k in Wh."""

    sources: tuple[Source, ...]
    schedulers: tuple[str, ...]
    job_wh: tuple[float, ...]
    jobs: tuple[int, ...]
    study: Study = field(default_factory=Study)


class Row(TypedDict):
    """One case and its result."""

    energy_source: str
    scheduler: str
    k: float
    jobs_per_hour: int
    green_ratio: float
    green_ratio_limit: float
    mean_wait_h: NotRequired[float]  # of policies that let jobs wait


@dataclass(frozen=True)
class Task:
    """A few cases of one scheduler on one source."""

    source: Source
    study: Study
    scheduler: str
    job_wh: tuple[float, ...]
    jobs: tuple[int, ...]


@lru_cache(maxsize=4)
def load(source: Source, sites: tuple[str, ...] = ()) -> Energy:
    """Return a year of energy; tasks of one source come one after another, so few are kept."""
    return source.load(sites)


def cut(year: Energy, span: Span) -> Energy:
    """Return the hours of the span."""
    return year if span.date is None else year.day(span.date, span.start_hour, span.hours)


def setting(study: Study, energy: Energy) -> Setting:
    """Return what the rules may have to know about these sites."""
    known = not np.isnan(energy.positions).any()
    return Setting(
        weights=dict(study.weights) or Setting().weights,
        distance_km=distances_km(study.clients, energy.positions) if study.clients and known else None,
    )


def tasks(sweep: Sweep) -> list[Task]:
    """Cut a sweep into tasks, in the order of its rows."""
    cases = [(k, n) for n in sweep.jobs for k in sweep.job_wh]

    def blocks(name: str) -> list[list[tuple[float, int]]]:
        size = 1 if name.endswith(OPTIMUM) else TASK_CASES
        return [cases[first : first + size] for first in range(0, len(cases), size)]

    return [
        Task(source, sweep.study, name, tuple(k for k, _ in block), tuple(n for _, n in block))
        for source in sweep.sources
        for name in sweep.schedulers
        for block in blocks(name)
    ]


def reckon(task: Task) -> list[Row]:
    """Return a task's rows."""
    year = load(task.source, task.study.sites)
    hours = cut(year, task.study.span)
    limits = green_ratio_limit(hours.wh, task.job_wh, np.array(task.jobs)[:, np.newaxis])
    waits = None
    if task.scheduler == LIMIT:
        ratios = limits
    elif is_policy(task.scheduler):
        ratios, waits = _shifted(task, year, hours)
    else:
        rule = scheduler(task.scheduler, setting(task.study, year))
        # The whole year is forecast, since the hour before the first of a span is not in the span.
        believed = cut(replace(year, wh=forecast(rule, year)), task.study.span)
        ratios = green_ratios(rule, believed.wh, hours.wh, task.job_wh, task.jobs, task.study.divisible)
    # The description of a synthetic year is all of it; of files, it does not say which.
    text = readable(task.source.text)
    origin = year.description if text == "synthetic" else f"{text}: {year.description}"
    rows = [
        Row(
            energy_source=origin,
            scheduler=task.scheduler,
            k=k,
            jobs_per_hour=n,
            green_ratio=round(float(ratio), DIGITS),
            green_ratio_limit=round(float(most), DIGITS),
        )
        for k, n, ratio, most in zip(task.job_wh, task.jobs, ratios, limits, strict=True)
    ]
    if waits is not None:
        for row, wait in zip(rows, waits, strict=True):
            row["mean_wait_h"] = round(float(wait), DIGITS)
    return rows


def forecast(rule: Scheduler, year: Energy) -> FloatArray:
    """Return what the rule goes by, of the year's shape; raises UserError if it needs what is not there."""
    wh = np.asarray(rule.forecast(Reports(rule.name, year.reports)), dtype=np.float64)
    if wh.shape != year.wh.shape:
        raise UserError(
            f"scheduler {rule.name!r}: its forecast has the shape {wh.shape}, not {year.wh.shape}"
        )
    return wh


def is_policy(name: str) -> bool:
    """Tell whether this is a policy over time, or its optimum, and not a scheduler of single hours."""
    return name.removesuffix(OPTIMUM) in POLICIES


def _shifted(task: Task, year: Energy, hours: Energy) -> tuple[FloatArray, FloatArray | None]:
    """Green ratios under a policy over time, and mean waits; or its optimum, which says nothing of waits."""
    study = task.study
    name = task.scheduler.removesuffix(OPTIMUM)
    waiting = study.waiting if "deferrable" in name else Waiting()
    battery = study.battery if "battery" in name else Battery()
    if task.scheduler.endswith(OPTIMUM):
        cases = zip(task.job_wh, task.jobs, strict=True)
        return np.array([optimum(hours.wh, k, n, waiting, battery) for k, n in cases]), None
    lag = 24 if study.forecast == "yesterday" else 0
    believed = cut(replace(year, wh=np.roll(year.wh, lag, axis=0)), study.span)
    return shift(hours.wh, believed.wh, task.job_wh, task.jobs, waiting, battery)


def here(work: list[Task]) -> Iterator[list[Row]]:
    """Reckon one task after another."""
    return map(reckon, work)


def in_processes(work: list[Task], workers: int) -> Iterator[list[Row]]:
    """Reckon in so many processes of this machine; yields in the tasks' order."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # A forked process would inherit the progress display's thread in an unknown state.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        try:
            yield from pool.map(reckon, work)
        finally:
            pool.shutdown(cancel_futures=True)


def on_cluster(work: list[Task], address: str) -> Iterator[list[Row]]:
    """Reckon on the Dask cluster whose scheduler is at `address`; yields in the tasks' order.

    The workers need this package, and see the weather files at the same place. Raises UserError when Dask is
    not installed or nobody answers.
    """
    return _gather(_connect(address), work)


def _gather(client: "Client", work: list[Task]) -> Iterator[list[Row]]:
    try:
        for future in client.map(reckon, work, pure=False):
            yield future.result()
    finally:
        client.close()  # type: ignore[no-untyped-call]


def _connect(address: str) -> "Client":
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise UserError("--dask needs the package distributed: pip install 'grasp-p4[dask]'") from None
    try:
        get_address_host_port(address)  # else a client that was begun goes on trying, and the process with it
    except ValueError as error:
        raise UserError(f"--dask {address}: not an address such as tcp://host:8786 ({error})") from None
    try:
        return Client(address, timeout=CLUSTER_PATIENCE_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TimeoutError) as error:
        raise UserError(f"--dask {address}: no Dask scheduler answers there ({error})") from error
