# SPDX-License-Identifier: Apache-2.0
"""What only several switches can show: probes in loops, jobs from end to end, failures, restarts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest
from tests.p4src.network import BEAT, EXPIRY, SERVICE, Network, mesh, ring, server_of
from tests.p4src.site_switch import probe

from grasp.control.wire import SiteFlag

pytestmark = pytest.mark.packet


@pytest.fixture
def build() -> Iterator[Callable[..., Network]]:
    """Builds networks whose sites are known everywhere: site n has 10,000 x (n + 1) mWh."""
    built = []

    def make(size: int, links: list[tuple[int, int]], handshake: int = SERVICE.timeout) -> Network:
        network = Network(size, links, handshake)
        built.append(network)
        for site in range(2 * size):
            network.forecast(site, 1, 10_000 * (site + 1))
        network.beat()
        return network

    yield make
    for network in built:
        network.close()


def agree(network: Network, site: int) -> bool:
    """Whether all switches know the same of a site, and their next hops lead there without a loop."""
    states = [switch.read_site(site) for switch in network.switches]
    if len({(s.epoch, s.headroom, bool(s.flags & SiteFlag.ALIVE)) for s in states}) > 1:
        return False
    for start in range(network.size):
        at = start
        for _ in range(network.size):
            if at == site // 2:
                break
            at = states[at].next_hop - 10
        if at != site // 2 or states[at].next_hop != server_of(site).port:
            return False
    return True


TOPOLOGIES = pytest.mark.parametrize(
    ("size", "links"),
    [
        (1, []),
        (2, [(0, 1)]),
        (3, ring(3)),
        (4, [(0, 1), (1, 2), (2, 3)]),
        (8, ring(8)),
        (5, mesh(5)),
        (6, [*ring(6), (0, 3), (1, 4)]),
    ],
    ids=["one", "two", "ring-3", "line-4", "ring-8", "mesh-5", "ladder-6"],
)


@TOPOLOGIES
def test_probes_reach_every_switch_and_end(
    build: Callable[..., Network], size: int, links: list[tuple[int, int]]
) -> None:
    network = build(size, links)
    assert all(agree(network, site) for site in range(2 * size))
    before = network.carried
    network.beat()
    # Over each link a piece of news goes at least once and, with one accepted copy per switch, at most twice.
    assert network.carried - before <= 2 * size * 2 * len(links)
    assert all(agree(network, site) for site in range(2 * size))


def test_the_shortest_of_equally_busy_paths_is_taken(build: Callable[..., Network]) -> None:
    network = build(5, ring(5))
    assert [network.switches[n].read_site(0).next_hop for n in range(5)] == [3, 10, 11, 14, 10]


def test_an_old_probe_does_not_travel_again(build: Callable[..., Network]) -> None:
    network = build(3, ring(3))
    for _ in range(5):
        network.beat()
    before = network.carried
    for switch, port in ((0, 11), (0, 12), (1, 12), (2, 10)):
        for sequence in range(5):
            assert network.send(switch, port, probe(0, epoch=1, sequence=sequence, headroom=10**9)) == []
    assert network.carried == before
    assert all(agree(network, site) for site in range(6))


@TOPOLOGIES
def test_a_job_is_charged_once_at_its_site_and_everyone_learns_of_it(
    build: Callable[..., Network], size: int, links: list[tuple[int, int]]
) -> None:
    network = build(size, links)
    best = 2 * size - 1
    for switch in range(size):
        for _ in range(2):  # the second is a repetition
            assert network.request(switch, 40000) == best
        assert network.respond(best, switch, 40000, "SA")
        assert network.request(switch, 40000, "A") == best
        network.beat()
        expected = 10_000 * size * 2 - SERVICE.energy * (switch + 1)
        assert [s.read_site(best).headroom for s in network.switches] == [expected] * size


def test_many_jobs_are_shared_out_as_if_one_had_chosen(build: Callable[..., Network]) -> None:
    """With a heartbeat after each job every switch sees the same, and chooses the best of all sites."""
    network = build(3, ring(3))
    headrooms = [10_000 * (n + 1) for n in range(6)]
    chance = Random(3)
    for job in range(150):
        best = max(range(6), key=lambda n: (headrooms[n], -n))
        assert network.request(chance.randrange(3), 40000 + job) == best
        headrooms[best] -= SERVICE.energy
        network.beat()


def test_a_dead_agents_site_gets_no_job_anywhere_whatever_its_forecasts(
    build: Callable[..., Network],
) -> None:
    network = build(3, ring(3))
    assert network.request(0, 40000) == 5
    network.silent.add(5)
    for epoch in (2, 3, 4, 5):
        network.beat()
        network.forecast(5, epoch, 10**9)
    for switch in range(3):
        assert not network.switches[switch].read_site(5).flags & SiteFlag.ALIVE
        assert network.request(switch, 40001) == 4
    assert network.request(0, 40000, "A") == 5  # what it has, it keeps
    network.silent.clear()
    network.beat()
    assert [network.request(switch, 40002) for switch in range(3)] == [5, 5, 5]


def test_connections_survive_a_cut_link(build: Callable[..., Network]) -> None:
    network = build(3, ring(3))
    assert network.request(0, 40000) == 5
    network.cut(0, 2)
    network.beat()
    network.route()
    assert network.request(0, 40000, "A") == 5
    assert network.respond(5, 0, 40000)
    assert network.request(0, 40001) == 5
    network.beat()
    assert all(agree(network, site) for site in range(6))


def test_a_steady_flow_survives_a_cut_link(build: Callable[..., Network]) -> None:
    """Packets that follow each other within the flowlet gap, all along."""
    network = build(3, ring(3))
    assert network.request(0, 40000) == 5
    network.cut(0, 2)
    reached = []
    for _ in range(5):
        network.beat()
        for step in range(10):
            for switch in network.switches:
                switch.advance(BEAT // 100)
            if step:
                reached.append(network.request(0, 40000, "A"))
    assert reached[-1] == 5
    lost = reached.count(None) / 9
    assert lost <= EXPIRY / BEAT + 1


def test_without_a_path_a_site_is_not_chosen(build: Callable[..., Network]) -> None:
    network = build(2, [(0, 1)])
    network.cut(0, 1)
    for _ in range(EXPIRY // BEAT + 1):
        network.beat()
    network.route()
    assert network.request(0, 40000) == 1
    assert network.request(1, 40000) == 3
    assert network.switches[0].read_site(3).flags & SiteFlag.ALIVE == 0


@pytest.mark.parametrize("restarted", [0, 1, 2], ids=["ingress", "between", "site"])
def test_connections_survive_a_restarted_switch(build: Callable[..., Network], restarted: int) -> None:
    """The ingress switch learns its connections from what servers send; no other needs to know them."""
    network = build(3, [(0, 1), (1, 2)])
    assert network.request(0, 40000) == 5
    assert network.respond(5, 0, 40000, "SA")
    network.beat()
    network.restart(restarted)
    network.beat()
    network.forecast(4, 2, 10**9)
    assert network.respond(5, 0, 40000)
    assert network.request(0, 40000, "A") == 5
    assert network.respond(5, 0, 40000)


def test_a_handshake_survives_a_restarted_switch(build: Callable[..., Network]) -> None:
    network = build(3, ring(3))
    assert network.request(0, 40000) == 5
    network.restart(0)
    network.beat()
    assert network.respond(5, 0, 40000, "SA")
    assert network.request(0, 40000, "A") == 5


def test_an_attempt_that_was_given_up_leaves_the_next_one_alone(build: Callable[..., Network]) -> None:
    network = build(3, ring(3), handshake=2 * BEAT)
    assert network.request(0, 40000) == 5
    for _ in range(3):
        network.beat()
    network.forecast(3, 2, 10**9)
    assert network.request(0, 40000, "A") is None
    assert network.request(0, 40000) == 3
    assert not network.respond(5, 0, 40000, "SA")
    assert network.respond(3, 0, 40000, "SA")
    assert network.request(0, 40000, "A") == 3
    for _ in range(3):
        network.beat()
    assert not network.respond(5, 0, 40000, "SA")
    assert network.respond(3, 0, 40000)
    assert network.request(0, 40000, "A") == 3


def test_a_restarted_site_switch_is_believed_again(build: Callable[..., Network]) -> None:
    network = build(3, ring(3))
    for _ in range(20):
        network.beat()
    for n in range(3):
        assert network.request(0, 40000 + n) == 5
    network.restart(2)
    for _ in range(EXPIRY // BEAT + 2):
        network.beat()
    assert all(agree(network, site) for site in range(6))
    assert network.switches[0].read_site(5).headroom == 60_000 - 3 * SERVICE.energy
    assert network.request(0, 41000) == 5


def test_a_new_epoch_makes_a_restarted_site_switch_believed_at_once(build: Callable[..., Network]) -> None:
    network = build(3, ring(3))
    for _ in range(20):
        network.beat()
    network.restart(2)
    network.beat()
    network.forecast(5, 2, 70_000)
    assert agree(network, 5)


EVENTS = {
    "open": 20.0, "again": 10.0, "late": 10.0, "client": 40.0, "server": 40.0, "close": 8.0, "reset": 4.0,
    "reopen": 8.0, "beat": 10.0, "forecast": 5.0, "restart": 1.0, "silence": 2.0, "cut": 0.3,
}  # fmt: skip


class Story:
    """Random events in a network, and what must hold: a connection has its site for as long as it lives."""

    def __init__(self, network: Network, chance: Random) -> None:
        self.network = network
        self.chance = chance
        self.homes: dict[tuple[int, int], int] = {}
        self.established: set[tuple[int, int]] = set()
        self.given_up: list[tuple[tuple[int, int], int]] = []  # attempts, and the site of each
        self.closed: list[tuple[int, int]] = []
        self.ports = 10_000
        self.epoch = 1

    def any(self) -> tuple[int, int]:
        return self.chance.choice(list(self.homes))

    def start(self, key: tuple[int, int]) -> None:
        site = self.network.request(*key)
        if site is not None:
            self.homes[key] = site

    def client_sends(self, key: tuple[int, int], flags: str) -> bool:
        """Whether it gets through; if so, to the connection's site."""
        site = self.network.request(*key, flags)
        assert site in (self.homes[key], None), f"{key} moved from {self.homes[key]} to {site}"
        if site is not None:
            self.established.add(key)
        return site is not None

    def forget(self, key: tuple[int, int]) -> None:
        self.closed.append(key)
        self.established.discard(key)
        del self.homes[key]

    def open(self) -> None:
        self.ports += 1
        self.start((self.chance.randrange(self.network.size), self.ports))

    def again(self) -> None:
        """A client that has no answer yet repeats its SYN: another attempt, if the first is forgotten."""
        key = self.any()
        if key not in self.established:
            home = self.homes[key]
            self.start(key)
            if self.homes[key] != home:
                self.given_up.append((key, home))

    def late(self) -> None:
        """The answer to an attempt that was given up comes when another was made."""
        if self.given_up:
            key, site = self.chance.choice(self.given_up)
            if key in self.established and self.homes[key] != site and self.client_sends(key, "A"):
                assert not self.network.respond(site, *key, "SA")

    def client(self) -> None:
        self.client_sends(self.any(), "A")

    def server(self) -> None:
        key = self.any()
        self.network.respond(self.homes[key], *key)

    def close(self) -> None:
        """In good order, if the switch of the client knows the connection."""
        key = self.any()
        if self.client_sends(key, "FA"):
            assert self.network.respond(self.homes[key], *key, "FA")
            assert self.client_sends(key, "A")
            self.forget(key)

    def reset(self) -> None:
        key = self.any()
        if self.client_sends(key, "R"):
            self.forget(key)

    def reopen(self) -> None:
        """The same port again: another connection, and another site if that is better now."""
        if self.closed:
            self.start(self.closed.pop())

    def beat(self) -> None:
        self.network.beat()

    def forecast(self) -> None:
        self.epoch += self.chance.random() < 0.3
        self.network.forecast(
            self.chance.randrange(2 * self.network.size), self.epoch, self.chance.randrange(10**5)
        )

    def restart(self) -> None:
        self.network.restart(self.chance.randrange(self.network.size))

    def silence(self) -> None:
        self.network.silent ^= {self.chance.randrange(2 * self.network.size)}

    def cut(self) -> None:
        if len(self.network.links) > self.network.size:
            self.network.cut(0, 2)
            self.network.route()


@pytest.mark.parametrize("seed", range(6))
def test_no_connection_ever_moves(build: Callable[..., Network], seed: int) -> None:
    """Anything may happen, in any order; a connection stays on its site, or nothing gets through."""
    chance = Random(seed)
    size = chance.choice([3, 4, 5])
    story = Story(build(size, [*ring(size), (0, 2)], handshake=2 * BEAT), chance)
    for _ in range(10):
        story.open()
    for event in chance.choices(list(EVENTS), list(EVENTS.values()), k=700):
        if story.homes:
            getattr(story, event)()
    assert len(story.homes) > 20
    for _ in range(EXPIRY // BEAT + 2):
        story.beat()
    for key, site in story.homes.items():
        assert story.network.respond(site, *key)
        assert story.network.request(*key, "A") == site
