# SPDX-License-Identifier: Apache-2.0
"""What goes in and out of the engine: descriptions of a program's objects, entries, events, errors.

Names are the BMv2 JSON's. Values are plain non-negative integers (signed ones as two's complement of their
width), times are microseconds on the switch's clock, which starts at 0.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

Key = tuple["int | tuple[int, int] | None", ...]
"""One item per key field, in the table's order. By kind of match: EXACT the value; LPM (value, prefix
length); TERNARY (value, mask); RANGE (low, high), both inclusive. None is "don't care" (not for EXACT). An
optional field is TERNARY."""


class Code(enum.Enum):
    """Why the engine refused; the names are those of gRPC status codes."""

    INVALID_ARGUMENT = 1
    NOT_FOUND = 2
    ALREADY_EXISTS = 3
    RESOURCE_EXHAUSTED = 4
    PERMISSION_DENIED = 5
    FAILED_PRECONDITION = 6


class EngineError(Exception):
    """A request that the engine refused and that changed nothing."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code


class Match(enum.IntEnum):
    """How a key field, or a whole table, matches."""

    EXACT = 0
    LPM = 1
    TERNARY = 2
    RANGE = 3


class Unit(enum.IntEnum):
    """What a meter counts."""

    PACKETS = 0
    BYTES = 1


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """A key field: name, kind of match, width in bits."""

    name: str
    match: Match
    width: int
    word: int
    shift: int


@dataclass(frozen=True, slots=True)
class ActionInfo:
    """An action: its parameters' names and widths in bits, in order."""

    name: str
    id: int
    parameters: tuple[str, ...]
    widths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TableInfo:
    """A table as the program declares it."""

    name: str
    id: int
    match: Match
    fields: tuple[FieldInfo, ...]
    key_words: int
    size: int
    actions: tuple[str, ...]
    const_default: bool
    const_entries: bool
    direct_counter: bool
    direct_meter: Unit | None
    support_timeout: bool
    profile: str | None

    @property
    def has_priority(self) -> bool:
        """Whether entries carry a priority."""
        return self.match in (Match.TERNARY, Match.RANGE)


@dataclass(frozen=True, slots=True)
class ProfileInfo:
    """An action profile; with `selector`, one that has groups."""

    name: str
    id: int
    size: int
    selector: bool


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """A register (width in bits), an indirect counter (width 0) or an indirect meter (unit)."""

    name: str
    id: int
    size: int
    width: int = 0
    unit: Unit | None = None


@dataclass(frozen=True, slots=True)
class DigestInfo:
    """A digest: the widths of its fields in bits, in order."""

    name: str
    id: int
    widths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """An action with its arguments in parameter order."""

    action: str
    args: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the table's action profile."""

    id: int


@dataclass(frozen=True, slots=True)
class Group:
    """A group of the table's action selector."""

    id: int


Target = Call | Member | Group
"""What an entry leads to: Call in a direct table, Member or Group in an indirect one."""


@dataclass(frozen=True, slots=True)
class Counts:
    """A counter's value."""

    packets: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Rates:
    """A meter's configuration: rates per second and bursts, in packets or bytes."""

    cir: int
    cburst: int
    pir: int
    pburst: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A table entry as it is read back."""

    key: Key
    target: Target
    priority: int = 0  # larger wins; 0 in tables without priorities
    timeout_us: int = 0  # 0: never idle
    idle_us: int = 0  # since it was last hit or written; 0 in tables without timeouts
    counts: Counts | None = None  # of the direct counter
    rates: Rates | None = None  # of the direct meter, if configured
    const: bool = False  # came with the program


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member in a group with its weight: how many of the group's hash buckets it fills."""

    member: int
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Replica:
    """One copy of a multicast group or clone session: `instance` becomes egress_rid."""

    port: int
    instance: int = 0


@dataclass(frozen=True, slots=True)
class CloneSession:
    """Where clones go, their priority, and how much of the packet they keep (0: all)."""

    replicas: tuple[Replica, ...]
    class_of_service: int = 0
    packet_length: int = 0


@dataclass(frozen=True, slots=True)
class DigestConfig:
    """When digests are sent: after max_timeout_us or at max_list_size, whichever is first.

    A sample is sent again only after its list was acknowledged, or ack_timeout_us after it was sent.
    """

    max_timeout_us: int = 0
    max_list_size: int = 1
    ack_timeout_us: int = 0


@dataclass(frozen=True, slots=True)
class PacketIn:
    """A packet that went out of the CPU port, with its controller header."""

    data: bytes


@dataclass(frozen=True, slots=True)
class DigestList:
    """Samples of a digest, each a tuple of its fields' values; to be acknowledged by list_id."""

    name: str
    list_id: int
    samples: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class IdleTimeout:
    """Entries that nothing has hit for their timeout, in the order of their insertion."""

    table: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class PortEvent:
    """A port's interface came up or went down."""

    number: int
    up: bool


Event = PacketIn | DigestList | IdleTimeout | PortEvent


@dataclass(frozen=True, slots=True)
class PortStatus:
    """A port, its interface and its packet counters since the switch started."""

    number: int
    interface: str
    up: bool
    rx_packets: int
    rx_bytes: int
    tx_packets: int
    tx_bytes: int
    rx_lost: int  # dropped by the kernel: the switch was too slow
    rx_truncated: int  # dropped: longer than any buffer
    tx_queue_full: int  # dropped at the tail of the egress queue
    tx_too_long: int  # dropped: longer than the interface's MTU allows
    tx_too_short: int  # dropped: the interface needs at least a link header
    tx_errors: int  # dropped: interface down or gone


@dataclass(frozen=True, slots=True)
class SwitchCounts:
    """Packets that the switch dropped, by cause, since the program was loaded."""

    received: int
    dropped_ingress: int  # egress_spec was the drop port
    dropped_egress: int
    dropped_no_port: int  # sent to a port that does not exist
    dropped_loop: int  # passed the pipeline too often
    dropped_priority: int  # priority without a queue
    dropped_too_long: int  # recirculated, but longer than any buffer
    no_clone_session: int
    no_multicast_group: int
    events_lost: int  # packet-ins, digests or idle timeouts that nobody fetched in time
    assertions: int  # assert or assume that failed
