# SPDX-License-Identifier: Apache-2.0
"""Which scheduler a control plane can run."""

from grasp import UserError
from grasp.schedulers.base import Scheduler
from grasp.schedulers.registry import scheduler


def rule_for_switches(name: str) -> Scheduler:
    """Return the scheduler of a name, for switches that give each job to the largest headroom.

    Raises UserError if there is none of that name, or if it decides in another way: what the switches would
    do with its budgets would not be what it says.
    """
    rule = scheduler(name)
    if type(rule).choose is not Scheduler.choose:
        raise UserError(
            f"scheduler {name!r} decides job by job, which P4 switches cannot: they go by the sites' budgets;"
            " an OpenFlow controller can run it"
        )
    return rule


def rule_for_controller(name: str) -> Scheduler:
    """Return the scheduler of a name, for a controller that decides about every job.

    Raises UserError if there is none of that name, or if it goes by where jobs come from: nobody says here
    which client is at which of its places.
    """
    rule = scheduler(name)
    if rule.origins > 1:
        raise UserError(
            f"scheduler {name!r} goes by where jobs come from, which a network does not tell it: only the"
            " simulator (grasp simulate) can run it"
        )
    return rule
