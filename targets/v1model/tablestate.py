# SPDX-License-Identifier: Apache-2.0
"""The part of the engine that reads and changes tables, parser value sets and action profiles."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

from grasp.targets.v1model import binding
from grasp.targets.v1model.context import Context
from grasp.targets.v1model.layout import Words, pack_key, pack_values, unpack_key, unpack_values
from grasp.targets.v1model.objects import (
    Call,
    Code,
    Counts,
    EngineError,
    Entry,
    Group,
    GroupMember,
    IdleTimeout,
    Key,
    Member,
    Rates,
    TableInfo,
    Target,
)  # fmt: skip

_INFO = ctypes.sizeof(binding.EntryInfo)


def rates_to_c(rates: Rates | None) -> binding.Rates:
    """A meter's configuration for the run time."""
    if rates is None:
        return binding.Rates()
    return binding.Rates(1, rates.cir, rates.cburst, rates.pir, rates.pburst)


def rates_from_c(rates: binding.Rates) -> Rates | None:
    """A meter's configuration from the run time."""
    return Rates(rates.cir, rates.cburst, rates.pir, rates.pburst) if rates.configured else None


class TableState(Context):
    """Tables, parser value sets and action profiles."""

    def _table(self, name: str) -> tuple[int, TableInfo]:
        program, _ = self._running()
        number = self._number(program.tables, name, "table")
        return number, program.tables[number]

    def _call(self, allowed: dict[str, int], call: Call, owner: str) -> tuple[int, Words]:
        program, _ = self._running()
        if call.action not in allowed:
            raise EngineError(Code.INVALID_ARGUMENT, f"{owner} does not have the action {call.action}")
        number = allowed[call.action]
        return number, pack_values(call.action, call.args, program.actions[number].widths)

    def _target(self, number: int, target: Target) -> binding.Target:
        program, _ = self._running()
        match target:
            case Member(id=member):
                return binding.Target(1, member, None)
            case Group(id=group):
                return binding.Target(2, group, None)
        action, args = self._call(program.table_actions[number], target, program.tables[number].name)
        return binding.Target(0, action, args)

    # ---- tables

    def insert(self, table: str, key: Key, target: Target, priority: int = 0, timeout_us: int = 0) -> None:
        """Add an entry; ALREADY_EXISTS if one has this key and priority."""
        _, context = self._running()
        number, info = self._table(table)
        arguments = (*pack_key(info, key), priority, self._target(number, target), timeout_us)
        self.check(self._lib.v1_table_add(context, number, *arguments), f"{table}, entry {key}")

    def modify(
        self, table: str, key: Key, target: Target, priority: int = 0, timeout_us: int | None = None
    ) -> None:
        """Change what an entry leads to (and its timeout, if given); counters and meters stay."""
        _, context = self._running()
        number, info = self._table(table)
        timeout = None if timeout_us is None else ctypes.c_uint64(timeout_us)
        arguments = (*pack_key(info, key), priority, self._target(number, target), timeout)
        self.check(self._lib.v1_table_modify(context, number, *arguments), f"{table}, entry {key}")

    def delete(self, table: str, key: Key, priority: int = 0) -> None:
        """Remove an entry."""
        _, context = self._running()
        number, info = self._table(table)
        status = self._lib.v1_table_delete(context, number, *pack_key(info, key), priority)
        self.check(status, f"{table}, entry {key}")

    def entry(self, table: str, key: Key, priority: int = 0) -> Entry:
        """One entry; NOT_FOUND if there is none."""
        number, info = self._table(table)
        return self._read(number, info, (*pack_key(info, key), priority), f"{table}, entry {key}")[0]

    def entries(self, table: str) -> list[Entry]:
        """Every entry but the default one, in the order of their insertion."""
        return self._read(*self._table(table), (None, None, 0), table)

    def _read(
        self, number: int, info: TableInfo, which: tuple[Words | None, Words | None, int], what: str
    ) -> list[Entry]:
        program, context = self._running()
        stride = _INFO + 8 * (2 * info.key_words + program.arg_words[number])
        room, count = 1, self.check(self._lib.v1_table_read(context, number, *which, None, 0), what)
        buffer = ctypes.create_string_buffer(0)
        while count > room or not len(buffer):
            room = max(count, 1)
            buffer = ctypes.create_string_buffer(stride * room)
            count = self.check(self._lib.v1_table_read(context, number, *which, buffer, room), what)
        data = buffer.raw
        return [self._entry(info, data[i * stride : (i + 1) * stride]) for i in range(count)]

    def _entry(self, info: TableInfo, data: bytes) -> Entry:
        program, _ = self._running()
        raw, words = binding.EntryInfo.from_buffer_copy(data), data[_INFO:]
        target: Target
        if raw.kind == 0:
            action = program.actions[raw.id] if raw.id != binding.NONE else None
            args = words[16 * info.key_words :]
            target = Call(action.name, unpack_values(args, action.widths)) if action else Call("")
        else:
            target = Member(raw.id) if raw.kind == 1 else Group(raw.id)
        return Entry(
            key=unpack_key(info, words),
            target=target,
            priority=raw.priority if info.has_priority else 0,
            timeout_us=raw.timeout,
            idle_us=raw.idle if info.support_timeout else 0,
            counts=Counts(raw.packets, raw.bytes) if info.direct_counter else None,
            rates=rates_from_c(raw.rates),
            const=bool(raw.constant),
        )

    def idle_timeout(self, number: int, count: int, data: bytes) -> IdleTimeout:
        """The event of a V1_IDLE record: entries that were deleted meanwhile are left out."""
        program, _ = self._running()
        info, entries, stride = program.tables[number], list[Entry](), len(data) // count
        for at in range(0, len(data), stride):
            record = data[at : at + stride]
            (priority,) = struct.unpack_from("=q", record, stride - 8)
            try:
                entries.append(self.entry(info.name, unpack_key(info, record), priority))
            except EngineError as error:
                if error.code is not Code.NOT_FOUND:
                    raise
        return IdleTimeout(info.name, tuple(entries))

    def set_default(self, table: str, call: Call | None) -> None:
        """Change what a miss does; None gives the program's own default back."""
        program, context = self._running()
        number, _ = self._table(table)
        action, args = binding.NONE, None
        if call is not None:
            action, args = self._call(program.table_actions[number], call, table)
        status = self._lib.v1_table_set_default(context, number, action, args)
        self.check(status, f"{table}, default entry")

    def default(self, table: str) -> Call | None:
        """What a miss does; None: nothing."""
        program, context = self._running()
        number, _ = self._table(table)
        action, args = ctypes.c_uint32(), (ctypes.c_uint64 * program.arg_words[number])()
        self.check(self._lib.v1_table_default(context, number, action, args), table)
        if action.value == binding.NONE:
            return None
        info = program.actions[action.value]
        return Call(info.name, unpack_values(bytes(args), info.widths))

    def set_entry_counts(self, table: str, key: Key, counts: Counts, priority: int = 0) -> None:
        """Write an entry's direct counter."""
        _, context = self._running()
        number, info = self._table(table)
        arguments = (*pack_key(info, key), priority, counts.packets, counts.bytes)
        status = self._lib.v1_table_set_count(context, number, *arguments)
        self.check(status, f"{table}, direct counter of {key}")

    def set_entry_rates(self, table: str, key: Key, rates: Rates | None, priority: int = 0) -> None:
        """Configure an entry's direct meter; None: always green."""
        _, context = self._running()
        number, info = self._table(table)
        arguments = (*pack_key(info, key), priority, rates_to_c(rates))
        status = self._lib.v1_table_set_rates(context, number, *arguments)
        self.check(status, f"{table}, direct meter of {key}")

    # ---- parser value sets: keys are as a table's

    def set_value_set(self, name: str, members: Sequence[Key]) -> None:
        """Replace the members of a parser value set."""
        program, context = self._running()
        place = self._number(program.value_sets, name, "parser value set")
        number, info = len(program.tables) + place, program.value_sets[place]
        if len(members) > info.size:
            raise EngineError(Code.RESOURCE_EXHAUSTED, f"{name}: takes {info.size} members at most")
        packed = {
            (bytes(value), bytes(mask)): (value, mask) for value, mask in (pack_key(info, m) for m in members)
        }
        self.check(self._lib.v1_table_clear(context, number), name)
        for value, mask in packed.values():
            self.check(self._lib.v1_table_add(context, number, value, mask, 0, None, 0), name)

    def value_set(self, name: str) -> list[Key]:
        """The members of a parser value set."""
        program, _ = self._running()
        place = self._number(program.value_sets, name, "parser value set")
        number, info = len(program.tables) + place, program.value_sets[place]
        return [entry.key for entry in self._read(number, info, (None, None, 0), name)]

    # ---- action profiles

    def _profile(self, name: str) -> int:
        program, _ = self._running()
        return self._number(program.profiles, name, "action profile")

    def insert_member(self, profile: str, member: int, call: Call) -> None:
        """Add a member under an id."""
        self._set_member(profile, member, call, exists=False)

    def modify_member(self, profile: str, member: int, call: Call) -> None:
        """Change a member's action."""
        self._set_member(profile, member, call, exists=True)

    def _set_member(self, profile: str, member: int, call: Call, *, exists: bool) -> None:
        program, context = self._running()
        number = self._profile(profile)
        action, args = self._call(program.profile_actions[number], call, profile)
        status = self._lib.v1_member_set(context, number, member, action, args, exists)
        self.check(status, f"{profile}, member {member}")

    def delete_member(self, profile: str, member: int) -> None:
        """Remove a member; FAILED_PRECONDITION while an entry or a group uses it."""
        _, context = self._running()
        status = self._lib.v1_member_delete(context, self._profile(profile), member)
        self.check(status, f"{profile}, member {member}")

    def members(self, profile: str) -> dict[int, Call]:
        """Every member by id."""
        program, context = self._running()
        number = self._profile(profile)
        ids = self._list(lambda array, room: self._lib.v1_member_list(context, number, array, room))
        words = max([1, *(len(action.widths) + sum(action.widths) // 64 for action in program.actions)])
        found: dict[int, Call] = {}
        for member in ids:
            action, args = ctypes.c_uint32(), (ctypes.c_uint64 * words)()
            if self._lib.v1_member_read(context, number, member, action, args) >= 0:
                info = program.actions[action.value]
                found[member] = Call(info.name, unpack_values(bytes(args), info.widths))
        return found

    def insert_group(
        self, profile: str, group: int, members: Sequence[GroupMember], max_size: int = 0
    ) -> None:
        """Add a group under an id; max_size limits the sum of its members' weights (0: no limit)."""
        self._set_group(profile, group, members, max_size, exists=False)

    def modify_group(self, profile: str, group: int, members: Sequence[GroupMember]) -> None:
        """Replace a group's members."""
        self._set_group(profile, group, members, 0, exists=True)

    def _set_group(
        self, profile: str, group: int, members: Sequence[GroupMember], max_size: int, *, exists: bool
    ) -> None:
        _, context = self._running()
        weights = (binding.Weight * len(members))(*(binding.Weight(m.member, m.weight) for m in members))
        number = self._profile(profile)
        arguments = (weights, len(members), max_size, exists)
        status = self._lib.v1_group_set(context, number, group, *arguments)
        self.check(status, f"{profile}, group {group}")

    def delete_group(self, profile: str, group: int) -> None:
        """Remove a group; FAILED_PRECONDITION while an entry uses it."""
        _, context = self._running()
        status = self._lib.v1_group_delete(context, self._profile(profile), group)
        self.check(status, f"{profile}, group {group}")

    def groups(self, profile: str) -> dict[int, tuple[GroupMember, ...]]:
        """Every group's members by group id."""
        _, context = self._running()
        number = self._profile(profile)
        ids = self._list(lambda array, room: self._lib.v1_group_list(context, number, array, room))
        found: dict[int, tuple[GroupMember, ...]] = {}
        weights = (binding.Weight * 65536)()
        for group in ids:
            count = self._lib.v1_group_read(context, number, group, weights, len(weights), ctypes.c_uint32())
            if count >= 0:
                found[group] = tuple(GroupMember(w.member, w.weight) for w in weights[:count])
        return found
