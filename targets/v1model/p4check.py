# SPDX-License-Identifier: Apache-2.0
"""Checks that whatever a program names exists, and that the embedded target has what it uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from grasp import UserError
from grasp.targets.v1model.p4json import Action, Checksum, Conditional, Parser, ParserState, Pipeline, Program
from grasp.targets.v1model.p4values import VALID, FieldRef, Local, Ref, StackField, UnionStackField

HASHES = frozenset(("crc16", "crc32", "crc16_custom", "crc32_custom", "csum16", "xor16", "identity"))


def check(program: Program) -> None:
    """Raise a UserError at the first thing that is missing, or that the target lacks."""
    if unknown := {"standard_metadata"} - program.headers.keys():
        raise _fail(f"metadata '{unknown.pop()}' is missing: this is not a v1model program")
    for header in program.headers.values():
        if not header.metadata and sum(field.width for field in header.type.fields) % 8:
            raise _fail(f"header '{header.name}' is not a whole number of bytes")
    for value in _walk(program):
        _check_reference(program, value)
        if isinstance(value, Action):
            _check_locals(f"action '{value.name}'", value.primitives, len(value.parameters))
        elif isinstance(value, Conditional | ParserState | Checksum):
            _check_locals(f"'{value.name}'", value, 0)
    for calculation in program.calculations.values():
        _check_hash(f"calculation '{calculation.name}'", calculation.algorithm)
    for checksum in program.checksums:
        if checksum.calculation not in program.calculations:
            raise _fail(
                f"checksum '{checksum.name}' names the calculation '{checksum.calculation}', which is missing"
            )
    for name in program.deparser:
        if name not in program.headers:
            raise _fail(f"the deparser emits the header '{name}', which is missing")
    _check_parser(program.parser, program)
    for pipeline in (program.ingress, program.egress):
        _check_pipeline(pipeline, program)


def _fail(what: str) -> UserError:
    return UserError(f"BMv2 JSON: {what}")


def _walk(value: Any) -> Iterator[Any]:
    """Every object below `value`."""
    if is_dataclass(value):
        yield value
        for field in fields(value):
            yield from _walk(getattr(value, field.name))
    elif isinstance(value, dict):
        for item in value.values():
            yield from _walk(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _walk(item)


def _check_reference(program: Program, value: object) -> None:
    match value:
        case FieldRef(header, field):
            if header not in program.headers:
                raise _fail(f"field '{header}.{field}': there is no header '{header}'")
            if field != VALID and program.headers[header].type.field(field) is None:
                raise _fail(f"header '{header}' has no field '{field}'")
        case Ref(kind, name):
            objects: dict[str, dict[str, Any]] = {
                "header": program.headers,
                "header_stack": program.stacks,
                "header_union": program.unions,
                "header_union_stack": program.union_stacks,
                "calculation": program.calculations,
                "meter_array": program.meters,
                "counter_array": program.counters,
                "register_array": program.registers,
            }
            if name not in objects[kind]:
                raise _fail(f"there is no {kind} '{name}'")
        case StackField(stack, field):
            if stack not in program.stacks or program.stacks[stack].type.field(field) is None:
                raise _fail(f"there is no header stack '{stack}' with a field '{field}'")
        case UnionStackField(stack, member, field):
            names = program.union_stacks[stack].unions if stack in program.union_stacks else ()
            holder = program.unions[names[0]].header(member) if names else None
            if holder is None or (field and program.headers[holder].type.field(field) is None):
                raise _fail(f"there is no stack '{stack}' of header unions with '{member}.{field}'")


def _check_locals(where: str, scope: object, parameters: int) -> None:
    for value in _walk(scope):
        if isinstance(value, Local) and value.index >= parameters:
            raise _fail(f"{where} uses parameter number {value.index}, which is missing")


def _check_hash(where: str, algorithm: str) -> None:
    if algorithm not in HASHES:
        raise _fail(f"{where}: the hash algorithm '{algorithm}' is not supported by the embedded target")


def _check_parser(parser: Parser, program: Program) -> None:
    targets = [parser.start] if parser.start else []
    for state in parser.states.values():
        for transition in state.transitions:
            targets += [transition.next_state] if transition.next_state else []
            if transition.value_set is not None and transition.value_set not in program.value_sets:
                raise _fail(f"parser state '{state.name}': there is no value set '{transition.value_set}'")
    for target in targets:
        if target not in parser.states:
            raise _fail(f"there is no parser state '{target}'")


def _check_pipeline(pipeline: Pipeline, program: Program) -> None:
    following = [pipeline.start]
    for table in pipeline.tables.values():
        following += [*(table.next_hit_miss or ()), *table.next_actions.values(), table.next_default]
        if table.profile is not None and table.profile not in program.profiles:
            raise _fail(f"table '{table.name}' names the action profile '{table.profile}', which is missing")
        if table.direct_meter is not None and table.direct_meter not in program.meters:
            raise _fail(
                f"table '{table.name}' names the direct meter '{table.direct_meter}', which is missing"
            )
        if sum(key.match == "lpm" for key in table.keys) > 1:
            raise _fail(f"table '{table.name}' has two lpm keys")
    for conditional in pipeline.conditionals.values():
        following += [conditional.true_next, conditional.false_next]
    for call in pipeline.calls.values():
        following.append(call.next)
        if call.action not in program.actions:
            raise _fail(f"action call '{call.name}' names the action {call.action}, which is missing")
    for profile in pipeline.profiles.values():
        if profile.selector is not None:
            _check_hash(f"action selector '{profile.name}'", profile.selector.algorithm)
    nodes = pipeline.tables.keys() | pipeline.conditionals.keys() | pipeline.calls.keys()
    for name in following:
        if name is not None and name not in nodes:
            raise _fail(f"pipeline '{pipeline.name}' goes on to '{name}', which is missing")
