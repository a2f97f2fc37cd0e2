# SPDX-License-Identifier: Apache-2.0
"""The controller without a network: events in, actions out.

A driver tells the core what happens at switches and when time has passed, and carries out the actions that
come back: those of one switch in their order. The core keeps in its store what it must not forget, before it
lets anybody know. Times are microseconds since 1970, given with each call.
"""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from grasp.control.config import Config
from grasp.control.desired import desired, edge_ports
from grasp.control.forecasts import Forecast, Forecasts
from grasp.control.overflow import Inject, Overflow
from grasp.control.registry import Accepted, Refused, Registry
from grasp.control.state import Entry, SwitchState
from grasp.control.store import Store
from grasp.control.topology import Link, Port, Topology
from grasp.control.wire import Discovery, Operation, PacketIn, PacketOut, Reason, SiteFlag
from grasp.schedulers.base import Scheduler
from grasp.telemetry.protocol import Frame, FrameType, ProtocolError


@dataclass(frozen=True, slots=True)
class Send:
    """Send a packet-out to a switch."""

    switch: str
    packet: PacketOut
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class Reconcile:
    """Write to a switch what differs from `Core.desired`."""

    switch: str


@dataclass(frozen=True, slots=True)
class Install:
    """Insert a pinned entry, then call `Core.pin_installed` or `Core.pin_failed`."""

    switch: str
    entry: Entry


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete a pinned entry."""

    switch: str
    entry: Entry


@dataclass(frozen=True, slots=True)
class Event:
    """Something that people and logs want to know."""

    name: str
    fields: dict[str, str | int | float] = field(default_factory=dict)


Action = Send | Reconcile | Install | Remove | Event


class Core:
    """All that the controller knows and decides. `random` returns that many unpredictable bytes.

    `counters` counts packet-ins by kind (packets_...), refused messages by reason (refused_...), and others.
    """

    def __init__(
        self,
        config: Config,
        scheduler: Scheduler,
        store: Store,
        now: int,
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        saved = store.load()
        self._config = config
        self._store = store
        self._names = {site.id: site.name for site in config.sites}
        self._switches = {switch.device_id: switch for switch in config.switches}
        ports = {Port(switch.name, port) for switch in config.switches for port in switch.ports}
        self._registry = Registry(config, random, saved.sessions, now)
        links = [link for link in saved.links if ports.issuperset(link)]
        self._topology = Topology(config.timing.missed, links)
        self._forecasts = Forecasts(
            scheduler,
            config.timing.retransmit,
            int.from_bytes(random(4)),
            [forecast for forecast in saved.forecasts if forecast.site in self._names],
            [headroom for headroom in saved.headrooms if headroom.site in self._names],
            [site for site in saved.drained if site in self._names],
        )
        self._overflow = Overflow(config.services, saved.pins)
        self._discovery_key = random(32)
        self._connected: set[str] = set()
        self._epoch: int | None = None
        self._alive: dict[int, bool] = {}
        self._saved_headrooms = list(saved.headrooms)
        self._next_discovery = self._next_read = 0
        self.counters: Counter[str] = Counter()
        self._bind()

    @property
    def links(self) -> frozenset[Link]:
        """Every link between switches that is known now."""
        return self._topology.links

    def desired(self, switch: str) -> SwitchState:
        """Return what a switch must contain now."""
        pins = self._overflow.pins(switch)
        return desired(switch, self._config, self._registry.bindings, self._topology, pins)

    def connected(self, switch: str, now: int) -> list[Action]:
        """Take over a switch: its tables are to be compared, its sites' forecasts pushed, its links found."""
        self._connected.add(switch)
        self._forecasts.connected(switch)
        # Neighbours send at once too, so that links are complete now and not in the next round.
        return [Reconcile(switch), *self._due(now), *self._discover(now)]

    def disconnected(self, switch: str) -> None:
        """Stop sending to a switch."""
        self._connected.discard(switch)
        self._overflow.disconnected(switch)

    def tick(self, now: int) -> list[Action]:
        """Do what is due: epochs, repeated operations, discovery, readings."""
        actions: list[Action] = []
        epoch = self._config.epochs.epoch(now)
        if epoch != self._epoch:
            self._epoch = epoch
            actions.append(Event("epoch", {"epoch": epoch}))
        actions += self._due(now)
        timing = self._config.timing
        if not 0 <= self._next_discovery - now <= timing.discovery:
            self._next_discovery = now + timing.discovery
            actions += self._change_links(self._topology.next_round)
            actions += self._discover(now)
        if not 0 <= self._next_read - now <= timing.read:
            self._next_read = now + timing.read
            self._save_headrooms()
            actions += [Send(switch, packet) for switch, packet in self._forecasts.reads(self._connected)]
        return actions

    def next_tick(self, now: int) -> int:
        """Return when `tick` must be called next, at the latest."""
        epochs = self._config.epochs
        epoch_ends = epochs.begin(epochs.epoch(now) + 1)
        return min(self._next_discovery, self._next_read, epoch_ends, now + self._config.timing.retransmit)

    def packet_in(self, switch: str, header: PacketIn, payload: bytes, now: int) -> list[Action]:
        """Take a packet-in of a connected switch."""
        at = Port(switch, header.ingress_port)
        match header.reason:
            case Reason.AGENT:
                return self._agent(at, payload, now)
            case Reason.DISCOVERY:
                self.counters["packets_discovery"] += 1
                return self._discovered(at, payload, now)
            case Reason.OVERFLOW:
                self.counters["packets_overflow"] += 1
                decision = self._overflow.decide(switch, header, payload)
                return [
                    *([Install(switch, decision.install)] if decision.install else []),
                    *_inject(switch, decision.inject),
                ]
            case Reason.ANSWER:
                self.counters["packets_answer"] += 1
                return self._answer(switch, header, now)

    def pin_installed(self, switch: str, entry: Entry) -> list[Action]:
        """Take note that a switch has a pinned entry, newly written or found there."""
        inject = self._overflow.installed(switch, entry)
        self._store.save_pin(switch, entry)
        return _inject(switch, inject)

    def pin_failed(self, switch: str, entry: Entry) -> list[Action]:
        """Give a connection up that could not be pinned; its client will try again."""
        self._overflow.removed(switch, entry)
        self.counters["pins_failed"] += 1
        return [Event("pin_failed", {"switch": switch, "site": self._names.get(entry.params[0], "")})]

    def pin_idle(self, switch: str, entry: Entry) -> list[Action]:
        """End a pinned connection that has been silent for its service's timeout."""
        self._overflow.removed(switch, entry)
        self._store.drop_pin(switch, entry)
        return [Remove(switch, entry)]

    def drain(self, site: int, drained: bool, now: int) -> list[Action]:
        """Take a site (by id) out of selection, or put it back; its connections stay either way."""
        self._store.save_drain(site, drained)
        self._forecasts.drain(site, drained)
        event = Event("drained" if drained else "undrained", {"site": self._names[site]})
        return [event, *self._due(now)]

    def status(self, now: int) -> dict[str, object]:
        """Return what is known, in JSON's terms; energies in Wh."""
        headrooms = {item.site: item for item in self._forecasts.headrooms}
        sites: list[dict[str, object]] = []
        for number, name in self._names.items():
            at, headroom = self._registry.bindings.get(number), headrooms.get(number)
            sites.append(
                {
                    "site": name,
                    "id": number,
                    "switch": at.switch if at else None,
                    "port": at.port if at else None,
                    "alive": self._registry.alive(number, now),
                    "drained": self._forecasts.drained(number),
                    "epoch": headroom.epoch if headroom else None,
                    "budget_wh": headroom.budget / 1000 if headroom else None,
                    "headroom_wh": headroom.headroom / 1000 if headroom else None,
                }
            )
        links = [_link_fields(link) for link in sorted(self._topology.links)]
        return {"epoch": self._config.epochs.epoch(now), "sites": sites, "links": links}

    def _agent(self, at: Port, payload: bytes, now: int) -> list[Action]:
        try:
            frame = Frame.from_bytes(payload)
        except ProtocolError as error:
            self.counters["packets_other"] += 1
            return self._refused(at, self._registry.malformed(error))
        if frame.type == FrameType.REGISTER:
            self.counters["packets_registration"] += 1
            return self._register(at, frame, now)
        self.counters["packets_report"] += 1
        return self._report(at, frame, now)

    def _register(self, at: Port, frame: Frame, now: int) -> list[Action]:
        sessions, bindings = dict(self._registry.sessions), self._registry.bindings
        result = self._registry.register(frame, at, now)
        if isinstance(result, Refused):
            return self._refused(at, result)
        session = result.session
        if sessions.get(session.site) == session:
            return [_reply(at, result.reply)]
        self._store.save_session(session)
        self._bind()
        actions = self._change_links(lambda: self._topology.forget(at))
        if not actions and self._registry.bindings != bindings:
            actions = self._reconcile()
        fields: dict[str, str | int | float] = {"site": session.name, "id": session.site}
        event = Event("registered", fields | {"switch": at.switch, "port": at.port})
        return [*actions, event, _reply(at, result.reply), *self._due(now)]

    def _report(self, at: Port, frame: Frame, now: int) -> list[Action]:
        result = self._registry.report(frame, at, now)
        if isinstance(result, Refused):
            return self._refused(at, result)
        self._accept(result, now)
        return [_reply(at, result.reply), *self._due(now)]

    def _accept(self, result: Accepted, now: int) -> None:
        assert result.report is not None
        forecast = Forecast(result.session.site, result.report.epoch, result.energy_wh)
        self._store.save_report(result.session, forecast, oldest=self._config.epochs.epoch(now))
        self._forecasts.reported(forecast)

    def _refused(self, at: Port, refused: Refused) -> list[Action]:
        reason = refused.reason.name.lower()
        self.counters[f"refused_{reason}"] += 1
        event = Event(
            "refused", {"reason": reason, "detail": refused.detail, "switch": at.switch, "port": at.port}
        )
        return [event] if refused.reply is None else [event, _reply(at, refused.reply)]

    def _discovered(self, receiver: Port, payload: bytes, now: int) -> list[Action]:
        """Take a discovery frame that a switch returned; hosts' ports are no ends of links."""
        try:
            found = Discovery.open(self._discovery_key, Frame.from_bytes(payload))
        except ProtocolError:
            found = None
        timing = self._config.timing
        if found is None or not 0 <= now - found.time <= timing.missed * timing.discovery:
            self.counters["refused_discovery"] += 1
            return []
        sender = Port(self._switches[found.switch].name, found.port)
        if not edge_ports(self._config, self._registry.bindings).isdisjoint((sender, receiver)):
            self.counters["refused_discovery"] += 1
            return []
        return self._change_links(lambda: self._topology.heard(sender, receiver))

    def _discover(self, now: int) -> list[Action]:
        """Return a discovery frame for each port that may lead to another switch."""
        hosts = edge_ports(self._config, self._registry.bindings)
        return [
            Send(
                switch.name,
                PacketOut(Operation.TRANSMIT, port=port),
                Discovery(switch.device_id, port, now).seal(self._discovery_key).to_bytes(),
            )
            for switch in self._config.switches
            if switch.name in self._connected
            for port in switch.ports
            if Port(switch.name, port) not in hosts
        ]

    def _change_links(self, change: Callable[[], bool]) -> list[Action]:
        before = self._topology.links
        if not change():
            return []
        after = self._topology.links
        self._store.save_links(after)
        return [
            *(Event("link_down", _link_fields(link)) for link in sorted(before - after)),
            *(Event("link_up", _link_fields(link)) for link in sorted(after - before)),
            *self._reconcile(),
        ]

    def _answer(self, switch: str, header: PacketIn, now: int) -> list[Action]:
        answered = self._forecasts.answered(switch, header)
        if answered is None:
            return []
        site: dict[str, str | int | float] = {"site": self._names[answered.site], "switch": switch}
        events: list[Action] = []
        if answered.flags & SiteFlag.LOCAL:
            self._registry.observed(answered.site, bool(answered.flags & SiteFlag.ALIVE), now)
            alive = self._registry.alive(answered.site, now)
            if alive is not self._alive.get(answered.site):
                self._alive[answered.site] = alive
                events.append(Event("site_alive" if alive else "site_silent", site))
        if answered.stale:
            events.append(Event("forecast_stale", site | {"epoch": header.epoch}))
        if answered.confirmed is not None:
            site |= {"epoch": answered.confirmed.epoch, "budget_wh": answered.confirmed.budget / 1000}
            events.append(Event("forecast_acknowledged", site))
        return events

    def _save_headrooms(self) -> None:
        headrooms = self._forecasts.headrooms
        if headrooms != self._saved_headrooms:
            self._store.save_headrooms(headrooms)
            self._saved_headrooms = headrooms

    def _bind(self) -> None:
        """Tell the forecasts where sites are attached."""
        self._forecasts.attached({site: port.switch for site, port in self._registry.bindings.items()})

    def _due(self, now: int) -> list[Action]:
        epoch = self._config.epochs.epoch(now)
        return [Send(*operation) for operation in self._forecasts.due(epoch, self._connected, now)]

    def _reconcile(self) -> list[Action]:
        return [Reconcile(switch) for switch in sorted(self._connected)]


def _reply(at: Port, frame: Frame) -> Send:
    return Send(at.switch, PacketOut(Operation.TRANSMIT, port=at.port), frame.to_bytes())


def _inject(switch: str, inject: Inject | None) -> list[Action]:
    return [] if inject is None else [Send(switch, inject.packet, inject.payload)]


def _link_fields(link: Link) -> dict[str, str | int | float]:
    a, b = link
    return {"a": a.switch, "a_port": a.port, "b": b.switch, "b_port": b.port}
