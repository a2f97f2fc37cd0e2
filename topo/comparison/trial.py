# SPDX-License-Identifier: Apache-2.0
"""One control plane in one network: the hours of a run, and then what the comparison asks beside them.

hours          as in a run: jobs on energy; what controller and switches used meanwhile
first packet   what it waits for, against later packets of the same connection
rate           new connections in a second: stepped up until more than 1 % fail
follow         an hour in which another site has all the energy begins: when the choice follows
death          the site that gets all jobs falls silent: its agent and server are gone, its cable is out
orphan         the controller is killed: new connections, and those under way
"""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

import numpy as np

from grasp.telemetry.energy.sources import Energy
from grasp.topo import report
from grasp.topo.comparison import openings
from grasp.topo.comparison.usage import Traffic, carried, control_connections, cpu_seconds
from grasp.topo.configuration import HANDSHAKE, SERVICE_ADDRESS, SERVICE_PORT, Files
from grasp.topo.emulation import Emulation, Recording
from grasp.topo.experiment import Listener, collect, offer
from grasp.topo.hours import Hours
from grasp.topo.planes import Builder
from grasp.topo.processes import Program
from grasp.topo.report import Report, Settings
from grasp.topo.topology import GATEWAY_MAC, Topology
from grasp.topo.traffic import Order, Outcome

CONNECTIONS = 60
"""Connections whose first packets are timed in a trial."""
FIRST_RATE, RATE_FACTOR = 100.0, 4.0
"""Connections a second in the first step, and how the steps grow."""
FAILING = 0.01
"""Share of connections that may fail at a rate that is sustained."""

_STEP_SECONDS = 2.0  # a queue that grows for so long, and answers within `openings.WAIT`, hides a tenth
_NARROW = 0.05  # share of connections that may fail at a rate that is tried once more
_STEP_PORTS = 36_000  # of each generator, about all: a rate that needs more has a shorter step
_HALVINGS = 3  # of the interval, in logarithms, between the last step that was sustained and the first not
_HIGHEST_RATE = 500_000.0
_REACHED = 0.95  # of a rate: what the generator must send of it
_AHEAD = 0.5  # seconds from an order of openings to its begin: frames are made meanwhile
_CALM_US, _CALM_ATTEMPTS = 100_000, 10  # a step begins when one opening takes no longer than that again
# Seconds after a step that was not sustained: P4's switches give up what lost segments left half open.
_RECOVERY = HANDSHAKE / 1e6 + 0.5

_FAVOURITES = (4, 7, 1)  # sites in turn, on three switches; the last one dies
_ABUNDANCE = 1e6  # Wh: more than any jobs of an hour take
_DEATH_HOURS = 2
_SPARE_HOURS = 2  # in which the last jobs of the run end
_RATE = 200.0  # jobs a second while an answer to a change is awaited
_LEAD, _WINDOW = 0.05, 0.4  # seconds of these jobs before and after a new forecast
_PATIENCE = 2.5  # seconds: time for a client to repeat its first packet, and for a busy controller
_JOB_OFFSET = 1_000_000  # numbers of these jobs, apart from those of the hours
_ORPHAN_SECONDS = 1.5
_ORPHAN_RATE = 50.0


@dataclass(frozen=True, slots=True)
class Step:
    """New connections at a rate: asked for and sent, a second; share that failed; waits in microseconds."""

    asked: float
    sent: float
    failed: float
    p50_us: float | None
    p99_us: float | None


@dataclass(slots=True)
class Trial:
    """What one trial found. Shares are of 1, times in the unit of their name."""

    report: Report
    traffic: Traffic
    controller_cpu_s: float
    switches_cpu_s: float
    first_us: list[float] = field(default_factory=list)
    later_us: list[float] = field(default_factory=list)
    added_us: list[float] = field(default_factory=list)  # a first packet, less its connection's median later
    unanswered: int = 0
    steps: list[Step] = field(default_factory=list)
    follow_ms: list[float] = field(default_factory=list)
    lost_after_death: int = 0
    last_after_death_ms: float = 0.0
    orphans: int = 0
    orphans_connected: int = 0
    running: int = 0  # connections under way when the controller was killed
    running_survived: int = 0
    wall_s: float = 0.0


