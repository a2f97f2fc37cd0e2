# SPDX-License-Identifier: Apache-2.0
"""Tables as C functions: build the key, look it up, run the action."""

from __future__ import annotations

from collections import Counter

from grasp.targets.v1model.p4json import Pipeline, Table, TableKey
from grasp.targets.v1model.p4values import VALID, Const, FieldRef, Operation
from grasp.targets.v1model.translate import bounds as bound
from grasp.targets.v1model.translate.actions import call
from grasp.targets.v1model.translate.cnames import comment
from grasp.targets.v1model.translate.codes import U64, U128, Code
from grasp.targets.v1model.translate.keys import key_layout, key_size, key_words
from grasp.targets.v1model.translate.layout import Layout, words
from grasp.targets.v1model.translate.objects import Objects
from grasp.targets.v1model.translate.packing import Part
from grasp.targets.v1model.translate.statements import Statements


def is_plain_call(layout: Layout, table: Table) -> bool:
    """Whether applying the table always runs one action, which needs no look-up.

    p4c makes such tables of statements: no key, and a constant default action that is the only one.
    """
    default = table.default
    return (
        not table.keys
        and default is not None
        and default.constant
        and table.actions == (default.action,)
        and not layout.program.actions[default.action].parameters
        and not table.with_counters
        and table.direct_meter is None
        and table.profile is None
        and table.next_hit_miss is None
    )


def inlined_actions(layout: Layout) -> set[int]:
    """Actions that p4c made of statements: called in one place, without a table, and free of jumps."""
    program, calls, others = layout.program, Counter[int](), set[int]()
    for pipeline in (program.ingress, program.egress):
        calls.update(call.action for call in pipeline.calls.values())
        for table in pipeline.tables.values():
            if is_plain_call(layout, table):
                calls.update(table.actions)
            else:
                others.update(table.actions)
    return {
        number
        for number, count in calls.items()
        if count == 1
        and number not in others
        and not any(primitive.op.startswith("_jump") for primitive in program.actions[number].primitives)
    }


def outcome(table: Table) -> str:
    """What decides where to go on after a table: '' (nothing), 'hit' or 'action'."""
    if table.next_hit_miss is not None:
        return "hit" if table.next_hit_miss[0] != table.next_hit_miss[1] else ""
    following = {*table.next_actions.values(), table.next_default}
    return "action" if len(following) > 1 else ""


class Tables:
    """Writes the functions that apply tables."""

    def __init__(self, layout: Layout, objects: Objects) -> None:
        self.layout, self.objects = layout, objects
        self.statements = Statements(layout, objects)
        self.expressions = self.statements.expressions

    def functions(self, pipeline: Pipeline) -> str:
        """The tables of a pipeline."""
        return "\n".join(
            self._apply(table) for table in pipeline.tables.values() if not is_plain_call(self.layout, table)
        )

    def _apply(self, table: Table) -> str:
        result = outcome(table)
        kind = {"": "void", "hit": "bool", "action": "uint32_t"}[result]
        parts = [self.key_part(key) for key in table.keys]
        places = key_layout([part.width for part in parts])
        number = self.objects.constants["table", table.name]
        size = key_size(places)
        lines = [
            f"struct v1_table *table = &s->v1.context->tables[{number}];",
            f"const uint64_t key[] = {{{', '.join(key_words(parts, places)) or '0'}}};",
            f"struct v1_entry *entry = v1_match_exact(table, key, {size});"
            if table.match == "exact"
            else "struct v1_entry *entry = v1_match(table, key);",
        ]
        if table.direct_meter is not None:
            lines += self._meter(table.direct_meter)
        lines.append("const struct v1_call *call = v1_result(&s->v1, table, entry);")
        if result == "action":
            lines.append("uint32_t action = call->action;")
        lines += self._switch(table)
        if result:
            lines.append("return entry != NULL;" if result == "hit" else "return action;")
        keys = ", ".join(f"{key.name} {key.match}" for key in table.keys) or "no key"
        text = "".join(f"    {line}\n" for line in lines)
        name = self.objects.table_names[table.name]
        head = f"static inline {kind} {name}(struct state *s)"
        return f"/* table {comment(table.name)}: {comment(keys)} */\n{head} {{\n{text}}}\n"

    def _switch(self, table: Table) -> list[str]:
        """Run the action that the entry, or the default, names."""
        program, lines = self.layout.program, ["switch (call->action) {"]
        for action in dict.fromkeys(table.actions):
            if program.actions[action].primitives:
                lines.append(f"case {self.objects.constants['action', action]}:")
                lines += [f"    {call(self.objects, program.actions[action], 'call->args')}", "    break;"]
        return [*lines, "default:", "    break;", "}"] if len(lines) > 1 else ["(void)call;"]

    def _meter(self, name: str) -> list[str]:
        """A direct meter colours the packet before the action runs."""
        target = self.layout.program.meters[name].result
        assert target is not None  # a direct meter
        lvalue, field = self.layout.field(target), self.layout.program.field(target)
        return [
            "if (entry) {",
            "    uint64_t color = v1_direct_meter(&s->v1, table, entry);",
            *(
                f"    {line}"
                for line in self.statements.fields.store_raw(
                    lvalue, field, Code("color", U64, bound.unsigned(64))
                )
            ),
            "}",
        ]

    def key_part(self, key: TableKey) -> Part:
        """The bits of a key element: those of an invalid header are 0."""
        value = key.value
        if isinstance(value, FieldRef) and value.field == VALID:
            return Part(self.layout.field(value), 1)
        field, lvalue = self.expressions.places.field_type(value), self.expressions.places.field(value)
        width, valid = field.width, self._valid(key)
        if width > 128:
            text = (
                lvalue if valid == "true" else f"({valid} ? {lvalue} : (const uint64_t[{words(width)}]){{0}})"
            )
            return Part(text, width)
        whole = (1 << width) - 1
        mask = whole if key.mask is None else key.mask & whole
        code = self.expressions.exact(value)
        if mask != whole or field.signed:
            code = self.expressions.exact(Operation("&", value, Const(mask)))
        text = self.layout.codes.convert(code, U64 if width <= 64 else U128)
        if valid != "true":
            return Part(f"({valid} ? {text} : 0)", width)
        return Part(text if text.isidentifier() else f"({text})", width)

    def _valid(self, key: TableKey) -> str:
        match key.value:
            case FieldRef(header, _):
                return self.layout.valid(header)
            case Operation(op="access_field", left=left) if left is not None:
                return f"{self.expressions.places.header(left)}.valid"
        return "true"
