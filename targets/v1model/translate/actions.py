# SPDX-License-Identifier: Apache-2.0
"""Actions as C functions."""

from __future__ import annotations

from grasp import UserError
from grasp.targets.v1model.p4json import Action, Primitive
from grasp.targets.v1model.p4values import Const
from grasp.targets.v1model.translate.cnames import Names, comment, text
from grasp.targets.v1model.translate.fields import indent
from grasp.targets.v1model.translate.layout import Layout, words
from grasp.targets.v1model.translate.objects import Objects
from grasp.targets.v1model.translate.ranges import Argument
from grasp.targets.v1model.translate.statements import Statements

_JUMPS = {"_jump": 1, "_jump_if_zero": 2}  # and how many parameters they have


def arguments(action: Action) -> tuple[Argument, ...]:
    """The parameters of an action's function."""
    names = Names()
    return tuple(Argument(names.new(parameter.name), parameter.width) for parameter in action.parameters)


def action_function(layout: Layout, objects: Objects, action: Action) -> str:
    """The function of an action."""
    parameters = arguments(action)
    statements = Statements(layout, objects, parameters)
    lines = body(statements, action.primitives)
    head = "".join(f", {_declaration(parameter)}" for parameter in parameters)
    inner = "".join(f"    {line}\n" for line in lines)
    name = objects.action_names[action.id]
    title = f"/* action {comment(action.name)} */"
    return f"{title}\nstatic inline void {name}(struct state *s{head}) {{\n{inner}}}\n"


def _declaration(argument: Argument) -> str:
    if argument.width > 128:
        return f"const uint64_t *{argument.name}"
    return f"{'uint64_t' if argument.width <= 64 else 'v1_u128'} {argument.name}"


def call(objects: Objects, action: Action, args: str) -> str:
    """C code that calls an action with the words of a table entry."""
    texts, at = list[str](), 0
    for parameter in action.parameters:
        if parameter.width <= 64:
            texts.append(f"{args}[{at}]")
        elif parameter.width <= 128:
            texts.append(f"V1_U128({args}[{at + 1}], {args}[{at}])")
        else:
            texts.append(f"{args} + {at}")
        at += words(parameter.width)
    return f"{objects.action_names[action.id]}({', '.join(['s', *texts])});"


def body(statements: Statements, primitives: tuple[Primitive, ...]) -> list[str]:
    """The statements of an action."""
    return Body(statements, primitives).lines()


class Body:
    """Writes primitives; their jumps become ifs and loops again, gotos for break, continue and return."""

    def __init__(self, statements: Statements, primitives: tuple[Primitive, ...]) -> None:
        self.statements, self.primitives = statements, primitives
        self.wanted: set[int] = set()  # primitives that a goto leads to
        self.targets = {
            number: self._target(number) for number, one in enumerate(primitives) if one.op in _JUMPS
        }

    def lines(self) -> list[str]:
        """The statements."""
        if self.targets:
            self._sequence(0, len(self.primitives))  # to learn which labels are wanted
        return [*self._sequence(0, len(self.primitives)), *self._label(len(self.primitives))]

    def _target(self, number: int) -> int:
        """Where a jump leads."""
        op, parameters = self.primitives[number].op, self.primitives[number].parameters
        if len(parameters) != _JUMPS[op] or not isinstance(target := parameters[-1], Const):
            raise UserError(f"BMv2 JSON: '{op}' needs a constant to jump to")
        if target.value > len(self.primitives):
            raise UserError(f"BMv2 JSON: a jump to primitive {target.value} leads out of its action")
        return target.value

    def _sequence(self, at: int, end: int) -> list[str]:
        """The primitives from one up to another, exclusive."""
        lines, noted = list[str](), ""
        while at < end:
            lines += self._label(at)
            primitive, target = self.primitives[at], self.targets.get(at)
            if primitive.op == "_jump_if_zero" and target is not None and at < target <= end:
                found, at = self._structure(at, target, end)
                lines += found
                continue
            if target is not None:
                lines += self._goto(at, target)
            else:
                source = primitive.source
                if source is not None and source.fragment not in ("", noted):
                    noted = source.fragment
                    lines.append(f"/* {comment(noted)} */")
                lines += self.statements.write(primitive)
            at += 1
        return lines

    def _structure(self, at: int, target: int, end: int) -> tuple[list[str], int]:
        """The if or the loop that a conditional jump begins, and the primitive behind it."""
        primitive, last = self.primitives[at], target - 1
        condition = self.statements.expressions.nonzero(primitive.parameters[0])
        fragment = primitive.source.fragment if primitive.source else "if"
        note = f" /* {comment(fragment)} */" if fragment != "if" else ""
        after = self.targets.get(last) if self.primitives[last].op == "_jump" else None
        if after == at:
            where = f"{primitive.source.file}:{primitive.source.line}" if primitive.source else "an action"
            stop = f"v1_assert_failed(&s->v1, {text(f'{where}: a loop without end')});"
            head = f"for (uint32_t round = 0; {condition}; round++) {{{note}"
            guard = ["if (round == V1_ROUNDS) {", f"    {stop}", "    break;", "}"]
            inner = [*guard, *self._sequence(at + 1, last), *self._label(last)]
            return [head, *indent(inner), "}"], target
        if after is not None and target < after <= end:
            inner = [*self._sequence(at + 1, last), *self._label(last)]
            other = self._sequence(target, after)
            return [f"if ({condition}) {{{note}", *indent(inner), "} else {", *indent(other), "}"], after
        return [f"if ({condition}) {{{note}", *indent(self._sequence(at + 1, target)), "}"], target

    def _goto(self, at: int, target: int) -> list[str]:
        if target <= at:
            raise UserError(f"BMv2 JSON: primitive {at} jumps back, and that is no loop")
        self.wanted.add(target)
        if self.primitives[at].op == "_jump":
            return [f"goto step_{target};"]
        condition = self.statements.expressions.nonzero(self.primitives[at].parameters[0])
        return [f"if (!({condition}))", f"    goto step_{target};"]

    def _label(self, number: int) -> list[str]:
        return [f"step_{number}:;"] if number in self.wanted else []
