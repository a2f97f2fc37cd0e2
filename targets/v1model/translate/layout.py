# SPDX-License-Identifier: Apache-2.0
"""How a packet's headers and metadata lie in C: one struct per header type, one member per instance."""

from __future__ import annotations

from dataclasses import dataclass

from grasp import UserError
from grasp.targets.v1model.p4json import Field, Header, HeaderType, Program
from grasp.targets.v1model.p4values import VALID, FieldRef
from grasp.targets.v1model.translate.cnames import Names
from grasp.targets.v1model.translate.codes import Codes

# Members of the run time's struct v1_standard, and their widths; P4_14 programs and field aliases name them
# by the headers before the slash.
STANDARD = {
    "standard_metadata": "ingress_port egress_spec egress_port instance_type packet_length checksum_error "
    "parser_error enq_timestamp enq_qdepth deq_timedelta deq_qdepth ingress_global_timestamp "
    "egress_global_timestamp mcast_grp egress_rid priority",
    "intrinsic_metadata": "ingress_global_timestamp egress_global_timestamp mcast_grp egress_rid priority",
    "queueing_metadata": "enq_timestamp enq_qdepth deq_timedelta deq_qdepth qid",
}
_CANONICAL = {f"{header}.{field}": field for header, fields in STANDARD.items() for field in fields.split()}


@dataclass(frozen=True, slots=True)
class Instance:
    """A header instance in C: an lvalue of its struct."""

    lvalue: str
    header: Header
    union: str | None = None  # name of the union it is a member of


