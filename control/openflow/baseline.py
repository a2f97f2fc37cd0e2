# SPDX-License-Identifier: Apache-2.0
"""The GRASP paper's controller (arXiv:1804.09542, algorithms 1 and 2), without a network.

    a switch connects        it gets the table-miss entry; what of its entries is still wanted stays
    packet of an agent       to the core: discovery of switches, registration, reports, as with P4 switches
    first packet of a job    the scheduler chooses the site; entries of both directions on every switch of
                             the path; the packet goes on, rewritten, from the last of them
    entry removed            the job is over, and its site has one less

What happens goes in; commands for the switches come out, to be carried out in their order. Times are
microseconds since 1970. The core keeps registrations, forecasts and links, whichever the protocol.
"""

from collections import Counter
from collections.abc import Iterable

from grasp import UserError
from grasp.control.config import Client, Config, Service
from grasp.control.core import Action as CoreAction
from grasp.control.core import Core, Event, Reconcile, Send
from grasp.control.desired import PROTOCOLS
from grasp.control.openflow import packets
from grasp.control.openflow.commands import Add, Command, Delete, Transmit
from grasp.control.openflow.connections import (
    LONGEST_TIMEOUT,
    Connection,
    Cookie,
    Hop,
    Key,
    Routes,
    client_end,
    flows,
    idle_timeout,
    to_server,
)
from grasp.control.openflow.flows import Flow, Match, Output, standing_flows
from grasp.control.openflow.ledger import Ledger, Place
from grasp.control.openflow.reach import Reach
from grasp.control.state import SwitchState
from grasp.control.topology import Port
from grasp.control.wire import Drop, Operation, PacketIn, Reason
from grasp.schedulers.base import Scheduler
from grasp.telemetry.protocol import ETHERNET_LENGTH, ETHERTYPE, FrameType

_NUMBERS = 0x7FFF_FFFF
_ON_THE_WAY = 5_000_000
"""Microseconds after a decision in which the first packet's copies may still come to the controller."""


