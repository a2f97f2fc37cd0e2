# SPDX-License-Identifier: Apache-2.0
"""Primitives of the BMv2 JSON as C statements."""

from __future__ import annotations

from collections.abc import Callable

from grasp import UserError
from grasp.targets.v1model.p4json import Field, HeaderType, Primitive
from grasp.targets.v1model.p4values import Const, FieldRef, Operation, Ref, Text, Value, Vector
from grasp.targets.v1model.translate import bounds as bound
from grasp.targets.v1model.translate.cnames import text as literal
from grasp.targets.v1model.translate.expressions import (
    U64,
    U128,
    WIDE,
    Argument,
    Code,
    Expressions,
    field_bounds,
)
from grasp.targets.v1model.translate.headers import size
from grasp.targets.v1model.translate.layout import Layout, words
from grasp.targets.v1model.translate.objects import Objects
from grasp.targets.v1model.translate.packing import Part, as_words

Lines = list[str]


class Statements:
    """Writes primitives in the scope of an action (with its arguments) or outside of one."""

    def __init__(self, layout: Layout, objects: Objects, arguments: tuple[Argument, ...] = ()) -> None:
        self.layout, self.objects = layout, objects
        self.expressions = Expressions(layout, arguments)
        self.places = self.expressions.places

    def write(self, primitive: Primitive) -> Lines:
        """The statements of a primitive other than the jumps, which actions.py writes."""
        handler = _HANDLERS.get(primitive.op)
        if handler is None:
            raise UserError(
                f"BMv2 JSON: the primitive '{primitive.op}' is not supported by the embedded target"
            )
        method, count = handler
        if len(primitive.parameters) != count:
            raise UserError(
                f"BMv2 JSON: '{primitive.op}' takes {count} parameters, not {len(primitive.parameters)}"
            )
        self._source = primitive.source
        return method(self, *primitive.parameters)

    # -- assignments

    def assign(self, target: Value, value: Value) -> Lines:
        """Assign a number to a field, cut to its width."""
        field, lvalue = self.places.field_type(target), self.places.field(target)
        if field.variable:
            return self.assign_variable(target, value)
        if self.expressions.bounds(value).within(field_bounds(field)):
            code = self.expressions.exact(value)
        elif field.signed:
            code = self.expressions.exact(Operation("two_comp_mod", value, Const(field.width)))
        elif field.width in (8, 16, 32, 64, 128) and not lvalue.startswith("s->v1."):
            code = self.expressions.low(value, field.width)  # what is too much, C cuts off
        else:
            code = self.expressions.exact(Operation("&", value, Const((1 << field.width) - 1)))
        return self.store(lvalue, field, code)

    def store(self, lvalue: str, field: Field, code: Code) -> Lines:
        """Store a number that fits, or of which the C type of the field keeps the right bits."""
        if field.width > 128:
            self.expressions.note(bound.unsigned(field.width))
            return [f"v1_wide_store({lvalue}, {field.width}, {self.expressions.convert(code, WIDE)});"]
        kind = U128 if field.width > 64 else U64
        text = self.expressions.convert(code, kind) if code.type == WIDE else code.text
        return [f"{lvalue} = {text};"]

    def assign_variable(self, target: Value, value: Value) -> Lines:
        """Assign a variable field to another: its bytes and their number."""
        one, other = self.places.field(target), self.places.field(value)
        copy = f"memcpy({one}, {other}, {other}_bits / 8u);"
        room = f"sizeof {one} * 8"
        if self.places.field_type(target).width >= self.places.field_type(value).width:
            return [copy, f"{one}_bits = {other}_bits;"]
        return [f"if ({other}_bits <= {room}) {{", f"    {copy}", f"    {one}_bits = {other}_bits;", "}"]

    def assign_header(self, target: Value, value: Value) -> Lines:
        """Assign a header: all of it, its validity too."""
        kind, source = self.places.header_type(target), self.places.header_type(value)
        if kind != source:
            raise UserError(f"BMv2 JSON: a header '{source.name}' is assigned to a '{kind.name}'")
        if any(isinstance(part, Ref) and self._is_standard(part.name) for part in (target, value)):
            return self._assign_fields(target, value, kind)
        others = self.places.siblings(target)
        return self._assign_parts(self.places.header(target), self.places.header(value), others)

    def _is_standard(self, header: str) -> bool:
        """Whether (some of) the metadata is kept by the run time."""
        return any(ref.header == header for ref in self.layout.standard)

    def _assign_fields(self, target: Value, value: Value, kind: HeaderType) -> Lines:
        """Assign metadata field by field: the run time lays out standard metadata in its own way."""
        if not isinstance(target, Ref) or not isinstance(value, Ref):
            raise UserError("BMv2 JSON: standard metadata is assigned to something that is not metadata")
        fields = [field.name for field in kind.fields if not field.name.startswith("_padding")]
        pairs = [(FieldRef(target.name, name), FieldRef(value.name, name)) for name in fields]
        return [line for one, other in pairs for line in self.assign(one, other)]

    @staticmethod
    def _assign_parts(target: str, source: str, siblings: Lines) -> Lines:
        return [
            f"if ({source}.valid) {{",
            f"    {target} = {source};",
            *(f"    {other}.valid = false;" for other in siblings),
            "} else {",
            f"    {target}.valid = false;",
            "}",
        ]

    def assign_union(self, target: Value, value: Value) -> Lines:
        """Assign a union: at most one member of it is valid, so its members can be copied one by one."""
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

    def _invalidate(self, value: Value, index: str) -> Lines:
        """Make an element of a stack invalid."""
        array, _ = self._stack(value)
        if isinstance(value, Ref) and value.kind == "header_union_stack":
            first = Operation("dereference_union_stack", value, Const(0))
            prefix = self.places.union(first)
            return [
                f"{array}[{index}]{part.removeprefix(prefix)}.valid = false;"
                for part, _ in self.places.union_parts(first)
            ]
        return [f"{array}[{index}].valid = false;"]

    def push(self, stack: Value, number: Value) -> Lines:
        """push_front: the elements move up, the new ones in front are invalid."""
        array, count = self._stack(stack)
        moved, following = _number(number, "push"), self.places.next_index(stack)
        gone = min(moved, count)
        lines = (
            [f"memmove({array} + {gone}, {array}, {count - gone} * sizeof *{array});"] if gone < count else []
        )
        lines += [line for index in range(gone) for line in self._invalidate(stack, str(index))]
        return [*lines, f"{following} = {following} + {moved}u < {count} ? {following} + {moved}u : {count};"]

    def pop(self, stack: Value, number: Value) -> Lines:
        """pop_front: the elements move down, the last ones become invalid."""
        array, count = self._stack(stack)
        moved, following = _number(number, "pop"), self.places.next_index(stack)
        gone = min(moved, count)
        lines = (
            [f"memmove({array}, {array} + {gone}, {count - gone} * sizeof *{array});"] if gone < count else []
        )
        lines += [
            line for index in range(count - gone, count) for line in self._invalidate(stack, str(index))
        ]
        return [*lines, f"{following} = {following} > {moved}u ? {following} - {moved}u : 0;"]

    # -- headers

    def add_header(self, header: Value) -> Lines:
        """setValid: an invalid header becomes valid, its fields zero; the packet grows by it."""
        lvalue, kind = self.places.header(header), self.places.header_type(header)
        lines = [f"memset(&{lvalue}, 0, sizeof {lvalue});", f"{lvalue}.valid = true;"]
        lines += [f"{other}.valid = false;" for other in self.places.siblings(header)]
        lines.append(f"s->v1.current += {size(self.layout, kind, lvalue)};")
        return [f"if (!{lvalue}.valid) {{", *(f"    {line}" for line in lines), "}"]

    def remove_header(self, header: Value) -> Lines:
        """setInvalid; the packet shrinks by the header."""
        lvalue, kind = self.places.header(header), self.places.header_type(header)
        length = size(self.layout, kind, lvalue)
        return [
            f"if ({lvalue}.valid) {{",
            f"    s->v1.current -= {length};",
            f"    {lvalue}.valid = false;",
            "}",
        ]

    # -- state

    def register_read(self, target: Value, register: Value, index: Value) -> Lines:
        """Read a register's cell into a field; out of bounds, the field is left alone."""
        found, field, lvalue = _named(register), self.places.field_type(target), self.places.field(target)
        array, width = self._array("register", found), self.layout.program.registers[found].width
        at = self.expressions.index(index)
        if width > 64:
            count = words(width)
            cell = Code("V1_U128(cell[1], cell[0])", U128, bound.unsigned(width))
            if width > 128:
                self.expressions.note(bound.unsigned(width))
                cell = Code(f"v1_wide_words(cell, {count})", WIDE, bound.unsigned(width))
            body = [f"const uint64_t *cell = v1_register_words({array}, {at});", "if (cell) {"]
            return _block([*body, *_indent(self.store_raw(lvalue, field, cell)), "}"])
        size = self.layout.program.registers[found].size
        read = ["uint64_t cell = 0;", f"v1_register_read({array}, V1_CELL_BYTES({width}), {at}, &cell);"]
        stored = self.store_raw(lvalue, field, Code("cell", U64, bound.unsigned(width)))
        if self.expressions.bounds(index).high < size:
            return _block([*read, *stored])
        return _block(
            [f"uint64_t index = {at};", f"if (index < {size}) {{"]
            + _indent(
                [
                    "uint64_t cell = 0;",
                    f"v1_register_read({array}, V1_CELL_BYTES({width}), index, &cell);",
                    *stored,
                ]
            )
            + ["}"]
        )

    def store_raw(self, lvalue: str, field: Field, code: Code) -> Lines:
        """Store bits that may not fit the field: cut, and taken as signed if the field is."""
        width = code.bounds.bits
        if field.signed and width >= field.width and field.width <= 64 and code.type == U64:
            code = Code(f"v1_signed({code.text}, {field.width})", "int64_t", field_bounds(field))
        elif field.signed and field.width <= 128 and width >= field.width:
            text = self.expressions.convert(code, U128)
            code = Code(f"v1_signed128({text}, {field.width})", "v1_s128", field_bounds(field))
        elif width > field.width and field.width <= 128 and not field.signed:
            kind = U128 if field.width > 64 or code.type == U128 else U64
            text = self.expressions.convert(code, kind)
            mask = self.expressions.constant((1 << field.width) - 1).text
            code = Code(f"{text} & {mask}", kind, field_bounds(field))
        return self.store(lvalue, field, code)

    def register_write(self, register: Value, index: Value, value: Value) -> Lines:
        """Write a number to a register's cell, cut to its width; out of bounds, nothing happens."""
        found = _named(register)
        array, width = self._array("register", found), self.layout.program.registers[found].width
        at = self.expressions.index(index)
        if width <= 64:
            cut = self.expressions.exact(Operation("&", value, Const((1 << width) - 1)))
            return [
                f"v1_register_write({array}, V1_CELL_BYTES({width}), {at}, {self.expressions.convert(cut, U64)});"
            ]
        cell = Field("cell", width) if width > 128 else Field("cell", 128)
        target = "cell" if width > 128 else "*(v1_u128 *)cell"
        masked = Operation("&", value, Const((1 << width) - 1))
        stored = self.store(target, cell, self.expressions.low(masked, width))
        return _block(
            [f"uint64_t *cell = v1_register_words({array}, {at});", "if (cell) {", *_indent(stored), "}"]
        )

    def count(self, counter: Value, index: Value) -> Lines:
        """Count the packet."""
        return [
            f"v1_count(&s->v1, {self._array('counter', _named(counter))}, {self.expressions.index(index)});"
        ]

    def execute_meter(self, meter: Value, index: Value, target: Value) -> Lines:
        """Meter the packet; out of bounds, the field is left alone."""
        array, at = self._array("meter", _named(meter)), self.expressions.index(index)
        return self._through_word(target, "color", f"v1_execute_meter(&s->v1, {array}, {at}, &color);")

    def _through_word(self, target: Value, name: str, call: str) -> Lines:
        """Let a function of the run time change a field by way of a word."""
        field, lvalue = self.places.field_type(target), self.places.field(target)
        before = self.expressions.convert(self.expressions.exact(target), U64)
        stored = self.store_raw(lvalue, field, Code(name, U64, bound.unsigned(64)))
        return _block([f"uint64_t {name} = {before};", call, *stored])

    def _array(self, kind: str, name: str) -> str:
        if (kind, name) not in self.objects.constants:
            raise UserError(f"BMv2 JSON: the direct {kind} '{name}' is used as if it were an array")
        arrays = {"register": "registers", "counter": "counters", "meter": "meters"}
        return f"&s->v1.context->{arrays[kind]}[{self.objects.constants[kind, name]}]"

    # -- hashes and random numbers

    def hash(self, target: Value, base: Value, calculation: Value, size: Value) -> Lines:
        """base + hash modulo size; a size of 0 is taken as 1."""
        function = self.objects.calculation_names[_named(calculation)]
        low, field = self.expressions.low, self.places.field_type(target)
        start, modulus = (self.expressions.convert(low(value, 64), U64) for value in (base, size))
        stored = self.store_raw(self.places.field(target), field, Code("value", U64, bound.unsigned(64)))
        if isinstance(size, Const) and size.value >= 1 << 64:
            modulus = "0"
        text = (
            f"{function}(s) % {max(size.value, 1)}u"
            if isinstance(size, Const)
            else f"{function}(s) % (size ? size : 1)"
        )
        lines = [] if isinstance(size, Const) else [f"uint64_t size = {modulus};"]
        return _block([*lines, f"uint64_t value = {text} + {start};", *stored])

    def random(self, target: Value, low: Value, high: Value) -> Lines:
        """A random number from low to high; the field is left alone if there is none."""
        ends = [self.expressions.convert(self.expressions.low(value, 64), U64) for value in (low, high)]
        return self._through_word(target, "value", f"v1_random(&s->v1, {ends[0]}, {ends[1]}, &value);")

    # -- the packet

    def mark_to_drop(self, _standard: Value) -> Lines:
        """Drop the packet at the end of the pipeline, unless something later decides otherwise."""
        return ["v1_mark_to_drop(&s->v1);"]

    def drop(self) -> Lines:
        """P4_14's drop."""
        return ["v1_mark_to_drop(&s->v1);"]

    def clone(self, session: Value, fields: Value) -> Lines:
        """Ask for a clone to a session, with the metadata of a field list."""
        number = self.expressions.exact(Operation("&", session, Const(0x7FFF))).text
        requests = "s->v1.requests"
        return [f"{requests}.clone = true;", f"{requests}.clone_session = (uint16_t)({number});",
                f"{requests}.clone_list = {self._list(fields, 'clone')};"]  # fmt: skip

    def resubmit(self, fields: Value) -> Lines:
        """Ask for the packet to pass ingress again, with the metadata of a field list."""
        return self._again("resubmit", fields)

    def recirculate(self, fields: Value) -> Lines:
        """Ask for the deparsed packet to come in again, with the metadata of a field list."""
        return self._again("recirculate", fields)

    def _again(self, kind: str, fields: Value) -> Lines:
        number = self._list(fields, kind)
        return [f"s->v1.requests.{kind} = true;", f"s->v1.requests.{kind}_list = {number};"]

    def _list(self, value: Value, op: str) -> int:
        number = _number(value, op)
        if number not in self.layout.program.field_lists:
            raise UserError(f"BMv2 JSON: '{op}' names field list {number}, which is missing")
        return number

    def digest(self, _receiver: Value, learn_list: Value) -> Lines:
        """Send a digest at the end of ingress."""
        number = _number(learn_list, "generate_digest")
        if number not in self.objects.digests:
            raise UserError(f"BMv2 JSON: 'generate_digest' names learn list {number}, which is missing")
        return [f"s->v1.requests.digest = {self.objects.digests[number] + 1};"]

    def truncate(self, length: Value) -> Lines:
        """Cut the packet to a length when it leaves."""
        return [f"v1_truncate(&s->v1, {self.expressions.index(length)});"]

    def exit(self) -> Lines:
        """End the pipeline after this action."""
        return ["s->v1.requests.exit = true;"]

    def nothing(self) -> Lines:
        """no_op."""
        return []

    # -- diagnosis

    def log_message(self, message: Value, values: Value) -> Lines:
        """Log a message with values."""
        if not isinstance(message, Text) or not isinstance(values, Vector):
            raise UserError("BMv2 JSON: 'log_msg' needs a string and a list of values")
        shown = []
        for value in values.items:
            bounds = self.expressions.bounds(value) if not self.expressions.is_bool(value) else bound.BOOL
            code, width = self.expressions.exact(value), bounds.bits
            part = Part(f"({code.text})", width)
            if code.type == WIDE:
                part = Part(f"{self.expressions.convert(code, WIDE)}.limb", width)
            shown.append(f"{{{as_words(part)}, {width}, {'true' if bounds.low < 0 else 'false'}}}")
        array = f"(const struct v1_value[]){{{', '.join(shown)}}}" if shown else "NULL"
        return [f"v1_log_message(&s->v1, {literal(message.value)}, {array}, {len(shown)});"]

    def check(self, condition: Value) -> Lines:
        """Assert and assume: log and drop if the condition does not hold."""
        where = (
            f"{self._source.file}:{self._source.line}: {self._source.fragment}"
            if self._source
            else "assert or assume"
        )
        return [
            f"if (!({self.expressions.nonzero(condition)}))",
            f"    v1_assert_failed(&s->v1, {literal(where)});",
        ]


