# SPDX-License-Identifier: Apache-2.0
"""Calculations, checksums and the hashes of action selectors as C functions."""

from __future__ import annotations

from functools import partial, reduce
from itertools import groupby

from grasp import UserError
from grasp.targets.v1model.p4json import Calculation, Checksum, Program
from grasp.targets.v1model.p4values import Const, FieldRef, Ref
from grasp.targets.v1model.translate import bounds as bound
from grasp.targets.v1model.translate.cnames import comment
from grasp.targets.v1model.translate.codes import U64, Code, joined
from grasp.targets.v1model.translate.headers import most_bytes
from grasp.targets.v1model.translate.layout import Layout
from grasp.targets.v1model.translate.objects import Objects
from grasp.targets.v1model.translate.packing import Part, as_words, store_lines
from grasp.targets.v1model.translate.statements import Statements


class Checksums:
    """Writes what hashes."""

    def __init__(self, layout: Layout, objects: Objects) -> None:
        self.layout, self.objects = layout, objects
        self.statements = Statements(layout, objects)

    def functions(self) -> str:
        """All of it."""
        program = self.layout.program
        parts = [self._calculation(calculation) for calculation in program.calculations.values()]
        parts += [
            self._selector(program, name) for name, profile in program.profiles.items() if profile.selector
        ]
        parts.append(
            self._checksums("verify", [checksum for checksum in program.checksums if checksum.verify])
        )
        parts.append(
            self._checksums("update", [checksum for checksum in program.checksums if checksum.update])
        )
        return "\n".join(parts)

    def _calculation(self, calculation: Calculation) -> str:
        name = self.objects.calculation_names[calculation.name]
        lines = self._bytes(calculation.inputs, calculation.payload)
        head = f"static uint64_t {name}(const struct state *s)"
        return self._function(
            head, [*lines, self._hash(calculation.algorithm)], f"calculation {calculation.name}"
        )

    def _selector(self, program: Program, name: str) -> str:
        selector = program.profiles[name].selector
        assert selector is not None
        inputs = list[FieldRef | Const | Ref]()
        for value in selector.inputs:
            if not isinstance(value, FieldRef):
                raise UserError(f"BMv2 JSON: action selector '{name}' hashes something that is not a field")
            inputs.append(value)
        lines = ["const struct state *s = (const struct state *)packet;", *self._bytes(tuple(inputs), False)]
        head = f"static uint64_t {self.objects.select_names[name]}(const struct v1_packet *packet)"
        return self._function(head, [*lines, self._hash(selector.algorithm)], f"selector of {name}")

    def _function(self, head: str, lines: list[str], title: str) -> str:
        return f"/* {comment(title)} */\n{head} {{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"

    def _hash(self, algorithm: str) -> str:
        return f"return v1_hash_{algorithm.removesuffix('_custom')}(bytes, count);"

    def _bytes(self, inputs: tuple[FieldRef | Const | Ref, ...], payload: bool) -> list[str]:
        """C statements that collect the inputs in `bytes`, `count` of them; invalid headers are left out."""
        most = sum(self._most(item) for item in inputs)
        room = f"{(most + 7) // 8 + 8}" + (" + s->v1.length - s->v1.parsed" if payload else "")
        groups = [(header, list(found)) for header, found in groupby(inputs, self._condition)]
        whole = all(sum(self._most(item) for item in found) % 8 == 0 for _, found in groups)
        lines = [f"uint8_t bytes[{room}];", "size_t count = 0;"]
        if not whole or any(self._variable(item) for item in inputs):
            return [*lines, *self._by_bits(groups), *self._payload(payload)]
        for condition, found in groups:
            parts = [part for item in found for part in self._parts(item)]
            length = sum(part.width for part in parts) // 8
            body = [*store_lines(parts, "bytes + count"), f"count += {length};"]
            lines += _conditional(condition, body)
        return [*lines, *self._payload(payload)]

    def _payload(self, payload: bool) -> list[str]:
        if not payload:
            return []
        return [
            "size_t rest = s->v1.length - s->v1.parsed;",
            "memcpy(bytes + count, s->v1.data + s->v1.parsed, rest);",
            "count += rest;",
        ]

    def _by_bits(self, groups: list[tuple[str, list[FieldRef | Const | Ref]]]) -> list[str]:
        """The same, bit by bit: for variable fields, and fields that do not make whole bytes."""
        lines = ["memset(bytes, 0, sizeof bytes);", "size_t bits = 0;"]
        for condition, found in groups:
            body = list[str]()
            for item in found:
                for lvalue, part in self._pieces(item):
                    if part is None:
                        body += [
                            f"v1_copy_bits(bytes, bits, {lvalue}, 0, {lvalue}_bits);",
                            f"bits += {lvalue}_bits;",
                        ]
                    else:
                        body += [
                            f"v1_store_bits(bytes, bits, {as_words(part)}, {part.width});",
                            f"bits += {part.width};",
                        ]
            lines += _conditional(condition, body)
        return [*lines, "count = (bits + 7) / 8;"]

    def _pieces(self, item: FieldRef | Const | Ref) -> list[tuple[str, Part | None]]:
        """Lvalues and parts, in order; a variable field has no part."""
        match item:
            case Const():
                return [("", part) for part in self._parts(item)]
            case FieldRef():
                refs = [item]
            case Ref(_, name):
                refs = [FieldRef(name, field.name) for field in self.layout.program.headers[name].type.fields]
        pieces = list[tuple[str, Part | None]]()
        for ref in refs:
            field, lvalue = self.layout.program.field(ref), self.layout.field(ref)
            pieces.append((lvalue, None if field.variable else Part(lvalue, field.width, field.signed)))
        return pieces

    def _parts(self, item: FieldRef | Const | Ref) -> list[Part]:
        if isinstance(item, Const):
            width = item.width or 0
            value = item.value & (1 << width) - 1
            if width > 128:
                shown = ", ".join(
                    f"{value >> shift & 0xFFFFFFFFFFFFFFFF:#x}u" for shift in range(0, width, 64)
                )
                return [Part(f"((const uint64_t[]){{{shown}}})", width)]
            return [Part(self.layout.codes.constant(value).text, width)]
        return [part for _, part in self._pieces(item) if part is not None]

    def _most(self, item: FieldRef | Const | Ref) -> int:
        """The width of an input, at most."""
        match item:
            case Const(_, width):
                return width or 0
            case FieldRef():
                return self.layout.program.field(item).width
            case Ref(_, name):
                return 8 * most_bytes(self.layout.program.headers[name].type)

    def _variable(self, item: FieldRef | Const | Ref) -> bool:
        return any(part is None for _, part in self._pieces(item))

    def _condition(self, item: FieldRef | Const | Ref) -> str:
        """Under what condition the input is there."""
        match item:
            case FieldRef(header, _) | Ref(_, header):
                return self.layout.valid(header)
        return "true"

    def _checksums(self, kind: str, checksums: list[Checksum]) -> str:
        lines = list[str]()
        for checksum in checksums:
            conditions, lines_of_one = list[str](), list[str]()
            if checksum.condition is not None:
                conditions.append(self.statements.expressions.nonzero(checksum.condition))
            function = self.objects.calculation_names[checksum.calculation]
            target, field = self.layout.field(checksum.target), self.layout.program.field(checksum.target)
            if kind == "verify":
                value = self.statements.expressions.exact(checksum.target)
                number = self.layout.codes.convert(value, U64)
                conditions = [
                    self.layout.valid(checksum.target.header),
                    *conditions,
                    f"{function}(s) != {number}",
                ]
                lines_of_one.append("s->v1.standard.checksum_error = 1;")
            else:
                code = Code(f"{function}(s)", U64, bound.unsigned(64))
                lines_of_one += self.statements.fields.store_raw(target, field, code)
            conditions = [condition for condition in dict.fromkeys(conditions) if condition != "true"]
            lines += _conditional(reduce(partial(joined, "&&"), conditions or ["true"]), lines_of_one)
        head = f"static inline void {kind}_checksums(struct state *s)"
        return f"{head} {{\n" + "".join(f"    {line}\n" for line in lines or ["(void)s;"]) + "}\n"


def _conditional(condition: str, body: list[str]) -> list[str]:
    if condition == "true":
        return body
    return [f"if ({condition}) {{", *(f"    {line}" for line in body), "}"]
