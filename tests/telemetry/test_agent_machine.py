# SPDX-License-Identifier: Apache-2.0
"""The agent's state machine against a controller of the tests' own, in simulated time over a lossy link."""

import heapq
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grasp.telemetry.agent.machine import FIRST_WAIT, LONGEST_WAIT, RESERVE, SILENCE, Agent, Identity
from grasp.telemetry.agent.memory import Memory
from grasp.telemetry.protocol import (
    CONTROLLER_MAC,
    EpochClock,
    Frame,
    FrameType,
    Parameter,
    Refusal,
    Register,
    Registered,
    Report,
    Reported,
    enrolment_key,
    newer,
    seal,
    session_key,
)

MAC = bytes.fromhex("020000000007")
SECRET = bytes(range(16))
SECOND = 1_000_000
WALL = 1_700_000_000 * SECOND  # wall clock at simulated time 0
CLOCK = EpochClock(WALL + SECOND // 2, 10 * SECOND, 500)
DELAY = 300  # microseconds on the way, each way


@dataclass
class Controller:
    """Answers registrations and reports as the protocol says, and keeps what came."""

    interval: int = 2 * SECOND
    heartbeat: int = 200_000
    parameters: tuple[Parameter, ...] = (Parameter("green_energy", "Wh"), Parameter("load", "jobs/s"))
    site: int = 4
    sequence: int = 0
    key: bytes | None = None
    status: Refusal = Refusal.NONE
    refuse_id: int | None = None
    up: bool = True
    registers: list[tuple[int, Register]] = field(default_factory=list)
    reports: list[tuple[int, Report]] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)

    def answer(self, raw: bytes, now: int) -> bytes | None:
        frame = Frame.from_bytes(raw)
        if frame.type is FrameType.HEARTBEAT or not self.up:
            return None
        assert frame.destination == CONTROLLER_MAC
        if frame.type is FrameType.REGISTER:
            register = Register.open(enrolment_key(SECRET), frame)
            if register.requested is not None and register.requested == self.refuse_id:
                return None
            self.registers.append((now, register))
            nonce = len(self.registers).to_bytes(16, "big")
            self.key = session_key(SECRET, register.nonce, nonce)
            intervals = (self.interval, self.heartbeat)
            terms = Registered(
                self.site,
                register.nonce,
                nonce,
                WALL + now,
                self.sequence,
                CLOCK,
                *intervals,
                self.parameters,
            )
            return terms.seal(enrolment_key(SECRET), frame.source).to_bytes()
        if self.key is None:
            return None
        report = Report.open(self.key, frame)
        self.reports.append((now, report))
        status = self.status
        if status is Refusal.NONE:
            if newer(report.sequence, self.sequence):
                self.sequence = report.sequence
            else:
                status = Refusal.REPLAY
        reported = Reported(self.site, report.sequence, status, WALL + now)
        return reported.seal(self.key, frame.source).to_bytes()


def values(parameter: str, epoch: int, now: int) -> float | None:
    return {"green_energy": epoch * 1.5, "load": 3.0}.get(parameter)


class World:
    """One agent and one controller; time advances from one due event to the next."""

    def __init__(self, controller: Controller, lose: Callable[[], bool] = lambda: False) -> None:
        self.controller = controller
        self.lose = lose
        self.now = 0
        self.wall = WALL  # difference of the two clocks
        self.saved: list[Memory] = []
        self.sent: list[tuple[int, Frame]] = []
        self.flights: list[tuple[int, int, bytes]] = []
        self.random = random.Random(1)
        self.agent = self.start(Memory("elmira"))

    def start(self, memory: Memory) -> Agent:
        return Agent(
            Identity("elmira", SECRET, MAC, 0x0A000007),
            values,
            memory,
            lambda memory: self.saved.append(replace(memory)),
            lambda: self.wall + self.now,
            self.now,
            self.random.randbytes,
            self.random.random,
        )

    def restart(self) -> None:
        """The agent's process dies without notice and starts again from what was saved."""
        self.flights.clear()
        self.agent = self.start(replace(self.saved[-1]) if self.saved else Memory("elmira"))

    def run(self, until: int) -> None:
        steps = 0
        while True:
            due = self.agent.due(self.now)
            at = min(max(due, self.now), self.flights[0][0] if self.flights else until)
            if at >= until:
                self.now = until
                return
            self.now = at
            steps += 1
            assert steps < 100_000, "the agent spins"
            while self.flights and self.flights[0][0] <= self.now:
                self.agent.receive(heapq.heappop(self.flights)[2], self.now)
            for raw in self.agent.poll(self.now):
                self.sent.append((self.now, Frame.from_bytes(raw)))
                if self.lose():
                    continue
                answer = self.controller.answer(raw, self.now + DELAY)
                if answer is not None and not self.lose():
                    heapq.heappush(self.flights, (self.now + 2 * DELAY, steps, answer))
            assert self.agent.due(self.now) > self.now or self.flights, "something due was left undone"

    def heartbeats(self) -> list[int]:
        return [at for at, frame in self.sent if frame.type is FrameType.HEARTBEAT]

    def accepted(self) -> list[tuple[int, Report]]:
        return self.controller.reports


