# SPDX-License-Identifier: Apache-2.0
"""Direct counters and meters: what a table keeps for each of its entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from finsy.proto import p4i, p4r

from grasp.targets.v1model.objects import Key
from grasp.targets.v1model.program import Program

from . import meters
from .counters import counts_message, read_counts
from .entities import modify_only
from .errors import invalid_argument, unimplemented

if TYPE_CHECKING:
    from .tables import Table


class Resources:
    """The direct counter and the direct meter of one table, if it has them."""

    def __init__(
        self, table: str, counter: p4i.DirectCounter | None, meter: p4i.DirectMeter | None, program: Program
    ) -> None:
        self.table, self.counter, self.meter, self.program = table, counter, meter, program

    def check(self, message: p4r.TableEntry) -> None:
        """Refuse data for a resource that the table does not have, or values that it cannot hold."""
        if message.HasField("meter_counter_data"):
            raise unimplemented(f"{self.table}: meters do not count packets per colour")
        if message.HasField("counter_data"):
            self.need_counter()
            read_counts(message.counter_data, self.table)
        if message.HasField("meter_config"):
            meters.decode(message.meter_config, self.need_meter().spec, self.table)

    def need_counter(self) -> p4i.DirectCounter:
        """The direct counter; a refusal if there is none."""
        if self.counter is None:
            raise invalid_argument(f"{self.table} has no direct counter")
        return self.counter

    def need_meter(self) -> p4i.DirectMeter:
        """The direct meter; a refusal if there is none."""
        if self.meter is None:
            raise invalid_argument(f"{self.table} has no direct meter")
        return self.meter

    def refuse_default(self, message: p4r.TableEntry) -> None:
        """v1model keeps nothing for a table's misses."""
        if message.HasField("counter_data") or message.HasField("meter_config"):
            raise unimplemented(f"{self.table}: the default entry has no direct counter or meter")

    def insert(self, place: tuple[Key, int], message: p4r.TableEntry) -> None:
        """Give a new entry the values that its message brings."""
        if message.HasField("counter_data"):
            self.write_counter(place, message.counter_data)
        if message.HasField("meter_config"):
            self.write_meter(place, message.meter_config)

    def modify(self, place: tuple[Key, int], message: p4r.TableEntry) -> None:
        """The same for an entry that exists: a counter keeps its value, a meter does not keep its rates."""
        if message.HasField("counter_data"):
            self.write_counter(place, message.counter_data)
        if self.meter is not None:
            self.write_meter(place, message.meter_config if message.HasField("meter_config") else None)

    def write_counter(self, place: tuple[Key, int], data: p4r.CounterData) -> None:
        """Set an entry's counter."""
        self.need_counter()
        self.program.set_entry_counts(self.table, place[0], read_counts(data, self.table), place[1])

    def write_meter(self, place: tuple[Key, int], config: p4r.MeterConfig | None) -> None:
        """Configure an entry's meter; None makes it always green."""
        spec = self.need_meter().spec
        rates = None if config is None else meters.decode(config, spec, self.table)
        self.program.set_entry_rates(self.table, place[0], rates, place[1])

    def read(self, place: tuple[Key, int], wanted: p4r.TableEntry, result: p4r.TableEntry) -> None:
        """Add the resources that a request asks for to an entry's message."""
        if wanted.HasField("counter_data") and self.counter is not None:
            result.counter_data.CopyFrom(self.counter_data(place))
        if wanted.HasField("meter_config") and self.meter is not None:
            config = self.meter_config(place)
            if config is not None:
                result.meter_config.CopyFrom(config)

    def counter_data(self, place: tuple[Key, int]) -> p4r.CounterData:
        """An entry's counter."""
        counts = self.program.entry(self.table, *place).counts
        assert counts is not None  # the table has a direct counter
        return counts_message(counts, self.need_counter().spec)

    def meter_config(self, place: tuple[Key, int]) -> p4r.MeterConfig | None:
        """An entry's meter; None if it is always green."""
        rates = self.program.entry(self.table, *place).rates
        return None if rates is None else meters.encode(rates)


class DirectCounter:
    """The DirectCounterEntry messages of one table."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def write(self, kind: p4r.Update.Type.ValueType, message: p4r.DirectCounterEntry) -> None:
        """Set the counter of an entry; a message without data changes nothing."""
        modify_only(kind, f"the direct counter of {self.table.name}")
        place = self.table.find(message.table_entry)
        if message.HasField("data"):
            self.table.resources.write_counter(place, message.data)

    def read(self, message: p4r.DirectCounterEntry) -> Iterator[p4r.DirectCounterEntry]:
        """The counter of the entry that the request names, or of every entry if it names none."""
        for place in self.table.find_all(message.table_entry):
            yield p4r.DirectCounterEntry(
                table_entry=self.table.key_message(place), data=self.table.resources.counter_data(place)
            )


class DirectMeter:
    """The DirectMeterEntry messages of one table."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def write(self, kind: p4r.Update.Type.ValueType, message: p4r.DirectMeterEntry) -> None:
        """Configure the meter of an entry; no configuration means always green."""
        modify_only(kind, f"the direct meter of {self.table.name}")
        meters.refuse_counters(message, self.table.name)
        place = self.table.find(message.table_entry)
        self.table.resources.write_meter(place, message.config if message.HasField("config") else None)

    def read(self, message: p4r.DirectMeterEntry) -> Iterator[p4r.DirectMeterEntry]:
        """The meter of the entry that the request names, or of every entry if it names none."""
        meters.refuse_counters(message, self.table.name)
        for place in self.table.find_all(message.table_entry):
            config = self.table.resources.meter_config(place)
            yield p4r.DirectMeterEntry(table_entry=self.table.key_message(place), config=config)
