# SPDX-License-Identifier: Apache-2.0
"""The life of one switch: connect, win, load, compare, write, follow, and all of it again when it is lost."""

import asyncio
import logging
from collections.abc import Callable, Iterable

import finsy as fy
from finsy import p4entity
from finsy.proto import p4r

from grasp.control.clock import now_us
from grasp.control.config import Switch
from grasp.control.core import Action, Core, Install, Reconcile, Remove, Send
from grasp.control.p4runtime.entries import table_key, to_state, to_table_entry, to_updates, wildcards
from grasp.control.p4runtime.session import DemotedError, LostError, Session, connect, reason
from grasp.control.state import PINNED, Entry, SwitchState, apply, diff
from grasp.control.tasks import until_one_fails
from grasp.control.wire import PacketIn, WireError

LOG = logging.getLogger(__name__)

RETRY_SECONDS = (0.1, 0.5)
"""First and longest pause before a switch is tried again; each pause is twice the one before."""

WATCH_SECONDS = 5.0
"""How often a switch is asked whether it is still there and runs the program."""

SwitchAction = Send | Reconcile | Install | Remove


class SwitchDriver:
    """Keeps one switch as the core wants it, and carries packets between the two.

    `perform` takes the actions that the core answers with, for whichever switch they are; `report` takes
    events of this switch's connection, as a name and fields.
    """

    def __init__(
        self,
        switch: Switch,
        schema: fy.P4Schema,
        core: Core,
        perform: Callable[[Iterable[Action]], None],
        report: Callable[..., None],
    ):
        self._switch = switch
        self._schema = schema
        self._core = core
        self._perform = perform
        self._report = report
        self._name = switch.name
        self._actions: asyncio.Queue[SwitchAction] | None = None
        self._session: Session | None = None
        self._written = SwitchState()
        self._pause = RETRY_SECONDS[0]
        self._complaint = ""

    @property
    def address(self) -> str:
        """Where the switch's P4Runtime server is, as host:port."""
        return self._switch.address

    @property
    def up(self) -> bool:
        """Tell whether this controller drives the switch at present."""
        return self._actions is not None

    def submit(self, action: SwitchAction) -> None:
        """Queue an action; a switch that is away needs none, for the core begins anew when it is back."""
        if self._actions is not None:
            self._actions.put_nowait(action)

    async def counters(self) -> dict[str, list[int]]:
        """Read the program's counters: packets by index, by counter; empty when the switch is away."""
        counts: dict[str, list[int]] = {}
        if self._session is None:
            return counts
        wanted = [fy.P4CounterEntry(counter.alias) for counter in self._schema.counters]
        try:
            found = await self._session.read(wanted)
        except (LostError, fy.P4ClientError) as error:
            LOG.info("%s: counters were not read: %s", self._name, reason(error))
            return counts
        for entry in sorted(found, key=lambda entry: entry.index or 0):
            counts.setdefault(entry.counter_id, []).append(entry.packet_count)
        return counts

    async def run(self) -> None:
        """Drive the switch until cancelled."""
        while True:
            try:
                async with connect(self._switch.address, self._schema, self._switch.device_id) as session:
                    await self._hold(session)
            except LostError as error:
                self._complain("no switch", error)
            except fy.P4ClientError as error:
                self._complain("refused", error)
            await asyncio.sleep(self._pause)
            self._pause = min(2 * self._pause, RETRY_SECONDS[1])

    def _complain(self, what: str, error: Exception) -> None:
        """Log why the switch is not driven, once until it is driven again or fails in another way."""
        if what != self._complaint:
            self._complaint = what
            LOG.warning("%s at %s: %s (%s); trying on", self._name, self._switch.address, what, reason(error))

    async def _hold(self, session: Session) -> None:
        """Drive the switch whenever this controller is primary on it."""
        claim = session.become_primary
        while True:
            try:
                await claim()
                await self._drive(session)
            except DemotedError as error:
                self._report("standby", switch=self._name, primary=error.primary)
            claim = session.regain_primary

    async def _drive(self, session: Session) -> None:
        """Bring the switch to the wanted state and follow it, until the session fails."""
        fresh = await session.set_pipeline()
        self._written = to_state(await session.read(wildcards()), self._schema)
        for entry in self._written.entries.values():
            if entry.table == PINNED:
                self._perform(self._core.pin_installed(self._name, entry))
        self._session, self._actions = session, asyncio.Queue()
        self._report("switch_up", switch=self._name, fresh=fresh)
        try:
            self._perform(self._core.connected(self._name, now_us()))
            await until_one_fails(
                self._follow(session), self._execute(session, self._actions), _watch(session)
            )
        finally:
            self._session = self._actions = None
            self._core.disconnected(self._name)
            self._report("switch_down", switch=self._name)

    async def _follow(self, session: Session) -> None:
        """Hand what the switch says to the core."""
        while True:
            match await session.receive():
                case fy.P4PacketIn(payload=payload, metadata=metadata):
                    self._packet_in(metadata, payload)
                case p4entity.P4IdleTimeoutNotification(table_entry=entries):
                    for key in (table_key(entry, self._schema) for entry in entries):
                        if key in self._written.entries:
                            self._perform(self._core.pin_idle(self._name, self._written.entries[key]))
                case p4r.StreamError(message=message):
                    LOG.warning("%s did not take a packet: %s", self._name, message)

    def _packet_in(self, metadata: dict[str, int], payload: bytes) -> None:
        try:
            header = PacketIn.from_metadata(metadata)
        except WireError as error:
            self._core.counters["packets_other"] += 1
            LOG.warning("%s sent a packet that is not the program's: %s", self._name, error)
        else:
            self._perform(self._core.packet_in(self._name, header, payload, now_us()))

    async def _execute(self, session: Session, actions: asyncio.Queue[SwitchAction]) -> None:
        """Carry out actions one after the other, so that a packet leaves after the entries that it needs."""
        while True:
            match await actions.get():
                case Send(packet=header, payload=payload):
                    await session.send(fy.P4PacketOut(payload, **header.metadata()))
                case Reconcile():
                    await self._reconcile(session)
                case Install(entry=entry):
                    await self._install(session, entry)
                case Remove(entry=entry):
                    await self._remove(session, entry)

    async def _reconcile(self, session: Session) -> None:
        """Write what differs between the wanted state and what the switch holds."""
        changes = diff(self._core.desired(self._name), self._written)
        updates = list(to_updates(changes, self._written, self._schema))
        await session.write(updates)
        self._written = apply(changes, self._written)
        self._pause, self._complaint = RETRY_SECONDS[0], ""
        self._report("reconciled", switch=self._name, written=len(updates))

    async def _install(self, session: Session, entry: Entry) -> None:
        """Write a pin; the switch may refuse one, as when its table is full."""
        if entry.key not in self._written.entries:
            try:
                await session.write([+to_table_entry(entry, self._schema)])
            except fy.P4ClientError as error:
                LOG.warning("%s took no pin: %s", self._name, reason(error))
                self._perform(self._core.pin_failed(self._name, entry))
                return
            self._written.entries[entry.key] = entry
        self._perform(self._core.pin_installed(self._name, entry))

    async def _remove(self, session: Session, entry: Entry) -> None:
        """Delete a pin, unless it is gone."""
        if entry.key in self._written.entries:
            await session.write([-to_table_entry(entry, self._schema)])
            del self._written.entries[entry.key]


async def _watch(session: Session) -> None:
    """Notice a switch that hangs, or whose program was replaced: neither ends the connection."""
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        if not await session.has_pipeline():
            raise LostError("its program was replaced")
