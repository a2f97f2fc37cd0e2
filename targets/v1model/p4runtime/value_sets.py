# SPDX-License-Identifier: Apache-2.0
"""Parser value sets."""

from __future__ import annotations

from collections.abc import Iterator

from finsy.proto import p4i, p4r

from grasp.targets.v1model.objects import Key
from grasp.targets.v1model.program import Program

from . import matches
from .entities import modify_only
from .errors import already_exists, resource_exhausted


class ValueSet:
    """The members of one parser value set."""

    def __init__(self, info: p4i.ValueSet, program: Program) -> None:
        self.info, self.program, self.name = info, program, info.preamble.name
        self.fields = list(info.match)
        self._members: list[Key] = []

    def write(self, kind: p4r.Update.Type.ValueType, message: p4r.ValueSetEntry) -> None:
        """Replace the members."""
        modify_only(kind, self.name)
        members = [matches.decode(member.match, self.fields, self.name) for member in message.members]
        if len(members) > self.info.size:
            raise resource_exhausted(
                f"{self.name}: {len(members)} members are above its size {self.info.size}"
            )
        if len(set(members)) != len(members):
            raise already_exists(f"{self.name}: a member is given twice")
        self.program.set_value_set(self.name, members)
        self._members = members

    def read(self, _message: p4r.ValueSetEntry) -> Iterator[p4r.ValueSetEntry]:
        """The members."""
        members = [p4r.ValueSetMember(match=matches.encode(key, self.fields)) for key in self._members]
        yield p4r.ValueSetEntry(value_set_id=self.info.preamble.id, members=members)
