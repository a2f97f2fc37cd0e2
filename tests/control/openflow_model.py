# SPDX-License-Identifier: Apache-2.0
"""A network of modelled OpenFlow switches around the baseline: no sockets, and time that the test gives.

Every command passes through os-ken's encoder and decoder, as on a wire, before a switch takes it. A switch is
a list of entries and what the OpenFlow 1.3 specification says about them; packets are scapy's.
"""

import struct
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from os_ken.ofproto import ofproto_parser, ofproto_protocol
from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser
from sample import NOW, PLACES, RING, SECOND, Agent, Random, example, site
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet

from grasp.control.config import Config
from grasp.control.core import Core, Event
from grasp.control.openflow.baseline import Baseline
from grasp.control.openflow.commands import Add, Command
from grasp.control.openflow.flows import Flow
from grasp.control.openflow.messages import from_match, from_stats, is_over, is_refusal, to_message
from grasp.control.store import Store
from grasp.control.topology import Port
from grasp.schedulers.green import Green
from grasp.schedulers.registry import scheduler
from grasp.telemetry.protocol import Frame, heartbeat

VIP, GATEWAY = "10.100.0.1", "02:00:00:00:00:fe"
ALICE, BOB = Port("new-york", 3), Port("california", 3)
CLIENTS = {ALICE: ("02:00:00:00:02:00", "10.0.1.21"), BOB: ("02:00:00:00:02:01", "10.0.3.21")}
WEB_TIMEOUT, JOB = 20 * SECOND, 250_000

CABLES = {end: other for link in RING for end, other in (link, link[::-1])}
NAMES = ("new-york", "florida", "california")

# Where a field of OpenFlow is in a packet of scapy.
_FIELDS = {
    "eth_src": (Ether, "src"), "eth_dst": (Ether, "dst"), "eth_type": (Ether, "type"),
    "ipv4_src": (IP, "src"), "ipv4_dst": (IP, "dst"), "ip_proto": (IP, "proto"),
    "tcp_src": (TCP, "sport"), "tcp_dst": (TCP, "dport"),
    "udp_src": (UDP, "sport"), "udp_dst": (UDP, "dport"),
    "arp_op": (ARP, "op"), "arp_spa": (ARP, "psrc"), "arp_tpa": (ARP, "pdst"),
    "arp_sha": (ARP, "hwsrc"), "arp_tha": (ARP, "hwdst"),
}  # fmt: skip


@dataclass
class PacketOut:
    """A packet-out, which os-ken can only send (OpenFlow 1.3.5, 7.3.7)."""

    in_port: int
    actions: list
    data: bytes

    @classmethod
    def decode(cls, raw: bytes) -> "PacketOut":
        buffer, in_port, length = struct.unpack_from("!IIH6x", raw, 8)
        assert buffer == ofp.OFP_NO_BUFFER
        actions, offset = [], 24
        while offset < 24 + length:
            actions.append(parser.OFPAction.parser(raw, offset))
            offset += actions[-1].len
        return cls(in_port, actions, raw[offset:])


def over_the_wire(message):
    """Encode a message and return what the other end decodes."""
    message.serialize()
    raw = bytes(message.buf)
    version, kind, length, xid = ofproto_parser.header(raw)
    assert length == len(raw)
    if kind == ofp.OFPT_PACKET_OUT:
        return PacketOut.decode(raw)
    return ofproto_parser.msg(protocol(), version, kind, length, xid, raw)


def protocol():
    protocol = ofproto_protocol.ProtocolDesc()
    protocol.set_version(ofp.OFP_VERSION)
    return protocol


@dataclass
class Entry:
    message: parser.OFPFlowMod
    used: int

    @property
    def key(self):
        return self.message.priority, str(sorted(self.message.match.items()))

    def matches(self, port: int, packet: Packet) -> bool:
        for name, value in self.message.match.items():
            if name == "in_port":
                if value != port:
                    return False
                continue
            if name == "tcp_flags":
                if TCP not in packet or int(packet[TCP].flags) & value[1] != value[0]:
                    return False
                continue
            if name not in _FIELDS:
                return False  # no packet here has it
            layer, attribute = _FIELDS[name]
            if layer not in packet or getattr(packet[layer], attribute) != value:
                return False
        return True


