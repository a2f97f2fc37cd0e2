# SPDX-License-Identifier: Apache-2.0
"""Ingress and egress as C functions: the graph of tables and conditions as nested ifs and switches.

A branch is written up to the node where all its ways meet again (its immediate post-dominator). A node that
several ways reach before that is written once, with a label, and reached by goto from the others.
"""

from __future__ import annotations

from grasp import UserError
from grasp.targets.v1model.p4json import ActionCall, Conditional, Pipeline, Table
from grasp.targets.v1model.translate.cnames import Names, comment
from grasp.targets.v1model.translate.layout import Layout
from grasp.targets.v1model.translate.objects import Objects
from grasp.targets.v1model.translate.statements import Statements
from grasp.targets.v1model.translate.tables import is_plain_call, outcome

Node = str | None  # None: the end of the pipeline


class Pipelines:
    """Writes the function of a pipeline."""

    def __init__(self, layout: Layout, objects: Objects, pipeline: Pipeline) -> None:
        self.layout, self.objects, self.pipeline = layout, objects, pipeline
        self.expressions = Statements(layout, objects).expressions
        self.nodes: dict[str, Table | Conditional | ActionCall] = {
            **pipeline.tables,
            **pipeline.conditionals,
            **pipeline.calls,
        }
        names = Names()
        self.labels = {name: names.new(name, "at_") for name in self.nodes}
        self.following = {name: self._following(node) for name, node in self.nodes.items()}
        self.meeting = self._meeting_points()
        self.written: set[str] = set()
        self.wanted: set[str] = set()  # nodes that a goto leads to

    def function(self) -> str:
        """The function that applies the pipeline."""
        lines = self._sequence(self.pipeline.start, None)
        text = [line for line in lines if not line.endswith(":;") or line.strip()[:-2] in self.wanted]
        body = "".join(f"    {line}\n" if not line.endswith(":;") else f"{line.strip()}\n" for line in text)
        return f"static void apply_{self.pipeline.name}(struct state *s) {{\n{body or '    (void)s;' + chr(10)}}}\n"

    def _following(self, node: Table | Conditional | ActionCall) -> list[Node]:
        match node:
            case Conditional():
                return [node.true_next, node.false_next]
            case ActionCall():
                return [node.next]
        if node.next_hit_miss is not None:
            return list(node.next_hit_miss)
        return [*dict.fromkeys([*node.next_actions.values(), node.next_default])]

    def _order(self) -> list[str]:
        """The nodes, each before those that can follow it."""
        done, order = set[str](), list[str]()

        def visit(name: Node) -> None:
            if name is None or name in done:
                return
            done.add(name)
            for other in self.following[name]:
                visit(other)
            order.append(name)

        visit(self.pipeline.start)
        return order[::-1]

    def _meeting_points(self) -> dict[str, Node]:
        """For each node its immediate post-dominator."""
        order = self._order()
        rank = {name: number for number, name in enumerate(order)}
        meeting: dict[str, Node] = {}
        for name in reversed(order):
            for other in self.following[name]:
                if other is not None and rank[other] <= rank[name]:
                    raise UserError(f"BMv2 JSON: pipeline '{self.pipeline.name}' comes back to '{other}'")
            common, *others = self.following[name]
            for other in others:
                one: Node = common
                while one != other:  # climb from the earlier of the two
                    if one is None or other is None:
                        one = other = None
                    elif rank[one] < rank[other]:
                        one = meeting[one]
                    else:
                        other = meeting[other]
                common = one
            meeting[name] = common
        return meeting

    def _sequence(self, name: Node, end: Node) -> list[str]:
        """The nodes from one up to another, exclusive."""
        lines = list[str]()
        while name != end:
            if name is None:
                return [*lines, "return;"]
            if name in self.written:
                self.wanted.add(self.labels[name])
                return [*lines, f"goto {self.labels[name]};"]
            self.written.add(name)
            lines.append(f"{self.labels[name]}:;")
            lines += self._node(name)
            name = self.meeting[name]
        return lines

    def _node(self, name: str) -> list[str]:
        """A node and the ways from it to where they meet."""
        node, end = self.nodes[name], self.meeting[name]
        match node:
            case Conditional():
                note = (
                    [f"/* if {comment(node.source.fragment)} */"]
                    if node.source and node.source.fragment
                    else []
                )
                condition = self.expressions.nonzero(node.condition)
                return [*note, *self._branch(condition, node.true_next, node.false_next, end)]
            case ActionCall():
                action = self.layout.program.actions[node.action]
                return [f"{self.objects.action_names[node.action]}(s);", *self._exit([action.id])]
        if is_plain_call(self.layout, node):
            assert node.default is not None
            number = node.default.action
            empty = not self.layout.program.actions[number].primitives
            return [] if empty else [f"{self.objects.action_names[number]}(s);", *self._exit([number])]
        return self._table(node, end)

    def _branch(self, condition: str, if_true: Node, if_false: Node, end: Node) -> list[str]:
        one, other = self._sequence(if_true, end), self._sequence(if_false, end)
        if not any(line for line in one if not line.endswith(":;")):
            one, other, condition = other, [], f"!({condition})"
        lines = [f"if ({condition}) {{", *(f"    {line}" for line in one)]
        if other:
            lines += ["} else {", *(f"    {line}" for line in other)]
        return [*lines, "}"]

    def _table(self, table: Table, end: Node) -> list[str]:
        apply, result = f"apply_{self.objects.table_names[table.name]}(s)", outcome(table)
        exits = self._exit(table.actions)
        if result == "":
            return [f"{apply};", *exits]
        if result == "hit":
            assert table.next_hit_miss is not None
            if not exits:
                return self._branch(apply, *table.next_hit_miss, end)
            return [
                "{",
                f"    bool hit = {apply};",
                *_indent(exits),
                *_indent(self._branch("hit", *table.next_hit_miss, end)),
                "}",
            ]
        ways: dict[Node, list[str]] = {}
        for action, following in table.next_actions.items():
            if following != table.next_default:
                ways.setdefault(following, []).append(self.objects.constants["action", action])
        lines = ["{", f"    uint32_t action = {apply};", *_indent(exits), "    switch (action) {"]
        for following, actions in ways.items():
            lines += [f"    case {action}:" for action in actions]
            lines += [*_indent(_indent(self._sequence(following, end))), "        break;"]
        lines += ["    default: ;", *_indent(_indent(self._sequence(table.next_default, end))), "    }", "}"]
        return lines

    def _exit(self, actions: list[int] | tuple[int, ...]) -> list[str]:
        """Stop here if an action said `exit`."""
        if any(self.objects.exits(self.layout.program.actions[number]) for number in actions):
            return ["if (s->v1.requests.exit)", "    return;"]
        return []


def _indent(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
