# SPDX-License-Identifier: Apache-2.0
"""The part of the engine that reads and changes registers, counters, meters, replication and digests."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from grasp.targets.v1model import binding
from grasp.targets.v1model.context import Context
from grasp.targets.v1model.layout import unpack_values, words_of
from grasp.targets.v1model.objects import (
    ArrayInfo,
    CloneSession,
    Code,
    Counts,
    DigestConfig,
    DigestList,
    EngineError,
    Rates,
    Replica,
)  # fmt: skip
from grasp.targets.v1model.tablestate import rates_from_c, rates_to_c

_MOST_REPLICAS = 65536


def cell_bytes(width: int) -> int:
    """Bytes of a register's cell in memory (V1_CELL_BYTES)."""
    return next((size for size in (1, 2, 4) if width <= 8 * size), 8 * words_of(width))


def _replicas(replicas: Sequence[Replica]) -> ctypes.Array[binding.Replica]:
    return (binding.Replica * len(replicas))(*(binding.Replica(r.port, r.instance) for r in replicas))


class ArrayState(Context):
    """Registers, indirect counters and meters, multicast groups, clone sessions, digests."""

    # ---- registers

    def _register(self, name: str) -> tuple[int, ArrayInfo]:
        program, _ = self._running()
        number = self._number(program.registers, name, "register")
        return number, program.registers[number]

    def _get_cells(self, name: str, first: int, count: int | None) -> list[int]:
        _, context = self._running()
        number, info = self._register(name)
        count = info.size if count is None else count
        size = cell_bytes(info.width)
        buffer = ctypes.create_string_buffer(size * count)
        self._index(info, first)
        self.check(self._lib.v1_register_get(context, number, first, count, buffer), name)
        data = buffer.raw
        return [int.from_bytes(data[i : i + size], "little") for i in range(0, size * count, size)]

    def _set_cells(self, name: str, first: int, count: int | None, value: int) -> None:
        _, context = self._running()
        number, info = self._register(name)
        count = info.size if count is None else count
        if not 0 <= value < 1 << info.width:
            raise EngineError(Code.INVALID_ARGUMENT, f"{name}: {value} does not fit bit<{info.width}>")
        self._index(info, first)
        data = value.to_bytes(cell_bytes(info.width), "little") * count
        self.check(self._lib.v1_register_set(context, number, first, count, data), name)

    @staticmethod
    def _index(info: ArrayInfo, index: int) -> None:
        if not 0 <= index < max(info.size, 1):
            raise EngineError(Code.INVALID_ARGUMENT, f"{info.name}: index {index} is not below {info.size}")

    def read_register(self, name: str, index: int) -> int:
        """One cell."""
        return self._get_cells(name, index, 1)[0]

    def read_registers(self, name: str) -> list[int]:
        """All cells."""
        return self._get_cells(name, 0, None)

    def write_register(self, name: str, index: int, value: int) -> None:
        """Write one cell."""
        self._set_cells(name, index, 1, value)

    def fill_register(self, name: str, value: int) -> None:
        """Write all cells."""
        self._set_cells(name, 0, None, value)

    # ---- indirect counters and meters

    def _cells(self, kind: str, name: str, first: int, count: int | None) -> Any:
        program, context = self._running()
        infos = program.counters if kind == "counter" else program.meters
        number = self._number(infos, name, kind)
        self._index(infos[number], first)
        count = infos[number].size if count is None else count
        cells = ((binding.Count if kind == "counter" else binding.Rates) * count)()
        function = self._lib.v1_counter_get if kind == "counter" else self._lib.v1_meters_get
        self.check(function(context, number, first, count, cells), name)
        return cells

    def read_counter(self, name: str, index: int) -> Counts:
        """One cell."""
        cell = self._cells("counter", name, index, 1)[0]
        return Counts(cell.packets, cell.bytes)

    def read_counters(self, name: str) -> list[Counts]:
        """All cells."""
        return [Counts(cell.packets, cell.bytes) for cell in self._cells("counter", name, 0, None)]

    def write_counter(self, name: str, index: int, counts: Counts) -> None:
        """Write one cell."""
        program, context = self._running()
        number = self._number(program.counters, name, "counter")
        self._index(program.counters[number], index)
        cell = binding.Count(counts.packets, counts.bytes)
        self.check(self._lib.v1_counter_set(context, number, index, 1, ctypes.byref(cell)), name)

    def read_meter(self, name: str, index: int) -> Rates | None:
        """One meter's configuration; None: not configured, always green."""
        return rates_from_c(self._cells("meter", name, index, 1)[0])

    def read_meters(self, name: str) -> list[Rates | None]:
        """Every meter's configuration."""
        return [rates_from_c(cell) for cell in self._cells("meter", name, 0, None)]

    def write_meter(self, name: str, index: int, rates: Rates | None) -> None:
        """Configure one meter; its buckets are full. INVALID_ARGUMENT if cir exceeds pir."""
        program, context = self._running()
        number = self._number(program.meters, name, "meter")
        self._index(program.meters[number], index)
        cell = rates_to_c(rates)
        self.check(self._lib.v1_meters_set(context, number, index, 1, ctypes.byref(cell)), name)

    # ---- replication

    def set_multicast_group(self, group: int, replicas: Sequence[Replica]) -> None:
        """Create or replace a multicast group (1 to 65535)."""
        _, context = self._running()
        array = _replicas(replicas)
        status = self._lib.v1_multicast_set(context, group, array, len(replicas), False)
        self.check(status, f"multicast group {group}")

    def delete_multicast_group(self, group: int) -> None:
        """Remove it; NOT_FOUND if there is none."""
        _, context = self._running()
        status = self._lib.v1_multicast_set(context, group, None, 0, True)
        self.check(status, f"multicast group {group}")

    def multicast_groups(self) -> dict[int, tuple[Replica, ...]]:
        """Every multicast group."""
        _, context = self._running()
        found: dict[int, tuple[Replica, ...]] = {}
        array = (binding.Replica * _MOST_REPLICAS)()
        for group in self._list(lambda ids, room: self._lib.v1_multicast_list(context, ids, room)):
            count = self._lib.v1_multicast_get(context, group, array, _MOST_REPLICAS)
            if count >= 0:
                found[group] = tuple(Replica(r.port, r.instance) for r in array[:count])
        return found

    def set_clone_session(self, session: int, config: CloneSession) -> None:
        """Create or replace a clone session (0 to 32767)."""
        _, context = self._running()
        array = (binding.Replica * len(config.replicas))(
            *(binding.Replica(r.port, r.instance) for r in config.replicas)
        )
        arguments = (array, len(array), config.class_of_service, config.packet_length, False)
        self.check(self._lib.v1_session_set(context, session, *arguments), f"clone session {session}")

    def delete_clone_session(self, session: int) -> None:
        """Remove it; NOT_FOUND if there is none."""
        _, context = self._running()
        status = self._lib.v1_session_set(context, session, None, 0, 0, 0, True)
        self.check(status, f"clone session {session}")

    def clone_sessions(self) -> dict[int, CloneSession]:
        """Every clone session."""
        _, context = self._running()
        found: dict[int, CloneSession] = {}
        array = (binding.Replica * _MOST_REPLICAS)()
        service, length = ctypes.c_uint32(), ctypes.c_uint32()
        for session in self._list(lambda ids, room: self._lib.v1_session_list(context, ids, room)):
            arguments = (array, _MOST_REPLICAS, service, length)
            count = self._lib.v1_session_get(context, session, *arguments)
            if count >= 0:
                replicas = tuple(Replica(r.port, r.instance) for r in array[:count])
                found[session] = CloneSession(replicas, service.value, length.value)
        return found

    # ---- digests

    def _digest(self, name: str) -> int:
        program, _ = self._running()
        return self._number(program.digests, name, "digest")

    def set_digest(self, name: str, config: DigestConfig | None) -> None:
        """Send a digest's samples as events; None: do not."""
        _, context = self._running()
        raw = binding.DigestConfig()
        if config is not None:
            raw = binding.DigestConfig(1, config.max_timeout_us, config.max_list_size, config.ack_timeout_us)
        self.check(self._lib.v1_digest_set(context, self._digest(name), raw), name)

    def digest(self, name: str) -> DigestConfig | None:
        """Its configuration."""
        _, context = self._running()
        raw = binding.DigestConfig()
        self.check(self._lib.v1_digest_get(context, self._digest(name), raw), name)
        return DigestConfig(raw.max_timeout, raw.max_list_size, raw.ack_timeout) if raw.enabled else None

    def digest_list(self, number: int, list_id: int, data: bytes) -> DigestList:
        """The event of a V1_DIGEST record."""
        program, _ = self._running()
        info = program.digests[number]
        stride = 8 * sum(map(words_of, info.widths))
        samples = (data[at : at + stride] for at in range(0, len(data), stride)) if stride else ()
        return DigestList(info.name, list_id, tuple(unpack_values(s, info.widths) for s in samples))

    def ack_digest(self, name: str, list_id: int) -> None:
        """The list has arrived: equal samples may be sent again."""
        _, context = self._running()
        self.check(self._lib.v1_digest_ack(context, self._digest(name), list_id), name)
