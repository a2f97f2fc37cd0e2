# SPDX-License-Identifier: Apache-2.0
"""Puts the parts of a translated program together."""

from __future__ import annotations

from grasp import UserError
from grasp.targets.v1model.p4json import FieldList, Program
from grasp.targets.v1model.p4values import Const, FieldRef
from grasp.targets.v1model.translate.actions import action_function
from grasp.targets.v1model.translate.checksums import Checksums
from grasp.targets.v1model.translate.cnames import comment
from grasp.targets.v1model.translate.descriptors import Descriptors
from grasp.targets.v1model.translate.headers import emit_function, equal_function, extract_function
from grasp.targets.v1model.translate.layout import Layout, words
from grasp.targets.v1model.translate.objects import Objects
from grasp.targets.v1model.translate.packing import Part, as_words
from grasp.targets.v1model.translate.parsing import Parsing
from grasp.targets.v1model.translate.pipelines import Pipelines
from grasp.targets.v1model.translate.statements import Statements
from grasp.targets.v1model.translate.tables import Tables, inlined_actions


class Writer:
    """Writes a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.layout = Layout(program)
        self.objects = Objects(program)
        self.objects.inlined = inlined_actions(self.layout)

    def text(self) -> str:
        """The C file."""
        program, layout, objects = self.program, self.layout, self.objects
        tables = Tables(layout, objects)
        parts = [
            Parsing(layout, objects).functions(),
            Checksums(layout, objects).functions(),
            *(action_function(layout, objects, program.actions[number]) for number in self._functions()),
        ]
        for pipeline in (program.ingress, program.egress):
            parts += [tables.functions(pipeline), Pipelines(layout, objects, pipeline).function()]
        parts += [self._deparser(), self._copies(), self._digests(), _INTERFACE]
        # What the parts above have turned out to need comes before them.
        return "\n".join(
            [self._head(), layout.declarations(), objects.enums(), self._headers(), *parts, self._tail()]
        )

    def _functions(self) -> list[int]:
        """The actions that become functions."""
        called = {number for table in self.program.tables.values() for number in table.actions}
        called.update(
            call.action
            for line in (self.program.ingress, self.program.egress)
            for call in line.calls.values()
        )
        return [number for number in self.program.actions if number in called - self.objects.inlined]

    def _head(self) -> str:
        limbs = max(2, words(self.layout.codes.widest))
        wide = f"\n#define V1_LIMBS {limbs}\n" if self.layout.codes.widest else ""
        include = '#include "runtime.h"\n#include "values.h"\n' + ('#include "wide.h"\n' if wide else "")
        return f"/* {comment(self.program.name)}, translated from BMv2 JSON. */\n{wide}\n{include}"

    def _tail(self) -> str:
        return Descriptors(self.layout, self.objects).text()

    def _headers(self) -> str:
        """Functions of the header types: only of headers, not of metadata."""
        layout, parts = self.layout, list[str]()
        kinds = {
            header.type.name: header.type for header in self.program.headers.values() if not header.metadata
        }
        for name, kind in kinds.items():
            parts += [extract_function(layout, kind), emit_function(layout, kind)]
            if name in layout.compared:
                parts.append(equal_function(layout, kind))
        return "\n".join(parts)

    def _deparser(self) -> str:
        statements = Statements(self.layout, self.objects)
        lines = ["update_checksums(s);", "uint8_t *to = out;"]
        for primitive in self.program.deparser_ops:
            lines += statements.write(primitive)
        for name in self.program.deparser:
            lvalue, kind = self.layout.instances[name].lvalue, self.program.headers[name].type
            emit = f"to += emit_{self.layout.structs[kind.name]}(&{lvalue}, to);"
            lines += [f"if ({self.layout.valid(name)})", f"    {emit}"]
        lines.append("return (size_t)(to - out);")
        return _function("static size_t write_headers(struct state *s, uint8_t *out)", lines)

    def _copies(self) -> str:
        """Copies of field lists: what clones and resubmitted packets keep."""
        lines = ["switch (list) {"]
        for number, found in self.program.field_lists.items():
            lines.append(f"case {number}: /* {comment(found.name)} */")
            for ref in self._refs(found):
                lvalue, field = self.layout.field(ref), self.program.field(ref)
                one, other = lvalue.replace("s->", "to->", 1), lvalue.replace("s->", "from->", 1)
                if field.variable:
                    raise UserError(
                        f"BMv2 JSON: field list '{found.name}' has the variable field '{ref.field}'"
                    )
                copy = f"memcpy({one}, {other}, sizeof {one});" if field.width > 128 else f"{one} = {other};"
                lines.append(f"    {copy}")
            lines.append("    break;")
        lines += ["default:", "    break;", "}"]
        return _function(
            "static void copy_list(struct state *to, const struct state *from, uint32_t list)", lines
        )

    def _digests(self) -> str:
        """Values of digests, as words."""
        lines = ["switch (digest) {"]
        for number, found in self.program.learn_lists.items():
            lines.append(f"case {self.objects.digests[number]}: /* {comment(found.name)} */")
            at = 0
            for ref in self._refs(found):
                field, lvalue = self.program.field(ref), self.layout.field(ref)
                if field.variable:
                    raise UserError(f"BMv2 JSON: digest '{found.name}' has the variable field '{ref.field}'")
                part = Part(lvalue, field.width, field.signed)
                if field.width <= 64:
                    lines.append(f"    words[{at}] = {part.integer()};")
                else:
                    lines.append(
                        f"    memcpy(words + {at}, {as_words(part)}, {words(field.width)} * sizeof *words);"
                    )
                at += words(field.width)
            lines.append("    break;")
        lines += ["default:", "    break;", "}"]
        return _function(
            "static void digest_words(const struct state *s, uint32_t digest, uint64_t *words)", lines
        )

    @staticmethod
    def _refs(found: FieldList) -> list[FieldRef]:
        """The fields of a list; constants in it say nothing."""
        refs = list[FieldRef]()
        for value in found.fields:
            if isinstance(value, FieldRef):
                refs.append(value)
            elif not isinstance(value, Const):
                raise UserError(f"BMv2 JSON: field list '{found.name}' has something that is not a field")
        return refs


def _function(head: str, lines: list[str]) -> str:
    return f"{head} {{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"


_INTERFACE = """static void program_reset(struct v1_packet *packet) {
    struct state *s = (struct state *)packet;
    memset(&s->meta, 0, sizeof s->meta);
    memset(&s->hdr, 0, sizeof s->hdr);
}

static void program_reset_metadata(struct v1_packet *packet) {
    struct state *s = (struct state *)packet;
    memset(&s->meta, 0, sizeof s->meta);
}

static void program_parse(struct v1_packet *packet) {
    struct state *s = (struct state *)packet;
    run_parser(s);
    verify_checksums(s);
}

static void program_ingress(struct v1_packet *packet) {
    apply_ingress((struct state *)packet);
}

static void program_egress(struct v1_packet *packet) {
    apply_egress((struct state *)packet);
}

static size_t program_deparse(struct v1_packet *packet, uint8_t *out) {
    return write_headers((struct state *)packet, out);
}

static void program_copy_fields(struct v1_packet *to, const struct v1_packet *from, uint32_t list) {
    copy_list((struct state *)to, (const struct state *)from, list);
}

static void program_digest(const struct v1_packet *packet, uint32_t digest, uint64_t *words) {
    digest_words((const struct state *)packet, digest, words);
}
"""
