# SPDX-License-Identifier: Apache-2.0
"""Packets per second of the program itself: one core, no sockets.

Whole connections pass through a full-sized switch: opening, a request, an answer in two packets, closing.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from grasp import UserError
from grasp.targets.bench.scenario import ACK, CLIENTS, CPU_PORT, FIN, SYN, Scenario, full_name, site_of
from grasp.targets.v1model.compile import compile_program
from grasp.targets.v1model.engine import Engine
from grasp.targets.v1model.objects import Call, Replica
from grasp.targets.v1model.p4load import load
from grasp.targets.v1model.program import Program
from grasp.targets.v1model.translate import translate

SCENARIO = Scenario((1, 2), {0: 3, 1: 4, 2: 5, 3: 6, 4: 7, 5: 6, 6: 7, 7: 6, 8: 7}, trunks=(6, 7))
CONNECTIONS, AT_ONCE = 5000, 500


def measure(
    json: Path, rounds: int, payload: int, progress: Callable[[], None] = lambda: None
) -> dict[str, float]:
    """Packets per second of a program in BMv2 JSON: median, least and most of some rounds.

    Every round runs the same packets, each once, on a fresh switch; `progress` is called after each.
    """
    compiled = compile_program(translate(load(json.read_bytes())))
    with Engine(cpu_port=CPU_PORT) as engine:
        _prepare(engine, compiled)
        packets = _connections(engine, payload)
        rates = []
        for _ in range(rounds):
            program = _prepare(engine, compiled)
            nanoseconds = engine.bench(packets, len(packets))
            drops = program.read_counters(full_name(program.counters, "drops"))
            if any(cell.packets for cell in drops):
                raise UserError(f"{json} dropped packets of the benchmark: {[c.packets for c in drops]}")
            rates.append(len(packets) / nanoseconds * 1e9)
            progress()
    return {"median": statistics.median(rates), "least": min(rates), "most": max(rates)}


def _prepare(engine: Engine, compiled: Path) -> Program:
    """A switch in the middle of its working day."""
    program = engine.load(compiled)
    for table, key, action, args in SCENARIO.entries():
        info = program.tables[full_name(program.tables, table)]
        program.insert(info.name, key, Call(full_name(info.actions, action), args))
    info = program.tables[full_name(program.tables, "parameters")]
    program.set_default(info.name, Call(full_name(info.actions, "set_parameters"), SCENARIO.parameters))
    for group, ports in SCENARIO.groups().items():
        program.set_multicast_group(group, [Replica(port) for port in ports])
    engine.activate(program)
    for port, frame in SCENARIO.announcements():
        engine.process(port, frame)
    return program


@dataclass
class _Connection:
    """A connection and its packets still to come: from the client?, flags, bytes of data."""

    client: int
    port: int
    steps: list[tuple[bool, int, int]]
    site: int = 0

    def step(self, engine: Engine) -> tuple[int, bytes] | None:
        """The next packet, which the engine is given too, since its answer names the site.

        None, and no packet more, if the connection needs the controller: both affinity ways are taken.
        """
        from_client, flags, data = self.steps.pop(0)
        if from_client:
            packet = SCENARIO.from_client(self.client, self.port, flags, data)
        else:
            packet = SCENARIO.from_site(self.site, self.client, self.port, flags, data)
        [(to, out)] = engine.process(*packet)
        if to == CPU_PORT:
            self.steps.clear()
            return None
        if flags == SYN:
            self.site = site_of(out)
        return packet


def _connections(engine: Engine, payload: int) -> list[tuple[int, bytes]]:
    """(port, frame) of whole connections, in an order in which hosts could send them."""
    packets: list[tuple[int, bytes]] = []
    waiting = (
        _Connection(CLIENTS[number % len(CLIENTS)], 20_000 + number // len(CLIENTS), [
            (True, SYN, 0), (False, SYN | ACK, 0), (True, ACK, 0),
            (True, ACK, payload), (False, ACK, payload), (False, ACK, payload), (True, ACK, 0),
            (True, FIN | ACK, 0), (False, FIN | ACK, 0), (True, ACK, 0),
        ])
        for number in range(CONNECTIONS)
    )  # fmt: skip
    live: list[_Connection] = []
    while (fresh := list(islice(waiting, AT_ONCE // 10))) or live:
        live += fresh
        packets += [packet for connection in live if (packet := connection.step(engine))]
        live = [connection for connection in live if connection.steps]
    return packets
