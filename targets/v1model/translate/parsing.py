# SPDX-License-Identifier: Apache-2.0
"""The parser as C: one function per state, and one that walks from state to state."""

from __future__ import annotations

from grasp import UserError
from grasp.targets.v1model.p4json import (
    Advance,
    Extract,
    Field,
    HeaderType,
    ParserOp,
    ParserState,
    SetField,
    Transition,
    Verify,
)
from grasp.targets.v1model.p4values import (
    Const,
    FieldRef,
    Lookahead,
    Operation,
    Ref,
    StackField,
    UnionStackField,
    Value,
)
from grasp.targets.v1model.translate import bounds as bound
from grasp.targets.v1model.translate.cnames import comment
from grasp.targets.v1model.translate.codes import U64, U128, WIDE, Code
from grasp.targets.v1model.translate.headers import fixed_bytes, size, variable_field
from grasp.targets.v1model.translate.keys import key_layout, key_words
from grasp.targets.v1model.translate.layout import Layout, words
from grasp.targets.v1model.translate.objects import Objects
from grasp.targets.v1model.translate.packing import Part, load
from grasp.targets.v1model.translate.ranges import is_bool
from grasp.targets.v1model.translate.statements import Statements

_CORE = (
    "NoError",
    "PacketTooShort",
    "NoMatch",
    "StackOutOfBounds",
    "HeaderTooShort",
    "ParserTimeout",
    "ParserInvalidArgument",
)