async def run(
    settings: Settings,
    topology: Topology,
    build: Builder,
    energy: Energy,
    files: Files,
    recording: Recording,
    ports: Iterable[int],
    listener: Listener,
) -> Trial:
    """Carry out one trial in the present world; `ports` are those at which control connections are taken.

    Raises RunError when a part of the network fails.
    """
    begun = time.monotonic()
    sites = len(topology.sites)
    favour = np.zeros((_SPARE_HOURS + len(_FAVOURITES) + _DEATH_HOURS, sites))
    for place in range(len(_FAVOURITES) + _DEATH_HOURS):
        favour[_SPARE_HOURS + place, _FAVOURITES[min(place, len(_FAVOURITES) - 1)]] = _ABUNDANCE
    try:
        async with asyncio.TaskGroup() as group:
            listener.phase("building the network")
            emulation = build(topology, files, recording, group)
            emulation.on_outcome = listener.outcome
            first = int(energy.hours[0].astype(int))
            hours = Hours(emulation, np.vstack([energy.wh, favour]), first, settings.seconds_per_hour)
            try:
                await emulation.start_hosts_and_switches()
                latency, generators = await _start_programs(emulation)
                listener.phase("registering the sites")
                await hours.prepare(settings.scheduler, settings.job_energy, time.monotonic() - begun + 1.0)
                await hours.begin(0)
                trial = await _hours(emulation, hours, settings, energy, list(ports), listener)
                emulation.on_outcome = None
                probe = _Probe(emulation, hours, settings.hours + _SPARE_HOURS)
                listener.phase("waiting for new forecasts")
                trial.follow_ms = await probe.follow()
                listener.phase("ending a site")
                trial.lost_after_death, trial.last_after_death_ms = await probe.death()
                listener.phase("timing first packets")
                await _first_packets(latency, trial)
                listener.phase("opening connections faster and faster")
                trial.steps = await _rates(generators)
                listener.phase("killing the controller")
                await _calm(generators[0])
                await probe.orphan(trial)
            finally:
                await emulation.stop()
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    trial.wall_s = time.monotonic() - begun
    return trial


async def _start_programs(emulation: Emulation) -> tuple[Program, list[Program]]:
    """Start what measures: first packets at the first client, openings at every client."""
    clients = emulation.topology.clients
    latency = await emulation.start_program(
        "latency", clients[0], "grasp.topo.comparison.latency", SERVICE_ADDRESS, str(SERVICE_PORT)
    )
    generators = [
        await emulation.start_program(
            f"openings-{client.node}",
            client,
            "grasp.topo.comparison.openings",
            *(client.address, GATEWAY_MAC, SERVICE_ADDRESS, str(SERVICE_PORT)),
        )
        for client in clients
    ]
    return latency, generators


async def _hours(
    emulation: Emulation,
    hours: Hours,
    settings: Settings,
    energy: Energy,
    ports: list[int],
    listener: Listener,
) -> Trial:
    controller = [emulation.programs["controller"].pid]
    switches = [emulation.programs[name].pid for name in emulation.switch_programs()]
    before, used = control_connections(ports), (cpu_seconds(controller), cpu_seconds(switches))
    await offer(emulation, hours, settings, listener)
    seen = await collect(emulation, hours, settings, energy)
    return Trial(
        report=report.build(settings, seen),
        traffic=carried(before, control_connections(ports)),
        controller_cpu_s=cpu_seconds(controller) - used[0],
        switches_cpu_s=cpu_seconds(switches) - used[1],
    )


async def _first_packets(latency: Program, trial: Trial) -> None:
    for first, later in await latency.ask(CONNECTIONS):
        if first is None or not later:
            trial.unanswered += 1
            continue
        trial.first_us.append(first)
        trial.later_us += later
        trial.added_us.append(first - float(np.median(later)))


async def _rates(generators: list[Program]) -> list[Step]:
    """Step the rate up until it is not sustained, or not reached; then close in on the highest that is."""
    steps: list[Step] = []
    good, bad = 0.0, None
    rate = FIRST_RATE
    while rate <= _HIGHEST_RATE:
        steps.append(await _attempt(generators, rate))
        if not is_sustained(steps[-1]):
            bad = rate
            break
        good, rate = rate, rate * RATE_FACTOR
    for _ in range(_HALVINGS if good and bad else 0):
        assert bad is not None
        rate = float(np.sqrt(good * bad))
        steps.append(await _attempt(generators, rate))
        if is_sustained(steps[-1]):
            good = rate
        else:
            bad = rate
    return steps


async def _attempt(generators: list[Program], rate: float) -> Step:
    """Carry out a step; one that fails narrowly is tried again, for what else the machine did just then."""
    first = await step(generators, rate)
    if is_sustained(first) or first.failed > _NARROW:
        return first
    return min(first, await step(generators, rate), key=lambda found: (not is_reached(found), found.failed))


async def step(generators: list[Program], rate: float) -> Step:
    """Open connections at a rate, from all generators together."""
    await _calm(generators[0])
    share = rate / len(generators)
    seconds = min(_STEP_SECONDS, _STEP_PORTS / share)
    order = openings.Order(share, seconds, time.monotonic() + _AHEAD)
    answers = [
        openings.Answer(**answer)
        for answer in await asyncio.gather(*(generator.ask(asdict(order)) for generator in generators))
    ]
    sent = sum(answer.sent for answer in answers)
    medians = [answer.p50_us for answer in answers if answer.p50_us is not None]
    tails = [answer.p99_us for answer in answers if answer.p99_us is not None]
    found = Step(
        asked=round(rate, 1),
        sent=round(sum(answer.sent / answer.seconds for answer in answers if answer.seconds), 1),
        failed=round(1 - sum(answer.answered for answer in answers) / max(sent, 1), 5),
        p50_us=float(np.median(medians)) if medians else None,
        p99_us=max(tails, default=None),
    )
    if not is_sustained(found):
        await asyncio.sleep(_RECOVERY)
    return found


