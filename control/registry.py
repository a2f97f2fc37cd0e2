# SPDX-License-Identifier: Apache-2.0
"""Who takes part: enrolled sites, their registrations, and the judgement of every message from an agent.

                    REGISTER                      REGISTER, other port, after silence
    enrolled  ------------------>  registered  <-------------------------------------+
                                    |  ^   |                                         |
                             REPORT +--+   +-----------------------------------------+

A message is either accepted, or refused under one reason, counted, and without any effect. What a site proves
is its enrolment secret (REGISTER), then the session key that follows from the secret and both nonces. Time
stamps of registrations and sequence numbers of reports only ever rise, so that no message counts twice.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from grasp.control.config import Config, Site
from grasp.control.topology import Port
from grasp.control.wire import WireError, milliwatt_hours
from grasp.telemetry import protocol
from grasp.telemetry.protocol import (
    AuthenticationError,
    Frame,
    ProtocolError,
    Refusal,
    Register,
    Registered,
    Report,
    Reported,
)


@dataclass(frozen=True, slots=True)
class Session:
    """A registration: where the site is attached, what its key follows from, and what was last accepted.

    `registered` is the time stamp of the REGISTER, `sequence` the number of the last accepted report.
    """

    site: int
    name: str
    at: Port
    agent_nonce: bytes
    controller_nonce: bytes
    registered: int
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class Accepted:
    """A message that counts: the session as it is now, and the answer. `energy_wh` is a report's forecast."""

    session: Session
    reply: Frame
    report: Report | None = None
    energy_wh: float = 0.0


@dataclass(frozen=True, slots=True)
class Refused:
    """A message that changed nothing. Only an authentic and fresh report gets an answer."""

    reason: Refusal
    detail: str
    reply: Frame | None = None


