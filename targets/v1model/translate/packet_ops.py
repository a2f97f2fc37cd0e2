# SPDX-License-Identifier: Apache-2.0
"""Primitives on the packet as a whole, and for diagnosis, as C statements."""

from __future__ import annotations

from grasp import UserError
from grasp.targets.v1model.p4json import Source
from grasp.targets.v1model.p4values import Const, FieldRef, Operation, Ref, Text, Value, Vector
from grasp.targets.v1model.translate.cnames import text as literal
from grasp.targets.v1model.translate.codes import WIDE
from grasp.targets.v1model.translate.expressions import Expressions
from grasp.targets.v1model.translate.fields import Lines, Primitives
from grasp.targets.v1model.translate.layout import Layout
from grasp.targets.v1model.translate.objects import Objects
from grasp.targets.v1model.translate.packing import Part, as_words
from grasp.targets.v1model.translate.ranges import is_bool

_REQUESTS = "s->v1.requests"


class PacketOps:
    """Writes primitives that ask the run time for something, at once or at the end of the pipeline."""

    def __init__(self, layout: Layout, objects: Objects, expressions: Expressions) -> None:
        self.layout, self.objects, self.expressions = layout, objects, expressions
        self.source: Source | None = None  # of the primitive that is being written
        self.primitives: Primitives = {
            "mark_to_drop": (self.mark_to_drop, 1),
            "drop": (self.drop, 0),
            "clone_ingress_pkt_to_egress": (self.clone, 2),
            "clone_egress_pkt_to_egress": (self.clone, 2),
            "resubmit": (self.resubmit, 1),
            "recirculate": (self.recirculate, 1),
            "generate_digest": (self.digest, 2),
            "truncate": (self.truncate, 1),
            "exit": (self.exit, 0),
            "no_op": (self.nothing, 0),
            "log_msg": (self.log_message, 2),
            "assert": (self.check, 1),
            "assume": (self.check, 1),
        }

    def mark_to_drop(self, metadata: Value) -> Lines:
        """Drop the packet at the end of the pipeline, unless something later decides otherwise.

        It acts on the metadata that it is given: a program may work on a copy of the standard one.
        """
        if not isinstance(metadata, Ref):
            raise UserError("BMv2 JSON: 'mark_to_drop' needs the name of metadata")
        egress_spec, group = (FieldRef(metadata.name, name) for name in ("egress_spec", "mcast_grp"))
        if egress_spec in self.layout.standard:
            return self.drop()
        kind = self.layout.program.headers[metadata.name].type
        if kind.field("egress_spec") is None:
            raise UserError(
                f"BMv2 JSON: 'mark_to_drop' on '{metadata.name}', which has no field 'egress_spec'"
            )
        lines = [f"{self.layout.field(egress_spec)} = s->v1.context->drop_port;"]
        return [*lines, f"{self.layout.field(group)} = 0;"] if kind.field("mcast_grp") else lines

    def drop(self) -> Lines:
        """P4_14's drop."""
        return ["v1_mark_to_drop(&s->v1);"]

    def clone(self, session: Value, fields: Value) -> Lines:
        """Ask for a clone to a session, with the metadata of a field list."""
        number = self.expressions.exact(Operation("&", session, Const(0x7FFF))).text
        return [
            f"{_REQUESTS}.clone = true;",
            f"{_REQUESTS}.clone_session = (uint16_t)({number});",
            f"{_REQUESTS}.clone_list = {self._list(fields, 'clone')};",
        ]

    def resubmit(self, fields: Value) -> Lines:
        """Ask for the packet to pass ingress again, with the metadata of a field list."""
        return [
            f"{_REQUESTS}.resubmit = true;",
            f"{_REQUESTS}.resubmit_list = {self._list(fields, 'resubmit')};",
        ]

    def recirculate(self, fields: Value) -> Lines:
        """Ask for the deparsed packet to come in again, with the metadata of a field list."""
        number = self._list(fields, "recirculate")
        return [f"{_REQUESTS}.recirculate = true;", f"{_REQUESTS}.recirculate_list = {number};"]

    def _list(self, value: Value, op: str) -> int:
        number = _number(value, op)
        if number not in self.layout.program.field_lists:
            raise UserError(f"BMv2 JSON: '{op}' names field list {number}, which is missing")
        return number

    def digest(self, _receiver: Value, learn_list: Value) -> Lines:
        """Send a digest at the end of ingress."""
        number = _number(learn_list, "generate_digest")
        if number not in self.objects.digests:
            raise UserError(f"BMv2 JSON: 'generate_digest' names learn list {number}, which is missing")
        return [f"{_REQUESTS}.digest = {self.objects.digests[number] + 1};"]

    def truncate(self, length: Value) -> Lines:
        """Cut the packet to a length when it leaves."""
        return [f"v1_truncate(&s->v1, {self.expressions.index(length)});"]

    def exit(self) -> Lines:
        """End the pipeline after this action."""
        return [f"{_REQUESTS}.exit = true;"]

    def nothing(self) -> Lines:
        """Do nothing."""
        return []

    def log_message(self, message: Value, values: Value) -> Lines:
        """Log a message with values."""
        if not isinstance(message, Text) or not isinstance(values, Vector):
            raise UserError("BMv2 JSON: 'log_msg' needs a string and a list of values")
        shown = ", ".join(self._logged(value) for value in values.items)
        array = f"(const struct v1_value[]){{{shown}}}" if shown else "NULL"
        return [f"v1_log_message(&s->v1, {literal(message.value)}, {array}, {len(values.items)});"]

    def _logged(self, value: Value) -> str:
        """A value of a log message: its words, width, and whether it is signed."""
        code = self.expressions.exact(value)
        width = 1 if is_bool(value) else code.bounds.bits
        if code.type == WIDE:
            words = f"v1_wide_copy((uint64_t[V1_LIMBS]){{0}}, {code.text})"
        else:
            words = as_words(Part(code.term, width))
        return f"{{{words}, {width}, {'true' if code.bounds.low < 0 else 'false'}}}"

    def check(self, condition: Value) -> Lines:
        """Assert and assume: log and drop if the condition does not hold."""
        source = self.source
        where = f"{source.file}:{source.line}: {source.fragment}" if source else "assert or assume"
        truth = self.expressions.nonzero(condition)
        return [f"if (!({truth}))", f"    v1_assert_failed(&s->v1, {literal(where)});"]


def _number(value: Value, op: str) -> int:
    if not isinstance(value, Const):
        raise UserError(f"BMv2 JSON: '{op}' needs a constant")
    return value.value
