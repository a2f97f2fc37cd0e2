# SPDX-License-Identifier: Apache-2.0
"""Schedulers by name."""

from collections.abc import Mapping
from types import MappingProxyType

from grasp import UserError
from grasp.schedulers.base import Scheduler
from grasp.schedulers.green import Green
from grasp.schedulers.round_robin import RoundRobin

_KINDS: tuple[type[Scheduler], ...] = (Green, RoundRobin)

SCHEDULERS: Mapping[str, type[Scheduler]] = MappingProxyType({kind.name: kind for kind in _KINDS})


def scheduler(name: str) -> Scheduler:
    """Return a new scheduler of that name, or raise a UserError that lists the known ones."""
    try:
        return SCHEDULERS[name]()
    except KeyError:
        raise UserError(f"scheduler {name!r} is not known; choose one of {', '.join(SCHEDULERS)}") from None
