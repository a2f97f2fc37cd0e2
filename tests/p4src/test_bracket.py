# SPDX-License-Identifier: Apache-2.0
"""The bracket is an exact argmax, ties to the lower id, whatever happens to the sites.

Random forecasts, jobs, probes, drains, heartbeats and silences go to the running program and to a model that
keeps a plain list of sites and looks through all of it for each job.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.p4src.conftest import Runner
from tests.p4src.engine_switch import EngineSwitch
from tests.p4src.site_switch import (
    CLIENTS,
    TRUNKS,
    Event,
    Host,
    Service,
    add_service,
    attach,
    drain,
    dropped,
    forecast,
    grasp,
    ipv4,
    number,
    probe,
    set_parameters,
    to_service,
)
from tests.p4src.switch import Switch

from grasp.control.wire import CPU_PORT, Drop, Role, SiteFlag
from grasp.telemetry.protocol import FrameType

EXPIRY = 1_000_000  # us, on the engine's own clock
FOR_EVER = 3_600_000_000  # us, on a clock that runs by itself
LOWEST, HIGHEST = -(2**47), 2**47 - 1
SITE_PORT = 3


def server(site: int) -> Host:
    return Host(f"10.0.4.{site}", f"02:00:00:00:04:{site:02x}", SITE_PORT)


@dataclass
class Site:
    """What the model knows of a site."""

    epoch: int = 0
    budget: int = 0
    headroom: int = 0
    sequence: int = 0
    known: bool = False
    authoritative: bool = False
    drained: bool = False
    heard: int | None = None


def clamp(value: int) -> int:
    return max(LOWEST, min(HIGHEST, value))


class World:
    """A switch and its model, which do everything together. The first `local` sites are attached."""

    def __init__(self, switch: Switch, sites: int, local: int) -> None:
        self.switch = switch
        self.local = local
        self.sites = [Site() for _ in range(sites)]
        self.now = 0
        self.expiry = FOR_EVER if switch.real_time else EXPIRY
        self.jobs = 0
        # Connections are forgotten at once: each job is a new one, and there is always room.
        self.services = [
            Service(n + 1, 6, "10.9.9.1", 80 + n, 8080 + n, energy, timeout=0)
            for n, energy in enumerate((1, 700, 2**32 - 1))
        ]
        self.syns = {s.id: ipv4(CLIENTS[0], s.address, to_service(1, service=s)) for s in self.services}
        set_parameters(switch, expiry=self.expiry)
        switch.insert("ports", (1,), "set_role", Role.EDGE)
        switch.insert("ports", (SITE_PORT,), "set_role", Role.EDGE)
        for port in TRUNKS:
            switch.insert("ports", (port,), "set_role", Role.TRUNK)
        switch.set_multicast_group(1, TRUNKS)
        switch.set_multicast_group(2, [*TRUNKS, CPU_PORT])
        attach(switch, CLIENTS[0])
        for service in self.services:
            add_service(switch, service)
        for site in range(sites):
            switch.insert("site_servers", (site,), "set_server", number(server(site).address))
            if site < local:
                switch.insert("local_sites", (site,), "deliver_to_site", SITE_PORT, number(server(site).mac))

    def alive(self, site: Site) -> bool:
        return site.heard is not None and self.now - site.heard <= self.expiry

    def best(self) -> int | None:
        """The site that the next job must go to, by looking at each."""
        able = [
            n for n, site in enumerate(self.sites) if site.known and not site.drained and self.alive(site)
        ]
        return min(able, key=lambda n: (-self.sites[n].headroom, n), default=None)

    # ---- what may happen; `n` is any number, of which each takes what it can use

    def job(self, n: int, value: int) -> None:
        self.jobs += 1
        service = self.services[value % len(self.services)]
        expected = self.best()
        syn = bytearray(self.syns[service.id])
        syn[34:36] = (self.jobs % 64000 + 1).to_bytes(2, "big")  # another source port
        out = self.switch.send(1, bytes(syn))
        if expected is None:
            assert out == []
            return
        assert [frame[30:34] for _, frame in out] == [IPv4Address(server(expected).address).packed]
        site = self.sites[expected]
        site.headroom = clamp(site.headroom - service.energy)

    def heartbeat(self, n: int, value: int) -> None:
        n %= self.local
        self.switch.send(SITE_PORT, grasp(FrameType.HEARTBEAT, n, server(n).mac))
        self.sites[n].heard = self.now

    def forecast(self, n: int, value: int) -> None:
        n %= self.local
        site = self.sites[n]
        epoch = site.epoch + (value >> 5) % 3 - 1 if site.authoritative else value % 100 + 1
        answer = forecast(self.switch, n, epoch, value, spent=n)
        if site.authoritative and epoch < site.epoch:
            pass
        elif site.authoritative and epoch == site.epoch:
            site.headroom = clamp(site.headroom + clamp(value - site.budget))
            site.budget = value
        else:
            site.headroom, site.budget, site.epoch = clamp(value - n), value, epoch
            site.known = site.authoritative = True
        assert (answer.headroom, answer.epoch) == (site.headroom, site.epoch)

    def drain(self, n: int, value: int) -> None:
        n %= self.local
        self.sites[n].drained = value % 3 == 0
        answer = drain(self.switch, n, self.sites[n].drained)
        assert bool(answer.flags & SiteFlag.DRAINED) == self.sites[n].drained

    def probe(self, n: int, value: int) -> None:
        n = self.local + n % (len(self.sites) - self.local)
        site = self.sites[n]
        site.sequence += 1
        site.headroom, site.drained = value, value % 5 == 0
        site.known, site.heard = True, self.now
        flags = SiteFlag.DRAINED if site.drained else 0
        frame = probe(n, sequence=site.sequence, headroom=value, flags=flags)
        self.switch.send(TRUNKS[value % 2], frame)

    def silence(self, n: int, value: int) -> None:
        if self.switch.real_time:
            return
        step = [EXPIRY // 50, EXPIRY // 5, EXPIRY, EXPIRY + 1][n % 4]
        self.now += step
        self.switch.advance(step)

    def check(self) -> None:
        """Compare what the switch knows with the model, and the bracket with it, where it can be read."""
        for n, site in enumerate(self.sites):
            if site.known:
                assert self.switch.read_site(n).headroom == site.headroom
        if isinstance(self.switch, EngineSwitch):
            check_bracket(self.switch)


def check_bracket(switch: EngineSwitch) -> None:
    """Every cell is the better of the two below it, and every leaf says what its site's registers say."""
    levels = [switch.register(f"bracket_{level}") for level in range(9)]
    for below, above in pairwise(levels):
        assert above == [max(below[2 * n], below[2 * n + 1]) for n in range(len(above))]
    headrooms = switch.register("site_headroom")
    for n, cell in enumerate(levels[0]):
        score = headrooms[n] ^ (1 << 47)
        assert cell in (0, 1 << 56 | score << 8 | 255 - n)