class Layout:
    """C names of header types, instances, fields, stacks and unions of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        names = Names()
        self.types = {header.type.name: header.type for header in program.headers.values()}
        self.structs = {name: names.new(name) for name in self.types}
        self.members: dict[str, dict[str, str]] = {}
        for name, kind in self.types.items():
            fields = Names()
            fields.new("valid")
            self.members[name] = {field.name: fields.new(field.name) for field in kind.fields}
        self.standard = self._standard()
        self.codes = Codes()
        self.compared: set[str] = set()  # header types of which instances are compared
        self._places()

    def _standard(self) -> dict[FieldRef, str]:
        """Fields that live in the run time's struct v1_standard."""
        found = {}
        for name in STANDARD:
            header = self.program.headers.get(name)
            for field in header.type.fields if header else ():
                if (canonical := _CANONICAL.get(f"{name}.{field.name}")) is not None:
                    found[FieldRef(name, field.name)] = canonical
        for alias, ref in self.program.aliases.items():
            if alias not in _CANONICAL:
                raise UserError(
                    f"BMv2 JSON: the field alias '{alias}' is not one that the embedded target knows"
                )
            found[ref] = _CANONICAL[alias]
        return found

    def _places(self) -> None:
        """Give every instance its lvalue, and collect the members of the state struct."""
        names = Names()
        self.instances: dict[str, Instance] = {}
        self.stacks: dict[str, str] = {}  # stack name to the lvalue of its array
        self.nexts: dict[str, str] = {}  # stack name to the lvalue of the index of its next element
        self.unions: dict[str, str] = {}  # union name to its lvalue
        self.meta, self.hdr = list[str](), list[str]()
        for union_stack in self.program.union_stacks.values():
            member = self._stack(names, union_stack.name)
            for index, name in enumerate(union_stack.unions):
                self.unions[name] = f"s->hdr.{member}[{index}]"
            # One more than there are: where an index out of bounds leads.
            body = self._union_body(union_stack.unions[0])
            self.hdr.append(f"struct {{ {body} }} {member}[{len(union_stack.unions) + 1}];")
        for union in self.program.unions.values():
            if union.name not in self.unions:
                member = names.new(union.name)
                self.unions[union.name] = f"s->hdr.{member}"
                self.hdr.append(f"struct {{ {self._union_body(union.name)} }} {member};")
            parts = Names()
            for part, header in union.members:
                place = f"{self.unions[union.name]}.{parts.new(part)}"
                self.instances[header] = Instance(place, self.program.headers[header], union.name)
        for stack in self.program.stacks.values():
            member = self._stack(names, stack.name)
            for index, header in enumerate(stack.headers):
                self.instances[header] = Instance(f"s->hdr.{member}[{index}]", self.program.headers[header])
            self.hdr.append(f"struct {self.structs[stack.type.name]} {member}[{len(stack.headers) + 1}];")
        for name, found in self.program.headers.items():
            if name not in self.instances:
                member, part = names.new(name), "meta" if found.metadata else "hdr"
                self.instances[name] = Instance(f"s->{part}.{member}", found)
                if not found.metadata or self._own_fields(found):  # else all of it is the run time's
                    getattr(self, part).append(f"struct {self.structs[found.type.name]} {member};")

    def _stack(self, names: Names, name: str) -> str:
        member = names.new(name)
        following = names.new(f"{name}_next")
        self.stacks[name], self.nexts[name] = f"s->hdr.{member}", f"s->hdr.{following}"
        self.hdr.append(f"uint32_t {following};")
        return member

    def _union_body(self, union: str) -> str:
        names = Names()
        return " ".join(
            f"struct {self.structs[self.program.headers[header].type.name]} {names.new(part)};"
            for part, header in self.program.unions[union].members
        )

    def _own_fields(self, header: Header) -> bool:
        return any(
            FieldRef(header.name, field.name) not in self.standard and not field.name.startswith("_padding")
            for field in header.type.fields
        )

    def field(self, ref: FieldRef) -> str:
        """The lvalue of a field."""
        if ref in self.standard:
            return f"s->v1.standard.{self.standard[ref]}"
        instance = self.instances[ref.header]
        if ref.field == VALID:
            return "true" if instance.header.metadata else f"{instance.lvalue}.valid"
        return f"{instance.lvalue}.{self.member(instance.header.type, ref.field)}"

    def member(self, kind: HeaderType, field: str) -> str:
        """The C member for a field of a header type."""
        return self.members[kind.name][field]

    def valid(self, header: str) -> str:
        """A C condition: whether the header is valid."""
        return self.field(FieldRef(header, VALID))

    def declarations(self) -> str:
        """The structs of the header types that occur, and struct state."""
        members = " ".join((*self.meta, *self.hdr))
        stored = [name for name, struct in self.structs.items() if f"struct {struct} " in members]
        lines = [self._struct(self.types[name]) for name in stored]
        lines += ["/* All that travels with a packet. */", "struct state {", "    struct v1_packet v1;"]
        for part, declared in (("meta", self.meta), ("hdr", self.hdr)):
            lines += ["    struct {", *(f"        {member}" for member in declared), f"    }} {part};"]
        return "\n".join([*lines, "};\n"])

    def _struct(self, kind: HeaderType) -> str:
        lines = ["    bool valid;"]
        lines += [f"    {declare(field, self.member(kind, field.name))}" for field in kind.fields]
        return f"struct {self.structs[kind.name]} {{\n" + "\n".join(lines) + "\n};\n"


def c_type(field: Field) -> str:
    """The C type that holds a fixed field of up to 128 bits."""
    if field.width > 64:
        return "v1_s128" if field.signed else "v1_u128"
    size = next(size for size in (8, 16, 32, 64) if field.width <= size)
    return f"{'' if field.signed else 'u'}int{size}_t"


def declare(field: Field, name: str) -> str:
    """The declaration of a field, with its P4 type behind it."""
    if field.variable:
        return f"uint16_t {name}_bits; uint8_t {name}[{(field.width + 7) // 8}]; /* varbit<{field.width}> */"
    note = f"/* {'int' if field.signed else 'bit'}<{field.width}> */"
    if field.width > 128:
        return f"uint64_t {name}[{(field.width + 63) // 64}]; {note}"
    return f"{c_type(field)} {name}; {note}"


def words(width: int) -> int:
    """How many 64-bit words hold a value of that many bits."""
    return (width + 63) // 64
