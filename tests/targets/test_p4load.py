# SPDX-License-Identifier: Apache-2.0
"""What a program asks and the target lacks is refused, in one line that names it; nothing is ignored."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grasp import UserError
from grasp.targets.v1model.p4load import load, parse
from grasp.targets.v1model.translate import translate

from .documents import PROGRAMS, document, field, hexstr, operation, switch

FIELDS = [("a", 8, False), ("b", 16, False)]


EVERYTHING = (PROGRAMS / "everything.json").read_text()


def program():
    return document(FIELDS, [{"op": "assign", "parameters": [field("h", "a"), hexstr(1)]}])


def refusal(json_document):
    with pytest.raises(UserError) as caught:
        translate(parse(json_document))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def primitive(op, *parameters):
    return document(FIELDS, [{"op": op, "parameters": list(parameters)}])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (b"", "not BMv2 JSON"), (b"\xff\xfe", "not BMv2 JSON"),
        (b"[1, 2]", "expected an object"), (b"{}", "'parsers'"), (b"[" * 100_000, "nested too deeply"),
        (b'{"parsers": [], "pipelines": []}', "'egress'"),
        (b'{"parsers": [{}], "pipelines": [{}], "__meta__": {"version": [3, 0]}}', "version [3, 0]"),
    ],
)  # fmt: skip
def test_not_a_program(text, named):
    with pytest.raises(UserError) as caught:
        load(text)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("extern_instances",), [{"name": "e", "id": 0, "type": "t"}], "'extern_instances'"),
        (("something_new",), [1], "'something_new'"),
        (("pipelines", 0, "name"), "egress2", "'egress2'"),
        (("pipelines", 0, "new_key"), {"x": 1}, "pipelines 'ingress'"),
        (("pipelines", 0, "init_table"), "nowhere", "'nowhere'"),
        (("pipelines", 0, "tables", 0, "match_type"), "magic", "'magic'"),
        (("pipelines", 0, "tables", 0, "type"), "indirect_magic", "'indirect_magic'"),
        (("pipelines", 0, "tables", 0, "action_ids"), [5], "no action with id 5"),
        (("pipelines", 0, "tables", 0, "next_tables"), {"act": None, "other": "x"}, "'other'"),
        (("pipelines", 0, "tables", 0, "direct_meters"), "m", "direct meter 'm'"),
        (("pipelines", 0, "tables", 0, "max_size"), -1, "'max_size'"),
        (("pipelines", 0, "tables", 0, "key"),
         [{"match_type": "exact", "target": ["h", "zz"], "mask": None, "name": "k"}], "no field 'zz'"),
        (("pipelines", 0, "tables", 0, "key"),
         [{"match_type": "fuzzy", "target": ["h", "a"], "mask": None, "name": "k"}], "'fuzzy'"),
        (("pipelines", 0, "tables", 0, "key"),
         [{"match_type": "lpm", "target": ["h", one], "mask": None, "name": one} for one in "ab"],
         "two lpm keys"),
        (("header_types", 0, "fields"), [["a", 9, False]], "whole number of bytes"),
        (("header_types", 0, "fields"), [["a", 0, False]], "field 'a'"),
        (("header_types", 0, "fields"), [["a", 1 << 20, False]], "field 'a'"),
        (("actions", 0, "runtime_data"), [{"name": "p", "bitwidth": 0}], "0 bits"),
        (("register_arrays",), [{"name": "r", "id": 0, "size": 1, "bitwidth": 1 << 40}], "'r'"),
        (("header_types", 0, "fields"), [["a", "*"], ["b", "*"]], "one variable field"),
        (("headers", 0, "header_type"), "unknown_t", "'unknown_t'"),
        (("headers", 1, "name"), "other_metadata", "standard_metadata"),
        (("deparsers", 0, "order"), ["h", "ghost"], "'ghost'"),
        (("parsers", 0, "init_state"), "nowhere", "'nowhere'"),
        (("parsers", 0, "parse_states", 0, "transitions", 0, "next_state"), "lost", "'lost'"),
        (("parsers", 0, "parse_states", 0, "transitions", 0, "type"), "magic", "'magic'"),
        (("parsers", 0, "parse_states", 0, "parser_ops", 0, "op"), "teleport", "'teleport'"),
        (("parsers", 0, "parse_states", 0, "parser_ops", 0, "parameters", 0, "value"), "ghost", "'ghost'"),
        (("calculations",), [{"name": "c", "id": 0, "algo": "md5", "input": []}], "'md5'"),
        (("calculations",), [{"name": "c", "id": 0, "algo": "random", "input": []}], "'random'"),
        (("checksums",),
         [{"name": "k", "id": 0, "target": ["h", "b"], "type": "ipv4", "calculation": "c"}], "'ipv4'"),
        (("checksums",),
         [{"name": "k", "id": 0, "target": ["h", "b"], "type": "generic", "calculation": "c"}], "'c'"),
        (("meter_arrays",),
         [{"name": "m", "id": 0, "size": 1, "is_direct": False, "rate_count": 3, "type": "bytes"}], "3"),
        (("meter_arrays",),
         [{"name": "m", "id": 0, "size": 1, "is_direct": False, "rate_count": 2, "type": "hours"}],
         "'hours'"),
        (("field_aliases",), [["intrinsic_metadata.moon", ["standard_metadata", "egress_spec"]]], "moon"),
    ],
)  # fmt: skip
def test_parts_of_a_program(path, value, named):
    changed = program()
    parent = changed
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = value
    assert named in refusal(changed)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (primitive("fly_to_the_moon"), "'fly_to_the_moon'"),
        (primitive("assign", field("h", "a")), "'assign' takes 2 parameters, not 1"),
        (primitive("assign", field("h", "a"), {"type": "oracle", "value": 1}), "'oracle'"),
        (primitive("assign", field("h", "a"), operation("**", field("h", "a"), hexstr(2))), "'**'"),
        (primitive("assign", field("h", "a"), operation("+", field("h", "a"), None)), "'right'"),
        (primitive("assign", field("h", "a"), {"type": "hexstr", "value": "0xzz"}), "0xzz"),
        (primitive("assign", field("ghost", "a"), hexstr(1)), "'ghost'"),
        (primitive("assign", hexstr(1), hexstr(1)), "not a field"),
        (
            primitive(
                "assign",
                field("h", "a"),
                operation("/", operation("-", field("h", "a"), hexstr(9)), hexstr(2)),
            ),
            "'/'",
        ),
        (primitive("assign", field("h", "a"), operation("<<", field("h", "a"), field("h", "b"))), "shift"),
        (primitive("add_header", {"type": "header", "value": "ghost"}), "'ghost'"),
        (primitive("push", {"type": "header_stack", "value": "ghost"}, hexstr(1)), "'ghost'"),
        (
            primitive("register_read", field("h", "a"), {"type": "register_array", "value": "r"}, hexstr(0)),
            "'r'",
        ),
        (primitive("resubmit", hexstr(4)), "field list 4"),
        (primitive("generate_digest", hexstr(1), hexstr(3)), "learn list 3"),
        (primitive("assign", field("h", "a"), {"type": "runtime_data", "value": 0}), "parameter number 0"),
        (
            primitive("assign", field("h", "a"), operation("two_comp_mod", field("h", "a"), hexstr(0))),
            "0 bits",
        ),
        (
            primitive("assign", field("h", "a"), operation("sat_cast", field("h", "a"), field("h", "b"))),
            "'sat_cast'",
        ),
        (primitive("_jump", hexstr(17)), "17"),
        (primitive("_jump", field("h", "a")), "'_jump'"),
        (primitive("log_msg", hexstr(1), hexstr(2)), "'log_msg'"),
    ],
)
def test_primitives(changed, named):
    assert named in refusal(changed)


JUNK = [
    None,
    -1,
    1,
    2**70,
    True,
    "",
    "x",
    "0x5",
    [],
    {},
    [1],
    ["a", "b"],
    {"type": "hexstr", "value": "0x"},
    {"op": "+"},
    3.5,
]


def places(value, path=()):
    """The paths to every part of a document but the notes on its source."""
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        if key != "source_info":
            yield (*path, key)
            yield from places(child, (*path, key))


PLACES = list(places(json.loads(EVERYTHING)))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.data())
def test_damaged_programs_are_refused_or_run(data):
    """Whatever stands in whatever place, there is a program or a UserError."""
    damaged = json.loads(EVERYTHING)
    *path, last = data.draw(st.sampled_from(PLACES))
    parent = damaged
    for step in path:
        parent = parent[step]
    parent[last] = data.draw(st.sampled_from(JUNK))
    with contextlib.suppress(UserError):
        translate(parse(damaged))


def test_a_loop_of_tables():
    changed = program()
    changed["pipelines"][0]["tables"][0]["next_tables"]["act"] = "tbl_act"
    changed["pipelines"][0]["tables"][0]["base_default_next"] = "tbl_act"
    assert "'ingress'" in refusal(changed)


NAMES = [
    "int",
    "index",
    "memset",
    "a-b",
    "a.b",
    "1st",
    "valid",
    "s",
    "cell",
    "v1_load",
    "NULL",
    "round",
    "hash_x",
]


@pytest.mark.packet
@pytest.mark.parametrize("name", ["index", 'quo"ted \\ evil */ name', "ingress"])
def test_names_that_c_does_not_like(name):
    """Keywords, functions, odd characters, clashes: all are renamed, none is refused, and C takes them."""
    copies = [{"op": "assign", "parameters": [field("h", one), hexstr(1)]} for one in NAMES]
    changed = document([(one, 8, False) for one in NAMES], copies, program=name)
    changed["header_types"][0]["name"] = changed["headers"][0]["header_type"] = name
    (action,), (table,) = changed["actions"], changed["pipelines"][0]["tables"]
    action["name"], action["runtime_data"] = name, [{"name": one, "bitwidth": 8} for one in NAMES]
    for number, one in enumerate(NAMES):
        action["primitives"][number + 1]["parameters"] = [
            field("h", one),
            {"type": "runtime_data", "value": number},
        ]
    table["actions"], table["next_tables"], table["name"] = [name], {name: None}, name
    table["default_entry"]["action_data"] = [hex(number + 1) for number in range(len(NAMES))]
    changed["pipelines"][0]["init_table"] = name
    (state,) = changed["parsers"][0]["parse_states"]
    state["name"] = changed["parsers"][0]["init_state"] = name
    with switch(changed) as (engine, _):
        assert engine.process(0, bytes(len(NAMES))) == [(1, bytes(range(1, len(NAMES) + 1)))]


def notes(value):
    """What a document says of the places in the source that it comes from."""
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(child, dict) and "source_fragment" in child:
            yield child
        else:
            yield from notes(child)


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.json")), ids=lambda path: path.stem)
def test_the_json_belongs_to_the_source(path):
    """Every place that p4c noted is still there: without p4c, this tells a JSON that was forgotten."""
    lines = path.with_suffix(".p4").read_text().splitlines()
    found = [
        note for note in notes(json.loads(path.read_text())) if note["filename"].endswith(f"{path.stem}.p4")
    ]
    assert len(found) > 10
    for note in found:
        fragment = note["source_fragment"].split("\n")[0].removesuffix(" ...").replace('\\"', '"')
        assert fragment.strip() in lines[note["line"] - 1]


@pytest.mark.parametrize("name", [path.stem for path in sorted(PROGRAMS.glob("*.json"))])
def test_a_translation_depends_on_the_program_alone(name):
    """The same text every time: the compiler's cache is keyed by it."""
    text = (PROGRAMS / f"{name}.json").read_bytes()
    assert translate(load(text)) == translate(load(json.dumps(json.loads(text)).encode()))
