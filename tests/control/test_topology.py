# SPDX-License-Identifier: Apache-2.0
import itertools

from hypothesis import given
from hypothesis import strategies as st
from sample import RING, ring

from grasp.control.topology import Link, Port, Topology

A, B, C = Port("a", 1), Port("b", 1), Port("c", 1)


def test_a_link_needs_both_directions():
    topology = Topology(missed=3)
    assert not topology.heard(A, B)
    assert topology.links == frozenset()
    assert topology.heard(B, A)
    assert topology.links == {Link(A, B)}
    assert not topology.heard(A, B)


def test_a_link_vanishes_after_the_rounds_it_may_miss():
    topology = Topology(missed=3)
    topology.heard(A, B)
    topology.heard(B, A)
    assert [topology.next_round() for _ in range(4)] == [False, False, False, True]
    assert topology.links == frozenset()
    topology.heard(A, B)
    assert topology.heard(B, A), "and appears again"


def test_a_link_that_carries_one_direction_only_is_gone():
    topology = ring()
    for _ in range(8):
        topology.heard(RING[0].a, RING[0].b)
        topology.next_round()
    assert topology.links == frozenset()


def test_a_link_that_is_heard_of_stays():
    topology = Topology(missed=1, links=[Link(A, B)])
    for _ in range(10):
        topology.heard(A, B)
        topology.heard(B, A)
        assert not topology.next_round()
    assert topology.links == {Link(A, B)}


def test_links_from_before_are_believed_for_longer():
    topology = Topology(missed=2, links=[Link(A, B)])
    assert [topology.next_round() for _ in range(5)] == [False, False, False, False, True]


def test_a_cable_that_was_moved_ends_the_old_link():
    topology = Topology(missed=3, links=[Link(A, B)])
    assert topology.heard(A, C)
    assert topology.links == frozenset()
    assert topology.heard(C, A)
    assert topology.links == {Link(A, C)}


def test_a_cable_between_two_ports_of_a_switch_is_no_link():
    topology = Topology(missed=3)
    assert not topology.heard(Port("a", 1), Port("a", 2))
    assert not topology.heard(Port("a", 2), Port("a", 1))
    assert topology.links == frozenset()


def test_a_port_where_a_host_appears_is_forgotten():
    topology = ring()
    assert topology.forget(Port("florida", 1))
    assert not topology.forget(Port("florida", 1))
    assert topology.links == {RING[0], RING[2]}
    assert topology.trunks("florida") == {2}


def test_the_ring():
    topology = ring()
    assert topology.trunks("new-york") == {1, 2}
    assert topology.next_hops("florida") == {"new-york": 1, "california": 2}
    topology.forget(Port("florida", 2))
    assert topology.next_hops("florida") == {"california": 2, "new-york": 2}, "the long way round"


def test_of_parallel_links_the_lowest_port_is_taken():
    links = [Link(Port("a", port), Port("b", 10 - port)) for port in (3, 1, 2)]
    assert Topology(3, links).next_hops("b") == {"a": 1}
    assert Topology(3, links).next_hops("a") == {"b": 7}


switches = st.sampled_from("abcdef")


@given(st.lists(st.tuples(switches, switches).filter(lambda pair: pair[0] != pair[1]), max_size=14))
def test_next_hops_follow_shortest_paths(pairs):
    ports = {switch: itertools.count(1) for switch in "abcdef"}
    links = [Link.between(Port(a, next(ports[a])), Port(b, next(ports[b]))) for a, b in pairs]
    topology = Topology(3, links)
    # Floyd and Warshall, an independent truth.
    distance = {(a, b): 0 if a == b else 99 for a in "abcdef" for b in "abcdef"}
    distance |= {(a, b): 1 for pair in pairs for a, b in (pair, pair[::-1])}
    for via, a, b in itertools.product("abcdef", repeat=3):
        distance[a, b] = min(distance[a, b], distance[a, via] + distance[via, b])
    peers = {end: other for link in links for end, other in (link, link[::-1])}
    for destination in "abcdef":
        hops = topology.next_hops(destination)
        assert hops.keys() == {s for s in "abcdef" if 0 < distance[s, destination] < 99}
        for switch, port in hops.items():
            shortest = {
                end.port
                for end, other in peers.items()
                if end.switch == switch
                and distance[other.switch, destination] == distance[switch, destination] - 1
            }
            assert port == min(shortest)


@given(st.permutations(RING))
def test_the_order_in_which_links_are_found_does_not_matter(order):
    assert Topology(3, order).next_hops("california") == ring().next_hops("california")
