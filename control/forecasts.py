# SPDX-License-Identifier: Apache-2.0
"""From reports to what the switches hold: budgets by the scheduler, and operations until they are confirmed.

For each site there is what its switch should hold (target) and what the switch confirmed (held). While the
two differ, an operation is under way, and it is sent again until its answer comes. So a lost packet, a
switch that restarts and a site that moves are all the same case.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from grasp.control.wire import DRAINED, Operation, PacketIn, PacketOut, SiteFlag, Status, milliwatt_hours
from grasp.schedulers.base import Scheduler


@dataclass(frozen=True, slots=True)
class Forecast:
    """Green energy of a site for an epoch, in Wh, as reported and weighted."""

    site: int
    epoch: int
    energy_wh: float


@dataclass(frozen=True, slots=True)
class Headroom:
    """What a site's switch said last: of the budget in that epoch, `headroom` is left (mWh)."""

    site: int
    epoch: int
    budget: int
    headroom: int


@dataclass(frozen=True, slots=True)
class Sent:
    """An operation on its way, with the time (microseconds) of its last transmission."""

    packet: PacketOut
    time: int


@dataclass(slots=True)
class _Site:
    switch: str | None = None
    energy_wh: dict[int, float] = field(default_factory=dict)
    target: tuple[int, int] | None = None  # epoch and budget
    held: tuple[int, int] | None = None
    drain: bool = False
    drain_held: bool = False
    headroom: Headroom | None = None
    flags: int = 0
    forecast_sent: Sent | None = None
    drain_sent: Sent | None = None
    read_sequence: int | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """What an answer meant: `site` and its flags are known now; `confirmed` is a forecast newly held."""

    site: int
    flags: int
    confirmed: Headroom | None = None
    stale: bool = False