class _RefusalError(Exception):
    def __init__(self, reason: Refusal, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Registry:
    """The enrolled sites of a configuration and their sessions, which a store may bring from before.

    A stored session is kept if its site is still enrolled under the same id and name and may be at that port.
    `random` returns that many unpredictable bytes; every `now` is in microseconds since 1970.
    """

    def __init__(
        self,
        config: Config,
        random: Callable[[int], bytes],
        sessions: Iterable[Session] = (),
        now: int = 0,
    ) -> None:
        self._config = config
        self._random = random
        self._sites = {site.id: site for site in config.sites}
        self._names = {site.name: site for site in config.sites}
        self._ports = {Port(switch.name, port) for switch in config.switches for port in switch.ports}
        self._sessions = {session.site: session for session in sessions if self._is_valid(session)}
        # A site is believed to be alive until it was silent for long enough while somebody listened.
        self._heard = dict.fromkeys(self._sessions, now)
        self._silent: set[int] = set()
        self.refusals: Counter[Refusal] = Counter()

    @property
    def sessions(self) -> Mapping[int, Session]:
        """Sessions by site id."""
        return self._sessions

    @property
    def bindings(self) -> dict[int, Port]:
        """Where each registered site is attached, by site id."""
        return {site: session.at for site, session in self._sessions.items()}

    def key(self, session: Session) -> bytes:
        """Return a session's key."""
        secret = self._sites[session.site].secret
        return protocol.session_key(secret, session.agent_nonce, session.controller_nonce)

    def alive(self, site: int, now: int) -> bool:
        """Whether a site was heard of lately: by a message, or as its switch says (`observed`)."""
        if site not in self._heard:
            return False
        timing, silence = self._config.timing, now - self._heard[site]
        limit = timing.expiry
        if site not in self._silent:
            limit = max(timing.expiry, timing.missed * max(self._config.interval, timing.read))
        return silence <= limit

    def observed(self, site: int, alive: bool, now: int) -> None:
        """Note what a registered site's switch says of its heartbeats."""
        if alive:
            self._hear(site, now)
        else:
            self._silent.add(site)

    def register(self, frame: Frame, at: Port, now: int) -> Accepted | Refused:
        """Judge a REGISTER frame that came in at a port; the same one twice gets the same answer."""
        try:
            session = self._judge_register(frame, at, now)
        except _RefusalError as refusal:
            return self._refuse(refusal)
        self._sessions[session.site] = session
        self._hear(session.site, now)
        return Accepted(session, self._registered(session, now))

    def report(self, frame: Frame, at: Port, now: int) -> Accepted | Refused:
        """Judge a REPORT frame that came in at a port."""
        try:
            session, report = self._judge_report(frame, at, now)
        except _RefusalError as refusal:
            return self._refuse(refusal)
        try:
            energy_wh = self._judge_content(report, now)
        except _RefusalError as refusal:
            return self._refuse(refusal, self._reported(session, report, refusal.reason, now))
        session = replace(session, sequence=report.sequence)
        self._sessions[session.site] = session
        self._hear(session.site, now)
        return Accepted(session, self._reported(session, report, Refusal.NONE, now), report, energy_wh)

    def malformed(self, error: ProtocolError) -> Refused:
        """Refuse what is not even a frame."""
        return self._refuse(_RefusalError(Refusal.MALFORMED, str(error)))

    def _judge_register(self, frame: Frame, at: Port, now: int) -> Session:
        try:
            register = Register.peek(frame)
        except ProtocolError as error:
            raise _RefusalError(Refusal.MALFORMED, str(error)) from None
        site = self._names.get(register.name)
        if site is None:
            raise _RefusalError(Refusal.UNENROLLED, f"{register.name!r} is not enrolled")
        try:
            Register.open(protocol.enrolment_key(site.secret), frame)
        except AuthenticationError as error:
            raise _RefusalError(Refusal.AUTHENTICATION, f"{site.name}: {error}") from None
        self._judge_source(site, frame)
        if register.address != int(site.address):
            raise _RefusalError(Refusal.SERVER_ADDRESS, f"{site.name}: its server is at {site.address}")
        if register.requested is not None and register.requested != site.id:
            raise _RefusalError(
                Refusal.SITE_ID, f"{site.name}: id {register.requested} is not {site.id}, its own"
            )

        self._judge_time(site, register.time, now)
        session = self._sessions.get(site.id)
        if session is not None and session.agent_nonce == register.nonce and session.at == at:
            return session  # sent again, because the answer was lost
        if session is not None and register.time <= session.registered:
            raise _RefusalError(
                Refusal.REPLAY, f"{site.name}: a registration that is not newer than the last"
            )
        if at not in self._ports or (site.switch is not None and at != (site.switch, site.port)):
            raise _RefusalError(Refusal.PORT, f"{site.name}: may not be at {at.switch} port {at.port}")
        if session is not None and session.at != at and self.alive(site.id, now):
            where = f"{session.at.switch} port {session.at.port}"
            raise _RefusalError(
                Refusal.ALIVE, f"{site.name}: is alive at {where}, not {at.switch} port {at.port}"
            )
        nonce = self._random(protocol.NONCE_LENGTH)
        sequence = session.sequence if session is not None else 0
        return Session(site.id, site.name, at, register.nonce, nonce, register.time, sequence)

    def _judge_report(self, frame: Frame, at: Port, now: int) -> tuple[Session, Report]:
        site, session = self._sites.get(frame.site), self._sessions.get(frame.site)
        if site is None:
            raise _RefusalError(Refusal.UNENROLLED, f"site {frame.site} is not enrolled")
        if session is None:
            raise _RefusalError(Refusal.UNREGISTERED, f"{site.name}: reports before it registered")
        try:
            report = Report.open(self.key(session), frame)
        except AuthenticationError as error:
            raise _RefusalError(Refusal.AUTHENTICATION, f"{site.name}: {error}") from None
        except ProtocolError as error:
            raise _RefusalError(Refusal.MALFORMED, f"{site.name}: {error}") from None
        self._judge_source(site, frame)
        if at != session.at:
            raise _RefusalError(Refusal.PORT, f"{site.name}: reports from {at.switch} port {at.port}")
        if not protocol.newer(report.sequence, session.sequence):
            raise _RefusalError(
                Refusal.REPLAY, f"{site.name}: report {report.sequence} after {session.sequence}"
            )
        self._judge_time(site, report.time, now)
        return session, report

    def _judge_source(self, site: Site, frame: Frame) -> None:
        if frame.source != site.mac:
            raise _RefusalError(Refusal.HARDWARE_ADDRESS, f"{site.name}: sent from {frame.source.hex(':')}")

    def _judge_time(self, site: Site, time: int, now: int) -> None:
        if abs(now - time) > self._config.timing.window:
            raise _RefusalError(Refusal.TIME, f"{site.name}: its clock differs by {(time - now) / 1e6:.1f} s")

    def _judge_content(self, report: Report, now: int) -> float:
        """Return the green energy in Wh that a report forecasts."""
        name = self._sites[report.site].name
        current = self._config.epochs.epoch(now)
        if report.epoch not in (current, current + 1):
            raise _RefusalError(Refusal.EPOCH, f"{name}: a forecast for epoch {report.epoch} in {current}")
        known = {parameter.name: parameter for parameter in self._config.parameters}
        for parameter, value in report.values.items():
            if parameter not in known:
                raise _RefusalError(Refusal.UNKNOWN_PARAMETER, f"{name}: {parameter!r} is not to be reported")
            reason = _judge_value(value, known[parameter].minimum, known[parameter].maximum)
            if reason is not Refusal.NONE:
                raise _RefusalError(reason, f"{name}: {parameter} {value!r}")
        missing = known.keys() - report.values.keys()
        if missing:
            raise _RefusalError(
                Refusal.MISSING_PARAMETER, f"{name}: {', '.join(sorted(missing))} not reported"
            )
        # A site under more load than it has energy for is no worse than one without energy.
        energy_wh = max(0.0, math.fsum(p.weight * report.values[p.name] for p in self._config.parameters))
        try:
            milliwatt_hours(energy_wh)
        except WireError as error:
            raise _RefusalError(Refusal.TOO_LARGE, f"{name}: {error}") from None
        return energy_wh

    def _is_valid(self, session: Session) -> bool:
        site = self._sites.get(session.site)
        return (
            site is not None
            and site.name == session.name
            and session.at in self._ports
            and (site.switch is None or session.at == (site.switch, site.port))
        )

    def _hear(self, site: int, now: int) -> None:
        self._heard[site] = now
        self._silent.discard(site)

    def _refuse(self, refusal: _RefusalError, reply: Frame | None = None) -> Refused:
        self.refusals[refusal.reason] += 1
        return Refused(refusal.reason, str(refusal), reply)

    def _registered(self, session: Session, now: int) -> Frame:
        site, config = self._sites[session.site], self._config
        parameters = tuple(protocol.Parameter(p.name, p.unit) for p in config.parameters)
        answer = Registered(site.id, session.agent_nonce, session.controller_nonce, now, session.sequence,
                            config.epochs, config.interval, config.timing.probe, parameters)  # fmt: skip
        return answer.seal(protocol.enrolment_key(site.secret), site.mac)

    def _reported(self, session: Session, report: Report, status: Refusal, now: int) -> Frame:
        answer = Reported(session.site, report.sequence, status, now)
        return answer.seal(self.key(session), self._sites[session.site].mac)


def _judge_value(value: float, minimum: float, maximum: float) -> Refusal:
    if math.isnan(value):
        return Refusal.NOT_A_NUMBER
    if math.isinf(value):
        return Refusal.INFINITE
    if value < 0 <= minimum:
        return Refusal.NEGATIVE
    if value * 1000 >= protocol.ENERGY_LIMIT_MWH:
        return Refusal.TOO_LARGE
    return Refusal.NONE if minimum <= value <= maximum else Refusal.OUT_OF_RANGE
