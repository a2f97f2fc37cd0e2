# SPDX-License-Identifier: Apache-2.0
"""An engine that keeps what it is told and runs no packets: the server's tests need no compiler and no root.

It reads a program's objects from the BMv2 JSON that `load` names. Tests look at its attributes and put events
into `events`.
"""

from __future__ import annotations

import queue
from dataclasses import fields, replace
from pathlib import Path

from grasp.targets.v1model.objects import (
    ActionInfo,
    ArrayInfo,
    Call,
    Code,
    Counts,
    DigestInfo,
    EngineError,
    Entry,
    FieldInfo,
    Group,
    Match,
    Member,
    PortStatus,
    ProfileInfo,
    TableInfo,
    Unit,
)
from grasp.targets.v1model.p4load import load


def refuse(code, message):
    raise EngineError(code, message)


class FakeEngine:
    def __init__(self):
        self.events = queue.SimpleQueue()
        self.loaded = []
        self.program = None
        self.sent = []
        self.port_up = {1: True, 2: True}

    def load(self, path: Path):
        self.loaded.append(FakeProgram(Path(path)))
        return self.loaded[-1]

    def activate(self, program):
        if self.program is not None:
            self.program.close()
        self.program = program

    def start(self):
        pass

    def close(self):
        pass

    def ports(self):
        counts = [0] * (len(fields(PortStatus)) - 3)
        return [PortStatus(n, f"eth{n}", up, *counts) for n, up in self.port_up.items()]

    def packet_out(self, packet):
        self.sent.append(packet)

    def next_event(self, timeout=None):
        try:
            return self.events.get(timeout=timeout) if timeout != 0 else self.events.get_nowait()
        except queue.Empty:
            return None

    def wake(self):
        self.events.put(None)


