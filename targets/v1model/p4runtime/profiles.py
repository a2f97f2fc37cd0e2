# SPDX-License-Identifier: Apache-2.0
"""Action profiles and selectors: members and groups by a controller's ids, and one-shot action sets."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TypeVar

from finsy.proto import p4i, p4r

from grasp.targets.v1model.objects import Call, Group, GroupMember, Member, Target
from grasp.targets.v1model.program import Program

from . import actions
from .errors import (
    already_exists,
    failed_precondition,
    invalid_argument,
    not_found,
    resource_exhausted,
    unimplemented,
)
from .p4info import Index
from .ports import Ports, decode_port

_T = TypeVar("_T")

ONE_SHOT_IDS = 1 << 31  # members and groups of action sets; a controller's own ids stay below


@dataclass(frozen=True)
class _Watched:
    """A member of a group with its weight and the port without which it is left out."""

    member: int
    weight: int
    port: int | None


class Profile:
    """The members and groups of one action profile.

    Its tables are programmed either by members and groups or by one-shot action sets, never by both.
    """

    def __init__(self, info: p4i.ActionProfile, index: Index, program: Program, ports: Ports) -> None:
        self.info, self.index, self.program, self.ports = info, index, program, ports
        self.name = info.preamble.name
        self.members: dict[int, p4r.ActionProfileMember] = {}
        self.groups: dict[int, p4r.ActionProfileGroup] = {}
        self._actions = frozenset(
            reference.id for table_id in info.table_ids for reference in index.tables[table_id].action_refs
        )
        self._watched: dict[int, list[_Watched]] = {}  # every group, one-shot ones too
        self._new_ids = itertools.count(ONE_SHOT_IDS)
        self._sets: dict[int, list[int]] = {}  # one-shot group -> its members

    # ---- members

    def write_member(self, kind: p4r.Update.Type.ValueType, message: p4r.ActionProfileMember) -> None:
        """Insert, modify or delete a member."""
        self._no_sets()
        number = message.member_id
        if not 0 < number < ONE_SHOT_IDS:
            raise invalid_argument(f"{self.name}: member id {number} is not in 1..{ONE_SHOT_IDS - 1}")
        if kind == p4r.Update.INSERT:
            if number in self.members:
                raise already_exists(f"{self.name}: member {number} exists")
            self.program.insert_member(self.name, number, self._call(message.action))
        elif number not in self.members:
            raise not_found(f"{self.name}: no member {number}")
        elif kind == p4r.Update.MODIFY:
            self.program.modify_member(self.name, number, self._call(message.action))
        else:
            self._delete_member(number)
            return
        self.members[number] = p4r.ActionProfileMember(
            action_profile_id=self.info.preamble.id,
            member_id=number,
            action=actions.canonical(message.action, self.index),
        )

    def _call(self, action: p4r.Action) -> Call:
        actions.allowed(action, self.name, self._actions)
        return actions.decode(action, self.index)

    def _delete_member(self, number: int) -> None:
        for group, watched in self._watched.items():
            if any(one.member == number for one in watched):
                raise failed_precondition(f"{self.name}: member {number} is in group {group}")
        self.program.delete_member(self.name, number)
        del self.members[number]

    def read_members(self, message: p4r.ActionProfileMember) -> Iterator[p4r.ActionProfileMember]:
        """A member, or all of them for id 0."""
        yield from _pick(self.members, message.member_id)

    # ---- groups

    def write_group(self, kind: p4r.Update.Type.ValueType, message: p4r.ActionProfileGroup) -> None:
        """Insert, modify or delete a group."""
        self._has_groups()
        self._no_sets()
        number = message.group_id
        if not 0 < number < ONE_SHOT_IDS:
            raise invalid_argument(f"{self.name}: group id {number} is not in 1..{ONE_SHOT_IDS - 1}")
        if kind == p4r.Update.INSERT:
            if number in self.groups:
                raise already_exists(f"{self.name}: group {number} exists")
            limit = self.info.max_group_size
            if message.max_size < 0 or (limit and message.max_size > limit):
                raise invalid_argument(
                    f"{self.name}: max_size {message.max_size} is not in 0..{limit or 'any'}"
                )
            self._insert_group(number, self._group_members(message))
        elif number not in self.groups:
            raise not_found(f"{self.name}: no group {number}")
        elif kind == p4r.Update.MODIFY:
            if message.max_size != self.groups[number].max_size:
                raise invalid_argument(f"{self.name}: group {number} keeps its max_size")
            watched = self._group_members(message)
            self.program.modify_group(self.name, number, self._live(watched))
            self._watched[number] = watched
        else:
            self.program.delete_group(self.name, number)
            del self.groups[number], self._watched[number]
            return
        group = p4r.ActionProfileGroup()
        group.CopyFrom(message)
        self.groups[number] = group

    def read_groups(self, message: p4r.ActionProfileGroup) -> Iterator[p4r.ActionProfileGroup]:
        """A group, or all of them for id 0."""
        yield from _pick(self.groups, message.group_id)

    def _group_members(self, message: p4r.ActionProfileGroup) -> list[_Watched]:
        watched = []
        for one in message.members:
            if one.member_id not in self.members:
                raise not_found(f"{self.name}: no member {one.member_id}")
            watched.append(_Watched(one.member_id, self._weight(one.weight), self._watch(one)))
        if len({one.member for one in watched}) != len(watched):
            raise invalid_argument(f"{self.name}: group {message.group_id} names a member twice")
        self._check_size(watched, message.max_size or self.info.max_group_size)
        return watched

    def _insert_group(self, number: int, watched: list[_Watched]) -> None:
        self.program.insert_group(self.name, number, self._live(watched))
        self._watched[number] = watched

    def _weight(self, weight: int) -> int:
        if self.info.weights_disallowed:
            if weight:
                raise invalid_argument(f"{self.name}: weights are disallowed")
            return 1
        if weight < 1:
            raise invalid_argument(f"{self.name}: weight {weight} is not at least 1")
        heaviest = self.info.sum_of_members.max_member_weight
        if heaviest and weight > heaviest:
            raise invalid_argument(f"{self.name}: weight {weight} is above {heaviest}")
        return weight

    def _watch(self, one: p4r.ActionProfileGroup.Member | p4r.ActionProfileAction) -> int | None:
        if not one.watch_port and not one.watch:
            return None
        port = decode_port(one.watch_port, self.name) if one.watch_port else one.watch
        if not self.ports.exists(port):
            raise invalid_argument(f"{self.name}: there is no port {port} to watch")
        return port

    def _check_size(self, watched: list[_Watched], limit: int) -> None:
        by_members = self.info.WhichOneof("selector_size_semantics") == "sum_of_members"
        size = len(watched) if by_members else sum(one.weight for one in watched)
        if limit and size > limit:
            raise resource_exhausted(f"{self.name}: the group's size would be {size}, above {limit}")

    def _live(self, watched: list[_Watched]) -> list[GroupMember]:
        """The members that take part now: those whose watched port, if any, is up."""
        return [
            GroupMember(one.member, one.weight)
            for one in watched
            if one.port is None or self.ports.is_up(one.port)
        ]

    def port_changed(self, port: int) -> None:
        """Leave out, or take back, the members that watch a port which went down or came up."""
        for number, watched in self._watched.items():
            if any(one.port == port for one in watched):
                self.program.modify_group(self.name, number, self._live(watched))

    # ---- what a table's entries point to

    def target(self, action: p4r.TableAction) -> Target:
        """What an entry points to; an action set's members and group are made first: see `release`."""
        which = action.WhichOneof("type")
        if which == "action_profile_action_set":
            return Group(self._insert_set(action.action_profile_action_set))
        if which == "action_profile_member_id":
            self._no_sets()
            if action.action_profile_member_id not in self.members:
                raise not_found(f"{self.name}: no member {action.action_profile_member_id}")
            return Member(action.action_profile_member_id)
        if which == "action_profile_group_id":
            self._has_groups()
            self._no_sets()
            if action.action_profile_group_id not in self.groups:
                raise not_found(f"{self.name}: no group {action.action_profile_group_id}")
            return Group(action.action_profile_group_id)
        raise invalid_argument(f"{self.name}: an entry needs a member, a group or an action set")

    def canonical(self, action: p4r.TableAction) -> p4r.TableAction:
        """The action as it is read back."""
        result = p4r.TableAction()
        result.CopyFrom(action)
        for one in result.action_profile_action_set.action_profile_actions:
            one.action.CopyFrom(actions.canonical(one.action, self.index))
        return result

    def _insert_set(self, action_set: p4r.ActionProfileActionSet) -> int:
        self._has_groups()
        if self.members or self.groups:
            raise invalid_argument(f"{self.name} is programmed by members and groups, not by action sets")
        if action_set.action_selection_mode == p4r.ActionProfileActionSet.RANDOM:
            raise unimplemented(f"{self.name}: random selection is not supported")
        calls = [self._call(one.action) for one in action_set.action_profile_actions]
        numbers = list(itertools.islice(self._new_ids, len(calls)))
        watched = [
            _Watched(number, self._weight(one.weight), self._watch(one))
            for number, one in zip(numbers, action_set.action_profile_actions, strict=True)
        ]
        self._check_size(watched, self.info.max_group_size)
        made: list[int] = []
        group = next(self._new_ids)
        try:
            for number, call in zip(numbers, calls, strict=True):
                self.program.insert_member(self.name, number, call)
                made.append(number)
            self._insert_group(group, watched)
        except Exception:  # whatever stopped it, nothing is left behind
            for number in made:
                self.program.delete_member(self.name, number)
            raise
        self._sets[group] = numbers
        return group

    def release(self, target: Target) -> None:
        """Remove the group and members of an action set that no entry points to any more."""
        if isinstance(target, Group) and target.id in self._sets:
            self.program.delete_group(self.name, target.id)
            del self._watched[target.id]
            for number in self._sets.pop(target.id):
                self.program.delete_member(self.name, number)

    def _has_groups(self) -> None:
        if not self.info.with_selector:
            raise invalid_argument(f"{self.name} is no action selector: it has members only")

    def _no_sets(self) -> None:
        if self._sets:
            raise invalid_argument(f"{self.name} is programmed by action sets, not by members and groups")


def _pick(messages: dict[int, _T], number: int) -> Collection[_T]:
    if number == 0:
        return messages.values()
    return [messages[number]] if number in messages else []
