# SPDX-License-Identifier: Apache-2.0
"""The numbers and C names of a program's objects: their places in the run time's arrays."""

from __future__ import annotations

from grasp.targets.v1model.p4json import Action, Program
from grasp.targets.v1model.translate.cnames import Names, identifier


class Objects:
    """Indices into v1_program's arrays, which have the order of the JSON, and names of functions."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.inlined = set[int]()  # actions whose statements stand in their pipeline instead of a function
        names = Names()
        self.actions = {number: index for index, number in enumerate(program.actions)}
        self.tables = {name: index for index, name in enumerate(program.tables)}
        self.profiles = {name: index for index, name in enumerate(program.profiles)}
        self.registers = {name: index for index, name in enumerate(program.registers)}
        self.value_sets = {name: index for index, name in enumerate(program.value_sets)}
        self.digests = {number: index for index, number in enumerate(program.learn_lists)}
        indirect = (counter.name for counter in program.counters.values() if counter.table is None)
        self.counters = {name: index for index, name in enumerate(indirect)}
        indirect = (meter.name for meter in program.meters.values() if meter.table is None)
        self.meters = {name: index for index, name in enumerate(indirect)}
        self.action_names = {number: names.new(action.name) for number, action in program.actions.items()}
        self.calculation_names = {name: names.new(name, "hash_") for name in program.calculations}
        self.table_names = {name: names.new(name) for name in program.tables}
        self.select_names = {name: names.new(name, "select_") for name in program.profiles}
        self.state_names = {name: names.new(name, "parse_") for name in program.parser.states}
        constants = Names()
        kinds: dict[str, dict[str | int, str]] = {
            "action": {number: name for number, name in self.action_names.items()},  # noqa: C416
            "table": {name: name for name in program.tables},
            "register": {name: name for name in program.registers},
            "counter": {name: name for name in self.counters},
            "meter": {name: name for name in self.meters},
            "value_set": {name: name for name in program.value_sets},
        }
        self.constants = {
            (kind, key): constants.new(f"{kind}_{identifier(name)}".upper())
            for kind, found in kinds.items()
            for key, name in found.items()
        }

    def enums(self) -> str:
        """C enums that name the indices."""
        lines = []
        for kind in ("action", "table", "register", "counter", "meter", "value_set"):
            members = [name for (found, _), name in self.constants.items() if found == kind]
            if members:
                lines.append(f"enum {{ {', '.join(members)} }};")
        return "\n".join(lines) + "\n"

    def exits(self, action: Action) -> bool:
        """Whether an action may end its pipeline."""
        return any(primitive.op == "exit" for primitive in action.primitives)
