# SPDX-License-Identifier: Apache-2.0
"""The core as a driver sees it, against three modelled switches in a ring, with time that the test gives."""

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample import EPOCH, NOW, PLACES, RING, SECOND, Agent, Random, example
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from site_model import SwitchModel

from grasp.control.core import Core, Event, Install, Reconcile, Remove, Send
from grasp.control.state import SwitchState, diff
from grasp.control.store import Store
from grasp.control.topology import Port
from grasp.control.wire import CPU_PORT, Discovery, Operation, PacketIn, PacketOut, Reason, Status
from grasp.schedulers.registry import scheduler
from grasp.telemetry.protocol import Frame, FrameType, Refusal

CABLES = {end: other for link in RING for end, other in (link, link[::-1])}
NAMES = ("new-york", "florida", "california")


@dataclass
class World:
    """Carries out the core's actions: operations are answered, discovery frames cross the ring's cables."""

    config: object
    core: Core
    store: Store
    switches: dict[str, SwitchModel]
    tables: dict[str, SwitchState] = field(default_factory=lambda: dict.fromkeys(NAMES, SwitchState()))
    cables: dict[Port, Port] = field(default_factory=lambda: dict(CABLES))
    events: list[Event] = field(default_factory=list)
    transmitted: dict[Port, list[Frame]] = field(default_factory=dict)
    injected: list[tuple[str, PacketOut, bytes]] = field(default_factory=list)
    connected: set[str] = field(default_factory=set)
    now: int = NOW

    def perform(self, actions):
        for action in actions:
            if isinstance(action, Event):
                self.events.append(action)
                continue
            assert action.switch in self.connected, "nothing is asked of a switch that is away"
            if isinstance(action, Reconcile):
                self.tables[action.switch] = self.core.desired(action.switch)
                local = [key[1][0] for key in self.tables[action.switch].entries if key[0] == "local_sites"]
                self.switches[action.switch].local = set(local)
            elif isinstance(action, Install):
                self.perform(self.core.pin_installed(action.switch, action.entry))
            elif isinstance(action, Send):
                self.send(action)

    def send(self, action):
        packet, at = action.packet, Port(action.switch, action.packet.port)
        if packet.operation is Operation.INJECT:
            self.injected.append((action.switch, packet, action.payload))
        elif packet.operation is not Operation.TRANSMIT:
            answer = self.switches[action.switch].operate(packet)
            self.perform(self.core.packet_in(action.switch, answer, b"", self.now))
        elif at in self.cables and self.cables[at].switch in self.connected:
            self.arrive(self.cables[at], action.payload, Reason.DISCOVERY)
        else:
            self.transmitted.setdefault(at, []).append(Frame.from_bytes(action.payload))

    def arrive(self, at, payload, reason):
        header = PacketIn(reason, Status.OK, at.port)
        self.perform(self.core.packet_in(at.switch, header, payload, self.now))

    def connect(self, *names):
        for name in names:
            self.connected.add(name)
            self.perform(self.core.connected(name, self.now))

    def disconnect(self, name):
        self.connected.discard(name)
        self.core.disconnected(name)

    def wait(self, time):
        """Let time pass, ticking as the core asks."""
        end = self.now + time
        while (following := self.core.next_tick(self.now)) <= end:
            self.now = max(following, self.now + 1)
            self.perform(self.core.tick(self.now))
        self.now = end

    def agent_sends(self, frame, at):
        """Return the answer to an agent's frame, if there is one."""
        before = len(self.transmitted.get(at, []))
        self.arrive(at, frame.to_bytes(), Reason.AGENT)
        answers = self.transmitted.get(at, [])[before:]
        assert len(answers) <= 1
        return answers[0] if answers else None

    def registered(self, number):
        agent = Agent.of(number)
        agent.registered(self.agent_sends(agent.register(self.now), PLACES[number]))
        self.switches[PLACES[number].switch].heard.add(number)
        return agent

    def report(self, agent, energy, epoch=EPOCH):
        answer = self.agent_sends(
            agent.report(self.now, epoch=epoch, green_energy=energy), PLACES[agent.site.id]
        )
        assert agent.reported(answer).status is Refusal.NONE

    def site(self, number):
        return self.switches[PLACES[number].switch].sites[number]

    def names(self):
        return Counter(event.name for event in self.events)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store"


def begin(path, config=None, **kept):
    config = config or example()
    store = Store(path)
    core = Core(config, scheduler(config.scheduler), store, kept.get("now", NOW), Random())
    switches = kept.pop("switches", None) or {name: SwitchModel() for name in NAMES}
    return World(config, core, store, switches, **kept)


@pytest.fixture
def world(path):
    world = begin(path)
    yield world
    world.store.close()