class Forecasts:
    """Budgets and drains of all sites; `sequence` is where the operations' numbers begin (they wrap).

    `retransmit` is in microseconds. Stored forecasts, headrooms and drains bring back an earlier life.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        retransmit: int,
        sequence: int,
        forecasts: Iterable[Forecast] = (),
        headrooms: Iterable[Headroom] = (),
        drained: Iterable[int] = (),
    ) -> None:
        self._scheduler = scheduler
        self._retransmit = retransmit
        self._sequence = sequence % 2**32
        self._sites: dict[int, _Site] = {}
        for forecast in forecasts:
            self.reported(forecast)
        for headroom in headrooms:
            self._site(headroom.site).headroom = headroom
        for site in drained:
            self.drain(site, True)

    def reported(self, forecast: Forecast) -> None:
        """Take a forecast; a later one for the same epoch replaces it."""
        self._site(forecast.site).energy_wh[forecast.epoch] = forecast.energy_wh

    def drain(self, site: int, drained: bool) -> None:
        """Take a site out of selection, or put it back."""
        self._site(site).drain = drained

    def attached(self, bindings: Mapping[int, str]) -> None:
        """Tell to which switch each site is attached; a site that moved is pushed anew."""
        for number in self._sites.keys() | bindings.keys():
            site, switch = self._site(number), bindings.get(number)
            if site.switch != switch:
                site.switch = switch
                self._forget(site)

    def connected(self, switch: str) -> None:
        """Tell that a switch is there (again). It may hold nothing; pushing all anew does no harm."""
        for site in self._sites.values():
            if site.switch == switch:
                self._forget(site)

    def budgets(self, epoch: int) -> dict[int, int]:
        """Return the budget in mWh of each site that has a forecast for the epoch."""
        sites = sorted(number for number, site in self._sites.items() if epoch in site.energy_wh)
        budgets = self._scheduler.budgets([self._sites[number].energy_wh[epoch] for number in sites])
        return {number: milliwatt_hours(float(budget)) for number, budget in zip(sites, budgets, strict=True)}

    def due(self, epoch: int, connected: Iterable[str], now: int) -> list[tuple[str, PacketOut]]:
        """Return the operations to send now, with their switches: new ones, and those without an answer.

        A site that has no forecast for the epoch keeps what it has.
        """
        for number, budget in self.budgets(epoch).items():
            self._sites[number].target = (epoch, budget)
        reachable = frozenset(connected)
        result: list[tuple[str, PacketOut]] = []
        for number, site in sorted(self._sites.items()):
            site.energy_wh = {e: energy for e, energy in site.energy_wh.items() if e >= epoch}
            if site.switch is None or site.switch not in reachable:
                continue
            # Of an operation without an answer nobody knows whether it was carried out: when it is no longer
            # wanted, it is followed by the opposite.
            # A drained site must not become eligible by a forecast that comes first.
            if site.drain != site.drain_held or site.drain_sent is not None:
                wanted = PacketOut(Operation.SET_DRAIN, flags=DRAINED if site.drain else 0, site=number)
                site.drain_sent = self._send(site.switch, site.drain_sent, wanted, now, result)
            if site.target is not None and (site.target != site.held or site.forecast_sent is not None):
                wanted = self._set_forecast(number, site, site.target)
                site.forecast_sent = self._send(site.switch, site.forecast_sent, wanted, now, result)
        return result

    def reads(self, connected: Iterable[str]) -> list[tuple[str, PacketOut]]:
        """Return operations that read every attached site."""
        reachable = frozenset(connected)
        result: list[tuple[str, PacketOut]] = []
        for number, site in sorted(self._sites.items()):
            if site.switch is not None and site.switch in reachable:
                site.read_sequence = self._next()
                packet = PacketOut(Operation.READ_SITE, site=number, sequence=site.read_sequence)
                result.append((site.switch, packet))
        return result

    def answered(self, switch: str, answer: PacketIn) -> Answered | None:
        """Take a switch's answer; None when it answers nothing that is under way."""
        site = self._sites.get(answer.site)
        if site is None or site.switch != switch:
            return None
        if site.forecast_sent is not None and answer.sequence == site.forecast_sent.packet.sequence:
            return self._forecast_answered(site, answer)
        if site.drain_sent is not None and answer.sequence == site.drain_sent.packet.sequence:
            if answer.status == Status.OK:
                site.drain_held, site.drain_sent = bool(site.drain_sent.packet.flags & DRAINED), None
            return Answered(answer.site, answer.flags)
        if answer.sequence == site.read_sequence:
            self._read_answered(site, answer)
            return Answered(answer.site, answer.flags)
        return None

    @property
    def headrooms(self) -> list[Headroom]:
        """What is known of the sites' headrooms."""
        return [site.headroom for _, site in sorted(self._sites.items()) if site.headroom is not None]

    def drained(self, site: int) -> bool:
        """Whether a site is, or is to be, out of selection."""
        return self._site(site).drain

    def flags(self, site: int) -> int:
        """Return the flags that a site's switch answered last."""
        return self._site(site).flags

    def held(self, site: int) -> tuple[int, int] | None:
        """Return epoch and budget that a site's switch confirmed."""
        return self._site(site).held

    def _forecast_answered(self, site: _Site, answer: PacketIn) -> Answered:
        assert site.forecast_sent is not None
        packet = site.forecast_sent.packet
        if answer.status == Status.OK:
            site.forecast_sent, site.held = None, (packet.epoch, packet.budget)
            site.headroom = Headroom(answer.site, answer.epoch, answer.budget, answer.headroom)
            site.flags = answer.flags
            return Answered(answer.site, answer.flags, confirmed=site.headroom)
        if answer.status == Status.STALE:
            # The switch is ahead, and stays as it is until a newer epoch begins here too.
            site.forecast_sent, site.held = None, (packet.epoch, packet.budget)
            return Answered(answer.site, answer.flags, stale=True)
        return Answered(
            answer.site, answer.flags
        )  # NOT_HERE: its entry is still on the way, so it is sent again

    def _read_answered(self, site: _Site, answer: PacketIn) -> None:
        site.read_sequence, site.flags = None, answer.flags
        if not answer.flags & SiteFlag.LOCAL:
            return
        if answer.flags & SiteFlag.AUTHORITATIVE:
            site.headroom = Headroom(answer.site, answer.epoch, answer.budget, answer.headroom)
        elif site.held is not None:
            self._forget(site)
        if site.drain_sent is None:
            site.drain_held = bool(answer.flags & SiteFlag.DRAINED)

    def _set_forecast(self, number: int, site: _Site, target: tuple[int, int]) -> PacketOut:
        epoch, budget = target
        spent = 0
        if site.headroom is not None and site.headroom.epoch == epoch:
            spent = site.headroom.budget - site.headroom.headroom
        return PacketOut(Operation.SET_FORECAST, site=number, epoch=epoch, budget=budget, spent=spent)

    def _send(
        self, switch: str, sent: Sent | None, wanted: PacketOut, now: int, result: list[tuple[str, PacketOut]]
    ) -> Sent:
        """Add an operation to `result` if it is new or has waited long enough; return what is under way."""
        if (
            sent is None
            or replace(wanted, sequence=sent.packet.sequence, spent=sent.packet.spent) != sent.packet
        ):
            sent = Sent(replace(wanted, sequence=self._next()), now)
        elif 0 <= now - sent.time < self._retransmit:
            return sent
        else:
            sent = Sent(sent.packet, now)
        result.append((switch, sent.packet))
        return sent

    def _next(self) -> int:
        self._sequence = (self._sequence + 1) % 2**32
        return self._sequence

    def _site(self, number: int) -> _Site:
        return self._sites.setdefault(number, _Site())

    @staticmethod
    def _forget(site: _Site) -> None:
        site.held, site.drain_held = None, False
        site.forecast_sent = site.drain_sent = site.read_sequence = None