def test_registers_then_reports_both_epochs_at_the_interval() -> None:
    world = World(Controller())
    world.run(10 * SECOND)
    [(_, register)] = world.controller.registers
    assert (register.name, register.address, register.requested) == ("elmira", 0x0A000007, None)
    assert register.time == WALL
    by_time: dict[int, list[tuple[int, dict[str, float]]]] = {}
    for at, report in world.controller.reports:
        by_time.setdefault(at, []).append((report.epoch, dict(report.values)))
        assert report.time == WALL + at - DELAY
    start = 2 * DELAY
    # On the interval's grid, and when the first epoch begins.
    assert sorted(by_time) == [
        start + DELAY,
        SECOND // 2 + DELAY,
        *(start + step * 2 * SECOND + DELAY for step in range(1, 5)),
    ]
    assert by_time[start + DELAY] == [
        (499, {"green_energy": 748.5, "load": 3.0}),
        (500, {"green_energy": 750.0, "load": 3.0}),
    ]
    assert [epoch for epoch, _ in by_time[start + 4 * SECOND + DELAY]] == [500, 501]


def test_heartbeats_keep_to_a_fixed_grid() -> None:
    world = World(Controller())
    world.run(60 * SECOND)
    beats = world.heartbeats()
    assert {later - earlier for earlier, later in pairwise(beats)} == {200_000}
    assert len(beats) == 300
    assert all(frame.site == 4 for _, frame in world.sent if frame.type is FrameType.HEARTBEAT)


def test_late_polls_skip_heartbeats_but_do_not_shift_them() -> None:
    world = World(Controller())
    world.run(SECOND)
    first = world.heartbeats()[0]
    world.now = first + 1_150_000  # the process was held up
    world.run(first + 2_000_001)
    late = [at - first for at in world.heartbeats() if at > first + 950_000]
    assert late == [1_150_000, 1_200_000, 1_400_000, 1_600_000, 1_800_000, 2_000_000]


def test_registration_backs_off_and_never_stops() -> None:
    world = World(Controller(up=False))
    world.run(30 * SECOND)
    times = [at for at, frame in world.sent if frame.type is FrameType.REGISTER]
    waits = [later - earlier for earlier, later in pairwise(times)]
    nominal = [min(FIRST_WAIT * 2**n, LONGEST_WAIT) for n in range(len(waits))]
    assert all(0.8 * want <= wait <= 1.2 * want for wait, want in zip(waits, nominal, strict=True))
    assert len({frame.body[:16] for _, frame in world.sent}) == 1, (
        "the controller could not know a repetition"
    )
    world.controller.up = True
    world.run(33 * SECOND)
    assert world.agent.terms is not None


def test_each_registration_has_its_own_nonce() -> None:
    world = World(Controller(status=Refusal.UNREGISTERED))
    world.run(10 * SECOND)
    nonces = [register.nonce for _, register in world.controller.registers]
    assert len(nonces) > 3
    assert len(set(nonces)) == len(nonces)


def test_an_id_that_is_no_longer_the_sites_is_given_up() -> None:
    world = World(Controller())
    world.run(SECOND)
    world.restart()
    world.controller.site = 9
    world.controller.refuse_id = 4
    world.run(10 * SECOND)
    assert world.agent.terms is not None
    assert world.sent[-1][1].site == 9
    assert world.saved[-1].site == 9