def test_links_are_complete_as_soon_as_the_switches_are_there(world):
    world.connect(*NAMES)
    assert world.names()["link_up"] == 3
    assert {name: world.tables[name].groups[1] for name in NAMES} == {name: {1, 2} for name in NAMES}
    link = next(event.fields for event in world.events if event.name == "link_up")
    assert link == {"a": "florida", "a_port": 2, "b": "new-york", "b_port": 1}


def test_no_discovery_frame_leaves_where_hosts_are(world):
    world.connect(*NAMES)
    world.transmitted.clear()
    world.wait(5 * SECOND)
    assert set(world.transmitted) == {Port("florida", 3), Port("florida", 4), Port("california", 4)}
    assert world.names() == Counter(link_up=3, epoch=1)


def test_from_registration_to_a_confirmed_forecast(world):
    world.connect(*NAMES)
    agent = world.registered(1)
    assert world.tables["florida"].entries["local_sites", (1,)].params == (4, 0x020000000101)
    assert all(diff(world.core.desired(name), world.tables[name]).insert == () for name in NAMES)
    world.report(agent, 1234.5)
    assert (world.site(1).epoch, world.site(1).headroom) == (EPOCH, 1_234_500)
    assert Event("registered", {"site": "homestead", "id": 1, "switch": "florida", "port": 4}) in world.events
    acknowledged = {"site": "homestead", "switch": "florida", "epoch": EPOCH, "budget_wh": 1234.5}
    assert Event("forecast_acknowledged", acknowledged) in world.events
    assert world.core.counters["packets_registration"] == world.core.counters["packets_report"] == 1


def test_what_is_reported_in_advance_is_set_when_its_epoch_begins(world):
    world.connect(*NAMES)
    agents = [world.registered(number) for number in PLACES]
    for agent in agents:
        world.report(agent, 10.0, EPOCH)
        world.report(agent, 20.0 + agent.site.id, EPOCH + 1)
    assert [world.site(number).budget for number in PLACES] == [10_000] * 3
    world.wait((EPOCH + 1) * 3600 * SECOND - world.now - 1)
    assert [world.site(number).epoch for number in PLACES] == [EPOCH] * 3
    world.wait(1)
    assert [world.site(number).budget for number in PLACES] == [20_000, 21_000, 22_000]
    assert world.events[-4:][0] == Event("epoch", {"epoch": EPOCH + 1})


def test_round_robin_gives_nobody_a_budget(path):
    world = begin(path, example(('scheduler = "green"', 'scheduler = "round-robin"')))
    world.connect(*NAMES)
    for number in PLACES:
        world.report(world.registered(number), 500.0 * number)
    assert [world.site(number).budget for number in PLACES] == [0, 0, 0]
    assert world.names()["forecast_acknowledged"] == 3


def test_a_refused_message_is_counted_and_changes_nothing(world, path):
    world.connect(*NAMES)
    agent = world.registered(1)
    world.report(agent, 10.0)
    tables, saved = dict(world.tables), world.store.load()
    assert world.agent_sends(agent.register(world.now + 1), PLACES[2]) is None
    assert world.agent_sends(agent.register(world.now + 2, name="boston"), PLACES[1]) is None
    recorded = agent.report(world.now)
    world.agent_sends(recorded, PLACES[1])
    saved_after_one_more = world.store.load()
    assert world.agent_sends(recorded, PLACES[1]) is None
    told = agent.reported(world.agent_sends(agent.report(world.now, green_energy=-1.0), PLACES[1]))
    assert told.status is Refusal.NEGATIVE
    world.arrive(PLACES[1], b"\xff" * 60, Reason.AGENT)
    refused = {name: n for name, n in world.core.counters.items() if name.startswith("refused")}
    assert refused == dict.fromkeys(
        ["refused_alive", "refused_unenrolled", "refused_replay", "refused_negative", "refused_malformed"], 1
    )
    assert world.names()["refused"] == 5
    assert world.tables == tables
    assert (world.site(1).budget, saved.forecasts[0].energy_wh) == (1_000_000, 10.0)
    assert world.store.load() == saved_after_one_more
    assert world.core.counters["packets_other"] == 1


def test_a_cut_link_is_noticed_and_routed_around_and_comes_back(world):
    world.connect(*NAMES)
    bob = ("routes", ((0x0A000315, 32),))
    assert world.tables["new-york"].entries[bob].params == (2,)
    for end in (Port("california", 1), Port("new-york", 2)):
        del world.cables[end]
    world.wait(4 * SECOND)
    assert world.names()["link_down"] == 1
    assert world.tables["new-york"].entries[bob].params == (1,), "through Florida"
    assert world.tables["new-york"].groups == {1: {1}, 2: {1, CPU_PORT}}
    world.cables.update(CABLES)
    world.wait(SECOND)
    assert world.names()["link_up"] == 4
    assert world.tables["new-york"].entries[bob].params == (2,)


