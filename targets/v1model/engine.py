# SPDX-License-Identifier: Apache-2.0
"""The switch itself: a loaded program, its state and its ports, driven from Python.

The work is done in C outside the interpreter's lock; every method may be called from any thread. Names of
objects are the BMv2 JSON's. See `objects` for what the methods take and return.

    engine = Engine(cpu_port=255)
    engine.load(compile_program(source))
    engine.insert("ingress.ports", (3,), Call("ingress.set_role", (1,)))
    engine.process(3, frame)            # [(port, bytes), ...]
    engine.add_port(1, "veth1"); engine.start()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from grasp.targets.v1model.objects import (
    ActionInfo, ArrayInfo, Call, CloneSession, Counts, DigestConfig, DigestInfo, Entry, Event, GroupMember,
    Key, PortStatus, ProfileInfo, Rates, Replica, SwitchCounts, TableInfo, Target,
)  # fmt: skip


class Engine:
    """One switch. Raises EngineError for requests it refuses, UserError for what the user must mend.

    cpu_port: its packets are events; None: none. drop_port: the egress_spec that drops. queues: priority
    queues per port. queue_depth: packets in each. pcap: folder for <interface>_in.pcap and _out.pcap.
    """

    def __init__(
        self,
        *,
        cpu_port: int | None = None,
        drop_port: int = 511,
        queues: int = 1,
        queue_depth: int = 64,
        pcap: Path | None = None,
    ) -> None: ...

    # ---- life

    def load(self, program: Path) -> None:
        """Replace the program by a compiled one (compile.compile_program); all its state is new.

        Ports, their counters and the clock go on; multicast groups and clone sessions are forgotten.
        """

    def start(self) -> None:
        """Begin to move packets between the ports, in a thread of its own."""

    def stop(self) -> None:
        """End that thread; state stays."""

    def close(self) -> None:
        """Stop, release sockets and memory; the engine cannot be used any more."""

    def __enter__(self) -> Engine: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    # ---- what the program has (name -> description); empty before load

    @property
    def tables(self) -> Mapping[str, TableInfo]: ...

    @property
    def actions(self) -> Mapping[str, ActionInfo]: ...

    @property
    def profiles(self) -> Mapping[str, ProfileInfo]: ...

    @property
    def registers(self) -> Mapping[str, ArrayInfo]: ...

    @property
    def counters(self) -> Mapping[str, ArrayInfo]: ...

    @property
    def meters(self) -> Mapping[str, ArrayInfo]: ...

    @property
    def digests(self) -> Mapping[str, DigestInfo]: ...

    # ---- ports

    def add_port(self, number: int, interface: str) -> None:
        """Attach an interface; one that does not exist (yet), is down or vanishes is looked for again."""

    def remove_port(self, number: int) -> None:
        """Detach it."""

    def ports(self) -> list[PortStatus]:
        """Every port, by number."""

    def counts(self) -> SwitchCounts:
        """What the switch dropped and why."""

    # ---- packets without ports

    def process(self, port: int, packet: bytes, now_us: int | None = None) -> list[tuple[int, bytes]]:
        """Run a packet as if it came in at a port; returns what goes out, with the CPU port's, in order.

        Nothing is sent and no packet-in event arises. now_us sets the clock, which then stands still.
        """

    def packet_out(self, packet: bytes) -> None:
        """Run a packet as if it came in at the CPU port; what goes out is sent."""

    def bench(self, packets: Sequence[tuple[int, bytes]], count: int) -> int:
        """Run `count` packets, the given ones (port, packet) in turn; returns nanoseconds. Output is lost."""

    def now_us(self) -> int:
        """Microseconds on the switch's clock."""

    def set_clock(self, now_us: int | None) -> None:
        """Let the clock stand at a time, or run on from where it stands."""

    # ---- tables

    def insert(
        self,
        table: str,
        key: Key,
        target: Target,
        priority: int = 0,
        timeout_us: int = 0,
    ) -> None:
        """Add an entry; ALREADY_EXISTS if one has this key and priority."""

    def modify(
        self, table: str, key: Key, target: Target, priority: int = 0, timeout_us: int | None = None
    ) -> None:
        """Change what an entry leads to (and its timeout, if given); counters and meters stay."""

    def delete(self, table: str, key: Key, priority: int = 0) -> None:
        """Remove an entry."""

    def entry(self, table: str, key: Key, priority: int = 0) -> Entry:
        """One entry; NOT_FOUND if there is none."""

    def entries(self, table: str) -> list[Entry]:
        """Every entry but the default one, in the order of their insertion."""

    def set_default(self, table: str, call: Call | None) -> None:
        """Change what a miss does; None gives the program's own default back."""

    def default(self, table: str) -> Call | None:
        """What a miss does; None: nothing."""

    def set_entry_counts(self, table: str, key: Key, counts: Counts, priority: int = 0) -> None:
        """Write an entry's direct counter."""

    def set_entry_rates(self, table: str, key: Key, rates: Rates | None, priority: int = 0) -> None:
        """Configure an entry's direct meter; None: always green."""

    # ---- parser value sets: keys are as a table's

    def set_value_set(self, name: str, members: Sequence[Key]) -> None:
        """Replace the members of a parser value set."""

    def value_set(self, name: str) -> list[Key]:
        """The members of a parser value set."""

    @property
    def value_sets(self) -> Mapping[str, TableInfo]: ...

    # ---- action profiles

    def insert_member(self, profile: str, member: int, call: Call) -> None:
        """Add a member under an id."""

    def modify_member(self, profile: str, member: int, call: Call) -> None:
        """Change a member's action."""

    def delete_member(self, profile: str, member: int) -> None:
        """Remove a member; FAILED_PRECONDITION while an entry or a group uses it."""

    def members(self, profile: str) -> dict[int, Call]:
        """Every member by id."""

    def insert_group(
        self, profile: str, group: int, members: Sequence[GroupMember], max_size: int = 0
    ) -> None:
        """Add a group under an id."""

    def modify_group(self, profile: str, group: int, members: Sequence[GroupMember]) -> None:
        """Replace a group's members."""

    def delete_group(self, profile: str, group: int) -> None:
        """Remove a group; FAILED_PRECONDITION while an entry uses it."""

    def groups(self, profile: str) -> dict[int, tuple[GroupMember, ...]]:
        """Every group's members by group id."""

    # ---- registers, indirect counters and meters

    def read_register(self, name: str, index: int) -> int:
        """One cell."""

    def read_registers(self, name: str) -> list[int]:
        """All cells."""

    def write_register(self, name: str, index: int, value: int) -> None:
        """Write one cell."""

    def fill_register(self, name: str, value: int) -> None:
        """Write all cells."""

    def read_counter(self, name: str, index: int) -> Counts:
        """One cell."""

    def read_counters(self, name: str) -> list[Counts]:
        """All cells."""

    def write_counter(self, name: str, index: int, counts: Counts) -> None:
        """Write one cell."""

    def read_meter(self, name: str, index: int) -> Rates | None:
        """One meter's configuration; None: not configured, always green."""

    def read_meters(self, name: str) -> list[Rates | None]:
        """Every meter's configuration."""

    def write_meter(self, name: str, index: int, rates: Rates | None) -> None:
        """Configure one meter; its buckets are full."""

    # ---- replication

    def set_multicast_group(self, group: int, replicas: Sequence[Replica]) -> None:
        """Create or replace a multicast group (1 to 65535)."""

    def delete_multicast_group(self, group: int) -> None:
        """Remove it; NOT_FOUND if there is none."""

    def multicast_groups(self) -> dict[int, tuple[Replica, ...]]:
        """Every multicast group."""

    def set_clone_session(self, session: int, config: CloneSession) -> None:
        """Create or replace a clone session (0 to 32767)."""

    def delete_clone_session(self, session: int) -> None:
        """Remove it; NOT_FOUND if there is none."""

    def clone_sessions(self) -> dict[int, CloneSession]:
        """Every clone session."""

    # ---- events

    def set_digest(self, name: str, config: DigestConfig | None) -> None:
        """Send a digest's samples as events; None: do not."""

    def digest(self, name: str) -> DigestConfig | None:
        """Its configuration."""

    def ack_digest(self, name: str, list_id: int) -> None:
        """The list has arrived: equal samples may be sent again."""

    def next_event(self, timeout: float | None = None) -> Event | None:
        """The next event; waits up to timeout seconds (None: for ever). None if there was none or wake()."""

    def wake(self) -> None:
        """Let one waiting, or the next, next_event return None."""