class Parsing:
    """Writes the functions of a program's parser."""

    def __init__(self, layout: Layout, objects: Objects) -> None:
        self.layout, self.objects = layout, objects
        self.program = layout.program
        self.statements = Statements(layout, objects)
        self.expressions, self.places = self.statements.expressions, self.statements.places
        self.errors = dict(self.program.errors)
        for name in _CORE:  # a program that does not use them need not number them
            self.errors.setdefault(name, max(self.errors.values(), default=-1) + 1)

    def functions(self) -> str:
        """All of it."""
        states = self.program.parser.states.values()
        lines = [
            "/* Where a parser stands in a packet. */",
            "struct cursor {",
            "    const uint8_t *at, *end;",
            "};",
            "",
            self.objects.enum("enum parser_state", ["ACCEPT", "REJECT", *self.objects.members("parse")]),
            "",
            "/* End of parsing with an error. */",
            "static inline enum parser_state parser_error(struct state *s, uint64_t error) {",
            "    s->v1.standard.parser_error = error;",
            "    return REJECT;",
            "}",
            "",
            f"enum {{ {', '.join(f'ERROR_{name} = {self.errors[name]}' for name in _CORE)} }};",
            "",
        ]
        return "\n".join([*lines, *(self._state(state) for state in states), self._walk()])

    def _label(self, state: str) -> str:
        return self.objects.constants["parse", state]

    def _walk(self) -> str:
        """The function that goes from state to state: what a state returns is where to jump."""
        lines = ["static void run_parser(struct state *s) {"]
        lines.append("    struct cursor cursor = {s->v1.data, s->v1.data + s->v1.length};")
        if no_error := self.errors["NoError"]:
            lines.append(f"    s->v1.standard.parser_error = {no_error};")
        if self.program.parser.start is not None:
            idle = self._idle_loops()
            lines += ["    uint32_t rounds = 0;"] if idle else []
            lines.append(f"    goto {self._jump(self.program.parser.start)};")
            for state in self.program.parser.states.values():
                following = {transition.next_state for transition in state.transitions} - {None}
                lines.append(f"{self._jump(state.name)}:")
                if state.name in idle:
                    lines.append("    if (++rounds > V1_ROUNDS) {")
                    lines += [
                        "        parser_error(s, ERROR_ParserTimeout);",
                        "        goto finished;",
                        "    }",
                    ]
                lines.append(f"    switch ({self.objects.state_names[state.name]}(s, &cursor)) {{")
                for name in sorted(map(str, following)):
                    lines += [f"    case {self._label(name)}:", f"        goto {self._jump(name)};"]
                lines += ["    default:", "        goto finished;", "    }"]
            lines.append("finished:")
        return "\n".join([*lines, "    s->v1.parsed = (uint32_t)(cursor.at - s->v1.data);", "}\n"])

    def _idle_loops(self) -> set[str]:
        """States from which the parser can come back to them without having consumed anything."""
        states = self.program.parser.states
        ways = {
            name: {str(transition.next_state) for transition in state.transitions} & states.keys()
            for name, state in states.items()
            if not any(self._consumes(op) for op in state.ops)
        }
        found = set[str]()
        for name in ways:
            seen, waiting = set[str](), list(ways[name])
            while waiting:
                other = waiting.pop()
                if other not in seen:
                    seen.add(other)
                    waiting += ways.get(other, ())
            found |= {name} & seen
        return found

    def _consumes(self, op: ParserOp) -> bool:
        """Whether an operation always takes some of the packet."""
        match op:
            case Extract(Ref("header", name)):
                return fixed_bytes(self.program.headers[name].type) > 0
            case Extract(Ref("header_stack", _) | UnionStackField()):
                return True  # the stack ends
            case Advance(Const(bits)):
                return bits > 0
        return False

    def _jump(self, state: str) -> str:
        return f"at_{self.objects.state_names[state].removeprefix('parse_')}"

    def _state(self, state: ParserState) -> str:
        lines = list[str]()
        for op in state.ops:
            match op:
                case Extract():
                    lines += self._extract(op)
                case SetField(target, value):
                    lines += self._set(target, value)
                case Verify(condition, error):
                    code = self.expressions.exact(error).text
                    lines += [
                        f"if (!({self.expressions.nonzero(condition)}))",
                        f"    return parser_error(s, {code});",
                    ]
                case Advance(bits):
                    lines += self._advance(bits)
                case _:
                    lines += self.statements.write(op)
        lines += self._select(state)
        name, text = self.objects.state_names[state.name], "".join(f"    {line}\n" for line in lines)
        head = f"static inline enum parser_state {name}(struct state *s, struct cursor *cursor)"
        return f"/* parser state {comment(state.name)} */\n{head} {{\n{text}}}\n"

    # -- operations

    def _need(self, count: str) -> list[str]:
        return [
            f"if ((size_t)(cursor->end - cursor->at) < {count})",
            "    return parser_error(s, ERROR_PacketTooShort);",
        ]

    def _extract(self, op: Extract) -> list[str]:
        lines, siblings = list[str](), list[str]()
        following = ""
        match op.target:
            case Ref("header_stack", name):
                stack = self.program.stacks[name]
                following, array = self.layout.nexts[name], self.layout.stacks[name]
                lines += self._room(following, len(stack.headers))
                lvalue, kind = f"{array}[{following}]", stack.type
            case UnionStackField(name, member, _):
                unions = self.program.union_stacks[name].unions
                following, array = self.layout.nexts[name], self.layout.stacks[name]
                lines += self._room(following, len(unions))
                union = Operation("dereference_union_stack", Ref("header_union_stack", name), Const(0))
                first = self.places.union(union)
                parts = dict(
                    zip(
                        dict(self.places.union_type(union).members),
                        self.places.union_parts(union),
                        strict=True,
                    )
                )
                place, kind = parts[member]
                lvalue = f"{array}[{following}]{place.removeprefix(first)}"
                siblings = [
                    f"{array}[{following}]{other.removeprefix(first)}"
                    for name, (other, _) in parts.items()
                    if name != member
                ]
            case target:
                lvalue, kind = self.places.header(target), self.places.header_type(target)
                siblings = self.places.siblings(target)
        struct, variable = self.layout.structs[kind.name], variable_field(kind)
        if op.length is None and variable is not None:
            raise UserError(
                f"BMv2 JSON: header type '{kind.name}' has a variable field, which 'extract' gives no length"
            )
        if op.length is None:
            lines += self._need(str(fixed_bytes(kind)))
            lines += [f"extract_{struct}(&{lvalue}, cursor->at);", f"cursor->at += {fixed_bytes(kind)};"]
        else:
            lines += self._extract_variable(op.length, lvalue, kind, struct)
        lines += [f"{other}.valid = false;" for other in siblings]
        return [*lines, f"{following}++;"] if following else lines

    def _room(self, following: str, count: int) -> list[str]:
        return [f"if ({following} >= {count})", "    return parser_error(s, ERROR_StackOutOfBounds);"]

    def _extract_variable(self, length: Value, lvalue: str, kind: HeaderType, struct: str) -> list[str]:
        variable = variable_field(kind)
        most = variable.width if variable else 0
        bits = self.expressions.index(length)
        return [
            "{",
            f"    uint64_t bits = {bits};",
            "    if (bits % 8)",
            "        return parser_error(s, ERROR_ParserInvalidArgument);",
            *(f"    {line}" for line in self._need(f"{fixed_bytes(kind)} + bits / 8")),
            f"    if (bits > {most})",
            "        return parser_error(s, ERROR_HeaderTooShort);",
            f"    extract_{struct}(&{lvalue}, cursor->at{', (uint16_t)bits' if variable else ''});",
            f"    cursor->at += {size(self.layout, kind, lvalue)};",
            "}",
        ]

    def _set(self, target: FieldRef, value: Value) -> list[str]:
        if not isinstance(value, Lookahead):
            return self.statements.fields.assign(target, value)
        field = self.places.field_type(target)
        code = self._lookahead(value)
        store = self.statements.fields.store_raw(self.places.field(target), field, code)
        return [*self._need(str((value.width + 7) // 8)), *store]

    def _lookahead(self, value: Lookahead) -> Code:
        """The bits ahead; the caller has made sure that they are there."""
        bounds = bound.unsigned(value.width)
        if text := load(Field("lookahead", value.width), value.offset, "cursor->at"):
            return Code(text, U64 if value.width <= 64 else U128, bounds)
        count = words(value.width)
        call = f"v1_ahead((uint64_t[{count}]){{0}}, cursor->at, {value.offset}, {value.width})"
        if value.width <= 64:
            return Code(f"*{call}", U64, bounds)
        if value.width <= 128:
            return Code(f"*(const v1_u128 *){call}", U128, bounds)
        self.layout.codes.note(bounds)
        return Code(f"v1_wide_words({call}, {count})", WIDE, bounds)

    def _advance(self, bits: Value) -> list[str]:
        if isinstance(bits, Const) and bits.value % 8 == 0:
            return [*self._need(str(bits.value // 8)), f"cursor->at += {bits.value // 8};"]
        return [
            "{",
            f"    uint64_t bits = {self.expressions.index(bits)};",
            "    if (bits % 8)",
            "        return parser_error(s, ERROR_ParserInvalidArgument);",
            *(f"    {line}" for line in self._need("bits / 8")),
            "    cursor->at += bits / 8;",
            "}",
        ]

    # -- transitions

    def _select(self, state: ParserState) -> list[str]:
        """The transition: conditions in order, the default last."""
        lines, names, widths = list[str](), list[str](), list[int]()
        for number, value in enumerate(state.key):
            code, width, needed = self._key(value)
            lines += needed
            if code.type == WIDE:
                raise UserError(f"BMv2 JSON: parser state '{state.name}' selects on more than 128 bits")
            names.append("select" if len(state.key) == 1 else f"select_{number}")
            widths.append(width)
            lines.append(f"{U64 if width <= 64 else U128} {names[-1]} = {code.text};")
        fixed = [
            transition
            for transition in state.transitions
            if transition.value is not None or transition.value_set
        ]
        default = [transition for transition in state.transitions if transition not in fixed]
        last = f"return {self._next(default[0]) if default else 'ACCEPT'};"
        if not state.key and fixed:
            raise UserError(f"BMv2 JSON: parser state '{state.name}' has conditions, but no key")
        plain = all(transition.mask is None and not transition.value_set for transition in fixed)
        values = [transition.value for transition in fixed]
        if len(names) == 1 and widths[0] <= 64 and plain and len(set(values)) == len(values) and fixed:
            cases = [
                f"case {self.layout.codes.constant(t.value or 0).text}:\n        return {self._next(t)};"
                for t in fixed
            ]
            return [*lines, f"switch ({names[0]}) {{", *cases, "default:", f"    {last}", "}"]
        for transition in fixed:
            condition = self._condition(transition, names, widths)
            lines += [f"if ({condition})", f"    return {self._next(transition)};"]
        return [*lines, last]

    def _next(self, transition: Transition) -> str:
        return "ACCEPT" if transition.next_state is None else self._label(transition.next_state)

    def _key(self, value: Value) -> tuple[Code, int, list[str]]:
        """A key's raw bits, its width, and a check that they are there."""
        if isinstance(value, Lookahead):
            count = (value.offset + value.width + 7) // 8
            return self._lookahead(value), value.width, self._need(str(count))
        needed = list[str]()
        if isinstance(value, StackField | UnionStackField):
            following = self.layout.nexts[value.stack]
            needed = [f"if ({following} == 0)", "    return parser_error(s, ERROR_StackOutOfBounds);"]
        field = self.places.field_type(value) if not is_bool(value) else None
        code, width = self.expressions.exact(value), field.width if field else 1
        if field and field.signed:
            code = self.expressions.exact(Operation("&", value, Const((1 << width) - 1)))
        return code, width, needed

    def _condition(self, transition: Transition, names: list[str], widths: list[int]) -> str:
        """Whether the keys fit; value and mask are the keys' one after the other, each padded to bytes."""
        if transition.value_set:
            return self._in_set(transition, names, widths)
        tests, shift = list[str](), 8 * sum((width + 7) // 8 for width in widths)
        for name, width in zip(names, widths, strict=True):
            shift -= 8 * ((width + 7) // 8)
            whole = (1 << width) - 1
            value = (transition.value or 0) >> shift & ((1 << 8 * ((width + 7) // 8)) - 1)
            mask = whole if transition.mask is None else transition.mask >> shift & whole
            if mask == whole:
                tests.append(f"{name} == {self.layout.codes.constant(value).text}")
            elif mask:
                shown, wanted = (self.layout.codes.constant(number).text for number in (mask, value & mask))
                tests.append(f"({name} & {shown}) == {wanted}")
        return " && ".join(tests) or "true"

    def _in_set(self, transition: Transition, names: list[str], widths: list[int]) -> str:
        assert transition.value_set is not None
        if transition.mask is not None:
            raise UserError(f"BMv2 JSON: value set '{transition.value_set}' is used with a mask")
        places = key_layout(widths)
        texts = key_words([Part(name, width) for name, width in zip(names, widths, strict=True)], places)
        number = self.objects.constants["value_set", transition.value_set]
        return f"v1_match(&s->v1.context->value_sets[{number}], (const uint64_t[]){{{', '.join(texts)}}})"


def value_set_widths(layout: Layout, name: str) -> list[int]:
    """The widths of the keys that a value set is matched with."""
    program, places = layout.program, Statements(layout, Objects(layout.program)).places
    found = {
        tuple(
            value.width if isinstance(value, Lookahead) else places.field_type(value).width
            for value in state.key
        )
        for state in program.parser.states.values()
        if any(transition.value_set == name for transition in state.transitions)
    }
    if len(found) > 1:
        raise UserError(f"BMv2 JSON: value set '{name}' is matched with keys of different widths")
    return list(found.pop()) if found else [program.value_sets[name].width]