async def _calm(generator: Program) -> None:
    """Wait until what an earlier step left in queues is worked off."""
    single = openings.Order(rate=1000.0, seconds=0.001, at=0.0)
    for _ in range(_CALM_ATTEMPTS):
        answer = openings.Answer(**await generator.ask(asdict(single)))
        if answer.p50_us is not None and answer.p50_us <= _CALM_US:
            return


def is_reached(step: Step) -> bool:
    """Whether the generator sent as fast as it was asked to."""
    return step.sent >= _REACHED * step.asked


def is_sustained(step: Step) -> bool:
    """Whether the network opened connections at this rate, and the generator asked for them."""
    return is_reached(step) and step.failed < FAILING


def followed_ms(outcomes: Iterable[Outcome], begin: float, favourite: int) -> float:
    """Return how long after `begin` the first job was opened from which on all went to one site.

    If even the last did not, it is the length of the window: at least so long.
    """
    after = sorted((item.opened, item.sites == [favourite]) for item in outcomes if item.opened > begin)
    followed = _WINDOW
    for opened, is_there in reversed(after):
        if not is_there:
            break
        followed = opened - begin
    return followed * 1e3


class _Probe:
    """Jobs at a steady rate from all clients, while something changes."""

    def __init__(self, emulation: Emulation, hours: Hours, after: int) -> None:
        self._emulation = emulation
        self._hours = hours
        self._after = after  # the first favourite's hour
        self._job = _JOB_OFFSET

    async def follow(self) -> list[float]:
        """Return, for each new favourite, how long after its hour began all jobs went there (ms)."""
        begins = [
            time.monotonic() + self._hours.begins_in(self._after + place) for place in range(len(_FAVOURITES))
        ]
        # All are ordered first: a job that is lost is waited for until after the next hour has begun.
        orders = [await self._order(begin - _LEAD, _LEAD + _WINDOW, _RATE) for begin in begins]
        return [
            followed_ms(await self._outcomes(jobs, begin - time.monotonic()), begin, favourite)
            for jobs, begin, favourite in zip(orders, begins, _FAVOURITES, strict=True)
        ]

    async def death(self) -> tuple[int, float]:
        """End the favourite; return the jobs lost, and how long after its end one was sent there (ms)."""
        emulation = self._emulation
        site = emulation.topology.sites[_FAVOURITES[-1]]
        jobs = await self._order(time.monotonic() + 0.1, 1.2, _RATE)
        await asyncio.sleep(0.3)
        emulation.network.run(site, f"ip link set {site.interface} down")
        died = time.monotonic()
        for name in (f"agent-{site.label}", f"server-{site.label}"):
            await emulation.programs[name].kill()
        lost = [item for item in await self._outcomes(jobs, 0.0) if item.error is not None]
        opened = [item.opened for item in lost if item.opened > died]
        return len(lost), (max(opened) - died) * 1e3 if opened else 0.0

    async def orphan(self, trial: Trial) -> None:
        """Kill the controller between jobs that are under way and new ones."""
        begin = time.monotonic() + 0.1
        hold = _ORPHAN_SECONDS + 0.5
        running = await self._order(begin, 0.5, _ORPHAN_RATE, exchanges=5, hold=hold)
        await asyncio.sleep(0.8)
        await self._emulation.programs["controller"].kill()
        new = await self._order(time.monotonic() + 0.05, _ORPHAN_SECONDS, _ORPHAN_RATE)
        # What was not answered even once was not under way.
        survivors = [item for item in await self._outcomes(running, _ORPHAN_SECONDS) if item.sites]
        trial.running, trial.running_survived = len(survivors), _well(survivors)
        trial.orphans, trial.orphans_connected = len(new), _well(await self._outcomes(new, 0.0))

    async def _order(
        self,
        begin: float,
        seconds: float,
        rate: float,
        *,
        exchanges: int = 1,
        hold: float = 0.0,
    ) -> set[int]:
        """Order jobs at even distances, from all clients in turn; return their numbers."""
        clients = self._emulation.topology.clients
        numbers = set()
        for place in range(round(seconds * rate)):
            self._job += 1
            numbers.add(self._job)
            order = Order(
                hour=self._after,
                job=self._job,
                at=begin + place / rate,
                address=SERVICE_ADDRESS,
                port=SERVICE_PORT,
                exchanges=exchanges,
                hold=hold,
                patience=_PATIENCE,
            )
            await self._emulation.programs[clients[place % len(clients)].node].tell(asdict(order))
        return numbers

    async def _outcomes(self, jobs: set[int], longer: float) -> list[Outcome]:
        """Wait for the outcomes of jobs, some seconds longer than these take when all is well."""

        def ended() -> list[Outcome]:
            return [outcome for outcome in self._emulation.outcomes if outcome.job in jobs]

        await self._emulation.outcomes_until(lambda: len(ended()) == len(jobs), 10.0 + longer)
        return ended()


def _well(outcomes: Iterable[Outcome]) -> int:
    return sum(outcome.error is None for outcome in outcomes)
