# SPDX-License-Identifier: Apache-2.0
"""Holds a hosting against its requests: what must be true whatever the policy did."""

import numpy as np

from grasp.schedulers.base import FloatArray
from grasp.schedulers.consolidation.bounds import just_enough
from grasp.schedulers.consolidation.demand import Demand
from grasp.schedulers.consolidation.hosting import Hosted, Site
from grasp.schedulers.faults import SimulationError

_TOLERANCE = 1e-6  # of the energy; and seconds


def verify(site: Site, asked: Demand, seen: Hosted) -> None:
    """Raise SimulationError if a request has no fate or no cause, a session was cut, or energy cannot be so.

    That the probabilities sum to 1 is verified as they move (`hosting.host`).
    """
    limits = np.array([service.limit_s for service in site.services])[asked.service]
    bad = int((~asked.hostile & (seen.response_s > limits)).sum())
    if not np.all(seen.response_s >= 0) or not bad == seen.late + seen.lost == sum(seen.causes.values()):
        raise SimulationError(
            f"{bad} requests are late or lost, but {sum(seen.causes.values())} have a cause"
        )
    cut = max(moved_sessions(site, asked, seen), seen.sessions_cut_by_stops)
    if cut:
        raise SimulationError(f"{cut} living sessions lost their server to a shutdown")
    least, most = energy_limits_wh(site, asked, seen)
    if not least * (1 - _TOLERANCE) <= seen.total_wh <= most * (1 + _TOLERANCE):
        raise SimulationError(
            f"the energy is {seen.total_wh:g} Wh; what was done takes {least:g} to {most:g} Wh"
        )


def moved_sessions(site: Site, asked: Demand, seen: Hosted) -> int:
    """Return how many requests of living sessions went to another server than the one before, which was up.

    Told by requests and answers alone: a session lives for its timeout after its last response.
    """
    order = np.lexsort((np.arange(len(asked.times)), asked.session))
    order = order[asked.session[order] >= 0]
    before, after = order[:-1], order[1:]
    timeout = np.array([service.timeout_s for service in site.services])[asked.service[before]]
    until = asked.times[before] + seen.response_s[before] + timeout
    moved = (
        (asked.session[before] == asked.session[after])
        & ~asked.last[before]
        & np.isfinite(seen.response_s[before])
        & (asked.times[after] < until - _TOLERANCE)
        & (seen.server[before] != seen.server[after])
    )
    for failure in site.failures:
        moved &= ~(
            (seen.server[before] == failure.server)
            & (asked.times[before] <= failure.at_s)
            & (failure.at_s <= asked.times[after])
        )
    return int(moved.sum())


def energy_limits_wh(site: Site, asked: Demand, seen: Hosted) -> tuple[float, float]:
    """Return the least energy that what was done can take, and the most that the servers can take.

    At each instant some servers work, at full use. The least is that of the best selection of servers which
    does as much work then; the others sleep. A failed server takes nothing, a sleeping one less than that.
    """
    speed: FloatArray = np.array([machine.speed for machine in site.machines])
    done = np.isfinite(seen.response_s)
    pace = speed[seen.server[done]]
    end = asked.times[done] + seen.response_s[done]
    moments = np.minimum(np.concatenate([end - asked.work[done] / pace, end]), asked.seconds)
    order = np.argsort(moments, kind="stable")
    load = np.round(np.cumsum(np.concatenate([pace, -pace])[order]), 6)
    lasts = np.diff(moments[order], append=asked.seconds)
    loads, which = np.unique(load, return_inverse=True)
    power = just_enough(site.machines, site.sleep, np.maximum(loads, 0))
    idle = float(moments.min()) if len(moments) else asked.seconds
    joules = float((power[which] * lasts).sum()) + idle * site.sleep.power_w * len(site.machines)
    joules -= sum(failure.repair_s for failure in site.failures) * site.sleep.power_w
    most = sum(machine.peak_w for machine in site.machines) * asked.seconds
    return joules / 3600, most / 3600
