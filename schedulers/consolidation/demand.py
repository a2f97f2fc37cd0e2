# SPDX-License-Identifier: Apache-2.0
"""Demand: requests of several services over time, alone or in sessions that stay on one server."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grasp import UserError
from grasp.schedulers.base import FloatArray, IntArray


@dataclass(frozen=True)
class Service:
    """A service: its part of the requests, mean work of a request, response limit, and its sessions.

    A session has `requests` on average (1: no sessions), `think_s` apart; half of them end with a log-out,
    the others are forgotten by the server `timeout_s` after their last response.
    """

    name: str
    share: float
    work: float
    limit_s: float
    requests: float = 1
    think_s: float = 0
    timeout_s: float = 0


SERVICES = (
    Service("pages", 0.55, 2.0, 4.0),
    Service("shop", 0.40, 1.6, 4.0, requests=8, think_s=20, timeout_s=120),
    Service("reports", 0.05, 5.0, 10.0),
)

_WORK_SHAPE = 4  # of the gamma distribution of a request's work: a coefficient of variation of 1/2


@dataclass(frozen=True)
class Demand:
    """Requests in order of time, arrays of shape (requests,).

    `session` numbers sessions through (a request without one has -1); `last` marks a log-out; `hostile` marks
    an attacker's. `seconds` is the length of the trace.
    """

    times: FloatArray
    service: IntArray
    work: FloatArray
    session: IntArray
    last: NDArray[np.bool_]
    hostile: NDArray[np.bool_]
    seconds: float


def daily(peak: float, minutes: int = 1440) -> FloatArray:
    """Return requests a second for each minute of a day: least at 4 h, most at 16 h, where it is `peak`."""
    hours = np.arange(minutes) / 60
    wave = (1 - np.cos((hours - 4) / 24 * 2 * np.pi)) / 2
    return np.asarray(peak * (0.15 + 0.85 * wave))


def sudden(rate: FloatArray, start: int, minutes: int, factor: float) -> FloatArray:
    """Return the rate, so many times as large for some minutes."""
    raised = rate.copy()
    raised[start : start + minutes] *= factor
    return raised


def pulses(minutes: int, start: int, period: int, duty: int, rate: float) -> FloatArray:
    """Return an attacker's requests a second: `duty` minutes of every `period`, from minute `start` on."""
    now = np.arange(minutes)
    return np.where((now >= start) & ((now - start) % period < duty), rate, 0.0)


def demand(
    rate: FloatArray,
    services: Sequence[Service],
    seed: int,
    hostile_rate: FloatArray | None = None,
    held: "Held | None" = None,
) -> Demand:
    """Make the requests of a trace of `rate` requests a second, one value for each minute.

    `hostile_rate` adds an attacker's requests to the first service, `held` an attacker's sessions.
    """
    if rate.ndim != 1 or not len(rate) or not np.all(np.isfinite(rate)) or np.any(rate < 0):
        raise UserError("load: give requests a second, 0 or more, for each minute")
    draw = np.random.default_rng(seed)
    seconds = 60.0 * len(rate)
    parts, sessions = [], 0
    for number, service in enumerate(services):
        part, sessions = _requests(draw, rate * service.share, number, service, sessions)
        parts.append(part)
    if hostile_rate is not None:
        alone = Service("attack", 1, services[0].work, 0)
        part, sessions = _requests(draw, hostile_rate, 0, alone, sessions)
        parts.append(part | {"hostile": np.ones(len(part["times"]), dtype=bool)})
    if held is not None:
        parts.append(_held(draw, held, seconds, sessions))
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(joined["times"], kind="stable")
    order = order[joined["times"][order] < seconds]
    return Demand(**{name: values[order] for name, values in joined.items()}, seconds=seconds)


@dataclass(frozen=True)
class Held:
    """An attacker's sessions: so many, of one service, opened within a minute and never left to time out."""

    service: int
    sessions: int
    start_s: float
    every_s: float
    work: float = 0.01


def _requests(
    draw: np.random.Generator, rate: FloatArray, number: int, service: Service, sessions: int
) -> tuple[dict[str, NDArray[np.generic]], int]:
    """Make a service's requests; return them and the number of the next session."""
    starts = draw.poisson(rate * 60 / service.requests)
    begin = (np.repeat(np.arange(len(rate)), starts) + draw.random(int(starts.sum()))) * 60
    if service.requests == 1:
        times, session = begin, np.full(len(begin), -1)
        last = np.zeros(len(begin), dtype=bool)
    else:
        count = draw.geometric(1 / service.requests, len(begin))
        first = np.cumsum(count) - count
        gaps = draw.exponential(service.think_s, int(count.sum()))
        gaps[first] = 0
        since = np.cumsum(gaps)
        times = np.repeat(begin - since[first], count) + since
        session = sessions + np.repeat(np.arange(len(begin)), count)
        last = np.zeros(len(times), dtype=bool)
        last[first + count - 1] = draw.random(len(begin)) < 0.5
        sessions += len(begin)
    work = draw.gamma(_WORK_SHAPE, service.work / _WORK_SHAPE, len(times))
    return {
        "times": times,
        "service": np.full(len(times), number),
        "work": work,
        "session": session,
        "last": last,
        "hostile": np.zeros(len(times), dtype=bool),
    }, sessions


def _held(
    draw: np.random.Generator, held: Held, seconds: float, sessions: int
) -> dict[str, NDArray[np.generic]]:
    each = max(int((seconds - held.start_s) / held.every_s), 1)
    begin = held.start_s + 60 * draw.random(held.sessions)
    times = (begin[:, np.newaxis] + held.every_s * np.arange(each)).ravel()
    return {
        "times": times,
        "service": np.full(len(times), held.service),
        "work": np.full(len(times), held.work),
        "session": sessions + np.repeat(np.arange(held.sessions), each),
        "last": np.zeros(len(times), dtype=bool),
        "hostile": np.ones(len(times), dtype=bool),
    }
