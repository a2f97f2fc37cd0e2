# SPDX-License-Identifier: Apache-2.0
"""Indirect counters, and how a counter's value looks in messages."""

from __future__ import annotations

from collections.abc import Iterator

from finsy.proto import p4i, p4r

from grasp.targets.v1model.objects import Counts
from grasp.targets.v1model.program import Program

from .entities import modify_only
from .errors import invalid_argument
from .indices import indices


def counts_message(counts: Counts, spec: p4i.CounterSpec) -> p4r.CounterData:
    """A counter's value in the unit, or units, that the program declares."""
    data = p4r.CounterData()
    if spec.unit != p4i.CounterSpec.BYTES:
        data.packet_count = counts.packets
    if spec.unit != p4i.CounterSpec.PACKETS:
        data.byte_count = counts.bytes
    return data


def read_counts(data: p4r.CounterData, what: str) -> Counts:
    """The value that a message gives a counter."""
    if data.packet_count < 0 or data.byte_count < 0:
        raise invalid_argument(f"{what}: a counter cannot be negative")
    return Counts(packets=data.packet_count, bytes=data.byte_count)


class Counter:
    """One indirect counter."""

    def __init__(self, info: p4i.Counter, program: Program) -> None:
        self.info, self.program, self.name = info, program, info.preamble.name
        self.size = program.counters[self.name].size

    def write(self, kind: p4r.Update.Type.ValueType, message: p4r.CounterEntry) -> None:
        """Set one cell, or all if the message has no index; a message without data changes nothing."""
        modify_only(kind, self.name)
        index = message.index if message.HasField("index") else None
        cells = indices(index, self.size, self.name)
        if message.HasField("data"):
            counts = read_counts(message.data, self.name)
            for cell in cells:
                self.program.write_counter(self.name, cell, counts)

    def read(self, message: p4r.CounterEntry) -> Iterator[p4r.CounterEntry]:
        """One cell, or all."""
        if message.HasField("index"):
            (cell,) = indices(message.index, self.size, self.name)
            yield self._message(cell, self.program.read_counter(self.name, cell))
            return
        for cell, counts in enumerate(self.program.read_counters(self.name)):
            yield self._message(cell, counts)

    def _message(self, cell: int, counts: Counts) -> p4r.CounterEntry:
        return p4r.CounterEntry(
            counter_id=self.info.preamble.id,
            index=p4r.Index(index=cell),
            data=counts_message(counts, self.info.spec),
        )
