# SPDX-License-Identifier: Apache-2.0
"""P4Info by id, checked against the program that it is to describe."""

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol, TypeVar

from finsy.proto import p4i, p4t

from grasp.targets.v1model.program import Program

from . import matches
from .errors import P4RuntimeError, invalid_argument


class _Object(Protocol):
    """What all P4Info objects have."""

    @property
    def preamble(self) -> p4i.Preamble: ...


class _Typed(Protocol):
    """A match field, a parameter or a metadata field."""

    name: str
    bitwidth: int

    @property
    def type_name(self) -> p4t.P4NamedType: ...


T = TypeVar("T", bound=_Object)


def unknown(what: str, p4_id: int) -> P4RuntimeError:
    """A refusal of an id that is not in the P4Info."""
    return invalid_argument(f"the program has no {what} with id {p4_id:#010x}")


def lookup(objects: Mapping[int, T], p4_id: int, what: str) -> T:
    """The object of an id that a client sent."""
    if p4_id not in objects:
        raise unknown(what, p4_id)
    return objects[p4_id]


class Index:
    """The objects of a P4Info by id. Where a type is translated, widths are not above the data plane's."""

    def __init__(self, info: p4i.P4Info, program: Program) -> None:
        self.info = p4i.P4Info()
        self.info.CopyFrom(info)
        self.tables = _by_id(self.info.tables)
        self.actions = _by_id(self.info.actions)
        self.actions_by_name = {action.preamble.name: action for action in self.info.actions}
        self.profiles = _by_id(self.info.action_profiles)
        self.counters = _by_id(self.info.counters)
        self.direct_counters = _by_id(self.info.direct_counters)
        self.meters = _by_id(self.info.meters)
        self.direct_meters = _by_id(self.info.direct_meters)
        self.registers = _by_id(self.info.registers)
        self.value_sets = _by_id(self.info.value_sets)
        self.digests = _by_id(self.info.digests)
        self._check(program)

    def direct_counter(self, table: p4i.Table) -> p4i.DirectCounter | None:
        """The direct counter of a table."""
        return next(
            (self.direct_counters[i] for i in table.direct_resource_ids if i in self.direct_counters), None
        )

    def direct_meter(self, table: p4i.Table) -> p4i.DirectMeter | None:
        """The direct meter of a table."""
        return next(
            (self.direct_meters[i] for i in table.direct_resource_ids if i in self.direct_meters), None
        )

    def _check(self, program: Program) -> None:
        """Refuse a P4Info of another program, or one that asks for what the target lacks."""
        _check_names("table", self.tables.values(), program.tables)
        _check_names("action", self.actions.values(), program.actions)
        _check_names("action profile", self.profiles.values(), program.profiles)
        _check_names("counter", self.counters.values(), program.counters)
        _check_names("meter", self.meters.values(), program.meters)
        _check_names("register", self.registers.values(), program.registers)
        _check_names("value set", self.value_sets.values(), program.value_sets)
        _check_names("digest", self.digests.values(), program.digests)
        for table in self.tables.values():
            self._check_table(table, program)
        for profile in self.profiles.values():
            for table_id in profile.table_ids:
                lookup(self.tables, table_id, "table")
        for action in self.actions.values():
            widths = program.actions[action.preamble.name].widths
            if len(widths) != len(action.params):
                raise _mismatch("action", action)
            for param, width in zip(action.params, widths, strict=True):
                self._set_width(param, width, action)
        for value_set in self.value_sets.values():
            if len(value_set.match) != len(program.value_sets[value_set.preamble.name].fields):
                raise _mismatch("value set", value_set)
            for field in value_set.match:
                if matches.kind(field) != "exact":
                    raise invalid_argument(
                        f"value set {value_set.preamble.name}: only exact match is supported"
                    )
                self._set_width(field, field.bitwidth, value_set)
        for header in self.info.controller_packet_metadata:
            for metadata in header.metadata:
                self._set_width(metadata, metadata.bitwidth, header)
        if self.info.externs:
            raise invalid_argument(f"extern {self.info.externs[0].extern_type_name} is not one of v1model's")

    def _check_table(self, table: p4i.Table, program: Program) -> None:
        known = program.tables[table.preamble.name]
        if len(known.fields) != len(table.match_fields):
            raise _mismatch("table", table)
        for field, key in zip(table.match_fields, known.fields, strict=True):
            if not matches.kind(field):
                name = field.other_match_type or "unspecified"
                raise invalid_argument(f"table {table.preamble.name}: match type {name} is unknown")
            self._set_width(field, key.width, table)
        for reference in table.action_refs:
            lookup(self.actions, reference.id, "action")
        if table.implementation_id:
            lookup(self.profiles, table.implementation_id, "action profile")
        for resource in table.direct_resource_ids:
            if resource not in self.direct_counters and resource not in self.direct_meters:
                raise invalid_argument(
                    f"table {table.preamble.name}: direct resource {resource:#010x} is absent"
                )

    def _set_width(self, field: _Typed, width: int, owner: _Object) -> None:
        """Make a value's width that of the data plane, unless the controller's is smaller."""
        name = field.type_name.name
        new = (
            self.info.type_info.new_types[name]
            if name in self.info.type_info.new_types
            else p4t.P4NewTypeSpec()
        )
        if new.translated_type.WhichOneof("sdn_type") == "sdn_string":
            raise invalid_argument(
                f"{owner.preamble.name}: {field.name} has type {name}, translated to strings: not supported"
            )
        field.bitwidth = min(width, field.bitwidth or width)


def _first(objects: Mapping[int, T], ids: Iterable[int]) -> T | None:
    return next((objects[p4_id] for p4_id in ids if p4_id in objects), None)


def _by_id(objects: Iterable[T]) -> dict[int, T]:
    found: dict[int, T] = {}
    for one in objects:
        if one.preamble.id in found:
            raise invalid_argument(f"P4Info: id {one.preamble.id:#010x} is used twice")
        found[one.preamble.id] = one
    return found


def _check_names(what: str, objects: Iterable[_Object], known: Collection[str]) -> None:
    for one in objects:
        if one.preamble.name not in known:
            raise _mismatch(what, one)


def _mismatch(what: str, one: _Object) -> P4RuntimeError:
    return invalid_argument(f"{what} {one.preamble.name} of the P4Info is not that of p4_device_config")
