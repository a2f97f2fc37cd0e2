# SPDX-License-Identifier: Apache-2.0
"""A compiled program's own description of its objects, read from its shared object."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grasp import UserError
from grasp.targets.v1model import binding
from grasp.targets.v1model.layout import words_of
from grasp.targets.v1model.objects import (
    ActionInfo,
    ArrayInfo,
    DigestInfo,
    FieldInfo,
    Match,
    ProfileInfo,
    TableInfo,
    Unit,
)  # fmt: skip


@dataclass(frozen=True)
class Descriptors:
    """The objects of a program in the program's own order, which is how the run time numbers them."""

    address: int  # of its struct v1_program
    library: ctypes.CDLL
    actions: tuple[ActionInfo, ...]
    tables: tuple[TableInfo, ...]
    value_sets: tuple[TableInfo, ...]
    table_actions: tuple[dict[str, int], ...]  # per table: action name -> action number
    arg_words: tuple[int, ...]  # per table, then per value set: of the longest argument list, at least 1
    profiles: tuple[ProfileInfo, ...]
    profile_actions: tuple[dict[str, int], ...]
    registers: tuple[ArrayInfo, ...]
    counters: tuple[ArrayInfo, ...]
    meters: tuple[ArrayInfo, ...]
    digests: tuple[DigestInfo, ...]


def read_descriptors(path: Path) -> Descriptors:
    """Load a program; the run time must be loaded before."""
    try:
        library = ctypes.CDLL(str(path))
        info = binding.ProgramInfo.in_dll(library, "v1_program")
    except (OSError, ValueError) as error:
        raise UserError(f"cannot load the compiled program {path}: {error}") from None
    actions = tuple(_action(info.action[i]) for i in range(info.actions))
    raw_tables = [info.table[i] for i in range(info.tables)]
    raw_sets = [info.value_set[i] for i in range(info.value_sets)]
    profiles = tuple(_profile(info.profile[i]) for i in range(info.profiles))
    numbers = [[table.action[i] for i in range(table.actions)] for table in raw_tables]
    allowed = [{actions[number].name: number for number in row} for row in numbers]
    profile_actions: list[dict[str, int]] = [{} for _ in profiles]
    for table, names in zip(raw_tables, allowed, strict=True):
        if table.profile != binding.NONE:
            profile_actions[table.profile].update(names)
    return Descriptors(
        address=ctypes.addressof(info),
        library=library,
        actions=actions,
        tables=tuple(_table(table, actions, profiles) for table in raw_tables),
        value_sets=tuple(_table(table, actions, profiles) for table in raw_sets),
        table_actions=tuple(allowed),
        arg_words=tuple(_arg_words(table, actions) for table in raw_tables + raw_sets),
        profiles=profiles,
        profile_actions=tuple(profile_actions),
        registers=tuple(
            ArrayInfo(r.name.decode(), r.id, r.size, width=r.width)
            for r in (info.reg[i] for i in range(info.registers))
        ),
        counters=tuple(
            ArrayInfo(c.name.decode(), c.id, c.size) for c in (info.counter[i] for i in range(info.counters))
        ),
        meters=tuple(
            ArrayInfo(m.name.decode(), m.id, m.size, unit=Unit(m.unit))
            for m in (info.meter[i] for i in range(info.meters))
        ),
        digests=tuple(
            DigestInfo(d.name.decode(), d.id, tuple(d.widths[: d.fields]))
            for d in (info.digest_info[i] for i in range(info.digests))
        ),
    )


def _action(raw: Any) -> ActionInfo:
    count = raw.parameters
    names = tuple(raw.names[i].decode() for i in range(count))
    return ActionInfo(raw.name.decode(), raw.id, names, tuple(raw.widths[i] for i in range(count)))


def _profile(raw: Any) -> ProfileInfo:
    return ProfileInfo(raw.name.decode(), raw.id, raw.size, selector=bool(raw.select))


def _table(raw: Any, actions: tuple[ActionInfo, ...], profiles: tuple[ProfileInfo, ...]) -> TableInfo:
    fields = (raw.field[i] for i in range(raw.fields))
    return TableInfo(
        name=raw.name.decode(),
        id=raw.id,
        match=Match(raw.match),
        fields=tuple(
            FieldInfo(field.name.decode(), Match(field.match), field.width, field.word, field.shift)
            for field in fields
        ),
        key_words=raw.key_words,
        size=raw.size,
        actions=tuple(actions[raw.action[i]].name for i in range(raw.actions)),
        const_default=raw.const_default,
        const_entries=raw.const_entries,
        direct_counter=raw.direct_counter,
        direct_meter=Unit(raw.direct_meter - 1) if raw.direct_meter else None,
        support_timeout=raw.support_timeout,
        profile=None if raw.profile == binding.NONE else profiles[raw.profile].name,
    )


def _arg_words(raw: Any, actions: tuple[ActionInfo, ...]) -> int:
    numbers = [raw.action[i] for i in range(raw.actions)]
    if raw.default_action != binding.NONE:
        numbers.append(raw.default_action)
    return max([1, *(sum(map(words_of, actions[number].widths)) for number in numbers)])