def _number(value: Value, op: str) -> int:
    if not isinstance(value, Const):
        raise UserError(f"BMv2 JSON: '{op}' needs a constant")
    return value.value


def _named(value: Value) -> str:
    if not isinstance(value, Ref):
        raise UserError(f"BMv2 JSON: expected the name of an object, got {value}")
    return value.name


def _indent(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


def _block(lines: Lines) -> Lines:
    return ["{", *_indent(lines), "}"]


_HANDLERS: dict[str, tuple[Callable[..., Lines], int]] = {
    "assign": (Statements.assign, 2),
    "assign_VL": (Statements.assign_variable, 2),
    "assign_header": (Statements.assign_header, 2),
    "assign_union": (Statements.assign_union, 2),
    "assign_header_stack": (Statements.assign_stack, 2),
    "assign_union_stack": (Statements.assign_stack, 2),
    "push": (Statements.push, 2),
    "pop": (Statements.pop, 2),
    "add_header": (Statements.add_header, 1),
    "remove_header": (Statements.remove_header, 1),
    "register_read": (Statements.register_read, 3),
    "register_write": (Statements.register_write, 3),
    "count": (Statements.count, 2),
    "execute_meter": (Statements.execute_meter, 3),
    "modify_field_with_hash_based_offset": (Statements.hash, 4),
    "modify_field_rng_uniform": (Statements.random, 3),
    "mark_to_drop": (Statements.mark_to_drop, 1),
    "drop": (Statements.drop, 0),
    "clone_ingress_pkt_to_egress": (Statements.clone, 2),
    "clone_egress_pkt_to_egress": (Statements.clone, 2),
    "resubmit": (Statements.resubmit, 1),
    "recirculate": (Statements.recirculate, 1),
    "generate_digest": (Statements.digest, 2),
    "truncate": (Statements.truncate, 1),
    "exit": (Statements.exit, 0),
    "no_op": (Statements.nothing, 0),
    "log_msg": (Statements.log_message, 2),
    "assert": (Statements.check, 1),
    "assume": (Statements.check, 1),
}
