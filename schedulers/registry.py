# SPDX-License-Identifier: Apache-2.0
"""Schedulers by name: those of this package, and one's own through the entry point group grasp.schedulers."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from grasp import UserError
from grasp.schedulers.base import Scheduler, Setting
from grasp.schedulers.green import Green
from grasp.schedulers.nearest import Nearest
from grasp.schedulers.persistence import Persistence
from grasp.schedulers.round_robin import RoundRobin
from grasp.schedulers.weighted import Weighted

GROUP = "grasp.schedulers"

_KINDS: dict[str, type[Scheduler]] = {
    kind.name: kind for kind in (Green, RoundRobin, Nearest, Weighted, Persistence)
}


@cache
def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


class _Known(Mapping[str, type[Scheduler]]):
    """All schedulers; one's own are imported when they are asked for, not when they are listed."""

    def __getitem__(self, name: str) -> type[Scheduler]:
        return _KINDS[name] if name in _KINDS else _load(_points()[name])

    def __iter__(self) -> Iterator[str]:
        return iter({**_KINDS, **_points()})

    def __len__(self) -> int:
        return len({**_KINDS, **_points()})


SCHEDULERS: Mapping[str, type[Scheduler]] = _Known()


def scheduler(name: str, setting: Setting | None = None) -> Scheduler:
    """Return a new scheduler of that name, or raise a UserError that lists the known ones."""
    try:
        kind = SCHEDULERS[name]
    except KeyError:
        raise UserError(f"scheduler {name!r} is not known; choose one of {', '.join(SCHEDULERS)}") from None
    return kind(setting)


def _load(point: EntryPoint) -> type[Scheduler]:
    where = f"scheduler {point.name!r}: entry point {point.value}"
    try:
        kind = point.load()
    except Exception as error:  # whatever somebody else's module raises
        raise UserError(f"{where} cannot be loaded ({type(error).__name__}: {error})") from error
    if not (isinstance(kind, type) and issubclass(kind, Scheduler)):
        raise UserError(f"{where} is not a subclass of grasp.schedulers.base.Scheduler")
    if missing := sorted(kind.__abstractmethods__):
        raise UserError(f"{where} does not define {', '.join(missing)}")
    if getattr(kind, "name", None) != point.name:
        raise UserError(f"{where} calls itself {getattr(kind, 'name', None)!r}; both names must be the same")
    return kind