def test_a_forged_or_replayed_discovery_frame_makes_no_link(world):
    world.connect(*NAMES)
    before = world.core.desired("florida")
    forged = Discovery(1, 4, world.now).seal(bytes(32)).to_bytes()
    real = world.transmitted[Port("florida", 3)][0].to_bytes()
    for payload in (forged, b"", real[:-1]):
        world.arrive(Port("florida", 4), payload, Reason.DISCOVERY)
    world.arrive(Port("california", 3), real, Reason.DISCOVERY)  # bob, who got hold of it
    world.now += 4 * SECOND
    world.arrive(Port("california", 4), real, Reason.DISCOVERY)  # too old
    assert world.core.counters["refused_discovery"] == 5
    assert world.core.desired("florida") == before


def test_a_site_that_registers_ends_a_supposed_link(world):
    world.connect(*NAMES)
    agent = Agent.of(1)
    at = Port("florida", 1)
    cable = world.cables.pop(at)
    agent.registered(world.agent_sends(agent.register(world.now), at))
    assert world.names()["link_down"] == 1
    world.cables[at] = cable
    assert world.tables["florida"].entries["ports", (1,)].params == (2,)
    world.wait(3 * SECOND)
    assert world.names()["link_up"] == 3, "and the cable does not become one again"


def test_a_restarted_switch_is_brought_back_with_what_was_spent(world):
    world.connect(*NAMES)
    agent = world.registered(1)
    world.report(agent, 10.0)
    world.switches["florida"].charge(1, 4000)
    world.wait(2 * SECOND)
    world.disconnect("florida")
    world.switches["florida"].restart()
    world.tables["florida"] = SwitchState()
    world.connect("florida")
    assert (world.site(1).budget, world.site(1).headroom) == (10_000, 6000)
    assert world.tables["florida"] == world.core.desired("florida")


@pytest.mark.parametrize("switch_restarts_too", [False, True])
def test_a_restarted_controller_takes_over_without_changing_anything(path, switch_restarts_too):
    world = begin(path)
    world.connect(*NAMES)
    agents = [world.registered(number) for number in PLACES]
    for agent in agents:
        world.report(agent, 10.0)
    world.switches["florida"].charge(1, 4000)
    world.perform(world.core.drain(2, True, world.now))
    world.wait(2 * SECOND)
    tables = dict(world.tables)
    world.store.close()

    if switch_restarts_too:
        world.switches["florida"].restart()
    after = begin(path, switches=world.switches, now=world.now + SECOND, tables=dict(tables))
    assert {name: after.core.desired(name) for name in NAMES} == tables, (
        "even before the first switch is there"
    )
    after.connect(*NAMES)
    after.wait(10 * SECOND)
    assert after.tables == tables
    assert (after.site(1).budget, after.site(1).headroom) == (10_000, 6000)
    assert after.site(2).flags & 2
    assert after.names()["link_down"] == after.names()["registered"] == 0
    after.report(agents[1], 11.0)
    assert after.site(1).headroom == 7000
    stale = after.agent_sends(agents[0].report(after.now - 31 * SECOND), PLACES[0])
    assert stale is None


def test_a_drain_reaches_the_switch_and_is_undone(world):
    world.connect(*NAMES)
    world.report(world.registered(1), 10.0)
    world.perform(world.core.drain(1, True, world.now))
    assert world.site(1).flags & 2
    assert world.core.status(world.now)["sites"][1]["drained"] is True
    world.perform(world.core.drain(1, False, world.now))
    assert not world.site(1).flags & 2
    assert [event.name for event in world.events[-2:]] == ["drained", "undrained"]


def test_connections_that_overflow_are_pinned_injected_and_end(world):
    world.connect(*NAMES)
    syn = bytes(Ether() / IP(src="10.0.1.21", dst="10.100.0.1") / TCP(sport=40_000, dport=80, flags="S"))
    header = PacketIn(Reason.OVERFLOW, ingress_port=3, site=2, service=1)
    world.perform(world.core.packet_in("new-york", header, syn, world.now))
    assert world.injected == [("new-york", PacketOut(Operation.INJECT, flags=1, port=3), syn)]
    [(_, pin)] = world.store.load().pins
    assert world.core.desired("new-york").entries[pin.key] == pin
    assert pin.key not in world.core.desired("florida").entries
    assert world.core.pin_idle("new-york", pin) == [Remove("new-york", pin)]
    assert world.store.load().pins == ()
    assert world.core.counters["packets_overflow"] == 1


