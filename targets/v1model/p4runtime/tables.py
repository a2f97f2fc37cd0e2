# SPDX-License-Identifier: Apache-2.0
"""Tables: their entries as P4Runtime shows them, kept in step with the engine's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from finsy.proto import p4i, p4r

from grasp.targets.v1model.objects import Call, Entry, Key, Target
from grasp.targets.v1model.program import Program

from . import actions, direct, matches
from .errors import already_exists, invalid_argument, not_found, permission_denied, unimplemented
from .p4info import Index
from .profiles import Profile

_Place = tuple[Key, int]  # what identifies an entry: key and priority


@dataclass
class _Row:
    """An entry: the message that reads return, without direct resources, and what it leads to."""

    message: p4r.TableEntry
    target: Target


class Table:
    """The entries of one table."""

    def __init__(self, info: p4i.Table, index: Index, program: Program, profile: Profile | None) -> None:
        self.info, self.index, self.program, self.profile = info, index, program, profile
        self.name = info.preamble.name
        self.has_timeouts = info.idle_timeout_behavior == p4i.Table.NOTIFY_CONTROL
        self.resources = direct.Resources(
            self.name, index.direct_counter(info), index.direct_meter(info), program
        )
        self._fields = list(info.match_fields)
        self._scopes = {reference.id: reference.scope for reference in info.action_refs}
        self._has_priority = matches.needs_priority(self._fields)
        self._const_default = program.tables[self.name].const_default
        self._default = self._initial_default()
        self.default_changed = False  # by a controller
        self._rows: dict[_Place, _Row] = {}
        for entry in program.entries(self.name):
            self._rows[self._place_of(entry)] = _Row(self._initial(entry), entry.target)

    def _place_of(self, entry: Entry) -> _Place:
        return matches.normalize(entry.key, self._fields), entry.priority if self._has_priority else 0

    def _initial_default(self) -> p4r.TableEntry:
        message = p4r.TableEntry(
            table_id=self.info.preamble.id, is_default_action=True, is_const=self._const_default
        )
        self._set_action(message, self.program.default(self.name))
        return message

    def _initial(self, entry: Entry) -> p4r.TableEntry:
        """The message of an entry that came with the program."""
        message = p4r.TableEntry(
            table_id=self.info.preamble.id,
            match=self._match(self._place_of(entry)),
            priority=self._place_of(entry)[1],
            is_const=self.info.is_const_table,  # the JSON, and so the engine, cannot tell
        )
        self._set_action(message, entry.target)
        return message

    # ---- writing

    def write(self, kind: p4r.Update.Type.ValueType, message: p4r.TableEntry) -> None:
        """Insert, modify or delete an entry, or modify the default entry."""
        if kind != p4r.Update.DELETE:
            self._check_plain(message)
        if message.is_default_action:
            self._write_default(kind, message)
        elif kind == p4r.Update.INSERT:
            self._insert(message)
        elif kind == p4r.Update.MODIFY:
            self._modify(message)
        else:
            self._delete(message)

    def _check_plain(self, message: p4r.TableEntry) -> None:
        """Refuse fields that only reads use, and direct resources and timeouts that the table has not."""
        if message.is_const or message.HasField("time_since_last_hit"):
            raise invalid_argument(f"{self.name}: is_const and time_since_last_hit are not for writing")
        if message.idle_timeout_ns < 0 or (message.idle_timeout_ns and not self.has_timeouts):
            raise invalid_argument(f"{self.name}: idle timeout {message.idle_timeout_ns} ns is not supported")
        self.resources.check(message)

    def place(self, message: p4r.TableEntry) -> _Place:
        """The key and priority of a message that names one entry."""
        if self._has_priority and message.priority < 1:
            raise invalid_argument(f"{self.name}: the entry needs a priority above 0")
        if not self._has_priority and message.priority:
            raise invalid_argument(f"{self.name}: entries of this table have no priority")
        return matches.decode(message.match, self._fields, self.name), message.priority

    def _row(self, place: _Place) -> _Row:
        if place not in self._rows:
            raise not_found(f"{self.name}: no such entry")
        return self._rows[place]

    def _insert(self, message: p4r.TableEntry) -> None:
        self._check_mutable(self.info.is_const_table)
        place = self.place(message)
        if place in self._rows:
            raise already_exists(f"{self.name}: there is an entry with this key and priority")
        if not message.HasField("action"):
            raise invalid_argument(f"{self.name}: the entry needs an action")
        if not self._fields:
            raise invalid_argument(f"{self.name} has no key: it has a default entry only")
        target = self._target(message.action, default=False)
        try:
            self.program.insert(self.name, place[0], target, place[1], _microseconds(message.idle_timeout_ns))
        except Exception:
            self._release(target)
            raise
        self._rows[place] = _Row(self._canonical(message, self._match(place), target), target)
        try:
            self.resources.insert(place, message)
        except Exception:
            self._delete(message)
            raise

    def _modify(self, message: p4r.TableEntry) -> None:
        place = self.place(message)
        row = self._row(place)
        if not message.HasField("action"):
            self.resources.modify(place, message)
            return
        self._check_mutable(self.info.is_const_table or row.message.is_const)
        target, old = self._target(message.action, default=False), row.target
        try:
            self.resources.modify(place, message)
            timeout = _microseconds(message.idle_timeout_ns)
            self.program.modify(self.name, place[0], target, place[1], timeout)
        except Exception:
            self._release(target)
            raise
        row.message, row.target = self._canonical(message, self._match(place), target), target
        self._release(old)

    def _delete(self, message: p4r.TableEntry) -> None:
        place = self.place(message)
        row = self._row(place)
        self._check_mutable(self.info.is_const_table or row.message.is_const)
        self.program.delete(self.name, *place)
        del self._rows[place]
        self._release(row.target)

    def _write_default(self, kind: p4r.Update.Type.ValueType, message: p4r.TableEntry) -> None:
        # The default entry is all that a table without keys has, and some clients insert it.
        if kind == p4r.Update.DELETE or (kind == p4r.Update.INSERT and self._fields):
            raise invalid_argument(f"{self.name}: the default entry can only be modified")
        if message.match or message.priority or message.idle_timeout_ns:
            raise invalid_argument(f"{self.name}: the default entry has no key, priority or idle timeout")
        if self.profile is not None:
            raise invalid_argument(f"{self.name}: the default entry of an indirect table cannot be changed")
        if self._const_default:
            raise permission_denied(f"{self.name}: the default action is constant")
        self.resources.refuse_default(message)
        if not message.HasField("action"):
            self.program.set_default(self.name, None)
            self._default = self._initial_default()
            self.default_changed = False
            return
        target = self._target(message.action, default=True)
        assert isinstance(target, Call)  # the table has no profile
        self.program.set_default(self.name, target)
        self._default = self._canonical(message, [], target)
        self._default.is_default_action = True
        self.default_changed = True

    def _check_mutable(self, const: bool) -> None:
        if const:
            raise permission_denied(f"{self.name}: the entry is constant")

    def _target(self, action: p4r.TableAction, default: bool) -> Target:
        """What an entry with this action leads to."""
        if self.profile is not None:
            return self.profile.target(action)
        if action.WhichOneof("type") != "action":
            raise invalid_argument(f"{self.name}: a direct table wants an action, not a member or group")
        number = action.action.action_id
        actions.allowed(action.action, self.name, frozenset(self._scopes))
        refused = p4i.ActionRef.TABLE_ONLY if default else p4i.ActionRef.DEFAULT_ONLY
        if self._scopes[number] == refused:
            where = "in an entry" if default else "as the default action"
            raise permission_denied(f"{self.name}: action {number:#010x} can only be used {where}")
        return actions.decode(action.action, self.index)

    def _release(self, target: Target) -> None:
        if self.profile is not None:
            self.profile.release(target)

    def _match(self, place: _Place) -> list[p4r.FieldMatch]:
        return matches.encode(place[0], self._fields)

    def _canonical(
        self, message: p4r.TableEntry, match: list[p4r.FieldMatch], target: Target
    ) -> p4r.TableEntry:
        """The message that reads return for what was written."""
        result = p4r.TableEntry(
            table_id=self.info.preamble.id,
            match=match,
            priority=message.priority,
            controller_metadata=message.controller_metadata,
            metadata=message.metadata,
            idle_timeout_ns=message.idle_timeout_ns,
        )
        if self.profile is not None:
            result.action.CopyFrom(self.profile.canonical(message.action))
        else:
            self._set_action(result, target)
        return result

    def _set_action(self, message: p4r.TableEntry, target: Target | None) -> None:
        """Give a message the action of a direct entry, if the P4Info shows it."""
        action = actions.encode(target, self.index) if isinstance(target, Call) else None
        if action is not None:
            message.action.action.CopyFrom(action)

    # ---- reading

    def read(self, wanted: p4r.TableEntry) -> Iterator[p4r.TableEntry]:
        """The entries that a request selects, with the volatile parts that it asks for."""
        timed = wanted.HasField("time_since_last_hit")
        if timed and wanted.table_id and (wanted.is_default_action or not self.has_timeouts):
            raise invalid_argument(f"{self.name}: time_since_last_hit needs a table with idle timeouts")
        if wanted.is_default_action:
            if _selects(wanted, self._default):
                yield _copy(self._default)
            return
        for place in self.places(wanted):
            message = self._rows[place].message
            if _selects(wanted, message):
                result = _copy(message)
                if timed and self.has_timeouts:
                    idle = self.program.entry(self.name, *place).idle_us
                    result.time_since_last_hit.elapsed_ns = 1000 * idle
                self.resources.read(place, wanted, result)
                yield result

    def find(self, message: p4r.TableEntry) -> _Place:
        """Where the entry is that a message names; the default entry has no place."""
        if message.is_default_action:
            raise unimplemented(f"{self.name}: the default entry has no direct counter or meter")
        place = self.place(message)
        self._row(place)
        return place

    def find_all(self, wanted: p4r.TableEntry) -> list[_Place]:
        """The place of the entry that a request names, or of all if it has no match."""
        return [self.find(wanted)] if wanted.match or wanted.is_default_action else list(self._rows)

    def places(self, wanted: p4r.TableEntry) -> list[_Place]:
        """Where the entries are that a request names: one of them, or all if it has no match."""
        if not wanted.match:
            return list(self._rows)
        if self._has_priority and not wanted.priority:
            key = matches.decode(wanted.match, self._fields, self.name)
            return [place for place in self._rows if place[0] == key]
        place = self.place(wanted)
        return [place] if place in self._rows else []

    def key_message(self, place: _Place) -> p4r.TableEntry:
        """A message that names an entry and says nothing else."""
        message = self._rows[place].message
        return p4r.TableEntry(table_id=message.table_id, match=message.match, priority=message.priority)

    def idle(self, entry: Entry) -> p4r.TableEntry | None:
        """The notification for an entry that the engine found idle; None if it is gone meanwhile."""
        row = self._rows.get(self._place_of(entry))
        if row is None:
            return None
        message = _copy(row.message)
        message.ClearField("action")
        return message

    def clear(self) -> None:
        """Remove the entries that came with the program and are not constant."""
        for row in [row for row in self._rows.values() if not row.message.is_const]:
            self._delete(row.message)


def _copy(message: p4r.TableEntry) -> p4r.TableEntry:
    result = p4r.TableEntry()
    result.CopyFrom(message)
    return result


def _microseconds(nanoseconds: int) -> int:
    """Rounded up: a timeout of 1 ns is not "never"."""
    return -(-nanoseconds // 1000)


def _selects(wanted: p4r.TableEntry, message: p4r.TableEntry) -> bool:
    """Whether an entry passes a read's filters; a filter that is 0 or unset lets everything pass."""
    action = wanted.action.action.action_id
    return (
        (not wanted.priority or wanted.priority == message.priority)
        and (not wanted.controller_metadata or wanted.controller_metadata == message.controller_metadata)
        and (not wanted.metadata or wanted.metadata == message.metadata)
        and (not action or action == message.action.action.action_id)
    )
