# SPDX-License-Identifier: Apache-2.0
"""What the program tells the run time of its objects: constant C tables, and struct v1_program."""

from __future__ import annotations

from collections.abc import Sequence

from grasp.targets.v1model.p4json import Entry, FieldList, Table
from grasp.targets.v1model.p4values import FieldRef
from grasp.targets.v1model.translate.cnames import text
from grasp.targets.v1model.translate.headers import most_bytes
from grasp.targets.v1model.translate.keys import Place, key_layout, key_size, key_value
from grasp.targets.v1model.translate.layout import Layout, words
from grasp.targets.v1model.translate.objects import Objects
from grasp.targets.v1model.translate.parsing import value_set_widths
from grasp.targets.v1model.translate.tables import Tables

MATCHES = {"exact": "V1_EXACT", "lpm": "V1_LPM", "ternary": "V1_TERNARY", "range": "V1_RANGE"}


class Descriptors:
    """Writes the descriptions."""

    def __init__(self, layout: Layout, objects: Objects) -> None:
        self.layout, self.objects = layout, objects
        self.program = layout.program
        self.tables = Tables(layout, objects)

    def text(self) -> str:
        """All of it."""
        program = self.program
        rows = {
            "action": ("v1_action", [self._action(number) for number in program.actions]),
            "table": ("v1_table_info", [self._table(table) for table in program.tables.values()]),
            "profile": ("v1_profile_info", [self._profile(name) for name in program.profiles]),
            "reg": ("v1_register_info", [self._register(name) for name in program.registers]),
            "counter": ("v1_counter_info", [self._counter(name) for name in self.objects.counters]),
            "meter": ("v1_meter_info", [self._meter(name) for name in self.objects.meters]),
            "digest_info": (
                "v1_digest_info",
                [self._digest(found) for found in program.learn_lists.values()],
            ),
            "value_set": ("v1_table_info", [self._value_set(name) for name in program.value_sets]),
        }
        lines = list[str]()
        for member, (struct, found) in rows.items():
            if found:
                lines.append(f"static const struct {struct} {member}s[] = {{")
                lines += [f"    {row}," for row in found]
                lines.append("};")
        lines += [
            "",
            "const struct v1_program v1_program = {",
            "    .abi = V1_ABI,",
            f"    .name = {text(program.name)},",
        ]
        header_bytes = sum(most_bytes(program.headers[name].type) for name in program.deparser)
        lines += ["    .state_bytes = sizeof(struct state),", f"    .header_bytes = {header_bytes},"]
        counts = {"reg": "registers", "digest_info": "digests"}
        for member, (_, found) in rows.items():
            if found:
                lines.append(f"    .{counts.get(member, f'{member}s')} = {len(found)},")
                lines.append(f"    .{member} = {member}s,")
        for function in (
            "reset",
            "reset_metadata",
            "parse",
            "ingress",
            "egress",
            "deparse",
            "copy_fields",
            "digest",
        ):
            lines.append(f"    .{function} = program_{function},")
        return "\n".join([*lines, "};\n"])

    def _action(self, number: int) -> str:
        action = self.program.actions[number]
        widths = [parameter.width for parameter in action.parameters]
        names = ", ".join(text(parameter.name) for parameter in action.parameters)
        row = f"{{.name = {text(action.name)}, .id = {number}, .parameters = {len(widths)}"
        if widths:
            row += f", .widths = {_numbers('uint32_t', widths)}, .names = (const char *const[]){{{names}}}"
        return row + "}"

    def _table(self, table: Table) -> str:
        widths = [self.tables.key_part(key).width for key in table.keys]
        places = key_layout(widths)
        fields = [
            f"{{{text(key.name)}, {MATCHES[key.match]}, {place.width}, {place.word}, {place.shift}}}"
            for key, place in zip(table.keys, places, strict=True)
        ]
        actions = [self.objects.actions[number] for number in table.actions]
        row = [f".name = {text(table.name)}", f".id = {table.id}", f".match = {MATCHES[table.match]}"]
        row += _array("field", "v1_field", fields, "fields")
        # p4c states as many as there are initial entries; the size in the source stands in the P4Info alone.
        size = max(table.size, 1024) if table.with_entries else table.size
        row += [f".key_words = {key_size(places)}", f".size = {size}"]
        row += [f".actions = {len(actions)}", f".action = {_numbers('uint32_t', actions)}"] if actions else []
        row += self._default(table)
        meter = self.program.meters[table.direct_meter] if table.direct_meter else None
        row += [
            f".direct_counter = {_flag(table.with_counters)}",
            f".support_timeout = {_flag(table.support_timeout)}",
        ]
        row += [f".direct_meter = 1 + {'V1_BYTES' if meter.bytes else 'V1_PACKETS'}"] if meter else []
        row += [
            f".profile = {self.objects.profiles[table.profile] if table.profile is not None else 'V1_NONE'}"
        ]
        row += _array("entry", "v1_const_entry", self._entries(table, places), "entries")
        counter = next((c.name for c in self.program.counters.values() if c.table == table.name), None)
        row += [f".direct_counter_name = {text(counter)}"] if counter and table.with_counters else []
        row += [f".direct_meter_name = {text(meter.name)}"] if meter else []
        return "{" + ",\n     ".join(row) + "}"

    def _default(self, table: Table) -> list[str]:
        default = table.default
        if default is None:
            return [".default_action = V1_NO_ACTION"]
        args = self._arguments(default.action, default.data)
        row = [f".default_action = {self.objects.actions[default.action]}"]
        row += [f".default_args = {_numbers('uint64_t', args)}"] if args else []
        return [*row, f".const_default = {_flag(default.constant)}"]

    def _arguments(self, action: int, data: tuple[int, ...]) -> list[int]:
        """The words of an action's arguments."""
        found = list[int]()
        for parameter, value in zip(self.program.actions[action].parameters, data, strict=True):
            found += [value >> (64 * number) & (1 << 64) - 1 for number in range(words(parameter.width))]
        return found

    def _entries(self, table: Table, places: list[Place]) -> list[str]:
        prioritised = table.match in ("ternary", "range")
        last = max((entry.priority for entry in table.entries), default=0)
        rows = []
        for entry in table.entries:
            value, mask = self._key(entry, table, places)
            args = self._arguments(entry.action, entry.data)
            row = f"{{{_numbers('uint64_t', value)}, {_numbers('uint64_t', mask)}, "
            row += (
                f"{last + 1 - entry.priority if prioritised else 0}, {self.objects.actions[entry.action]}, "
            )
            rows.append(row + (f"{_numbers('uint64_t', args)}}}" if args else "NULL}"))
        return rows

    def _key(self, entry: Entry, table: Table, places: list[Place]) -> tuple[list[int], list[int]]:
        """Words of an entry's values, and of its masks or upper bounds."""
        values, masks = list[int](), list[int]()
        for match, key, place in zip(entry.match, table.keys, places, strict=True):
            whole = (1 << place.width) - 1
            mask = whole
            if match.end is not None:
                mask = match.end & whole
            elif match.prefix is not None:
                mask = whole ^ (whole >> match.prefix)
            elif match.mask is not None:
                mask = match.mask & whole
            value = match.value & whole
            values.append(value if key.match == "range" else value & mask)
            masks.append(mask)
        return key_value(values, places), key_value(masks, places)

    def _profile(self, name: str) -> str:
        profile = self.program.profiles[name]
        select = f", .select = {self.objects.select_names[name]}" if profile.selector else ""
        return f"{{.name = {text(name)}, .id = {profile.id}, .size = {profile.size}{select}}}"

    def _register(self, name: str) -> str:
        register = self.program.registers[name]
        return f"{{{text(name)}, {register.id}, {register.width}, {register.size}}}"

    def _counter(self, name: str) -> str:
        counter = self.program.counters[name]
        return f"{{{text(name)}, {counter.id}, {counter.size}}}"

    def _meter(self, name: str) -> str:
        meter = self.program.meters[name]
        return f"{{{text(name)}, {meter.id}, {'V1_BYTES' if meter.bytes else 'V1_PACKETS'}, {meter.size}}}"

    def _digest(self, found: FieldList) -> str:
        widths = [self.program.field(ref).width for ref in found.fields if isinstance(ref, FieldRef)]
        count = sum(words(width) for width in widths)
        array = _numbers("uint32_t", widths) if widths else "NULL"
        return f"{{{text(found.name)}, {found.id}, {len(widths)}, {array}, {count}}}"

    def _value_set(self, name: str) -> str:
        """A value set is a table without actions."""
        found, places = self.program.value_sets[name], key_layout(value_set_widths(self.layout, name))
        fields = [
            f"{{{text(str(number))}, V1_EXACT, {place.width}, {place.word}, {place.shift}}}"
            for number, place in enumerate(places, 1)
        ]
        row = [
            f".name = {text(name)}",
            f".id = {found.id}",
            ".match = V1_EXACT",
            *_array("field", "v1_field", fields, "fields"),
        ]
        row += [f".key_words = {key_size(places)}", f".size = {found.size}"]
        return "{" + ", ".join([*row, ".default_action = V1_NO_ACTION", ".profile = V1_NONE"]) + "}"


def _array(member: str, struct: str, rows: list[str], count: str) -> list[str]:
    if not rows:
        return []
    return [
        f".{count} = {len(rows)}",
        f".{member} = (const struct {struct}[]){{" + ",\n          ".join(rows) + "}",
    ]


def _numbers(kind: str, numbers: Sequence[int]) -> str:
    shown = ", ".join(str(number) if number < 1024 else f"{number:#x}u" for number in numbers)
    return f"(const {kind}[]){{{shown or '0'}}}"


def _flag(value: bool) -> str:
    return "true" if value else "false"
