# SPDX-License-Identifier: Apache-2.0
from ipaddress import IPv4Address

import pytest
from sample import PLACES, example, ring

from grasp.control.desired import desired, edge_ports
from grasp.control.state import TABLES, Entry, Prefix
from grasp.control.topology import Port, Topology

CONFIG = example()
GATEWAY = 0x0200000000FE


def address(text):
    return int(IPv4Address(text))


def table(state, name):
    """Entries of a table: match to action and parameters."""
    return {
        entry.match: (entry.action, *entry.params) for entry in state.entries.values() if entry.table == name
    }


def test_the_whole_of_a_switch():
    """New York: alice at port 3, elmira (site 0) at 4; Florida is behind port 1, California behind 2."""
    state = desired("new-york", CONFIG, PLACES, ring())
    alice, elmira = 0x020000000200, 0x020000000100
    assert table(state, "ports") == {
        (1,): ("set_role", 1),
        (2,): ("set_role", 1),
        (3,): ("set_role", 2),
        (4,): ("set_role", 2),
    }
    assert table(state, "sources") == {
        (3, alice, address("10.0.1.21")): ("NoAction",),
        (4, elmira, address("10.0.1.11")): ("NoAction",),
    }
    assert table(state, "arp_responder") == {
        (address(text),): ("answer_arp", GATEWAY)
        for text in ("10.100.0.1", "10.0.1.254", "10.0.2.254", "10.0.3.254")
    }
    assert table(state, "local_sites") == {(0,): ("deliver_to_site", 4, elmira)}
    servers = {0: "10.0.1.11", 1: "10.0.2.11", 2: "10.0.3.11"}
    assert table(state, "site_servers") == {
        (site,): ("set_server", address(text)) for site, text in servers.items()
    }
    assert table(state, "site_addresses") == {
        (address(text),): ("set_destination_site", site) for site, text in servers.items()
    }
    assert table(state, "site_sources") == {
        (address(text),): ("set_source_site", site) for site, text in servers.items()
    }
    vip = address("10.100.0.1")
    assert table(state, "services") == {
        (vip, 6, 80): ("set_service", 1, 8080, 250_000, 300_000_000),
        (vip, 17, 53): ("set_service", 2, 5353, 500, 10_000_000),
    }
    assert table(state, "site_services") == {
        (6, 8080): ("set_site_service", 1, vip, 80, 250_000, 300_000_000),
        (17, 5353): ("set_site_service", 2, vip, 53, 500, 10_000_000),
    }
    assert table(state, "routes") == {
        (Prefix(address("10.0.1.21"), 32),): ("deliver", 3, alice),
        (Prefix(address("10.0.1.11"), 32),): ("deliver", 4, elmira),
        (Prefix(address("10.0.2.11"), 32),): ("forward", 1),
        (Prefix(address("10.0.3.11"), 32),): ("forward", 2),
        (Prefix(address("10.0.3.21"), 32),): ("forward", 2),
    }
    assert table(state, "parameters") == {
        (): ("set_parameters", 500_000, 1_000_000, 10_000_000, 50_000, GATEWAY)
    }
    assert table(state, "pinned") == {}
    assert state.groups == {1: {1, 2}, 2: {1, 2, 255}}
    assert sum(len(table(state, name)) for name in TABLES) == len(state.entries)


def test_a_site_that_has_not_registered_is_nowhere():
    state = desired("florida", CONFIG, {}, ring())
    assert table(state, "local_sites") == {}
    assert (Prefix(address("10.0.2.11"), 32),) not in table(state, "routes")
    assert (4,) not in table(state, "ports"), "its port may still turn out to be a trunk"
    assert (1,) in table(state, "site_servers"), "but its address is known everywhere"


def test_the_port_to_which_a_site_is_pinned_is_an_edge_from_the_start():
    assert Port("new-york", 4) in edge_ports(CONFIG, {})
    state = desired("new-york", CONFIG, {}, ring())
    assert table(state, "ports")[4,] == ("set_role", 2)
    assert table(state, "sources").keys() == {(3, 0x020000000200, address("10.0.1.21"))}


def test_without_links_there_are_no_trunks_and_no_routes_to_others():
    state = desired("new-york", CONFIG, PLACES, Topology(3))
    assert table(state, "ports").keys() == {(3,), (4,)}
    assert {route[0] for route in table(state, "routes").values()} == {"deliver"}
    assert state.groups == {2: {255}}, "answers still reach the controller"


def test_a_host_at_the_end_of_a_supposed_link_makes_the_port_an_edge():
    state = desired("california", CONFIG, PLACES | {1: Port("california", 1)}, ring())
    assert table(state, "ports")[1,] == ("set_role", 2)
    assert state.groups[1] == {2}


def test_a_broken_ring_is_routed_the_long_way_round():
    topology = ring()
    topology.forget(Port("california", 1))
    routes = table(desired("new-york", CONFIG, PLACES, topology), "routes")
    assert routes[Prefix(address("10.0.3.21"), 32),] == ("forward", 1)


def test_pinned_connections_belong_to_the_state():
    pin = Entry("pinned", (1, address("10.0.1.21"), 40_000), "pin", (2,), 300_000_000)
    state = desired("new-york", CONFIG, PLACES, ring(), [pin])
    assert state.entries[pin.key] == pin


@pytest.mark.parametrize("switch", ["new-york", "florida", "california"])
def test_entries_fit_the_program(switch):
    for entry in desired(switch, CONFIG, PLACES, ring()).entries.values():
        declared = TABLES[entry.table]
        assert len(entry.match) == len(declared.keys)
        assert len(entry.params) == len(declared.actions[entry.action])
        assert all(type(value) in (int, Prefix) or isinstance(value, int) for value in entry.match)