@dataclass
class FakeSwitch:
    """The flow table of one switch; `capacity` is how many entries it takes."""

    capacity: int = 10**6
    entries: list[Entry] = field(default_factory=list)

    def take(self, message, now: int) -> bool:
        """Execute a flow modification; False if the table is full."""
        fresh = Entry(message, now)
        same = [entry for entry in self.entries if entry.key == fresh.key]
        if message.command == ofp.OFPFC_DELETE_STRICT:
            for entry in same:
                self.entries.remove(entry)
            return True
        assert message.command == ofp.OFPFC_ADD
        if not same and len(self.entries) >= self.capacity:
            return False
        for entry in same:
            self.entries.remove(entry)
        self.entries.append(fresh)
        return True

    def find(self, port: int, packet: Packet) -> Entry | None:
        matching = [entry for entry in self.entries if entry.matches(port, packet)]
        return max(matching, key=lambda entry: entry.message.priority, default=None)

    def expire(self, now: int) -> list[Entry]:
        """Remove the entries that were idle for their timeout, and return them."""
        over = [
            entry
            for entry in self.entries
            if entry.message.idle_timeout and now - entry.used >= entry.message.idle_timeout * SECOND
        ]
        for entry in over:
            self.entries.remove(entry)
        return over

    def listed(self) -> list[Flow]:
        """What the controller is told of the entries."""
        return from_stats(entry.message for entry in self.entries)

    def connection_entries(self) -> list[Flow]:
        return [flow for flow in self.listed() if flow.cookie]


