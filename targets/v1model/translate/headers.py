# SPDX-License-Identifier: Apache-2.0
"""C functions for header types: extraction from bytes, emission to bytes, comparison."""

from __future__ import annotations

from grasp.targets.v1model.p4json import Field, HeaderType
from grasp.targets.v1model.translate.layout import Layout
from grasp.targets.v1model.translate.packing import Part, as_words, load_lines, store_lines


def variable_field(kind: HeaderType) -> Field | None:
    """The variable field of a header type."""
    return next((field for field in kind.fields if field.variable), None)


def fixed_bytes(kind: HeaderType) -> int:
    """Bytes of a header without its variable field."""
    return sum(field.width for field in kind.fields if not field.variable) // 8


def most_bytes(kind: HeaderType) -> int:
    """Bytes of a header at its longest."""
    return sum(field.width for field in kind.fields) // 8


def size(layout: Layout, kind: HeaderType, lvalue: str) -> str:
    """C code for the bytes that a header takes."""
    field = variable_field(kind)
    fixed = str(fixed_bytes(kind))
    return fixed if field is None else f"{fixed} + {lvalue}.{layout.member(kind, field.name)}_bits / 8u"


def extract_function(layout: Layout, kind: HeaderType) -> str:
    """A function that sets all fields from bytes; a variable field takes `bits` bits."""
    name, variable = layout.structs[kind.name], variable_field(kind)
    parameters = f"struct {name} *h, const uint8_t *from" + (", uint16_t bits" if variable else "")
    lines, offset = list[str](), 0
    for field in kind.fields:
        member = f"h->{layout.member(kind, field.name)}"
        if field.variable:
            lines += [
                f"v1_copy_bits({member}, 0, from, {offset}, bits);",
                f"{member}_bits = bits;",
                *(["from += bits / 8;"] if field is not kind.fields[-1] else []),
            ]
        else:
            lines += load_lines(field, member, offset, "from")
            offset += field.width
    lines.append("h->valid = true;")
    return _function(f"void extract_{name}({parameters})", lines)


def emit_function(layout: Layout, kind: HeaderType) -> str:
    """A function that writes a header to bytes and returns how many."""
    name = layout.structs[kind.name]
    variable = variable_field(kind)
    if variable is None:
        parts = [part(layout, kind, field, "h->") for field in kind.fields]
        lines = [*store_lines(parts, "to"), f"return {fixed_bytes(kind)};"]
        return _function(f"size_t emit_{name}(const struct {name} *h, uint8_t *to)", lines)
    lines = ["size_t offset = 0;"]
    for field in kind.fields:
        member = f"h->{layout.member(kind, field.name)}"
        if field.variable:
            lines += [f"v1_copy_bits(to, offset, {member}, 0, {member}_bits);", f"offset += {member}_bits;"]
        else:
            lines += store_one(part(layout, kind, field, "h->"), "to", "offset")
    lines.append("return offset / 8;")
    return _function(f"size_t emit_{name}(const struct {name} *h, uint8_t *to)", lines)


def store_one(value: Part, target: str, offset: str) -> list[str]:
    """C statements that write one part at a bit offset in a variable, and move the offset on."""
    return [
        f"v1_store_bits({target}, {offset}, {as_words(value)}, {value.width});",
        f"{offset} += {value.width};",
    ]


def equal_function(layout: Layout, kind: HeaderType) -> str:
    """A function that compares two headers: both valid, and all fields the same."""
    name, tests = layout.structs[kind.name], ["a->valid && b->valid"]
    for field in kind.fields:
        member = layout.member(kind, field.name)
        if field.variable:
            tests.append(f"a->{member}_bits == b->{member}_bits")
            tests.append(f"memcmp(a->{member}, b->{member}, a->{member}_bits / 8u) == 0")
        elif field.width > 128:
            tests.append(f"memcmp(a->{member}, b->{member}, sizeof a->{member}) == 0")
        else:
            tests.append(f"a->{member} == b->{member}")
    expression = " && \n           ".join(tests).replace(" \n", "\n")
    return _function(
        f"bool equal_{name}(const struct {name} *a, const struct {name} *b)", [f"return {expression};"]
    )


def part(layout: Layout, kind: HeaderType, field: Field, prefix: str) -> Part:
    """A fixed field as a part to be written."""
    return Part(f"{prefix}{layout.member(kind, field.name)}", field.width, field.signed)


def _function(head: str, lines: list[str]) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f"static inline {head} {{\n{body}\n}}\n"
