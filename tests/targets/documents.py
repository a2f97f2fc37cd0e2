# SPDX-License-Identifier: Apache-2.0
"""Small BMv2 JSON documents, and engines that run them."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path

from grasp.targets.v1model.compile import compile_program
from grasp.targets.v1model.engine import Engine
from grasp.targets.v1model.p4load import load, parse
from grasp.targets.v1model.translate import translate

PROGRAMS = Path(__file__).parent / "programs"
STANDARD = {
    "ingress_port": 9, "egress_spec": 9, "egress_port": 9, "instance_type": 32, "packet_length": 32,
    "mcast_grp": 16, "egress_rid": 16, "checksum_error": 1, "parser_error": 32, "_padding": 2,
}  # fmt: skip


def field(header, name):
    return {"type": "field", "value": [header, name]}


def hexstr(value):
    return {"type": "hexstr", "value": hex(value)}


def operation(op, left, right, **more):
    return {"type": "expression", "value": {"op": op, "left": left, "right": right, **more}}


def document(fields, primitives, **more):
    """A program that extracts `h` of these fields (name, width, signed), runs primitives, sends to port 1."""
    standard = [[name, width, False] for name, width in STANDARD.items()]
    egress_spec = field("standard_metadata", "egress_spec")
    port = {"op": "assign", "parameters": [egress_spec, hexstr(1)]}
    action = {"name": "act", "id": 0, "runtime_data": [], "primitives": [port, *primitives]}
    extract = {"op": "extract", "parameters": [{"type": "regular", "value": "h"}]}
    done = {"type": "default", "value": None, "mask": None, "next_state": None}
    state = {"name": "start", "id": 0, "parser_ops": [extract], "transition_key": [], "transitions": [done]}
    table = {
        "name": "tbl_act", "id": 0, "key": [], "match_type": "exact", "type": "simple", "max_size": 1024,
        "with_counters": False, "support_timeout": False, "direct_meters": None,
        "action_ids": [0], "actions": ["act"], "base_default_next": None, "next_tables": {"act": None},
        "default_entry": {
            "action_id": 0, "action_const": True, "action_data": [], "action_entry_const": True,
        },
    }  # fmt: skip
    return {
        "header_types": [
            {"name": "h_t", "id": 0, "fields": [list(one) for one in fields]},
            {"name": "standard_metadata", "id": 1, "fields": standard},
        ],
        "headers": [
            {"name": "h", "id": 0, "header_type": "h_t", "metadata": False},
            {"name": "standard_metadata", "id": 1, "header_type": "standard_metadata", "metadata": True},
        ],
        "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": [state]}],
        "deparsers": [{"name": "deparser", "id": 0, "order": ["h"], "primitives": []}],
        "actions": [action],
        "pipelines": [
            {"name": "ingress", "id": 0, "init_table": "tbl_act", "tables": [table], "conditionals": []},
            {"name": "egress", "id": 1, "init_table": None, "tables": [], "conditionals": []},
        ],
        **more,
    }


def compiled(program):
    """The shared object of a checked program; optimised little, because tests run few packets."""
    return compile_program(translate(program), 1)


@contextmanager
def switch(program):
    """An engine and the program that it runs: one named in programs/, or a JSON document."""
    if isinstance(program, str):
        checked = load((PROGRAMS / f"{program}.json").read_bytes())
    else:
        checked = parse(json.loads(json.dumps(program)))
    with Engine(cpu_port=255) as engine:
        loaded = engine.load(compiled(checked))
        engine.activate(loaded)
        yield engine, loaded
