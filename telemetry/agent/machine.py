# SPDX-License-Identifier: Apache-2.0
"""The agent's side of the protocol, as a state machine that neither reads a clock nor touches a socket.

    register --(REGISTERED)--> report --(silence, or the session is refused)--> register

`poll` returns the frames that are due and `due` says when to call it next; `receive` takes the controller's
answers. Heartbeats go on in both states once the site has an id: the switches ask for no controller.

Times called `now` are monotonic microseconds; the wall clock, which stamps messages and numbers epochs, is
called where it is needed, so that setting it neither stops nor hurries anything.
"""

import logging
import os
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from grasp.telemetry.agent.memory import Memory
from grasp.telemetry.protocol import (
    NONCE_LENGTH,
    Frame,
    FrameType,
    ProtocolError,
    Refusal,
    Register,
    Registered,
    Report,
    Reported,
    enrolment_key,
    heartbeat,
    newer,
    session_key,
)

log = logging.getLogger(__name__)

FIRST_WAIT = 100_000
"""Microseconds until an unanswered message is sent again; doubled each time, up to `LONGEST_WAIT`."""
LONGEST_WAIT = 2_000_000
SILENCE = 3_000_000
"""Microseconds without any answer to reports, after which the session is held to be lost."""
RESERVE = 1024
"""Sequence numbers reserved at a time, so that the state is written seldom."""
PATIENCE = 5
"""Unanswered registrations in a row that are worth a warning, and reason to ask for no id any more."""
SKEW = 1_000_000
"""Difference from the controller's clock, in microseconds, that is worth a warning."""

SESSION_LOST = frozenset({Refusal.REPLAY, Refusal.PORT, Refusal.UNREGISTERED})
"""Refusals that a new registration mends: it tells the last sequence number and the site's port."""

UNITS: Mapping[str, str] = {"green_energy": "Wh", "load": "jobs/s"}
"""Parameters of fixed meaning; a controller that asks for them in another unit gets no reports."""

Values = Callable[[str, int, int], float | None]
"""Takes a parameter's name, an epoch and the monotonic time; returns the value, None if there is none."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the agent is: the site's name and enrolment secret, its MAC (6 bytes) and server address (IPv4)."""

    name: str
    secret: bytes = field(repr=False)
    mac: bytes
    address: int


@dataclass(slots=True)
class _Session:
    """One registration: the controller's terms and the key agreed on."""

    terms: Registered
    key: bytes


@dataclass(slots=True)
class _Pending:
    """An unanswered report of one epoch, when to send it (again), and the numbers under which it went."""

    values: Mapping[str, float]
    due: int
    wait: int = FIRST_WAIT
    sequences: list[int] = field(default_factory=list)


