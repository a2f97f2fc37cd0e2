# SPDX-License-Identifier: Apache-2.0
"""Reads BMv2 JSON into the objects of p4json.py; what the embedded target lacks is refused with a UserError.

The format is the one of BMv2's docs/JSON_format.md, as written by p4c's bmv2 backend for v1model.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from grasp import UserError
from grasp.targets.v1model import p4load_control as control
from grasp.targets.v1model.p4check import check
from grasp.targets.v1model.p4json import (
    Advance,
    Extract,
    Field,
    FieldList,
    Header,
    HeaderType,
    Parser,
    ParserOp,
    ParserState,
    Program,
    SetField,
    Stack,
    Transition,
    Union,
    UnionStack,
    ValueSet,
    Verify,
)
from grasp.targets.v1model.p4reader import Node, checked_width
from grasp.targets.v1model.p4values import Const, FieldRef, Ref, UnionStackField, field_ref, read_value

_T = TypeVar("_T")
_KNOWN = (
    *(
        "header_types",
        "headers",
        "header_stacks",
        "header_union_types",
        "header_unions",
        "header_union_stacks",
    ),
    *(
        "field_aliases",
        "field_lists",
        "learn_lists",
        "errors",
        "enums",
        "parsers",
        "parse_vsets",
        "deparsers",
    ),
    *(
        "actions",
        "pipelines",
        "calculations",
        "checksums",
        "counter_arrays",
        "meter_arrays",
        "register_arrays",
    ),
)
# Known, and without a meaning here: force_arith says which fields must be numbers, and here all are.
_UNUSED = ("program", "__meta__", "force_arith")


def load(text: str | bytes) -> Program:
    """The program in a BMv2 JSON document."""
    try:
        return parse(json.loads(text))
    except ValueError as error:
        raise UserError(f"the program is not BMv2 JSON: {error}") from None
    except RecursionError:
        raise UserError("the program is not BMv2 JSON: it is nested too deeply") from None


def parse(document: Any) -> Program:
    """The program in a decoded BMv2 JSON document, checked."""
    root = Node(document, "top level")
    root.only(*_KNOWN, *_UNUSED)
    for key in ("parsers", "pipelines"):
        if not root.has(key):
            raise root.fail(f"this is not a BMv2 program: '{key}' is missing")
    if root.has("__meta__") and (version := root.node("__meta__").items("version"))[:1] != [2]:
        raise root.fail(f"format version {version} is not supported, only 2.x is")
    types = _by_name(root, "header_types", _header_type)
    ids = {node.number("id"): node.text("name") for node in root.nodes("headers")}
    unions, union_stacks = _unions(root, ids)
    actions = {node.number("id"): control.action(node) for node in root.nodes("actions")}
    pipelines = _by_name(root, "pipelines", lambda node: control.pipeline(node, actions))
    if wrong := pipelines.keys() ^ {"ingress", "egress"}:
        raise root.fail(
            f"v1model has the pipelines 'ingress' and 'egress': '{min(wrong)}' is missing or too much"
        )
    deparser = _single(root, "deparsers")
    deparser.only("name", "id", "order", "primitives")
    program = Program(
        name=root.optional_text("program") or "program",
        headers=_by_name(root, "headers", lambda node: _header(node, types)),
        stacks=_by_name(root, "header_stacks", lambda node: _stack(node, types, ids)),
        unions=unions,
        union_stacks=union_stacks,
        aliases={alias: field_ref(value, "field_aliases") for alias, value in root.pairs("field_aliases")},
        errors=_errors(root),
        parser=_parser(_single(root, "parsers")),
        value_sets=_by_name(root, "parse_vsets", _value_set),
        deparser=tuple(map(str, deparser.items("order"))),
        deparser_ops=tuple(control.primitive(node) for node in deparser.nodes("primitives")),
        actions=actions,
        ingress=pipelines["ingress"],
        egress=pipelines["egress"],
        counters=_by_name(root, "counter_arrays", control.counter),
        meters=_by_name(root, "meter_arrays", control.meter),
        registers=_by_name(root, "register_arrays", control.register),
        calculations=_by_name(root, "calculations", control.calculation),
        checksums=tuple(control.checksum(node) for node in root.nodes("checksums")),
        field_lists={node.number("id"): _field_list(node) for node in root.nodes("field_lists")},
        learn_lists={node.number("id"): _field_list(node) for node in root.nodes("learn_lists")},
    )
    check(program)
    return program


def _by_name(root: Node, key: str, read: Callable[[Node], _T]) -> dict[str, _T]:
    """The objects of an array, by name."""
    found: dict[str, _T] = {}
    for node in root.nodes(key):
        if (name := node.text("name")) in found:
            raise node.fail("there are two of this name")
        found[name] = read(node)
    return found


def _single(root: Node, key: str) -> Node:
    nodes = root.nodes(key)
    if len(nodes) != 1:
        raise root.fail(f"expected one object in '{key}', found {len(nodes)}")
    return nodes[0]


def _header_type(node: Node) -> HeaderType:
    node.only("name", "id", "fields", "max_length")
    name, fields, fixed = node.text("name"), [], 0
    for item in node.items("fields"):
        if not (isinstance(item, list) and len(item) in (2, 3) and isinstance(item[0], str)):
            raise node.fail(f"not a field: {item!r}")
        variable = item[1] == "*"
        if not variable and not isinstance(item[1], int):
            raise node.fail(f"field '{item[0]}' has no width: {item[1]!r}")
        if variable:
            fields.append(Field(item[0], 0, variable=True))
            continue
        width = checked_width(item[1], f"{node.where}, field '{item[0]}'")
        fields.append(Field(item[0], width, signed=len(item) == 3 and bool(item[2])))
        fixed += width
    if sum(field.variable for field in fields) > 1:
        raise node.fail("a header can only have one variable field")
    if any(field.variable for field in fields):  # its width is what the longest header leaves
        width = checked_width(8 * node.number("max_length") - fixed, node.where)
        fields = [Field(field.name, width, variable=True) if field.variable else field for field in fields]
    return HeaderType(name, tuple(fields))


def _header(node: Node, types: dict[str, HeaderType]) -> Header:
    node.only("name", "id", "header_type", "metadata", "pi_omit")
    return Header(node.text("name"), _lookup(node, "header_type", types), node.flag("metadata"))


def _stack(node: Node, types: dict[str, HeaderType], names: dict[int, str]) -> Stack:
    node.only("name", "id", "header_type", "size", "header_ids")
    return Stack(node.text("name"), _lookup(node, "header_type", types), _by_id(node, "header_ids", names))


def _unions(root: Node, ids: dict[int, str]) -> tuple[dict[str, Union], dict[str, UnionStack]]:
    def members(node: Node) -> list[str]:
        node.only("name", "id", "headers")
        return [member for member, _ in node.pairs("headers")]

    def union(node: Node) -> Union:
        node.only("name", "id", "union_type", "header_ids", "pi_omit")
        kind, headers = _lookup(node, "union_type", types), _by_id(node, "header_ids", ids)
        if len(kind) != len(headers):
            raise node.fail("the union and its type differ in the number of members")
        return Union(node.text("name"), node.text("union_type"), tuple(zip(kind, headers, strict=True)))

    def stack(node: Node) -> UnionStack:
        node.only("name", "id", "union_type", "size", "header_union_ids")
        return UnionStack(node.text("name"), _by_id(node, "header_union_ids", union_ids))

    types = _by_name(root, "header_union_types", members)
    union_ids = {node.number("id"): node.text("name") for node in root.nodes("header_unions")}
    return _by_name(root, "header_unions", union), _by_name(root, "header_union_stacks", stack)


def _errors(root: Node) -> dict[str, int]:
    found = {}
    for name, value in root.pairs("errors"):
        if not isinstance(value, int) or value < 0:
            raise root.fail(f"the error '{name}' needs a number, not {value!r}")
        found[name] = value
    return found


def _lookup(node: Node, key: str, table: dict[str, _T]) -> _T:
    name = node.text(key)
    if name not in table:
        raise node.fail(f"there is no {key} '{name}'")
    return table[name]


def _by_id(node: Node, key: str, names: dict[int, str]) -> tuple[str, ...]:
    ids = node.numbers(key)
    for number in ids:
        if number not in names:
            raise node.fail(f"'{key}' names {number}, which does not exist")
    return tuple(names[number] for number in ids)


def _parser(node: Node) -> Parser:
    node.only("name", "id", "init_state", "parse_states")
    states = {state.text("name"): _state(state) for state in node.nodes("parse_states")}
    start = node.optional_text("init_state")
    return Parser(start if states else None, states)


def _state(node: Node) -> ParserState:
    node.only("name", "id", "parser_ops", "transitions", "transition_key")
    transitions = [_transition(item) for item in node.nodes("transitions")]
    fixed = [item for item in transitions if item.value is not None or item.value_set is not None]
    default = [item for item in transitions if item not in fixed]
    return ParserState(
        node.text("name"),
        tuple(_parser_op(op) for op in node.nodes("parser_ops")),
        tuple(read_value(key, node.where) for key in node.items("transition_key")),
        (*fixed, *default[-1:]),
    )


def _transition(node: Node) -> Transition:
    node.only("type", "value", "mask", "next_state")
    kind, target = node.optional_text("type") or "hexstr", node.optional_text("next_state")
    mask = node.hexadecimal("mask") if node.has("mask") else None
    if kind == "default" or node.raw("value") == "default":
        return Transition(target)
    if kind == "parse_vset":
        return Transition(target, mask=mask, value_set=node.text("value"))
    if kind == "hexstr":
        return Transition(target, node.hexadecimal("value"), mask)
    raise node.fail(f"transitions of type '{kind}' are not supported by the embedded target")


def _parser_op(node: Node) -> ParserOp:
    node.only("op", "parameters")
    op, parameters, where = node.text("op"), node.items("parameters"), node.where
    expected = {
        "extract": 1,
        "extract_VL": 2,
        "set": 2,
        "verify": 2,
        "shift": 1,
        "advance": 1,
        "primitive": 1,
    }
    if op not in expected:
        raise node.fail(f"parser operation '{op}' is not supported by the embedded target")
    if len(parameters) != expected[op]:
        raise node.fail(f"parser operation '{op}' takes {expected[op]} parameters, not {len(parameters)}")
    match op:
        case "extract" | "extract_VL":
            length = read_value(parameters[1], where) if op == "extract_VL" else None
            return Extract(_extract_target(Node(parameters[0], where)), length)
        case "set":
            target = read_value(parameters[0], where)
            if not isinstance(target, FieldRef):
                raise node.fail("only a field can be set")
            return SetField(target, read_value(parameters[1], where))
        case "verify":
            error = parameters[1]
            return Verify(
                read_value(parameters[0], where),
                Const(error) if isinstance(error, int) else read_value(error, where),
            )
        case "shift":
            return Advance(Const(8 * int(parameters[0])))
        case "advance":
            return Advance(read_value(parameters[0], where))
    return control.primitive(Node(parameters[0], where))


def _extract_target(node: Node) -> Ref | UnionStackField:
    match node.text("type"):
        case "regular":
            return Ref("header", node.text("value"))
        case "stack":
            return Ref("header_stack", node.text("value"))
        case "union_stack":
            stack, member = node.items("value")
            return UnionStackField(stack, member, "")
    raise node.fail(f"extraction to '{node.text('type')}' is not supported by the embedded target")


def _value_set(node: Node) -> ValueSet:
    node.only("name", "id", "compressed_bitwidth", "max_size")
    size = node.number("max_size") if node.has("max_size") else 0
    return ValueSet(node.text("name"), node.number("id"), node.width("compressed_bitwidth"), size)


def _field_list(node: Node) -> FieldList:
    node.only("name", "id", "elements")
    return FieldList(
        node.text("name"),
        node.number("id"),
        tuple(read_value(item, node.where) for item in node.items("elements")),
    )