class FakeProgram:
    def __init__(self, path: Path):
        self.closed = False
        self.acknowledged = []
        program = load(path.read_bytes())
        names = {number: action.name for number, action in program.actions.items()}
        self.actions = {
            one.name: ActionInfo(
                one.name,
                one.id,
                tuple(p.name for p in one.parameters),
                tuple(p.width for p in one.parameters),
            )
            for one in program.actions.values()
        }
        self.tables = {
            one.name: TableInfo(
                one.name,
                one.id,
                Match[one.match.upper()],
                tuple(
                    FieldInfo(k.name, Match[k.match.upper()], program.field(k.value).width, 0, 0)
                    for k in one.keys
                ),
                1,
                one.size,
                tuple(names[number] for number in one.actions),
                one.default.constant if one.default else False,
                False,
                one.with_counters,
                None if one.direct_meter is None else Unit(program.meters[one.direct_meter].bytes),
                one.support_timeout,
                one.profile,
            )
            for one in program.tables.values()
        }
        self.profiles = {
            one.name: ProfileInfo(one.name, one.id, one.size, one.selector is not None)
            for one in program.profiles.values()
        }
        self.registers = {
            one.name: ArrayInfo(one.name, one.id, one.size, one.width) for one in program.registers.values()
        }
        self.counters = {
            one.name: ArrayInfo(one.name, one.id, one.size)
            for one in program.counters.values()
            if not one.table
        }
        self.meters = {
            one.name: ArrayInfo(one.name, one.id, one.size, unit=Unit(one.bytes))
            for one in program.meters.values()
            if not one.table
        }
        self.digests = {
            one.name: DigestInfo(one.name, one.id, (48, 9)) for one in program.learn_lists.values()
        }
        self.value_sets = {
            one.name: TableInfo(
                one.name,
                one.id,
                Match.EXACT,
                (FieldInfo("1", Match.EXACT, one.width, 0, 0),),
                1,
                one.size,
                (),
                *(False, False, False, None, False, None),
            )
            for one in program.value_sets.values()
        }
        self._defaults = {
            one.name: None if one.default is None else Call(names[one.default.action], one.default.data)
            for one in program.tables.values()
        }
        self.changed_defaults = {}
        self.rows = {name: {} for name in self.tables}
        for one in program.tables.values():
            for number, entry in enumerate(one.entries):
                key = tuple(k.value if k.mask is None else (k.value, k.mask) for k in entry.match)
                has_priority = self.tables[one.name].has_priority
                priority = len(one.entries) - number if has_priority else 0
                target = Call(names[entry.action], entry.data)
                self.rows[one.name][key, priority] = Entry(key, target, priority, const=True)
        self.member_calls = {name: {} for name in self.profiles}
        self.group_members = {name: {} for name in self.profiles}
        self.cells = {name: [0] * one.size for name, one in self.registers.items()}
        self.counts = {name: [Counts()] * one.size for name, one in self.counters.items()}
        self.rates = {name: [None] * one.size for name, one in self.meters.items()}
        self.sets = {name: [] for name in self.value_sets}
        self.digest_configs = {}
        self.multicast = {}
        self.clones = {}

    def close(self):
        self.closed = True

    # tables

    def insert(self, table, key, target, priority=0, timeout_us=0):
        rows, info = self.rows[table], self.tables[table]
        if (key, priority) in rows:
            refuse(Code.ALREADY_EXISTS, "exists")
        if len(rows) >= info.size:
            refuse(Code.RESOURCE_EXHAUSTED, f"{table} is full")
        counts = Counts() if info.direct_counter else None
        rows[key, priority] = Entry(key, target, priority, timeout_us, idle_us=7, counts=counts)

    def _change(self, table, key, priority, **changes):
        self.rows[table][key, priority] = replace(self.entry(table, key, priority), **changes)

    def modify(self, table, key, target, priority=0, timeout_us=None):
        self._change(table, key, priority, target=target, timeout_us=timeout_us or 0)

    def delete(self, table, key, priority=0):
        self.entry(table, key, priority)
        del self.rows[table][key, priority]

    def entry(self, table, key, priority=0):
        return self.rows[table].get((key, priority)) or refuse(Code.NOT_FOUND, "no such entry")

    def entries(self, table):
        return list(self.rows[table].values())

    def set_default(self, table, call):
        self.changed_defaults[table] = call

    def default(self, table):
        return self.changed_defaults.get(table) or self._defaults[table]

    def set_entry_counts(self, table, key, counts, priority=0):
        self._change(table, key, priority, counts=counts)

    def set_entry_rates(self, table, key, rates, priority=0):
        self._change(table, key, priority, rates=rates)

    def set_value_set(self, name, members):
        self.sets[name] = list(members)

    # action profiles

    def insert_member(self, profile, member, call):
        if len(self.member_calls[profile]) >= self.profiles[profile].size:
            refuse(Code.RESOURCE_EXHAUSTED, f"{profile} is full")
        self.member_calls[profile][member] = call

    modify_member = insert_member

    def _targets(self):
        return [row.target for rows in self.rows.values() for row in rows.values()]

    def delete_member(self, profile, member):
        if Member(member) in self._targets():
            refuse(Code.FAILED_PRECONDITION, "an entry uses it")
        del self.member_calls[profile][member]

    def insert_group(self, profile, group, members, max_size=0):
        self.group_members[profile][group] = list(members)

    modify_group = insert_group

    def delete_group(self, profile, group):
        if Group(group) in self._targets():
            refuse(Code.FAILED_PRECONDITION, "an entry uses it")
        del self.group_members[profile][group]

    # arrays

    def read_register(self, name, index):
        return self.cells[name][index]

    def read_registers(self, name):
        return list(self.cells[name])

    def write_register(self, name, index, value):
        self.cells[name][index] = value

    def fill_register(self, name, value):
        self.cells[name] = [value] * self.registers[name].size

    def read_counter(self, name, index):
        return self.counts[name][index]

    def read_counters(self, name):
        return list(self.counts[name])

    def write_counter(self, name, index, counts):
        self.counts[name][index] = counts

    def read_meter(self, name, index):
        return self.rates[name][index]

    def read_meters(self, name):
        return list(self.rates[name])

    def write_meter(self, name, index, rates):
        self.rates[name][index] = rates

    # replication

    def set_multicast_group(self, group, replicas):
        self.multicast[group] = tuple(replicas)

    def delete_multicast_group(self, group):
        del self.multicast[group]

    def set_clone_session(self, session, config):
        self.clones[session] = config

    def delete_clone_session(self, session):
        del self.clones[session]

    # digests

    def set_digest(self, name, config):
        self.digest_configs[name] = config

    def ack_digest(self, name, list_id):
        self.acknowledged.append((name, list_id))