STEPS = ("job", "heartbeat", "forecast", "drain", "probe", "silence")
energies = st.one_of(st.integers(-5, 5), st.integers(LOWEST, HIGHEST), st.sampled_from([LOWEST, HIGHEST]))
steps = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 7), energies), max_size=60)


@pytest.mark.packet
@given(steps=steps)
@settings(max_examples=60, deadline=None)
def test_few_sites_and_extreme_numbers(steps: list[tuple[str, int, int]]) -> None:
    switch = EngineSwitch()
    try:
        world = World(switch, sites=8, local=4)
        for kind, n, value in steps:
            getattr(world, kind)(n, value)
        world.check()
    finally:
        switch.close()


def world_of_256(switch: Switch, headrooms: Sequence[int]) -> World:
    world = World(switch, sites=256, local=128)
    for n, headroom in enumerate(headrooms):
        if n < world.local:
            world.forecast(n, headroom)
            world.heartbeat(n, 0)
        else:
            world.probe(n - world.local, headroom)
    return world


@pytest.mark.parametrize("seed", [1, 2])
def test_all_sites_over_a_long_time(runner: Runner, seed: int) -> None:
    switch = runner.fresh()
    chance = random.Random(seed)
    world = world_of_256(switch, [chance.randrange(20_000) for _ in range(256)])
    kinds = chance.choices(STEPS, [40, 20, 5, 3, 20, 2], k=200 if switch.real_time else 4000)
    for kind in kinds:
        getattr(world, kind)(chance.randrange(256), chance.randrange(-20_000, 20_000))
    world.check()
    assert world.jobs > len(kinds) / 3


def test_all_sites_fall_silent(runner: Runner) -> None:
    """One packet strikes them out, one by one, and ends."""
    switch = runner.fresh()
    world = world_of_256(switch, [1] * 256)
    set_parameters(switch, expiry=0)
    switch.advance(1)
    assert dropped(switch, 1, world.syns[1]) == Drop.NO_SITE
    assert switch.count("events", Event.STRUCK_OUT) == 256
    set_parameters(switch, expiry=FOR_EVER)  # they stay out until they are heard of
    assert dropped(switch, 1, world.syns[1]) == Drop.NO_SITE
    assert switch.count("events", Event.STRUCK_OUT) == 256
    world.heartbeat(3, 0)
    ((_, frame),) = switch.send(1, world.syns[1])
    assert frame[30:34] == IPv4Address(server(3).address).packed


def test_all_sites_take_turns_in_the_dark(runner: Runner) -> None:
    world = world_of_256(runner.fresh(), [1] * 256)  # a multiple of 5 would be a drained site's
    for n, site in enumerate(world.sites):
        assert site.headroom == 1 - (n if n < world.local else 0)
    for _ in range(300):
        world.job(0, 1)
    world.check()
