# SPDX-License-Identifier: Apache-2.0
"""Primitives on headers, unions and stacks as C statements."""

from __future__ import annotations

from grasp import UserError
from grasp.targets.v1model.p4json import HeaderType
from grasp.targets.v1model.p4values import Const, FieldRef, Operation, Ref, Value
from grasp.targets.v1model.translate.fields import Fields, Lines, Primitives, block, indent
from grasp.targets.v1model.translate.headers import size
from grasp.targets.v1model.translate.layout import Layout


class HeaderOps:
    """Writes primitives that copy, add, remove and move headers."""

    def __init__(self, layout: Layout, fields: Fields) -> None:
        self.layout, self.fields, self.places = layout, fields, fields.places
        self.primitives: Primitives = {
            "assign_header": (self.assign_header, 2),
            "assign_union": (self.assign_union, 2),
            "assign_header_stack": (self.assign_stack, 2),
            "assign_union_stack": (self.assign_stack, 2),
            "push": (self.push, 2),
            "pop": (self.pop, 2),
            "add_header": (self.add, 1),
            "remove_header": (self.remove, 1),
        }

    def assign_header(self, target: Value, value: Value) -> Lines:
        """Assign a header: all of it, its validity too."""
        kind, source = self.places.header_type(target), self.places.header_type(value)
        if kind != source:
            raise UserError(f"BMv2 JSON: a header '{source.name}' is assigned to a '{kind.name}'")
        if any(isinstance(part, Ref) and self._is_standard(part.name) for part in (target, value)):
            return self._assign_fields(target, value, kind)
        one, other = self.places.header(target), self.places.header(value)
        copied = [f"{one} = {other};", *(f"{name}.valid = false;" for name in self.places.siblings(target))]
        return [f"if ({other}.valid) {{", *indent(copied), "} else {", f"    {one}.valid = false;", "}"]

    def _is_standard(self, header: str) -> bool:
        """Whether (some of) the metadata is kept by the run time."""
        return any(ref.header == header for ref in self.layout.standard)

    def _assign_fields(self, target: Value, value: Value, kind: HeaderType) -> Lines:
        """Assign metadata field by field: the run time lays out standard metadata in its own way."""
        if not isinstance(target, Ref) or not isinstance(value, Ref):
            raise UserError("BMv2 JSON: standard metadata is assigned to something that is not metadata")
        names = [field.name for field in kind.fields if not field.name.startswith("_padding")]
        pairs = [(FieldRef(target.name, name), FieldRef(value.name, name)) for name in names]
        return [line for one, other in pairs for line in self.fields.assign(one, other)]

    def assign_union(self, target: Value, value: Value) -> Lines:
        """Assign a union: its struct, in which at most one member is valid."""
        union, source = self.places.union_type(target).type, self.places.union_type(value).type
        if union != source:
            raise UserError(f"BMv2 JSON: a header union '{source}' is assigned to a '{union}'")
        one, other = self.places.union(target), self.places.union(value)
        return [f"memmove(&{one}, &{other}, sizeof {one});"]

    def assign_stack(self, target: Value, value: Value) -> Lines:
        """Assign a stack: its elements and the index of the next one."""
        (one, count), (other, other_count) = (self._stack(stack) for stack in (target, value))
        if count != other_count:
            raise UserError("BMv2 JSON: stacks of different sizes are assigned to each other")
        following = [self.places.next_index(stack) for stack in (target, value)]
        return [f"memmove({one}, {other}, sizeof {one});", f"{following[0]} = {following[1]};"]

    def _stack(self, value: Value) -> tuple[str, int]:
        """The array of a stack, and its size."""
        program = self.layout.program
        match value:
            case Ref("header_stack", name):
                return self.layout.stacks[name], len(program.stacks[name].headers)
            case Ref("header_union_stack", name):
                return self.layout.stacks[name], len(program.union_stacks[name].unions)
        raise UserError(f"BMv2 JSON: {value} is not a header stack")

    def _invalidate(self, stack: Value, index: int) -> Lines:
        """Make an element of a stack invalid."""
        if isinstance(stack, Ref) and stack.kind == "header_union_stack":
            union = Operation("dereference_union_stack", stack, Const(index))
            return [f"{part}.valid = false;" for part, _ in self.places.union_parts(union)]
        return [f"{self._stack(stack)[0]}[{index}].valid = false;"]

    def push(self, stack: Value, number: Value) -> Lines:
        """push_front: the elements move up, the new ones in front are invalid."""
        (array, count), moved, following = self._moved(stack, number, "push")
        lines = [f"memmove({array} + {moved}, {array}, {count - moved} * sizeof *{array});"]
        lines += [line for index in range(moved) for line in self._invalidate(stack, index)]
        return block(
            [
                f"uint32_t end = {following} + {moved};",
                *lines,
                f"{following} = end < {count} ? end : {count};",
            ]
        )

    def pop(self, stack: Value, number: Value) -> Lines:
        """pop_front: the elements move down, the last ones become invalid."""
        (array, count), moved, following = self._moved(stack, number, "pop")
        lines = [f"memmove({array}, {array} + {moved}, {count - moved} * sizeof *{array});"]
        lines += [line for index in range(count - moved, count) for line in self._invalidate(stack, index)]
        return [*lines, f"{following} -= {following} < {moved} ? {following} : {moved};"]

    def _moved(self, stack: Value, number: Value, op: str) -> tuple[tuple[str, int], int, str]:
        """A stack's array and size, by how many elements it moves, and its next index."""
        if not isinstance(number, Const):
            raise UserError(f"BMv2 JSON: '{op}' needs a constant")
        array, count = self._stack(stack)
        return (array, count), min(number.value, count), self.places.next_index(stack)

    def add(self, header: Value) -> Lines:
        """setValid: an invalid header becomes valid, its fields zero; the packet grows by it."""
        lvalue, kind = self.places.header(header), self.places.header_type(header)
        lines = [f"memset(&{lvalue}, 0, sizeof {lvalue});", f"{lvalue}.valid = true;"]
        lines += [f"{other}.valid = false;" for other in self.places.siblings(header)]
        lines.append(f"s->v1.current += {size(self.layout, kind, lvalue)};")
        return [f"if (!{lvalue}.valid) {{", *indent(lines), "}"]

    def remove(self, header: Value) -> Lines:
        """setInvalid; the packet shrinks by the header."""
        lvalue, kind = self.places.header(header), self.places.header_type(header)
        lines = [f"s->v1.current -= {size(self.layout, kind, lvalue)};", f"{lvalue}.valid = false;"]
        return [f"if ({lvalue}.valid) {{", *indent(lines), "}"]
