# SPDX-License-Identifier: Apache-2.0
"""The OpenFlow baseline in random sequences of events: what must hold whatever happens.

A job is answered by the site that got its first packet, and by no other; a site's n is the sum of the jobs
that are known; when links and switches are back, every job under way gets through, without the controller;
when all is silent, nothing is left of it anywhere.
"""

import random
from dataclasses import dataclass

import pytest
from openflow_model import (
    ALICE,
    BOB,
    CABLES,
    CLIENTS,
    GATEWAY,
    NAMES,
    VIP,
    FakeSwitch,
    Network,
    network,
    packet,
    query,
)
from sample import PLACES, RING, SECOND, site
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether

from grasp.control.openflow.connections import flows
from grasp.control.topology import Port

HARMLESS = ("tcp", "udp", "copy", "forge", "close", "away", "back", "restart", "report", "drain", "wait")
"""What no job may be hurt by."""
HARMFUL = (*HARMLESS, "cut", "mend", "empty", "full", "room")
TIMEOUTS = {"tcp": 20, "udp": 10}  # seconds


@dataclass
class Job:
    """A job as its client knows it."""

    at: Port
    port: int
    protocol: str
    sequence: int
    site: int = -1


class World:
    """The network, its clients' jobs, and a source of events."""

    def __init__(self, net: Network, seed: int) -> None:
        self.net = net
        self.random = random.Random(seed)
        self.jobs: list[Job] = []
        self.opened = 0

    def do(self, event: str) -> None:
        getattr(self, event)()
        self.check()

    def tcp(self) -> None:
        self.open("tcp")

    def udp(self) -> None:
        self.open("udp")

    def open(self, protocol: str) -> None:
        self.opened += 1
        at = self.random.choice((ALICE, BOB))
        job = Job(at, 4000 + self.opened, protocol, sequence=self.random.getrandbits(32))
        there = self.send(job, "S")
        if there:
            (job.site,) = there
            if self.is_answered(job):
                self.jobs.append(job)

    def send(self, job: Job, flags: str) -> list[int]:
        """Send a packet of a job and return the sites that it came to."""
        before = {number: len(self.net.arrived.get(place, ())) for number, place in PLACES.items()}
        frame = packet(job.at, job.port, flags, seq=job.sequence)
        self.net.receive(job.at, frame if job.protocol == "tcp" else query(job.at, job.port))
        return [
            number
            for number, place in PLACES.items()
            for item in self.net.arrived.get(place, [])[before[number] :]
            if IP in item
        ]

    def is_answered(self, job: Job) -> bool:
        """Let the job's site answer; whether it came to the client, from the service."""
        mac, address = CLIENTS[job.at]
        before = len(self.net.arrived.get(job.at, ()))
        tcp, udp = TCP(sport=8080, dport=job.port, flags="SA"), UDP(sport=5353, dport=job.port) / b"y"
        ends = IP(src=str(site(job.site).address), dst=address) / (tcp if job.protocol == "tcp" else udp)
        self.net.receive(PLACES[job.site], Ether(src=site(job.site).mac.hex(":"), dst=GATEWAY) / ends)
        came = [item for item in self.net.arrived.get(job.at, [])[before:] if IP in item]
        return [(item.dst, item[IP].src) for item in came] == [(mac, VIP)]

    def gets_through(self, job: Job) -> bool:
        there = self.send(job, "A")
        assert not there or there == [job.site], "a job stays where it is"
        return bool(there) and self.is_answered(job)

    def talk(self) -> None:
        for job in self.jobs:
            self.gets_through(job)

    def copy(self) -> None:
        """A first packet that waited in the controller's line."""
        jobs = [job for job in self.jobs if job.protocol == "tcp" and job.at.switch in self.net.connected]
        if jobs:
            job = self.random.choice(jobs)
            frame = bytes(packet(job.at, job.port, "S", seq=job.sequence))
            self.net.perform(self.net.baseline.packet_in(job.at.switch, job.at.port, frame, self.net.now))

    def forge(self) -> None:
        """Somebody else's packet with a client's addresses."""
        if self.jobs:
            job = self.random.choice(self.jobs)
            self.net.receive(
                BOB if job.at == ALICE else ALICE, packet(job.at, job.port, "S", seq=job.sequence + 1)
            )

    def close(self) -> None:
        if self.jobs:
            self.jobs.remove(self.random.choice(self.jobs))

    def away(self) -> None:
        if self.net.connected:
            self.net.disconnect(self.random.choice(sorted(self.net.connected)))

    def back(self) -> None:
        away = [name for name in NAMES if name not in self.net.connected]
        if away:
            self.net.connect(self.random.choice(away))

    def restart(self) -> None:
        self.net.start_controller()
        order = self.random.sample(NAMES, 3)
        self.net.connect(*order[: self.random.randint(1, 3)])

    def report(self) -> None:
        for number, place in PLACES.items():
            if place.switch in self.net.connected:
                self.net.report(number, self.random.choice((0.0, 500.0, 3000.0, 9000.0)))

    def drain(self) -> None:
        number, drained = self.random.randrange(3), self.random.random() < 0.5
        self.net.perform(self.net.baseline.drain(number, drained, self.net.now))

    def cut(self) -> None:
        for end in self.random.choice(RING):
            self.net.cables.pop(end, None)

    def mend(self) -> None:
        self.net.cables.update(CABLES)

    def empty(self) -> None:
        name = self.random.choice(NAMES)
        if name in self.net.connected:
            self.net.disconnect(name)
        self.net.switches[name] = FakeSwitch()

    def full(self) -> None:
        switch = self.net.switches[self.random.choice(NAMES)]
        switch.capacity = len(switch.entries) + self.random.randint(0, 2)

    def room(self) -> None:
        for switch in self.net.switches.values():
            switch.capacity = 10**6

    def wait(self) -> None:
        """Some seconds, in which every job is in use."""
        for _ in range(self.random.choice((1, 3, 8))):
            self.net.wait(SECOND)
            self.talk()

    def check(self) -> None:
        """The books agree: every known job is charged to its site, in its epoch, once."""
        baseline = self.net.baseline
        assert baseline._numbers == {job.number: key for key, job in baseline.connections.items()}
        for number, books in baseline._ledger._sites.items():
            charged = sum(
                job.service.energy
                for job in baseline.connections.values()
                if job.site.id == number and job.epoch == books.epoch
            )
            assert books.epoch is None or books.spent == charged
            assert min([books.spent, *books.adopted.values()]) >= 0

    def settle(self) -> None:
        """Let everything be as it should be, for long enough to be noticed."""
        self.mend()
        self.room()
        while len(self.net.connected) < len(NAMES):
            self.back()
        for _ in range(8):
            self.net.wait(SECOND)
            self.talk()
        self.check()