def test_a_pin_that_fails_is_told_and_asked_for_again(world):
    world.connect(*NAMES)
    syn = bytes(Ether() / IP(src="10.0.1.21") / TCP(sport=40_000, flags="S"))
    header = PacketIn(Reason.OVERFLOW, ingress_port=3, site=2, service=1)
    [install] = world.core.packet_in("new-york", header, syn, world.now)
    assert world.core.pin_failed("new-york", install.entry) == [
        Event("pin_failed", {"switch": "new-york", "site": "lompoc"})
    ]
    assert world.core.packet_in("new-york", header, syn, world.now) == [install]


def test_pins_found_on_a_switch_are_adopted(world):
    syn = bytes(Ether() / IP(src="10.0.1.21") / TCP(sport=40_000, flags="S"))
    header = PacketIn(Reason.OVERFLOW, ingress_port=3, site=2, service=1)
    [install] = world.core.packet_in("new-york", header, syn, world.now)
    world.core.disconnected("new-york")
    assert world.core.pin_installed("new-york", install.entry) == []
    assert install.entry.key in world.core.desired("new-york").entries


def test_the_status_names_everything(world):
    world.connect(*NAMES)
    world.report(world.registered(1), 10.0)
    world.switches["florida"].charge(1, 2500)
    world.wait(2 * SECOND)
    status = world.core.status(world.now)
    assert status["epoch"] == EPOCH
    assert status["sites"][1] == {
        "site": "homestead", "id": 1, "switch": "florida", "port": 4, "alive": True, "drained": False,
        "epoch": EPOCH, "budget_wh": 10.0, "headroom_wh": 7.5,
    }  # fmt: skip
    assert status["sites"][0]["switch"] is None
    assert len(status["links"]) == 3


def test_an_operation_is_repeated_until_its_answer_comes(world):
    world.connect(*NAMES)
    agent = world.registered(1)
    actions = world.core.packet_in(
        "florida", PacketIn(Reason.AGENT, ingress_port=4), agent.report(world.now).to_bytes(), world.now
    )
    [reply, operation] = actions
    assert agent.reported(Frame.from_bytes(reply.payload)).status is Refusal.NONE
    assert operation.packet.operation is Operation.SET_FORECAST
    assert operation in world.core.tick(world.now + SECOND // 4)
    assert operation in world.core.tick(world.now + SECOND // 2)


def test_a_report_is_on_the_disk_before_it_is_answered(path, monkeypatch):
    world = begin(path)
    world.connect(*NAMES)
    agent = world.registered(1)
    seen = []
    real = world.core.packet_in

    def packet_in(*arguments):
        actions = real(*arguments)
        seen.append((world.store.load().forecasts, [type(action) for action in actions]))
        return actions

    monkeypatch.setattr(world.core, "packet_in", packet_in)
    world.report(agent, 5.0)
    forecasts, actions = seen[0]
    assert forecasts[0].energy_wh == 5.0
    assert actions[0] is Send


def test_a_clock_that_steps_back_stops_nothing(world):
    world.connect(*NAMES)
    world.wait(SECOND)
    world.now -= 3600 * SECOND
    sent = [action for action in world.core.tick(world.now) if isinstance(action, Send)]
    assert any(action.packet.operation is Operation.TRANSMIT for action in sent)
    assert world.core.next_tick(world.now) <= world.now + SECOND


@given(
    st.binary(max_size=80),
    st.sampled_from([Reason.AGENT, Reason.DISCOVERY, Reason.OVERFLOW]),
    st.integers(0, 600),
)
def test_random_packets_have_no_effect(tmp_path_factory, payload, reason, port):
    world = begin(tmp_path_factory.mktemp("store") / "store")
    world.connect(*NAMES)
    before = {name: world.core.desired(name) for name in NAMES}
    for raw in (payload, bytes(12) + b"\x88\xb5\x01" + payload):
        world.perform(world.core.packet_in("florida", PacketIn(reason, ingress_port=port), raw, world.now))
    assert {name: world.core.desired(name) for name in NAMES} == before
    assert world.injected == []
    world.store.close()


def test_heartbeats_seen_by_the_switch_keep_a_site_alive(world):
    world.connect(*NAMES)
    agent = world.registered(1)
    world.wait(600 * SECOND)  # ten intervals without a report
    assert world.core.status(world.now)["sites"][1]["alive"] is True
    world.switches["florida"].heard.discard(1)
    world.wait(2 * SECOND)
    assert world.core.status(world.now)["sites"][1]["alive"] is False
    assert (world.names()["site_alive"], world.names()["site_silent"]) == (1, 1)
    moved = world.agent_sends(agent.register(world.now), Port("california", 4))
    assert moved.type is FrameType.REGISTERED
    assert "local_sites" not in {table for table, _ in world.tables["florida"].entries}
    assert ("local_sites", (1,)) in world.tables["california"].entries