class Agent:
    """One site's agent.

    `save` is called before any sequence number beyond those reserved is used. `random_bytes` gives nonces,
    `jitter` numbers from 0 to 1 that keep many agents from repeating themselves in step.
    """

    def __init__(
        self,
        identity: Identity,
        values: Values,
        memory: Memory,
        save: Callable[[Memory], None],
        wall: Callable[[], int],
        now: int,
        random_bytes: Callable[[int], bytes] = os.urandom,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._identity = identity
        self._enrolment_key = enrolment_key(identity.secret)
        self._values = values
        self._memory = memory
        self._save = save
        self._wall = wall
        self._random_bytes = random_bytes
        self._jitter = jitter
        self._sequence = memory.reserved
        self._session: _Session | None = None
        self._nonce = b""
        self._register_due = now
        self._register_wait = FIRST_WAIT
        self._tries = 0
        self._heartbeat_due = now
        self._report_due = now
        self._epoch = 0
        self._pending: dict[int, _Pending] = {}
        self._silent_since: int | None = None
        self._lacking = -1  # the epoch of the last complaint about a missing value

    @property
    def terms(self) -> Registered | None:
        """What the controller answered to the registration; None while there is none."""
        return self._session.terms if self._session else None

    def due(self, now: int) -> int:
        """Return the monotonic time at which `poll` has something to do."""
        times = [] if self._memory.heartbeat is None else [self._heartbeat_due]
        if self._session is None:
            times.append(self._register_due)
        else:
            clock = self._session.terms.clock
            times.append(self._report_due)
            times.append(now + clock.begin(self._epoch + 1) - self._wall())
            times.extend(pending.due for pending in self._pending.values())
        return min(times)

    def poll(self, now: int) -> list[bytes]:
        """Return the frames that are to be sent now, heartbeats first."""
        frames = list(self._heartbeats(now))
        if self._silent_since is not None and now - self._silent_since >= SILENCE:
            log.warning("no answer to reports for %.0f s: registering again", SILENCE / 1e6)
            self._register_anew(now)
        if self._session is None:
            frames.extend(self._registers(now))
        else:
            frames.extend(self._reports(self._session, now))
        return frames

    def receive(self, raw: bytes, now: int) -> None:
        """Take a frame from the interface; what is not an authentic answer to this agent changes nothing."""
        try:
            frame = Frame.from_bytes(raw)
            if frame.destination != self._identity.mac:
                return
            if frame.type is FrameType.REGISTERED and self._session is None:
                self._registered(Registered.open(self._enrolment_key, frame), now)
            elif frame.type is FrameType.REPORTED and self._session is not None:
                self._reported(Reported.open(self._session.key, frame), now)
        except ProtocolError as error:
            log.debug("ignored a frame: %s", error)

    def _heartbeats(self, now: int) -> Iterator[bytes]:
        site, interval = self._memory.site, self._memory.heartbeat
        if site is not None and interval is not None and now >= self._heartbeat_due:
            yield heartbeat(self._identity.mac, site)
            # On a fixed grid, so that delays do not add up; beats that were missed are not made up for.
            self._heartbeat_due += interval * ((now - self._heartbeat_due) // interval + 1)

    def _register_anew(self, due: int) -> None:
        self._session = None
        self._pending.clear()
        self._silent_since = None
        self._register_due = due

    def _registers(self, now: int) -> Iterator[bytes]:
        if now < self._register_due:
            return
        # The same nonce until there is an answer: a controller that has answered answers the same again.
        if not self._nonce:
            self._nonce = self._random_bytes(NONCE_LENGTH)
        # An id that was remembered but is no longer the site's would be refused for ever.
        requested = self._memory.site if self._tries < PATIENCE else None
        identity = self._identity
        message = Register(identity.name, self._nonce, self._wall(), identity.address, requested)
        yield message.seal(self._enrolment_key, identity.mac).to_bytes()
        self._register_due = now + self._spread(self._register_wait)
        self._tries += 1
        if self._tries == PATIENCE:
            log.warning("no answer yet: is the controller up, the site enrolled, and the secret the same?")
        self._register_wait = min(2 * self._register_wait, LONGEST_WAIT)

    def _registered(self, terms: Registered, now: int) -> None:
        if terms.agent_nonce != self._nonce:
            return
        key = session_key(self._identity.secret, terms.agent_nonce, terms.controller_nonce)
        self._session = _Session(terms, key)
        self._nonce = b""  # so that the same answer, heard again, opens no session a second time
        self._tries = 0
        self._report_due = now
        memory = self._memory
        if newer(terms.sequence, self._sequence):
            self._sequence = terms.sequence
        if (memory.site, memory.heartbeat) != (terms.site, terms.heartbeat):
            self._heartbeat_due = now
            memory.site, memory.heartbeat = terms.site, terms.heartbeat
        self._reserve()
        offset = terms.time - self._wall()
        if abs(offset) > SKEW:
            log.warning("the controller's clock differs by %+.1f s", offset / 1e6)
        for parameter in terms.parameters:
            if UNITS.get(parameter.name, parameter.unit) != parameter.unit:
                known = UNITS[parameter.name]
                log.error("no reports: %s is asked for in %s, not %s", parameter.name, parameter.unit, known)
        log.info("registered %s as site %d", self._identity.name, terms.site)

    def _reports(self, session: _Session, now: int) -> Iterator[bytes]:
        clock = session.terms.clock
        epoch = clock.epoch(self._wall())
        if now >= self._report_due or epoch != self._epoch:
            if now >= self._report_due:
                interval = session.terms.interval
                self._report_due += interval * ((now - self._report_due) // interval + 1)
            self._epoch = epoch
            self._pending = {
                reported: _Pending(values, now)
                for reported in (epoch, epoch + 1)
                if (values := self._gather(session, reported, now)) is not None
            }
        for reported, pending in self._pending.items():
            if now >= pending.due:
                yield self._report(session, reported, pending, now)

    def _report(self, session: _Session, epoch: int, pending: _Pending, now: int) -> bytes:
        sequence = self._next_sequence()
        pending.sequences.append(sequence)
        pending.due = now + self._spread(pending.wait)
        pending.wait = min(2 * pending.wait, LONGEST_WAIT)
        if self._silent_since is None:
            self._silent_since = now
        message = Report(session.terms.site, sequence, epoch, self._wall(), pending.values)
        return message.seal(session.key, self._identity.mac).to_bytes()

    def _gather(self, session: _Session, epoch: int, now: int) -> dict[str, float] | None:
        values = {}
        for parameter in session.terms.parameters:
            if UNITS.get(parameter.name, parameter.unit) != parameter.unit:
                return None
            value = self._values(parameter.name, epoch, now)
            if value is None:
                if epoch > self._lacking:
                    log.warning("no report for epoch %d: there is no %s for it", epoch, parameter.name)
                    self._lacking = epoch
                return None
            values[parameter.name] = value
        return values

    def _reported(self, answer: Reported, now: int) -> None:
        self._silent_since = None
        for epoch, pending in self._pending.items():
            if answer.sequence in pending.sequences:
                del self._pending[epoch]
                break
        else:
            return
        if answer.status is Refusal.NONE:
            self._register_wait = FIRST_WAIT
            return
        log.error("the controller refused the report of epoch %d: %s", epoch, answer.status.name)
        if answer.status in SESSION_LOST:
            self._register_anew(now + self._spread(self._register_wait))

    def _next_sequence(self) -> int:
        if self._sequence == self._memory.reserved:
            self._reserve()
        self._sequence = (self._sequence + 1) % 2**32
        return self._sequence

    def _reserve(self) -> None:
        self._memory.reserved = (self._sequence + RESERVE) % 2**32
        self._save(self._memory)

    def _spread(self, wait: int) -> int:
        return int(wait * (0.8 + 0.4 * self._jitter()))
