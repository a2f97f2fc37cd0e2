# SPDX-License-Identifier: Apache-2.0
"""A P4 program as p4c's bmv2 backend writes it (BMv2 JSON), as typed objects.

p4load.py reads and checks them. Names are those of the JSON, widths are in bits, values and masks integers.
"""

from __future__ import annotations

from dataclasses import dataclass

from grasp.targets.v1model.p4values import VALID, Const, FieldRef, Ref, UnionStackField, Value


@dataclass(frozen=True, slots=True)
class Source:
    """Where an object stands in the P4 source."""

    file: str
    line: int
    fragment: str


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a header type; a variable one has its largest width (bits)."""

    name: str
    width: int
    signed: bool = False
    variable: bool = False


@dataclass(frozen=True, slots=True)
class HeaderType:
    """Fields in the order of the wire."""

    name: str
    fields: tuple[Field, ...]

    def field(self, name: str) -> Field | None:
        """The field of that name."""
        return next((field for field in self.fields if field.name == name), None)


@dataclass(frozen=True, slots=True)
class Header:
    """A header instance, or an instance of metadata."""

    name: str
    type: HeaderType
    metadata: bool


@dataclass(frozen=True, slots=True)
class Stack:
    """A header stack: names of its header instances, in order."""

    name: str
    type: HeaderType
    headers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Union:
    """A header union: its members and the header instances that hold them, in order."""

    name: str
    type: str
    members: tuple[tuple[str, str], ...]

    def header(self, member: str) -> str | None:
        """The header instance of a member."""
        return dict(self.members).get(member)


@dataclass(frozen=True, slots=True)
class UnionStack:
    """A stack of header unions: names of the unions, in order."""

    name: str
    unions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Extract:
    """Extraction into a header, the next of a stack, or a member of the next union of a stack."""

    target: Ref | UnionStackField  # UnionStackField: its `field` is empty
    length: Value | None  # of the variable field, in bits


@dataclass(frozen=True, slots=True)
class SetField:
    """Assignment in a parser."""

    target: FieldRef
    value: Value


@dataclass(frozen=True, slots=True)
class Verify:
    """verify(condition, error)."""

    condition: Value
    error: Value


@dataclass(frozen=True, slots=True)
class Advance:
    """Skip this many bits."""

    bits: Value


@dataclass(frozen=True, slots=True)
class Primitive:
    """A call of a primitive, in an action, a parser or a deparser."""

    op: str
    parameters: tuple[Value, ...]
    source: Source | None = None


ParserOp = Extract | SetField | Verify | Advance | Primitive


@dataclass(frozen=True, slots=True)
class Transition:
    """To `next_state` (None: accept) if the key is `value` under `mask`, or is in `value_set`; or always."""

    next_state: str | None
    value: int | None = None
    mask: int | None = None
    value_set: str | None = None


@dataclass(frozen=True, slots=True)
class ParserState:
    """What a parser state does, and how it goes on: transitions are tried in order, default ones last."""

    name: str
    ops: tuple[ParserOp, ...]
    key: tuple[Value, ...]
    transitions: tuple[Transition, ...]


@dataclass(frozen=True, slots=True)
class Parser:
    """The parser; `start` is None for an empty one."""

    start: str | None
    states: dict[str, ParserState]


@dataclass(frozen=True, slots=True)
class ValueSet:
    """A parser value set: width of its values without padding, and how many it may hold (0: not stated)."""

    name: str
    id: int
    width: int
    size: int


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that the control plane gives to an action."""

    name: str
    width: int


@dataclass(frozen=True, slots=True)
class Action:
    """An action."""

    name: str
    id: int
    parameters: tuple[Parameter, ...]
    primitives: tuple[Primitive, ...]


@dataclass(frozen=True, slots=True)
class CounterArray:
    """A counter; a direct one is bound to a table and has no size of its own."""

    name: str
    id: int
    size: int
    table: str | None


@dataclass(frozen=True, slots=True)
class MeterArray:
    """A meter; a direct one is bound to a table and writes its colour to `result`."""

    name: str
    id: int
    size: int
    bytes: bool
    rates: int
    table: str | None
    result: FieldRef | None


@dataclass(frozen=True, slots=True)
class RegisterArray:
    """A register array."""

    name: str
    id: int
    size: int
    width: int


@dataclass(frozen=True, slots=True)
class Calculation:
    """A hash over fields, constants and headers and, if `payload`, over what follows the parsed headers."""

    name: str
    algorithm: str
    inputs: tuple[FieldRef | Const | Ref, ...]
    payload: bool