def test_reports_are_repeated_until_answered_with_new_numbers() -> None:
    # REGISTER, its answer and a heartbeat pass, then two rounds of reports are lost.
    lost = iter([False] * 3 + [True] * 4)
    world = World(Controller(), lambda: next(lost, False))
    world.run(SECOND // 2)
    reports = [frame for _, frame in world.sent if frame.type is FrameType.REPORT]
    assert len(reports) == 6
    assert [report.sequence for _, report in world.controller.reports] == [5, 6]
    assert [report.epoch for _, report in world.controller.reports] == [499, 500]


def test_silence_makes_it_register_again_while_heartbeats_go_on() -> None:
    world = World(Controller())
    world.run(SECOND)
    world.controller.up = False
    world.controller.key = None
    world.run(9 * SECOND)
    registers = [at for at, frame in world.sent if frame.type is FrameType.REGISTER]
    # The first report that stays unanswered is that of 2 s.
    assert 2 * SECOND + SILENCE <= registers[1] < 2 * SECOND + SILENCE + LONGEST_WAIT
    assert len(world.heartbeats()) == 45
    world.controller.up = True
    world.run(12 * SECOND)
    assert world.agent.terms is not None
    assert world.agent.terms.agent_nonce != world.controller.registers[0][1].nonce


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    loss=st.floats(0, 0.6),
    crashes=st.lists(st.integers(0, 30 * SECOND), max_size=5).map(sorted),
)
def test_no_number_is_used_twice_whatever_is_lost_or_crashes(
    seed: int, loss: float, crashes: list[int]
) -> None:
    chance = random.Random(seed)
    world = World(Controller(), lambda: chance.random() < loss)
    for crash in crashes:
        world.run(crash)
        world.restart()
    world.run(40 * SECOND)
    numbers = [
        int.from_bytes(frame.body[:4], "big") for _, frame in world.sent if frame.type is FrameType.REPORT
    ]
    assert len(set(numbers)) == len(numbers)
    assert all(newer(later, earlier) for earlier, later in pairwise(numbers))
    assert numbers[-1] - numbers[0] <= len(numbers) + RESERVE * len(crashes)
    # Once the link is whole, the current and the next epoch are known within an interval.
    world.lose = lambda: False
    world.run(46 * SECOND)
    assert {504, 505} <= {report.epoch for at, report in world.controller.reports if at > 40 * SECOND}


def test_restart_resumes_heartbeats_before_the_controller_answers() -> None:
    world = World(Controller())
    world.run(SECOND)
    world.restart()
    world.controller.up = False
    before = len(world.heartbeats())
    world.run(2 * SECOND)
    assert len(world.heartbeats()) == before + 5
    requested = [
        Register.peek(frame).requested for _, frame in world.sent if frame.type is FrameType.REGISTER
    ]
    assert requested[0] is None
    assert set(requested[1:]) == {4}


def test_lost_state_goes_on_above_the_controllers_number() -> None:
    world = World(Controller(sequence=70_000))
    world.run(5 * SECOND)
    assert [report.sequence for _, report in world.controller.reports] == list(range(70_001, 70_009))
    assert world.saved[-1].reserved == 70_000 + RESERVE


def test_numbers_wrap() -> None:
    world = World(Controller(sequence=2**32 - 5))
    world.agent = world.start(Memory("elmira", reserved=2**32 - 3))
    world.run(5 * SECOND)
    sequences = [report.sequence for _, report in world.controller.reports]
    assert sequences == [2**32 - 2, 2**32 - 1, *range(6)]
    assert world.saved[-1].reserved == RESERVE - 3


def test_replay_refusal_registers_anew_and_continues() -> None:
    world = World(Controller())
    world.run(SECOND)
    world.controller.sequence = 5000  # as after a restored controller's store
    world.run(5 * SECOND)
    assert len(world.controller.registers) == 2
    assert world.controller.sequence > 5000


def test_a_session_that_is_always_refused_is_not_renewed_in_a_hurry() -> None:
    world = World(Controller(status=Refusal.PORT))
    world.run(30 * SECOND)
    assert 10 < len(world.controller.registers) < 30


