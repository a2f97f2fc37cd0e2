# SPDX-License-Identifier: Apache-2.0
"""The numbers and C names of a program's objects: their places in the run time's arrays."""

from __future__ import annotations

import textwrap

from grasp.targets.v1model.p4json import Action, Program
from grasp.targets.v1model.translate.cnames import Names, identifier


class Objects:
    """Indices into v1_program's arrays, which have the order of the JSON, and names of functions."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.inlined = set[int]()  # actions whose statements stand in their pipeline instead of a function
        self.actions = {number: index for index, number in enumerate(program.actions)}
        self.profiles = {name: index for index, name in enumerate(program.profiles)}
        self.digests = {number: index for index, number in enumerate(program.learn_lists)}
        self.counters = [counter.name for counter in program.counters.values() if counter.table is None]
        self.meters = [meter.name for meter in program.meters.values() if meter.table is None]
        names = Names("apply_ingress", "apply_egress")
        self.action_names = {
            number: names.new(action.name, "do_") for number, action in program.actions.items()
        }
        self.calculation_names = {name: names.new(name, "hash_") for name in program.calculations}
        self.table_names = {name: names.new(name, "apply_") for name in program.tables}
        self.select_names = {name: names.new(name, "select_") for name in program.profiles}
        self.state_names = {name: names.new(name, "parse_") for name in program.parser.states}
        self.constants = self._constants()

    def _constants(self) -> dict[tuple[str, str | int], str]:
        """Names of indices, and of parser states, by kind and the object's name (an action's id)."""
        program, names = self.program, Names("ACCEPT", "REJECT")
        found: dict[str, list[str]] = {
            "table": [*program.tables],
            "register": [*program.registers],
            "counter": self.counters,
            "meter": self.meters,
            "value_set": [*program.value_sets],
            "parse": [*program.parser.states],
        }
        constants: dict[tuple[str, str | int], str] = {
            ("action", number): names.new(f"action_{identifier(action.name)}".upper())
            for number, action in program.actions.items()
        }
        for kind, objects in found.items():
            constants |= {(kind, name): names.new(f"{kind}_{identifier(name)}".upper()) for name in objects}
        return constants

    def enums(self) -> str:
        """C enums that name the indices."""
        kinds = ("action", "table", "register", "counter", "meter", "value_set")
        return "\n".join(self.enum("enum", self.members(kind)) for kind in kinds if self.members(kind)) + "\n"

    def members(self, kind: str) -> list[str]:
        """The constants of a kind, in order."""
        return [name for (found, _), name in self.constants.items() if found == kind]

    @staticmethod
    def enum(head: str, members: list[str]) -> str:
        """A C enum."""
        return textwrap.fill(
            f"{head} {{ {', '.join(members)} }};", 100, subsequent_indent="    ", break_long_words=False
        )

    def exits(self, action: Action) -> bool:
        """Whether an action may end its pipeline."""
        return any(primitive.op == "exit" for primitive in action.primitives)
