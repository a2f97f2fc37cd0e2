# SPDX-License-Identifier: Apache-2.0
"""Primitives of the BMv2 JSON as C statements."""

from __future__ import annotations

from grasp import UserError
from grasp.targets.v1model.p4json import Primitive
from grasp.targets.v1model.translate.expressions import Expressions
from grasp.targets.v1model.translate.fields import Fields, Lines, Primitives
from grasp.targets.v1model.translate.header_ops import HeaderOps
from grasp.targets.v1model.translate.layout import Layout
from grasp.targets.v1model.translate.objects import Objects
from grasp.targets.v1model.translate.packet_ops import PacketOps
from grasp.targets.v1model.translate.ranges import Argument
from grasp.targets.v1model.translate.state_ops import StateOps


class Statements:
    """Writes primitives in the scope of an action (with its arguments) or outside of one."""

    def __init__(self, layout: Layout, objects: Objects, arguments: tuple[Argument, ...] = ()) -> None:
        self.expressions = Expressions(layout, arguments)
        self.places = self.expressions.places
        self.fields = Fields(self.expressions)
        self._packet = PacketOps(layout, objects, self.expressions)
        self._handlers: Primitives = {
            "assign": (self.fields.assign, 2),
            "assign_VL": (self.fields.assign_variable, 2),
            **HeaderOps(layout, self.fields).primitives,
            **StateOps(layout, objects, self.fields).primitives,
            **self._packet.primitives,
        }

    def write(self, primitive: Primitive) -> Lines:
        """The statements of a primitive; the jumps among them are written in actions.py."""
        op, parameters = primitive.op, primitive.parameters
        if op not in self._handlers:
            raise UserError(f"BMv2 JSON: the primitive '{op}' is not supported by the embedded target")
        method, count = self._handlers[op]
        if len(parameters) != count:
            raise UserError(f"BMv2 JSON: '{op}' takes {count} parameters, not {len(parameters)}")
        self._packet.source = primitive.source
        return method(*parameters)