def test_refused_values_are_told_and_tried_again_at_the_interval(caplog: pytest.LogCaptureFixture) -> None:
    world = World(Controller(status=Refusal.TOO_LARGE))
    world.run(SECOND + SECOND // 4)
    assert "refused the report of epoch 500: TOO_LARGE" in caplog.text
    assert len(world.controller.registers) == 1
    # At 0 s and at the first epoch's begin: nothing in between.
    assert len(world.controller.reports) == 4


def test_unknown_parameter_is_told_once_for_each_epoch_and_heartbeats_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(Controller(parameters=(Parameter("green_energy", "Wh"), Parameter("wind", "m/s"))))
    world.run(9 * SECOND)
    assert not world.controller.reports
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [
        f"no report for epoch {epoch}: there is no wind for it" for epoch in (499, 500, 501)
    ]
    assert len(world.heartbeats()) == 45


def test_another_unit_is_not_reported_in(caplog: pytest.LogCaptureFixture) -> None:
    world = World(Controller(parameters=(Parameter("green_energy", "kWh"),)))
    world.run(5 * SECOND)
    assert not world.controller.reports
    assert "green_energy is asked for in kWh, not Wh" in caplog.text


def test_other_clock_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    world = World(Controller())
    world.wall = WALL - 90 * SECOND
    world.run(SECOND)
    assert "differs by +90.0 s" in caplog.text


@pytest.mark.parametrize("jump", [-3600, 3600, 86_400])
def test_setting_the_wall_clock_disturbs_nothing(jump: int) -> None:
    world = World(Controller())
    world.run(3 * SECOND)
    before = len(world.heartbeats())
    world.wall += jump * SECOND
    world.run(13 * SECOND)
    assert len(world.heartbeats()) == before + 50
    epoch = CLOCK.epoch(world.wall + world.now)
    assert world.controller.reports[-1][1].epoch == epoch + 1


def forgeries(registered: bytes, reported: bytes) -> list[bytes]:
    """Frames that an attacker on the link could send."""
    frame = Frame.from_bytes(registered)
    flipped = bytearray(registered)
    flipped[40] ^= 1
    return [
        b"",
        registered[:30],
        bytes(flipped),
        replace(frame, destination=b"\xff" * 6).to_bytes(),
        replace(frame, site=9).to_bytes(),
        seal(b"wrong key", replace(frame, body=frame.body[:-32])).to_bytes(),
        reported[:-1] + bytes([reported[-1] ^ 1]),
        Frame(MAC, CONTROLLER_MAC, FrameType.REGISTERED, 9).to_bytes(),
        Frame(MAC, CONTROLLER_MAC, FrameType.REPORTED, 9).to_bytes(),
        bytes(1500),
    ]


def test_forged_and_repeated_answers_change_nothing() -> None:
    captured: list[bytes] = []
    controller = Controller()
    genuine = controller.answer

    def capture(raw: bytes, now: int) -> bytes | None:
        answer = genuine(raw, now)
        if answer is not None:
            captured.append(answer)
        return answer

    controller.answer = capture  # type: ignore[method-assign]
    world = World(controller)
    world.run(10_000)
    registered, reported = captured[0], captured[1]
    terms = world.agent.terms
    for frame in [*forgeries(registered, reported), registered, reported]:
        world.agent.receive(frame, world.now)
    assert world.agent.terms is terms
    # The controller goes silent, the session is given up: the old answer must not bring it back.
    controller.up = False
    world.run(7 * SECOND)
    assert world.agent.terms is None
    for frame in [*forgeries(registered, reported), registered]:
        world.agent.receive(frame, world.now)
    assert world.agent.terms is None


def test_an_answer_to_another_host_is_not_taken() -> None:
    controller = Controller()
    genuine = controller.answer

    def misdirect(raw: bytes, now: int) -> bytes | None:
        answer = genuine(raw, now)
        return answer and bytes(6) + answer[6:]

    controller.answer = misdirect  # type: ignore[method-assign]
    world = World(controller)
    world.run(SECOND)
    assert world.agent.terms is None


def test_numbers_are_reserved_before_use_and_seldom() -> None:
    world = World(Controller(interval=10_000))
    world.run(30 * SECOND)
    assert len(world.controller.reports) > 5 * RESERVE
    reserved = [memory.reserved for memory in world.saved]
    assert reserved == [RESERVE * step for step in range(1, len(reserved) + 1)]
    assert world.controller.sequence <= reserved[-1]