@dataclass(frozen=True, slots=True)
class Checksum:
    """A checksum that is verified after parsing, updated before deparsing, or both."""

    name: str
    target: FieldRef
    calculation: str
    verify: bool
    update: bool
    condition: Value | None


@dataclass(frozen=True, slots=True)
class FieldList:
    """Fields that clone, resubmit and recirculate preserve, or that a digest carries."""

    name: str
    id: int
    fields: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class TableKey:
    """One element of a table's key; `mask` is applied to the value before matching."""

    name: str
    match: str  # exact, lpm, ternary, range
    value: Value
    mask: int | None


@dataclass(frozen=True, slots=True)
class KeyMatch:
    """One element of a constant entry: exact (no mask), ternary, lpm (prefix length) or a range to `end`."""

    value: int
    mask: int | None = None
    prefix: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A constant entry; a smaller priority number wins."""

    match: tuple[KeyMatch, ...]
    action: int
    data: tuple[int, ...]
    priority: int


@dataclass(frozen=True, slots=True)
class DefaultEntry:
    """What a miss does; `constant` if the control plane may not change it."""

    action: int
    data: tuple[int, ...]
    constant: bool


@dataclass(frozen=True, slots=True)
class Selector:
    """How an action selector hashes a packet to a member of a group."""

    algorithm: str
    inputs: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ActionProfile:
    """Shared action entries; with a selector, in groups too."""

    name: str
    id: int
    size: int
    selector: Selector | None


@dataclass(frozen=True, slots=True)
class Table:
    """A table. The next node depends on hit or miss where `next_hit_miss` is set, else on the action."""

    name: str
    id: int
    match: str  # the kind of lookup: exact, lpm, ternary, range
    keys: tuple[TableKey, ...]
    actions: tuple[int, ...]
    size: int
    with_counters: bool
    support_timeout: bool
    direct_meter: str | None
    profile: str | None
    default: DefaultEntry | None
    entries: tuple[Entry, ...]
    with_entries: bool  # the program has `entries`, perhaps none
    next_hit_miss: tuple[str | None, str | None] | None
    next_actions: dict[int, str | None]  # by action id
    next_default: str | None  # after a miss without a default action


@dataclass(frozen=True, slots=True)
class Conditional:
    """A condition of a control."""

    name: str
    condition: Value
    true_next: str | None
    false_next: str | None
    source: Source | None


@dataclass(frozen=True, slots=True)
class ActionCall:
    """An action called outside of a table."""

    name: str
    action: int
    next: str | None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Ingress or egress: a graph of tables, conditions and action calls from `start`."""

    name: str
    start: str | None
    tables: dict[str, Table]
    conditionals: dict[str, Conditional]
    calls: dict[str, ActionCall]
    profiles: dict[str, ActionProfile]


@dataclass(frozen=True, slots=True)
class Program:
    """A whole program; dictionaries are by name (actions, field lists and learn lists by id)."""

    name: str
    headers: dict[str, Header]
    stacks: dict[str, Stack]
    unions: dict[str, Union]
    union_stacks: dict[str, UnionStack]
    aliases: dict[str, FieldRef]  # BMv2's name of a field, e.g. intrinsic_metadata.mcast_grp
    errors: dict[str, int]
    parser: Parser
    value_sets: dict[str, ValueSet]
    deparser: tuple[str, ...]  # headers in the order of the wire
    deparser_ops: tuple[Primitive, ...]
    actions: dict[int, Action]
    ingress: Pipeline
    egress: Pipeline
    counters: dict[str, CounterArray]
    meters: dict[str, MeterArray]
    registers: dict[str, RegisterArray]
    calculations: dict[str, Calculation]
    checksums: tuple[Checksum, ...]
    field_lists: dict[int, FieldList]
    learn_lists: dict[int, FieldList]

    @property
    def tables(self) -> dict[str, Table]:
        """The tables of both pipelines."""
        return self.ingress.tables | self.egress.tables

    @property
    def profiles(self) -> dict[str, ActionProfile]:
        """The action profiles of both pipelines."""
        return self.ingress.profiles | self.egress.profiles

    def field(self, ref: FieldRef) -> Field:
        """The declaration of a field that p4load.py has checked."""
        header = self.headers[ref.header]
        if ref.field == VALID:
            return Field(ref.field, 1)
        field = header.type.field(ref.field)
        assert field is not None
        return field
