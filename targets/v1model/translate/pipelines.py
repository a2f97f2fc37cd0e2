# SPDX-License-Identifier: Apache-2.0
"""Ingress and egress as C functions: the graph of tables and conditions as nested ifs and switches.

A branch is written up to the node where all its ways meet again (its immediate post-dominator). A node that
several ways reach before that is written once, with a label, and reached by goto from the others.
"""

from __future__ import annotations

from collections import Counter

from grasp import UserError
from grasp.targets.v1model.p4json import ActionCall, Conditional, Pipeline, Table
from grasp.targets.v1model.translate.actions import body
from grasp.targets.v1model.translate.cnames import Names, comment
from grasp.targets.v1model.translate.codes import term
from grasp.targets.v1model.translate.fields import indent
from grasp.targets.v1model.translate.layout import Layout
from grasp.targets.v1model.translate.objects import Objects
from grasp.targets.v1model.translate.statements import Statements
from grasp.targets.v1model.translate.tables import is_plain_call, outcome

Node = str | None  # None: the end of the pipeline


class Pipelines:
    """Writes the function of a pipeline."""

    def __init__(self, layout: Layout, objects: Objects, pipeline: Pipeline) -> None:
        self.layout, self.objects, self.pipeline = layout, objects, pipeline
        self.statements = Statements(layout, objects)
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
        self._sequence(self.pipeline.start, None)  # to learn which labels are wanted
        self.written.clear()
        lines = self._sequence(self.pipeline.start, None) or ["(void)s;"]
        text = "".join(f"    {line}\n" for line in lines)
        return f"static void apply_{self.pipeline.name}(struct state *s) {{\n{text}}}\n"

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
        """The nodes that can be reached, each before those that can follow it."""
        reached, waiting = set[str](), [self.pipeline.start]
        while waiting:
            name = waiting.pop()
            if name is not None and name not in reached:
                reached.add(name)
                waiting += self.following[name]
        ways = Counter(after for name in reached for after in self.following[name])
        order, ready = list[str](), [self.pipeline.start] if self.pipeline.start is not None else []
        while ready:
            name = ready.pop()
            order.append(name)
            for after in self.following[name]:
                ways[after] -= 1
                if after is not None and ways[after] == 0:
                    ready.append(after)
        if len(order) < len(reached) or self.pipeline.start in ways:
            raise UserError(f"BMv2 JSON: pipeline '{self.pipeline.name}' comes back to where it has been")
        return order

    def _meeting_points(self) -> dict[str, Node]:
        """For each node its immediate post-dominator."""
        order = self._order()
        rank = {name: number for number, name in enumerate(order)}
        meeting: dict[str, Node] = {}
        for name in reversed(order):
            common, *others = self.following[name]
            for other in others:
                one, two = common, other
                while one != two:  # the earlier of the two goes on
                    if one is None or (two is not None and rank[one] > rank[two]):
                        one, two = two, one
                    assert one is not None
                    one = meeting[one]
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
            if self.labels[name] in self.wanted:
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
                    f" /* {comment(node.source.fragment)} */" if node.source and node.source.fragment else ""
                )
                condition = self.statements.expressions.nonzero(node.condition)
                return self._branch(condition, node.true_next, node.false_next, end, note)
            case ActionCall():
                return self._call(node.action)
        if is_plain_call(self.layout, node):
            assert node.default is not None
            return self._call(node.default.action)
        return self._table(node, end)

    def _call(self, number: int) -> list[str]:
        """An action without a table: its statements themselves where that is the only place for them."""
        action = self.layout.program.actions[number]
        if number in self.objects.inlined:
            lines = body(self.statements, action.primitives)
        else:
            lines = [f"{self.objects.action_names[number]}(s);"] if action.primitives else []
        return [*lines, *self._exit([number])]

    def _branch(self, condition: str, if_true: Node, if_false: Node, end: Node, note: str = "") -> list[str]:
        """An if statement; `note` is the P4 text of its condition."""
        one, other = self._sequence(if_true, end), self._sequence(if_false, end)
        if not one:
            one, other, condition = other, [], f"!{term(condition)}"
        lines = [f"if ({condition}) {{{note}", *indent(one)]
        if not other:
            return [*lines, "}"]
        if _is_one_if(other):
            return [*lines, f"}} else {other[0]}", *other[1:]]
        return [*lines, "} else {", *indent(other), "}"]

    def _table(self, table: Table, end: Node) -> list[str]:
        apply, result = f"{self.objects.table_names[table.name]}(s)", outcome(table)
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
                *indent(exits),
                *indent(self._branch("hit", *table.next_hit_miss, end)),
                "}",
            ]
        ways: dict[Node, list[str]] = {}
        for action, following in table.next_actions.items():
            if following != table.next_default:
                ways.setdefault(following, []).append(self.objects.constants["action", action])
        lines = ["{", f"    uint32_t action = {apply};", *indent(exits), "    switch (action) {"]
        for following, actions in ways.items():
            lines += [f"    case {action}:" for action in actions]
            lines += [*indent(indent(self._sequence(following, end))), "        break;"]
        lines += ["    default: ;", *indent(indent(self._sequence(table.next_default, end))), "    }", "}"]
        return lines

    def _exit(self, actions: list[int] | tuple[int, ...]) -> list[str]:
        """Stop here if an action said `exit`."""
        if any(self.objects.exits(self.layout.program.actions[number]) for number in actions):
            return ["if (s->v1.requests.exit)", "    return;"]
        return []


def _is_one_if(lines: list[str]) -> bool:
    """Whether the lines are one if statement, with braces, and nothing else."""
    first, *rest = (line for line in lines if not line.startswith(" "))
    return (
        first.startswith("if (") and rest[-1:] == ["}"] and all(line.startswith("} ") for line in rest[:-1])
    )
