# SPDX-License-Identifier: Apache-2.0
"""Registers: read and written by cell or as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from finsy.proto import p4d, p4i, p4r, p4t

from grasp.targets.v1model.program import Program

from .entities import modify_only
from .errors import invalid_argument
from .indices import indices
from .p4data import make_codec


class Register:
    """One register array."""

    def __init__(self, info: p4i.Register, types: p4t.P4TypeInfo, program: Program) -> None:
        self.info, self.program, self.name = info, program, info.preamble.name
        self.size = program.registers[self.name].size
        self._codec = make_codec(info.type_spec, types, f"register {self.name}")

    def write(self, kind: p4r.Update.Type.ValueType, message: p4r.RegisterEntry) -> None:
        """Set one cell, or all if the message has no index."""
        modify_only(kind, self.name)
        if not message.HasField("data"):
            raise invalid_argument(f"{self.name}: there is no data to write")
        (value,) = self._codec.decode(message.data, self.name)
        if not message.HasField("index"):
            self.program.fill_register(self.name, value)
            return
        (cell,) = indices(message.index, self.size, self.name)
        self.program.write_register(self.name, cell, value)

    def read(self, message: p4r.RegisterEntry) -> Iterator[p4r.RegisterEntry]:
        """One cell, or all."""
        if message.HasField("index"):
            (cell,) = indices(message.index, self.size, self.name)
            yield self._message(cell, self.program.read_register(self.name, cell))
            return
        for cell, value in enumerate(self.program.read_registers(self.name)):
            yield self._message(cell, value)

    def _message(self, cell: int, value: int) -> p4r.RegisterEntry:
        data: p4d.P4Data = self._codec.encode(iter((value,)))
        return p4r.RegisterEntry(register_id=self.info.preamble.id, index=p4r.Index(index=cell), data=data)
