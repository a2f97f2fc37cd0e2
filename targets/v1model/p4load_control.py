# SPDX-License-Identifier: Apache-2.0
"""Reads actions, tables, pipelines and the objects they use from BMv2 JSON, for p4load.py."""

from __future__ import annotations

from grasp.targets.v1model.p4json import (
    Action,
    ActionCall,
    ActionProfile,
    Calculation,
    Checksum,
    Conditional,
    CounterArray,
    DefaultEntry,
    Entry,
    KeyMatch,
    MeterArray,
    Parameter,
    Pipeline,
    Primitive,
    RegisterArray,
    Selector,
    Source,
    Table,
    TableKey,
)
from grasp.targets.v1model.p4reader import Node, hexadecimal
from grasp.targets.v1model.p4values import VALID, Const, FieldRef, Ref, Value, field_ref, read_value

MATCHES = ("exact", "lpm", "ternary", "range")


def action(node: Node) -> Action:
    """An action."""
    node.only("name", "id", "runtime_data", "primitives")
    parameters = []
    for item in node.nodes("runtime_data"):
        item.only("name", "bitwidth")
        parameters.append(Parameter(item.text("name"), item.width("bitwidth")))
    return Action(
        node.text("name"),
        node.number("id"),
        tuple(parameters),
        tuple(map(primitive, node.nodes("primitives"))),
    )


def primitive(node: Node) -> Primitive:
    """A call of a primitive."""
    node.only("op", "parameters")
    where = f"{node.where} '{node.text('op')}'"
    return Primitive(
        node.text("op"), tuple(read_value(item, where) for item in node.items("parameters")), source(node)
    )


def source(node: Node) -> Source | None:
    """Where the object stands in the P4 source, if the JSON says so."""
    if not node.has("source_info"):
        return None
    info = node.node("source_info")
    return Source(info.text("filename"), info.number("line"), info.text("source_fragment"))


def counter(node: Node) -> CounterArray:
    """A counter array."""
    node.only("name", "id", "size", "is_direct", "binding")
    direct = node.flag("is_direct")
    return CounterArray(
        node.text("name"),
        node.number("id"),
        0 if direct else node.number("size"),
        node.text("binding") if direct else None,
    )


def meter(node: Node) -> MeterArray:
    """A meter array."""
    node.only("name", "id", "size", "is_direct", "binding", "rate_count", "type", "result_target")
    kind, rates, direct = node.text("type"), node.number("rate_count"), node.flag("is_direct")
    if kind not in ("packets", "bytes"):
        raise node.fail(f"meters of type '{kind}' are not supported")
    if rates != 2:
        raise node.fail(f"meters have 2 rates, not {rates}")
    result = field_ref(node.raw("result_target"), node.where) if direct else None
    table = node.text("binding") if direct else None
    return MeterArray(
        node.text("name"), node.number("id"), node.number("size"), kind == "bytes", rates, table, result
    )


def register(node: Node) -> RegisterArray:
    """A register array."""
    node.only("name", "id", "size", "bitwidth")
    return RegisterArray(node.text("name"), node.number("id"), node.number("size"), node.width("bitwidth"))


def calculation(node: Node) -> Calculation:
    """A calculation."""
    node.only("name", "id", "algo", "input")
    inputs: list[FieldRef | Const | Ref] = []
    payload = False
    for item in node.nodes("input"):
        if item.raw("type") == "payload":
            payload = True
            continue
        value = read_value(
            {key: item.raw(key) for key in ("type", "value", "bitwidth") if item.has(key)}, node.where
        )
        if isinstance(value, Const) and value.width is None:
            raise node.fail("a constant input needs a bitwidth")
        if not isinstance(value, FieldRef | Const) and not (
            isinstance(value, Ref) and value.kind == "header"
        ):
            raise node.fail(f"inputs of type '{item.raw('type')}' are not supported by the embedded target")
        inputs.append(value)
    return Calculation(node.text("name"), node.text("algo"), tuple(inputs), payload)


def checksum(node: Node) -> Checksum:
    """A checksum."""
    node.only("name", "id", "target", "type", "calculation", "verify", "update", "if_cond")
    if node.text("type") != "generic":
        raise node.fail(f"checksums of type '{node.text('type')}' are not supported, only 'generic' is")
    return Checksum(
        node.text("name"),
        field_ref(node.raw("target"), node.where),
        node.text("calculation"),
        node.flag("verify", True),
        node.flag("update", True),
        read_value(node.raw("if_cond"), node.where) if node.has("if_cond") else None,
    )


def pipeline(node: Node, actions: dict[int, Action]) -> Pipeline:
    """Ingress or egress."""
    node.only("name", "id", "init_table", "tables", "action_profiles", "conditionals", "action_calls")
    return Pipeline(
        node.text("name"),
        node.optional_text("init_table"),
        {item.text("name"): _table(item, actions) for item in node.nodes("tables")},
        {item.text("name"): _conditional(item) for item in node.nodes("conditionals")},
        {item.text("name"): _call(item) for item in node.nodes("action_calls")},
        {item.text("name"): _profile(item) for item in node.nodes("action_profiles")},
    )


def _conditional(node: Node) -> Conditional:
    node.only("name", "id", "expression", "true_next", "false_next")
    return Conditional(
        node.text("name"),
        read_value(node.raw("expression"), node.where),
        node.optional_text("true_next"),
        node.optional_text("false_next"),
        source(node),
    )


def _call(node: Node) -> ActionCall:
    node.only("name", "id", "action_id", "next_node")
    return ActionCall(node.text("name"), node.number("action_id"), node.optional_text("next_node"))