@dataclass
class Network:
    """The example's ring with its switches, hosts as what arrives at them, and a controller."""

    config: Config
    store: Store
    switches: dict[str, FakeSwitch] = field(default_factory=lambda: {name: FakeSwitch() for name in NAMES})
    arrived: dict[Port, list[Packet]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    connected: set[str] = field(default_factory=set)
    cables: dict[Port, Port] = field(default_factory=lambda: dict(CABLES))
    agents: dict[int, Agent] = field(default_factory=dict)
    handed_over: Counter[str] = field(default_factory=Counter)
    now: int = NOW
    waiting: deque[Command] = field(default_factory=deque)
    is_performing: bool = False

    def __post_init__(self) -> None:
        self.start_controller()

    def start_controller(self) -> None:
        """Start a controller, or another one after the first was killed."""
        self.connected.clear()
        self.core = Core(self.config, Green(), self.store, self.now, Random())
        self.baseline = Baseline(self.config, self.core, scheduler(self.config.scheduler))

    def connect(self, *names: str) -> None:
        for name in names or NAMES:
            self.connected.add(name)
            self.perform(self.baseline.connected(name, self.switches[name].listed(), self.now))

    def disconnect(self, name: str) -> None:
        self.connected.discard(name)
        self.baseline.disconnected(name)

    def perform(self, commands: Iterable[Command]) -> None:
        """Let the switches do what the controller decided, in that order, also what it decides meanwhile.

        All that it had to say is on its way before it hears of an error.
        """
        self.waiting.extend(commands)
        if self.is_performing:
            return
        self.is_performing = True
        refused: deque[tuple[str, int]] = deque()
        while self.waiting or refused:
            if self.waiting:
                self._carry_out(self.waiting.popleft(), refused)
                continue
            switch, number = refused.popleft()
            assert is_refusal(ofp.OFPET_FLOW_MOD_FAILED, b"")
            if number:
                self.waiting.extend(self.baseline.refused(switch, number, self.now))
        self.is_performing = False

    def _carry_out(self, command: Command, refused: deque[tuple[str, int]]) -> None:
        if isinstance(command, Event):
            self.events.append(command)
            return
        assert command.switch in self.connected, "nothing is asked of a switch that is away"
        message = over_the_wire(to_message(protocol(), command))
        if isinstance(message, PacketOut):
            self.execute(command.switch, message.in_port, Ether(message.data), message.actions)
        elif not self.switches[command.switch].take(message, self.now):
            assert isinstance(command, Add)
            refused.append((command.switch, message.xid))

    def receive(self, at: Port, packet: Packet) -> None:
        """Let a frame come in at a port."""
        # Another instance, whose lengths and checksums are what is on the wire.
        packet = Ether(bytes(packet))
        entry = self.switches[at.switch].find(at.port, packet)
        if entry is None:
            return  # fail_mode secure: without a table-miss entry nothing goes anywhere
        entry.used = self.now
        (instruction,) = entry.message.instructions
        self.execute(at.switch, at.port, packet, instruction.actions)

    def execute(self, switch: str, port: int, packet: Packet, actions) -> None:
        packet = packet.copy()
        for action in actions:
            if isinstance(action, parser.OFPActionSetField):
                layer, attribute = _FIELDS[action.key]
                setattr(packet[layer], attribute, action.value)
                for changed in (IP, TCP, UDP):
                    if changed in packet:
                        packet[changed].chksum = None
            elif isinstance(action, parser.NXActionRegMove):
                (source, name), (layer, attribute) = _FIELDS[action.src_field], _FIELDS[action.dst_field]
                setattr(packet[layer], attribute, getattr(packet[source], name))
            else:
                self.output(switch, port, action.port, packet)

    def output(self, switch: str, in_port: int, port: int, packet: Packet) -> None:
        if port == ofp.OFPP_CONTROLLER:
            self.handed_over[switch] += 1
            if switch in self.connected:
                self.perform(self.baseline.packet_in(switch, in_port, bytes(packet), self.now))
            return
        if port == in_port:
            return  # only OFPP_IN_PORT goes back
        at = Port(switch, in_port if port == ofp.OFPP_IN_PORT else port)
        if at in self.cables:
            self.receive(self.cables[at], packet)
        else:
            self.arrived.setdefault(at, []).append(Ether(bytes(packet)))

    def wait(self, time: int) -> None:
        """Let time pass: sites' heartbeats, the controller's clock, entries' timeouts."""
        end, step = self.now + time, self.config.timing.probe
        while self.now < end:
            self.now = min(self.now + step, end)
            self.beat()
            if self.connected:
                self.perform(self.baseline.tick(self.now))
            for name, switch in self.switches.items():
                for entry in switch.expire(self.now):
                    if entry.message.flags & ofp.OFPFF_SEND_FLOW_REM and name in self.connected:
                        assert is_over(ofp.OFPRR_IDLE_TIMEOUT)
                        self.perform(
                            self.baseline.removed(name, from_match(entry.message.match), entry.message.cookie)
                        )

    def beat(self) -> None:
        """Let every site's agent send a heartbeat."""
        for number, agent in self.agents.items():
            self.receive(PLACES[number], Ether(heartbeat(agent.site.mac, number)))

    def register(self, *numbers: int, **energy: float) -> None:
        """Register sites and report their energy (`site0=...`, in Wh)."""
        for number in numbers:
            agent = self.agents[number] = Agent.of(number)
            before = len(self.arrived.get(PLACES[number], ()))
            self.receive(PLACES[number], Ether(agent.register(self.now).to_bytes()))
            agent.registered(self._answer(number, before))
            self.report(number, energy.get(f"site{number}", 1000.0))
        self.beat()

    def report(self, number: int, energy: float) -> None:
        agent = self.agents[number]
        before = len(self.arrived[PLACES[number]])
        epoch = self.config.epochs.epoch(self.now)
        frame = agent.report(self.now, epoch=epoch, green_energy=energy)
        self.receive(PLACES[number], Ether(frame.to_bytes()))
        assert agent.reported(self._answer(number, before)).status == 0

    def _answer(self, number: int, before: int):
        (packet,) = self.arrived[PLACES[number]][before:]
        return Frame.from_bytes(bytes(packet))

    def named(self, name: str) -> list[dict[str, object]]:
        return [event.fields for event in self.events if event.name == name]

    def spent(self) -> list[int]:
        """What each site's jobs of this epoch took, in mWh, as the switches' part of the core sees it."""
        status = self.core.status(self.now)["sites"]
        return [round(1000 * (site["budget_wh"] - site["headroom_wh"])) for site in status]


def network(folder, *replacements: tuple[str, str]) -> Network:
    """Return the example's network: switches connected, sites registered, links found; timeouts of 20 s."""
    shorter = ("timeout = 300.0", "timeout = 20.0")
    built = Network(example(shorter, *replacements), Store(folder / "store.sqlite"))
    built.connect()
    built.register(0, 1, 2)
    assert len(built.core.links) == 3
    return built


def packet(at: Port, port: int, flags: str = "S", to: int = 80, seq: int = 0):
    mac, address = CLIENTS[at]
    transport = TCP(sport=port, dport=to, flags=flags, seq=seq)
    return Ether(src=mac, dst=GATEWAY) / IP(src=address, dst=VIP) / transport


def query(at: Port, port: int):
    mac, address = CLIENTS[at]
    return Ether(src=mac, dst=GATEWAY) / IP(src=address, dst=VIP) / UDP(sport=port, dport=53) / b"x"


def reply(number: int, to: str, port: int, flags: str = "SA"):
    server = site(number)
    ethernet = Ether(src=server.mac.hex(":"), dst=GATEWAY)
    return ethernet / IP(src=str(server.address), dst=to) / TCP(sport=8080, dport=port, flags=flags)


def served(net: Network, number: int) -> list:
    """TCP packets that reached a site."""
    return [item for item in net.arrived.get(PLACES[number], ()) if TCP in item]
