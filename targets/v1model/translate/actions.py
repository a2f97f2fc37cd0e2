# SPDX-License-Identifier: Apache-2.0
"""Actions as C functions."""

from __future__ import annotations

from grasp import UserError
from grasp.targets.v1model.p4json import Action, Primitive
from grasp.targets.v1model.p4values import Const
from grasp.targets.v1model.translate.cnames import Names, comment
from grasp.targets.v1model.translate.layout import Layout, words
from grasp.targets.v1model.translate.objects import Objects
from grasp.targets.v1model.translate.ranges import Argument
from grasp.targets.v1model.translate.statements import Statements


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
    text = "".join(f"    {line}\n" for line in lines)
    name = objects.action_names[action.id]
    title = f"/* action {comment(action.name)} */"
    return f"{title}\nstatic inline void {name}(struct state *s{head}) {{\n{text}}}\n"


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
    """The statements of an action; jumps go to the label of a primitive."""
    targets = {_target(primitive) for primitive in primitives if primitive.op in ("_jump", "_jump_if_zero")}
    if bad := [target for target in targets if target > len(primitives)]:
        raise UserError(f"BMv2 JSON: a jump to primitive {bad[0]} leads out of its action")
    lines, noted = list[str](), ""
    for number, primitive in enumerate(primitives):
        if number in targets:
            lines.append(f"step_{number}:;")
        source = primitive.source
        if source is not None and source.fragment not in ("", noted) and not primitive.op.startswith("_jump"):
            noted = source.fragment
            lines.append(f"/* {comment(noted)} */")
        if primitive.op == "_jump":
            lines.append(f"goto step_{_target(primitive)};")
        elif primitive.op == "_jump_if_zero":
            condition = statements.expressions.nonzero(primitive.parameters[0])
            lines.append(f"if (!({condition}))")
            lines.append(f"    goto step_{_target(primitive)};")
        else:
            lines += statements.write(primitive)
    if len(primitives) in targets:
        lines.append(f"step_{len(primitives)}:;")
    return lines


def _target(primitive: Primitive) -> int:
    last = primitive.parameters[-1] if primitive.parameters else None
    if not isinstance(last, Const):
        raise UserError(f"BMv2 JSON: '{primitive.op}' needs a constant to jump to")
    return last.value
