# SPDX-License-Identifier: Apache-2.0
"""Entities by kind: where each message carries its P4 object's id, and how objects of one kind are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from finsy.proto import p4r

from .errors import invalid_argument
from .p4info import unknown

# Member of the Entity message -> the id of the P4 object that it belongs to; 0 means all objects in a read.
ID_OF: Mapping[str, Callable[[Any], int]] = {
    "table_entry": lambda message: message.table_id,
    "direct_counter_entry": lambda message: message.table_entry.table_id,
    "direct_meter_entry": lambda message: message.table_entry.table_id,
    "action_profile_member": lambda message: message.action_profile_id,
    "action_profile_group": lambda message: message.action_profile_id,
    "counter_entry": lambda message: message.counter_id,
    "meter_entry": lambda message: message.meter_id,
    "register_entry": lambda message: message.register_id,
    "value_set_entry": lambda message: message.value_set_id,
    "digest_entry": lambda message: message.digest_id,
}


def p4_id(entity: p4r.Entity) -> int | None:
    """The id of the P4 object that an entity belongs to; None if its kind has no objects."""
    which = entity.WhichOneof("entity")
    return None if which is None or which not in ID_OF else ID_OF[which](getattr(entity, which))


class Store(Protocol):
    """What takes updates of, and answers reads for, one P4 object or the replication engine."""

    def write(self, kind: p4r.Update.Type.ValueType, message: Any, /) -> None:
        """Apply one update."""

    def read(self, message: Any, /) -> Iterator[Any]:
        """The messages that a request selects."""


@dataclass(frozen=True)
class Facet:
    """A store made of two functions."""

    write: Callable[[p4r.Update.Type.ValueType, Any], None]
    read: Callable[[Any], Iterator[Any]]


@dataclass(frozen=True)
class ById:
    """The stores of one kind of entity by the id of their P4 objects."""

    which: str  # member of the Entity message
    stores: Mapping[int, Store]

    def write(self, kind: p4r.Update.Type.ValueType, message: Any) -> None:
        """Apply an update to the object that it names."""
        self._find(ID_OF[self.which](message)).write(kind, message)

    def read(self, message: Any) -> Iterator[Any]:
        """What the named object, or all of them, have for a request."""
        number = ID_OF[self.which](message)
        for store in [self._find(number)] if number else self.stores.values():
            yield from store.read(message)

    def _find(self, number: int) -> Store:
        if number not in self.stores:
            raise unknown(self.which.removesuffix("_entry").replace("_", " "), number)
        return self.stores[number]


def modify_only(kind: p4r.Update.Type.ValueType, what: str) -> None:
    """Refuse to insert or delete what always exists."""
    if kind != p4r.Update.MODIFY:
        raise invalid_argument(f"{what} can only be modified")