def missing(net: Network) -> list[tuple[str, object]]:
    """The entries of known jobs that are not where they should be."""
    return [
        (switch, flow.match)
        for job in net.baseline.connections.values()
        for switch, flow in flows(job, net.baseline._gateway)
        if flow not in net.switches[switch].listed()
    ]


def end(world: World) -> None:
    """After the timeouts nothing is left of any job."""
    world.jobs.clear()
    world.net.wait(2 * max(TIMEOUTS.values()) * SECOND)
    assert not any(world.net.switches[name].connection_entries() for name in NAMES)
    assert not world.net.baseline.connections
    assert world.net.spent() == [0, 0, 0]


@pytest.mark.parametrize("seed", range(20))
def test_no_job_is_hurt_by_what_happens_to_the_controller(tmp_path, seed: int) -> None:
    world = World(network(tmp_path), seed)
    for _ in range(12):
        world.do(world.random.choice(HARMLESS))
        for job in world.jobs:
            assert world.gets_through(job), (job, "a job's entries are there, whoever is away")
    world.settle()
    before = world.net.core.counters["packets_job"]
    for job in world.jobs:
        assert world.gets_through(job)
    assert world.net.core.counters["packets_job"] == before
    end(world)


@pytest.mark.parametrize("seed", range(20))
def test_books_agree_and_no_job_moves_whatever_happens(tmp_path, seed: int) -> None:
    world = World(network(tmp_path), seed)
    for _ in range(15):
        world.do(world.random.choice(HARMFUL))
    world.settle()
    world.jobs = [job for job in world.jobs if world.gets_through(job)]  # others were given up
    ports = {job.port for job in world.jobs}
    known = {job.port for job in world.net.baseline.connections.values()}
    assert ports <= known
    assert not [
        (switch, matched) for switch, matched in missing(world.net) if ports & set(dict(matched).values())
    ]
    before = world.net.core.counters["packets_job"]
    for job in world.jobs:
        assert world.gets_through(job)
    assert world.net.core.counters["packets_job"] == before
    end(world)
