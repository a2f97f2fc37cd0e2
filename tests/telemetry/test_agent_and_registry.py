# SPDX-License-Identifier: Apache-2.0
"""The agent and the controller's registry understand each other, whatever the link between them loses."""

import random
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from grasp.control.config import load
from grasp.control.registry import Accepted, Registry, Session
from grasp.control.topology import Port
from grasp.telemetry.agent.machine import Agent, Identity
from grasp.telemetry.agent.memory import Memory
from grasp.telemetry.protocol import EpochClock, Frame, FrameType

SECOND = 1_000_000
WALL = 1_700_000_000 * SECOND
CLOCK = EpochClock(WALL, 10 * SECOND, 500)
CONFIG = replace(
    load(Path(__file__).parents[2] / "docs" / "controller.toml"), interval=2 * SECOND, epochs=CLOCK
)
SITE = CONFIG.sites[0]
AT = Port("new-york", 4)
STEP = 5_000


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    loss=st.floats(0, 0.5),
    crashes=st.lists(
        st.tuples(st.integers(1, 25), st.sampled_from(["agent", "controller", "wipe"])), max_size=4
    ),
)
def test_forecasts_get_through(seed: int, loss: float, crashes: list[tuple[int, str]]) -> None:
    """Agent and controller die, with or without the controller's store; in the end everything is known.

    Steps of 5 ms; every message takes one step each way.
    """
    chance = random.Random(seed)
    saved: list[Memory] = []
    sessions: dict[int, Session] = {}
    known: dict[int, float] = {}

    def agent_at(now: int, memory: Memory) -> Agent:
        identity = Identity(SITE.name, SITE.secret, SITE.mac, int(SITE.address))
        return Agent(identity, lambda parameter, epoch, now: float(epoch), memory,
                     lambda memory: saved.append(replace(memory)), lambda: clock[0] + WALL, now,
                     chance.randbytes, chance.random)  # fmt: skip

    clock = [0]
    agent = agent_at(0, Memory(SITE.name))
    registry = Registry(CONFIG, chance.randbytes)
    up: list[bytes] = []
    down: list[bytes] = []
    # The last ten seconds lose nothing.
    for step in range(40 * SECOND // STEP):
        now = clock[0] = step * STEP
        for at, what in crashes:
            if at * SECOND == now:
                if what == "agent":
                    agent = agent_at(now, replace(saved[-1]) if saved else Memory(SITE.name))
                else:
                    if what == "wipe":
                        sessions.clear()
                    registry = Registry(CONFIG, chance.randbytes, sessions.values(), now)
        if now == 30 * SECOND:
            loss = 0.0
            known.clear()
        arriving, up = up, []
        for raw in down:
            agent.receive(raw, now)
        down = []
        for raw in arriving:
            frame = Frame.from_bytes(raw)
            if frame.type is FrameType.HEARTBEAT:
                continue
            judge = registry.register if frame.type is FrameType.REGISTER else registry.report
            result = judge(frame, AT, now + WALL)
            if isinstance(result, Accepted):
                sessions[SITE.id] = result.session
                if result.report is not None:
                    known[result.report.epoch] = result.energy_wh
            if result.reply is not None and chance.random() >= loss:
                down.append(result.reply.to_bytes())
        up.extend(raw for raw in agent.poll(now) if chance.random() >= loss)
    assert known == {503: 503.0, 504: 504.0}
    assert agent.terms is not None