class Baseline:
    """Decides about every job. Raises UserError for a service that OpenFlow's timeouts cannot hold.

    `core` must distribute the forecasts as they are; `rule` makes decisions of them here. `jobs` and `drops`
    count by switch, by site id and by `Drop`.
    """

    def __init__(self, config: Config, core: Core, rule: Scheduler) -> None:
        for service in config.services:
            if idle_timeout(service) > LONGEST_TIMEOUT:
                raise UserError(
                    f"{config.source}: services ({service.name}).timeout: OpenFlow's idle timeouts end at"
                    f" {LONGEST_TIMEOUT} s; give a shorter one"
                )
        self.jobs: dict[str, Counter[int]] = {switch.name: Counter() for switch in config.switches}
        self.drops: dict[str, Counter[Drop]] = {switch.name: Counter() for switch in config.switches}
        self._core = core
        self._rule = rule
        self._gateway = int.from_bytes(config.gateway.mac)
        self._ledger = Ledger((site.id for site in config.sites), config.timing.expiry)
        self._sites = {site.id: site for site in config.sites}
        self._clients = {
            (client.switch, client.port, int.from_bytes(client.mac), int(client.address)): client
            for client in config.clients
        }
        self._addresses = {int(client.address): client for client in config.clients}
        self._services = {
            (PROTOCOLS[service.protocol], int(service.vip), service.port): service
            for service in config.services
        }
        self._servers = {
            (PROTOCOLS[service.protocol], service.server_port): service for service in config.services
        }
        self._connections: dict[Key, Connection] = {}
        self._numbers: dict[int, Key] = {}
        self._number = 0
        self._connected: set[str] = set()
        self._states: dict[str, SwitchState] = {}
        self._routes = Routes({}, {})
        self._reach = Reach(config.sites)

    @property
    def connections(self) -> dict[Key, Connection]:
        """The jobs under way."""
        return self._connections

    def connected(self, switch: str, found: Iterable[Flow], now: int) -> list[Command]:
        """Take over a switch that has these entries, perhaps from an earlier controller or connection.

        Jobs that only the switch knows of become known again. Entries of connections stay in any case, until
        they idle out: a job may be running on them.
        """
        found = list(found)
        self._connected.add(switch)
        self._read_core(switch)
        adopted = [job for flow in found if (job := self._adopt(switch, flow, now)) is not None]
        wanted = {flow.key: (flow, number) for flow, number in self._wanted(switch)}
        present = {flow.key: flow for flow in found}
        commands: list[Command] = [
            Delete(switch, flow)
            for key, flow in present.items()
            if key not in wanted and Cookie.unpack(flow.cookie) is None
        ]
        commands += [
            Add(switch, flow, number) for key, (flow, number) in wanted.items() if present.get(key) != flow
        ]
        for connection in adopted:  # of which other switches, which came before this one, may lack a part
            commands += [addition for addition in self._additions(connection) if addition.switch != switch]
        return commands + self._perform(self._core.connected(switch, now), now)

    def disconnected(self, switch: str) -> None:
        """Stop sending to a switch; its entries and the jobs on them go on."""
        self._connected.discard(switch)
        self._reach.renew(self._routes, self._connected)
        self._core.disconnected(switch)

    def tick(self, now: int) -> list[Command]:
        """Do what is due."""
        self._reach.tick(now)
        return self._perform(self._core.tick(now), now)

    def drain(self, site: int, drained: bool, now: int) -> list[Command]:
        """Take a site (by id) out of selection, or put it back."""
        return self._perform(self._core.drain(site, drained, now), now)

    def packet_in(self, switch: str, port: int, frame: bytes, now: int) -> list[Command]:
        """Take a packet that a connected switch had no entry for."""
        if int.from_bytes(frame[12:ETHERNET_LENGTH]) == ETHERTYPE and len(frame) > ETHERNET_LENGTH + 3:
            return self._grasp_frame(Port(switch, port), frame, now)
        packet = packets.parse(frame)
        if packet is None:
            return self._drop(switch, Drop.ETHERTYPE, "other")
        self._core.counters["packets_job"] += 1
        service = self._services.get((packet.protocol, packet.destination, packet.destination_port))
        if service is not None:
            client = self._clients.get((switch, port, packet.mac, packet.source))
            if client is None:
                return self._drop(switch, Drop.SPOOFED)
            connection = self._connections.get(Key(service.id, packet.source, packet.source_port))
            if connection is not None and self._is_new(connection, packet, now):
                self._end(connection)  # its entries are gone, and the word of it was lost
                connection = None
            if connection is None:
                return self._first_packet(client, service, packet, frame, now)
        else:
            connection = self._rewritten(packet)
        if connection is None:
            return self._drop(switch, Drop.NO_CONNECTION)
        if packet.opens and packet.protocol == PROTOCOLS["tcp"]:
            # Sent again while the first one waited here. That one has gone on, and if it was lost, the next
            # finds the entries. This one, late, would open at the site what may be closed already.
            return []
        # It overtook the entry that was made for it. Or, long after, the entry is not there any more: that of
        # one direction idles out by itself, and a switch that came back empty gets its entries one by one.
        for place, flow in flows(connection, self._gateway):
            if place == switch and _matches(flow.match, port, packet):
                again: list[Command] = []
                if now - connection.sent > min(_ON_THE_WAY, connection.service.timeout):
                    connection.sent = now
                    again += self._additions(connection)
                return [*again, Transmit(switch, port, flow.actions, frame)]
        return self._drop(switch, Drop.SPOOFED)

    def removed(self, switch: str, flow_match: Match, cookie: int) -> list[Command]:
        """Take note that a switch removed a connection's first entry: the job is over."""
        self._core.counters["packets_removed"] += 1
        end, mark = client_end(flow_match), Cookie.unpack(cookie)
        service = None if end is None else self._services.get((end[0], *end[3:]))
        if end is None or mark is None or service is None:
            return []
        connection = self._connections.get(Key(service.id, *end[1:3]))
        # Not the removal of an entry that was replaced, or left behind by a path that is not used any more.
        if (
            connection is not None
            and (connection.epoch, connection.sequence) == (mark.epoch, mark.sequence)
            and connection.hops[0].switch == switch
        ):
            self._end(connection)
        return []

    def refused(self, switch: str, number: int, now: int) -> list[Command]:
        """Give up a connection of which a switch did not take an entry, as when its table is full.

        What was installed of it is removed again, and its site has one job less. The client repeats its first
        packet, which is a new attempt, for a while not at a site that is reached by that switch.
        """
        self._reach.refused(switch, now)
        key = self._numbers.get(number)
        if key is None:
            return []
        connection = self._connections[key]
        self._core.counters["connections_refused"] += 1
        self._end(connection)
        deletes = [Delete(switch, flow) for switch, flow in flows(connection, self._gateway)]
        return [command for command in deletes if command.switch in self._connected]

    def _grasp_frame(self, at: Port, frame: bytes, now: int) -> list[Command]:
        kind, site = frame[ETHERNET_LENGTH + 1], frame[ETHERNET_LENGTH + 2]
        match kind:
            case FrameType.HEARTBEAT:
                self._core.counters["packets_heartbeat"] += 1
                if not self._ledger.heartbeat(site, Place(*at, int.from_bytes(frame[6:12])), now):
                    return self._drop(at.switch, Drop.UNBOUND_SITE)
                return []
            case FrameType.REGISTER | FrameType.REPORT:
                reason = Reason.AGENT
            case FrameType.DISCOVERY:
                reason = Reason.DISCOVERY
            case _:
                return self._drop(at.switch, Drop.SPOOFED, "other")
        header = PacketIn(reason, ingress_port=at.port)
        return self._perform(self._core.packet_in(at.switch, header, frame, now), now)

    def _is_new(self, connection: Connection, packet: packets.Segment, now: int) -> bool:
        """Whether a first packet is of another connection than the one that is known by its ends.

        A copy of the first one may have waited here for as long as it likes. What has no first packet, UDP,
        stays where it is.
        """
        return (
            packet.opens
            and packet.protocol == PROTOCOLS["tcp"]
            and packet.sequence & 0xFFFF != connection.sequence
            and now - connection.begun > _ON_THE_WAY
        )

    def _first_packet(
        self, client: Client, service: Service, packet: packets.Segment, frame: bytes, now: int
    ) -> list[Command]:
        """Algorithm 2, and what follows from it."""
        switch = client.switch
        if not packet.opens:
            return self._drop(switch, Drop.NO_CONNECTION)
        reachable = self._reach.sites(client)
        chosen = self._ledger.choose(self._rule, reachable, now)
        if chosen is None:
            return self._drop(switch, Drop.NO_SITE if reachable else Drop.NO_ROUTE)
        self._number = self._number % _NUMBERS + 1
        connection = Connection(
            number=self._number,
            client=client,
            port=packet.source_port,
            service=service,
            site=self._sites[chosen],
            epoch=self._ledger.charge(chosen, service.energy),
            begun=now,
            sent=now,
            sequence=packet.sequence & 0xFFFF,
            hops=self._routes.path(client, self._sites[chosen]),
        )
        self._begin(connection)
        self.jobs[switch][chosen] += 1
        last = connection.hops[-1]
        # From the last switch: its entries are in place then, and those of the others on their way before.
        send = Transmit(
            last.switch, last.near, (*to_server(connection, self._gateway), Output(last.far)), frame
        )
        return [*self._additions(connection), send]

    def _rewritten(self, packet: packets.Segment) -> Connection | None:
        """Return the connection of a packet between a switch and a site, whichever way it goes."""
        there = self._servers.get((packet.protocol, packet.destination_port))
        if there is not None:
            connection = self._connections.get(Key(there.id, packet.source, packet.source_port))
            if connection is not None:
                return connection
        back = self._servers.get((packet.protocol, packet.source_port))
        if back is None:
            return None
        return self._connections.get(Key(back.id, packet.destination, packet.destination_port))

    def _perform(self, actions: Iterable[CoreAction], now: int) -> list[Command]:
        """Turn what the core wants into commands; the ledger answers what switches would be asked."""
        commands: list[Command] = []
        renewed = False
        waiting = list(actions)
        while waiting:
            match waiting.pop(0):
                case Send(switch, packet, payload) if packet.operation is Operation.TRANSMIT:
                    commands.append(Transmit(switch, 0, (Output(packet.port),), payload))
                case Send(switch, packet):
                    answer = self._ledger.operate(switch, packet, now)
                    waiting += self._core.packet_in(switch, answer, b"", now)
                case Reconcile(switch):
                    commands += self._reconcile(switch)
                    renewed = True
                case Event() as event:
                    commands.append(event)
        for connection in self._connections.values() if renewed else ():
            commands += self._lead(connection)
        return [c for c in commands if isinstance(c, Event) or c.switch in self._connected]

    def _reconcile(self, switch: str) -> list[Command]:
        """Take over what the core says of a switch."""
        before = {flow.key: flow for flow in standing_flows(self._states[switch])}
        self._read_core(switch)
        commands: list[Command] = [
            Add(switch, flow)
            for flow in standing_flows(self._states[switch])
            if before.pop(flow.key, None) != flow
        ]
        commands += [Delete(switch, flow) for flow in before.values()]
        return [*commands, Event("reconciled", {"switch": switch, "written": len(commands)})]

    def _read_core(self, switch: str) -> None:
        """Renew what is derived from the core's state: sites' places, routes."""
        state = self._core.desired(switch)
        self._states[switch] = state
        places = {
            entry.match[0]: Place(switch, *entry.params)
            for entry in state.entries.values()
            if entry.table == "local_sites"
        }
        self._ledger.attach(
            switch, {int(site): place for site, place in places.items() if isinstance(site, int)}
        )
        peers = {end: other for link in self._core.links for end, other in (link, reversed(link))}
        self._routes = Routes(self._states, peers)
        self._reach.renew(self._routes, self._connected)

    def _lead(self, connection: Connection) -> list[Command]:
        """Move a connection whose path is broken to one that is not, if there is one."""
        path = self._routes.path(connection.client, connection.site)
        if not path or path == connection.hops or self._routes.lead(connection):
            return []
        before = {(switch, flow.key): flow for switch, flow in flows(connection, self._gateway)}
        connection.hops = path
        additions = [
            addition
            for addition in self._additions(connection)
            if before.pop((addition.switch, addition.flow.key), None) != addition.flow
        ]
        return [*additions, *(Delete(switch, flow) for (switch, _), flow in before.items())]

    def _adopt(self, switch: str, flow: Flow, now: int) -> Connection | None:
        """Know a job again by its first entry, if it is one, and return it."""
        end, mark = client_end(flow.match), Cookie.unpack(flow.cookie)
        if end is None or mark is None or not flow.notify:
            return None
        service, site = self._services.get((end[0], *end[3:])), self._sites.get(mark.site)
        client = self._addresses.get(end[1])
        if service is None or site is None or client is None:
            return None
        if Key(service.id, *end[1:3]) in self._connections or client.switch != switch:
            return None
        self._number = self._number % _NUMBERS + 1
        connection = Connection(
            self._number, client, end[2], service, site, mark.epoch, now, now, mark.sequence
        )
        # The first hop is on the entry; the rest follows when the links are known.
        ports = [action.port for action in flow.actions if isinstance(action, Output)]
        if not ports:
            return None  # nobody made it here
        connection.hops = self._routes.path(client, site) or (Hop(switch, client.port, ports[0]),)
        self._begin(connection)
        self._ledger.adopt(site.id, service.energy, mark.epoch)
        return connection

    def _wanted(self, switch: str) -> Iterable[tuple[Flow, int]]:
        """All that a switch should have, each entry with the number of its connection.

        A full table shall rather lack a connection's entries than those by which the switch is of any use.
        """
        yield from ((flow, 0) for flow in standing_flows(self._states[switch]))
        for connection in self._connections.values():
            for place, flow in flows(connection, self._gateway):
                if place == switch:
                    yield flow, connection.number

    def _additions(self, connection: Connection) -> list[Add]:
        return [
            Add(switch, flow, connection.number)
            for switch, flow in flows(connection, self._gateway)
            if switch in self._connected
        ]

    def _begin(self, connection: Connection) -> None:
        self._connections[connection.key] = connection
        self._numbers[connection.number] = connection.key

    def _end(self, connection: Connection) -> None:
        del self._connections[connection.key], self._numbers[connection.number]
        self._ledger.release(connection.site.id, connection.service.energy, connection.epoch)

    def _drop(self, switch: str, reason: Drop, kind: str | None = None) -> list[Command]:
        self.drops[switch][reason] += 1
        if kind is not None:
            self._core.counters[f"packets_{kind}"] += 1
        return []


def _matches(wanted: Match, port: int, packet: packets.Segment) -> bool:
    """Whether a connection's entry matches a packet of its protocol that came in at a port."""
    fields = dict(wanted)
    return (fields["in_port"], fields["ipv4_src"], fields["ipv4_dst"]) == (
        port,
        packet.source,
        packet.destination,
    )
