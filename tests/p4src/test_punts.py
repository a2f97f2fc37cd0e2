# SPDX-License-Identifier: Apache-2.0
"""Frames that are the controller's: passed on unchanged, from the ports that may send them."""

from __future__ import annotations

import pytest
from tests.p4src.engine_switch import EngineSwitch
from tests.p4src.site_switch import NO_ROLE, SITES, configure, dropped, grasp
from tests.p4src.switch import Switch, unpack

from grasp.control.wire import CPU_PORT, Drop, PacketIn, Reason
from grasp.telemetry.protocol import FrameType

BODY = bytes(range(256))


@pytest.mark.parametrize(
    ("kind", "port", "reason"),
    [
        *((FrameType.REGISTER, port, Reason.AGENT) for port in (1, 3, NO_ROLE)),
        *((FrameType.REPORT, port, Reason.AGENT) for port in (1, 3, NO_ROLE)),
        *((FrameType.DISCOVERY, port, Reason.DISCOVERY) for port in (6, 7, NO_ROLE)),
    ],
)
def test_frames_for_the_controller_arrive_there_unchanged(
    steady: Switch, kind: FrameType, port: int, reason: Reason
) -> None:
    before = steady.counts("drops")
    for body in (b"", BODY, BODY * 5):
        frame = grasp(kind, 10, SITES[10].mac, body)
        ((out, data),) = steady.send(port, frame)
        assert out == CPU_PORT
        assert unpack(data) == (PacketIn(reason, ingress_port=port), frame)
    assert steady.counts("drops") == before


@pytest.mark.parametrize(
    ("kind", "port", "reason"),
    [
        (FrameType.REGISTER, 6, Drop.SPOOFED),
        (FrameType.REPORT, 7, Drop.SPOOFED),
        (FrameType.DISCOVERY, 1, Drop.SPOOFED),
        (FrameType.DISCOVERY, 3, Drop.SPOOFED),
        (FrameType.REGISTERED, 3, Drop.MALFORMED),  # the controller's, and it does not come in by a port
        (FrameType.REPORTED, 6, Drop.MALFORMED),
        (FrameType.REGISTERED, NO_ROLE, Drop.UNKNOWN_PORT),
        (0, 3, Drop.MALFORMED),
        (8, 6, Drop.MALFORMED),
        (255, 6, Drop.MALFORMED),
    ],
)
def test_other_frames_are_dropped(steady: Switch, kind: int, port: int, reason: Drop) -> None:
    assert dropped(steady, port, grasp(kind, 10, SITES[10].mac)) == reason


@pytest.mark.parametrize("version", [0, 2, 255])
@pytest.mark.parametrize("kind", FrameType)
def test_another_version_is_malformed(steady: Switch, kind: FrameType, version: int) -> None:
    for port in (3, 6, NO_ROLE):
        assert dropped(steady, port, grasp(kind, 10, SITES[10].mac, version=version)) == Drop.MALFORMED


def test_a_port_that_floods_the_controller_is_held_back_and_others_are_not() -> None:
    """500 frames at once, then 500 a second (p4src/frames.p4); on the engine, whose time stands still."""
    switch = EngineSwitch()
    configure(switch)
    frame = grasp(FrameType.REGISTER, 10, SITES[10].mac, BODY)

    def passed(port: int, count: int) -> int:
        return sum(len(switch.send(port, frame)) for _ in range(count))

    assert passed(3, 800) == pytest.approx(500, abs=1)
    assert passed(1, 1) == 1
    assert passed(NO_ROLE, 1) == 1
    switch.advance(100_000)
    assert passed(3, 100) == pytest.approx(50, abs=1)
    assert switch.counts("drops") == {Drop.RATE: 900 - 550 - 1}
    switch.close()