def _profile(node: Node) -> ActionProfile:
    node.only("name", "id", "max_size", "selector")
    selector = None
    if node.has("selector"):
        inner = node.node("selector")
        inner.only("algo", "input")
        inputs = tuple(read_value(item, inner.where) for item in inner.items("input"))
        selector = Selector(inner.text("algo"), inputs)
    return ActionProfile(node.text("name"), node.number("id"), node.number("max_size"), selector)


def _table(node: Node, actions: dict[int, Action]) -> Table:
    node.only(
        *(
            "name",
            "id",
            "key",
            "match_type",
            "type",
            "max_size",
            "with_counters",
            "support_timeout",
            "direct_meters",
        ),
        *(
            "action_ids",
            "actions",
            "base_default_next",
            "next_tables",
            "default_entry",
            "entries",
            "action_profile",
        ),
    )
    match, kind = node.text("match_type"), node.text("type")
    if match not in MATCHES:
        raise node.fail(f"match type '{match}' is not supported by the embedded target")
    if kind not in ("simple", "indirect", "indirect_ws"):
        raise node.fail(f"tables of type '{kind}' are not supported by the embedded target")
    keys = tuple(_key(item) for item in node.nodes("key"))
    ids = tuple(node.numbers("action_ids"))
    if not node.has("action_ids"):  # older compilers give names alone
        names = [str(name) for name in node.items("actions")]
        ids = tuple(number for number, found in actions.items() if found.name in names)
    if unknown := [number for number in ids if number not in actions]:
        raise node.fail(f"there is no action with id {unknown[0]}")
    hit_miss, by_action = _next_nodes(node, ids, actions)
    return Table(
        node.text("name"),
        node.number("id"),
        match,
        keys,
        ids,
        node.number("max_size"),
        node.flag("with_counters"),
        node.flag("support_timeout"),
        node.optional_text("direct_meters"),
        None if kind == "simple" else node.text("action_profile"),
        _default(node.node("default_entry"), actions) if node.has("default_entry") else None,
        tuple(_entry(item, keys, actions) for item in node.nodes("entries")),
        node.has("entries"),
        hit_miss,
        by_action,
        node.optional_text("base_default_next"),
    )


def _next_nodes(
    node: Node, ids: tuple[int, ...], actions: dict[int, Action]
) -> tuple[tuple[str | None, str | None] | None, dict[int, str | None]]:
    """Next nodes by hit and miss, or by action."""
    following = node.node("next_tables")
    if following.has("__HIT__") or following.has("__MISS__"):
        following.only("__HIT__", "__MISS__")
        return (following.optional_text("__HIT__"), following.optional_text("__MISS__")), {}
    names = {actions[number].name for number in ids}
    following.only(*names)
    return None, {number: following.optional_text(actions[number].name) for number in ids}


def _key(node: Node) -> TableKey:
    node.only("match_type", "name", "target", "mask")
    match, target = node.text("match_type"), node.raw("target")
    mask = node.hexadecimal("mask") if node.has("mask") else None
    value: Value
    if match == "valid":
        match, value = "exact", FieldRef(node.text("target"), VALID)
    elif isinstance(target, dict):
        value = read_value(target, node.where)
    else:
        value = field_ref(target, node.where)
    if match not in MATCHES:
        raise node.fail(f"match type '{match}' is not supported by the embedded target")
    name = node.optional_text("name") or ".".join(map(str, target if isinstance(target, list) else [target]))
    return TableKey(name, match, value, mask)


def _default(node: Node, actions: dict[int, Action]) -> DefaultEntry:
    node.only("action_id", "action_const", "action_data", "action_entry_const")
    number, data = _arguments(node, actions)
    return DefaultEntry(number, data, node.flag("action_const") or node.flag("action_entry_const"))


def _arguments(node: Node, actions: dict[int, Action]) -> tuple[int, tuple[int, ...]]:
    number = node.number("action_id")
    if number not in actions:
        raise node.fail(f"there is no action with id {number}")
    called, data = actions[number], tuple(hexadecimal(item, node.where) for item in node.items("action_data"))
    if len(data) != len(called.parameters):
        raise node.fail(f"action '{called.name}' takes {len(called.parameters)} values, not {len(data)}")
    widths = [parameter.width for parameter in called.parameters]
    return number, tuple(value & (1 << width) - 1 for value, width in zip(data, widths, strict=True))


def _entry(node: Node, keys: tuple[TableKey, ...], actions: dict[int, Action]) -> Entry:
    node.only("match_key", "action_entry", "priority")
    elements = node.nodes("match_key")
    if len(elements) != len(keys):
        raise node.fail(f"the entry has {len(elements)} key elements, the table {len(keys)}")
    number, data = _arguments(node.node("action_entry"), actions)
    return Entry(tuple(map(_match, elements, keys)), number, data, node.number("priority"))


def _match(node: Node, key: TableKey) -> KeyMatch:
    node.only("match_type", "key", "mask", "prefix_length", "start", "end")
    kind = node.text("match_type")
    if kind == "valid":
        return KeyMatch(int(node.flag("key")))
    if kind != key.match:
        raise node.fail(f"the entry matches '{kind}' where the table has '{key.match}'")
    match kind:
        case "exact":
            return KeyMatch(node.hexadecimal("key"))
        case "lpm":
            return KeyMatch(node.hexadecimal("key"), prefix=node.number("prefix_length"))
        case "ternary":
            return KeyMatch(node.hexadecimal("key"), mask=node.hexadecimal("mask"))
    return KeyMatch(node.hexadecimal("start"), end=node.hexadecimal("end"))
