# SPDX-License-Identifier: Apache-2.0
"""What values name: C lvalues of fields, headers, stacks and unions, and their types.

An index out of bounds, which P4 leaves open, leads to one more element behind the last: it is never
deparsed, so that nothing else is read or overwritten.
"""

from __future__ import annotations

from collections.abc import Callable

from grasp import UserError
from grasp.targets.v1model.p4json import Field, HeaderType, Union
from grasp.targets.v1model.p4values import Const, FieldRef, Operation, Ref, StackField, UnionStackField, Value
from grasp.targets.v1model.translate.cnames import Names
from grasp.targets.v1model.translate.layout import Layout


class References:
    """Lvalues; `index` writes a number as an index."""

    def __init__(self, layout: Layout, index: Callable[[Value], str]) -> None:
        self.layout = layout
        self._index = index

    # -- fields

    def field_type(self, value: Value) -> Field:
        """The declaration of a field."""
        program = self.layout.program
        match value:
            case FieldRef():
                return program.field(value)
            case StackField(stack, name):
                return _declared(program.stacks[stack].type, name)
            case UnionStackField(stack, member, name):
                return _declared(
                    self._member_type(program.unions[program.union_stacks[stack].unions[0]], member), name
                )
            case Operation(op="access_field", left=left, right=Const(offset)) if left is not None:
                fields = self.header_type(left).fields
                if offset >= len(fields):
                    raise UserError(f"BMv2 JSON: field number {offset} of {left} is missing")
                return fields[offset]
        raise UserError(f"BMv2 JSON: {value} is not a field")

    def field(self, value: Value) -> str:
        """The lvalue of a field."""
        layout = self.layout
        match value:
            case FieldRef():
                return layout.field(value)
            case StackField(stack, name):
                kind = layout.program.stacks[stack].type
                last = self._last(stack, len(layout.program.stacks[stack].headers))
                return f"{last}.{layout.member(kind, name)}"
            case UnionStackField(stack, member, name):
                union = layout.program.unions[layout.program.union_stacks[stack].unions[0]]
                last = self._last(stack, len(layout.program.union_stacks[stack].unions))
                kind = self._member_type(union, member)
                return f"{last}.{self._part(union, member)}.{layout.member(kind, name)}"
            case Operation(op="access_field", left=left) if left is not None:
                kind = self.header_type(left)
                return f"{self.header(left)}.{layout.member(kind, self.field_type(value).name)}"
        raise UserError(f"BMv2 JSON: {value} is not a field")

    # -- headers

    def header_type(self, value: Value) -> HeaderType:
        """The type of a header."""
        program = self.layout.program
        match value:
            case Ref("header", name):
                return program.headers[name].type
            case Operation(op="dereference_header_stack", left=Ref("header_stack", name)):
                return program.stacks[name].type
            case Operation(op="access_union_header", left=left, right=Const(offset)) if left is not None:
                union = self.union_type(left)
                return program.headers[union.members[offset][1]].type
        raise UserError(f"BMv2 JSON: {value} is not a header")

    def header(self, value: Value) -> str:
        """The lvalue of a header's struct."""
        match value:
            case Ref("header", name):
                return self.layout.instances[name].lvalue
            case Operation(op="dereference_header_stack", left=Ref("header_stack", name), right=index) if (
                index is not None
            ):
                size = len(self.layout.program.stacks[name].headers)
                return f"{self.layout.stacks[name]}{self._at(index, size)}"
            case Operation(op="access_union_header", left=left, right=Const(offset)) if left is not None:
                union = self.union_type(left)
                return f"{self.union(left)}.{self._part(union, union.members[offset][0])}"
        raise UserError(f"BMv2 JSON: {value} is not a header")

    def siblings(self, value: Value) -> list[str]:
        """The lvalues of the other members if the header is a member of a union."""
        match value:
            case Ref("header", name) if (union := self.layout.instances[name].union) is not None:
                members = self.layout.program.unions[union].members
                return [self.layout.instances[other].lvalue for _, other in members if other != name]
            case Operation(op="access_union_header", left=left, right=Const(offset)) if left is not None:
                union_type = self.union_type(left)
                others = [part for number, (part, _) in enumerate(union_type.members) if number != offset]
                return [f"{self.union(left)}.{self._part(union_type, part)}" for part in others]
        return []

    # -- unions and stacks

    def union_type(self, value: Value) -> Union:
        """A union of the type of `value`."""
        program = self.layout.program
        match value:
            case Ref("header_union", name):
                return program.unions[name]
            case Operation(op="dereference_union_stack", left=Ref("header_union_stack", name)):
                return program.unions[program.union_stacks[name].unions[0]]
        raise UserError(f"BMv2 JSON: {value} is not a header union")

    def union(self, value: Value) -> str:
        """The lvalue of a union's struct."""
        match value:
            case Ref("header_union", name):
                return self.layout.unions[name]
            case Operation(op="dereference_union_stack", left=Ref(_, name), right=index) if index is not None:
                size = len(self.layout.program.union_stacks[name].unions)
                return f"{self.layout.stacks[name]}{self._at(index, size)}"
        raise UserError(f"BMv2 JSON: {value} is not a header union")

    def union_parts(self, value: Value) -> list[tuple[str, HeaderType]]:
        """The lvalues and types of a union's members."""
        union, lvalue = self.union_type(value), self.union(value)
        return [
            (f"{lvalue}.{self._part(union, part)}", self._member_type(union, part))
            for part, _ in union.members
        ]

    def union_valid(self, value: Value) -> str:
        """A C condition: whether a member of the union is valid."""
        return " || ".join(f"{part}.valid" for part, _ in self.union_parts(value))

    def next_index(self, value: Value) -> str:
        """The lvalue of the index behind the last valid element of a stack."""
        match value:
            case Ref("header_stack" | "header_union_stack", name):
                return self.layout.nexts[name]
        raise UserError(f"BMv2 JSON: {value} is not a header stack")

    def compare(self, left: Value, right: Value) -> str | None:
        """A C condition: whether two headers, unions or stacks are equal; None if they are something else."""
        match left, right:
            case Ref("header_stack", one), Ref("header_stack", other):
                stacks = [self.layout.program.stacks[name].headers for name in (one, other)]
                pairs = [(Ref("header", a), Ref("header", b)) for a, b in zip(*stacks, strict=True)]
                # P4: elements that are invalid in both are equal
                return " && ".join(
                    f"({self.header(a)}.valid || {self.header(b)}.valid ? {self._equal(a, b)} : true)"
                    for a, b in pairs
                )
            case FieldRef(), FieldRef() if self.field_type(left).variable and self.field_type(right).variable:
                one, other = self.field(left), self.field(right)
                return f"{one}_bits == {other}_bits && memcmp({one}, {other}, {one}_bits / 8u) == 0"
        if _is_union(left) and _is_union(right):
            pairs_of_parts = zip(self.union_parts(left), self.union_parts(right), strict=True)
            return " || ".join(self._equal_parts(a, b, kind) for (a, kind), (b, _) in pairs_of_parts)
        return self._equal(left, right) if _is_header(left) and _is_header(right) else None

    def _equal(self, left: Value, right: Value) -> str:
        return self._equal_parts(self.header(left), self.header(right), self.header_type(left))

    def _equal_parts(self, left: str, right: str, kind: HeaderType) -> str:
        self.layout.compared.add(kind.name)
        return f"equal_{self.layout.structs[kind.name]}(&{left}, &{right})"

    def _at(self, index: Value, size: int) -> str:
        return f"[v1_bounded({self._index(index)}, {size})]"

    def _last(self, stack: str, size: int) -> str:
        return f"{self.layout.stacks[stack]}[v1_bounded({self.layout.nexts[stack]} - 1u, {size})]"

    def _member_type(self, union: Union, member: str) -> HeaderType:
        header = union.header(member)
        assert header is not None  # checked when the program was read
        return self.layout.program.headers[header].type

    def _part(self, union: Union, member: str) -> str:
        names = Names()
        return {part: names.new(part) for part, _ in union.members}[member]


def _declared(kind: HeaderType, name: str) -> Field:
    field = kind.field(name)
    if field is None:
        raise UserError(f"BMv2 JSON: header type '{kind.name}' has no field '{name}'")
    return field


def _is_header(value: Value) -> bool:
    match value:
        case Ref("header", _) | Operation(op="dereference_header_stack" | "access_union_header"):
            return True
    return False


def _is_union(value: Value) -> bool:
    match value:
        case Ref("header_union", _) | Operation(op="dereference_union_stack"):
            return True
    return False
