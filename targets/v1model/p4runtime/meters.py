# SPDX-License-Identifier: Apache-2.0
"""Indirect meters, and how a meter's configuration looks in messages."""

from __future__ import annotations

from collections.abc import Iterator

from finsy.proto import p4i, p4r

from grasp.targets.v1model.objects import Rates
from grasp.targets.v1model.program import Program

from .entities import modify_only
from .errors import invalid_argument, unimplemented
from .indices import indices


def decode(config: p4r.MeterConfig, spec: p4i.MeterSpec, what: str) -> Rates | None:
    """The rates of a message; None (always green) if all four are -1, as clients of BMv2 write it."""
    values = (config.cir, config.cburst, config.pir, config.pburst)
    if all(value == -1 for value in values):
        return None
    if min(values) < 0:
        raise invalid_argument(f"{what}: rates and bursts cannot be negative")
    if config.cir > config.pir:
        raise invalid_argument(f"{what}: the committed rate {config.cir} is above the peak rate {config.pir}")
    if config.eburst:
        raise invalid_argument(f"{what}: eburst is for single-rate three-colour meters, which v1model lacks")
    if spec.type != p4i.MeterSpec.TWO_RATE_THREE_COLOR and (config.cir, config.cburst) != (
        config.pir,
        config.pburst,
    ):
        raise invalid_argument(f"{what}: a single-rate meter wants pir = cir and pburst = cburst")
    return Rates(*values)


def encode(rates: Rates) -> p4r.MeterConfig:
    """The message of a meter's rates."""
    return p4r.MeterConfig(cir=rates.cir, cburst=rates.cburst, pir=rates.pir, pburst=rates.pburst)


def refuse_counters(message: p4r.MeterEntry | p4r.DirectMeterEntry, what: str) -> None:
    """v1model's meters do not count what they colour."""
    if message.HasField("counter_data"):
        raise unimplemented(f"{what}: meters do not count packets per colour")


class Meter:
    """One indirect meter."""

    def __init__(self, info: p4i.Meter, program: Program) -> None:
        self.info, self.program, self.name = info, program, info.preamble.name
        self.size = program.meters[self.name].size

    def write(self, kind: p4r.Update.Type.ValueType, message: p4r.MeterEntry) -> None:
        """Configure one cell, or all if the message has no index; no configuration means always green."""
        modify_only(kind, self.name)
        refuse_counters(message, self.name)
        index = message.index if message.HasField("index") else None
        cells = indices(index, self.size, self.name)
        rates = decode(message.config, self.info.spec, self.name) if message.HasField("config") else None
        for cell in cells:
            self.program.write_meter(self.name, cell, rates)

    def read(self, message: p4r.MeterEntry) -> Iterator[p4r.MeterEntry]:
        """One cell, or all."""
        refuse_counters(message, self.name)
        if message.HasField("index"):
            (cell,) = indices(message.index, self.size, self.name)
            yield self._message(cell, self.program.read_meter(self.name, cell))
            return
        for cell, rates in enumerate(self.program.read_meters(self.name)):
            yield self._message(cell, rates)

    def _message(self, cell: int, rates: Rates | None) -> p4r.MeterEntry:
        return p4r.MeterEntry(
            meter_id=self.info.preamble.id,
            index=p4r.Index(index=cell),
            config=None if rates is None else encode(rates),
        )
