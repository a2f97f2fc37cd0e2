# SPDX-License-Identifier: Apache-2.0
"""TCP connections that their clients have not acknowledged: they give their places back soon."""

from __future__ import annotations

import pytest
from tests.p4src.site_switch import (
    DNS,
    FAR_CLIENT,
    LATER,
    SITES,
    TIMEOUT,
    WEB,
    Event,
    announce,
    answer,
    arriving,
    connect,
    prefer,
    set_parameters,
)
from tests.p4src.switch import Switch

from grasp.control.wire import Drop

HANDSHAKE = TIMEOUT // 3


@pytest.fixture
def brief(switch: Switch) -> Switch:
    """A switch that waits a third of the services' timeout for a handshake; site 10 is the best one."""
    set_parameters(switch, handshake=HANDSHAKE)
    prefer(switch, 10, 1)
    return switch


def test_a_half_open_connection_is_forgotten(brief: Switch) -> None:
    assert connect(brief, 40000) == 10
    answer(brief, 10, 40000, "SA")
    brief.advance(HANDSHAKE + LATER)
    prefer(brief, 11, 2)
    assert connect(brief, 40000, "A") is None  # too late, and to no other site
    assert connect(brief, 40000) == 11  # a new attempt, which is a new job
    assert (brief.count("jobs", 10), brief.count("jobs", 11)) == (1, 1)
    assert answer(brief, 10, 40000, "SA") == []  # of the attempt that was given up
    assert brief.count("drops", Drop.NO_CONNECTION) == 2


def test_a_handshake_ends_exactly_at_its_timeout(brief: Switch) -> None:
    if brief.real_time:
        pytest.skip("needs a clock that stands still")
    connect(brief, 40000)
    connect(brief, 40001)
    brief.advance(HANDSHAKE - 1)
    assert connect(brief, 40000, "A") == 10
    brief.advance(1)
    assert connect(brief, 40001, "A") is None


@pytest.mark.parametrize("sender", ["client", "server"])
def test_each_repetition_begins_the_wait_anew(brief: Switch, sender: str) -> None:
    connect(brief, 40000)
    for epoch in range(2, 5):
        brief.advance(HANDSHAKE * 2 // 3)
        prefer(brief, 11, epoch)
        if sender == "client":
            assert connect(brief, 40000) == 10
        else:
            assert len(answer(brief, 10, 40000, "SA")) == 1
    assert connect(brief, 40000, "A") == 10
    assert (brief.count("jobs", 10), brief.count("jobs", 11)) == (1, 0)
    assert Event.RELEARNED not in brief.counts("events")


@pytest.mark.parametrize("sender", ["client", "server"])
def test_each_repetition_begins_the_wait_anew_at_the_site_switch(brief: Switch, sender: str) -> None:
    brief.send(6, arriving(10, 5))
    for _ in range(3):
        brief.advance(HANDSHAKE * 2 // 3)
        if sender == "client":
            brief.send(6, arriving(10, 5))
        else:
            assert len(answer(brief, 10, 5, "SA", client=FAR_CLIENT)) == 1
    brief.send(6, arriving(10, 5))
    assert brief.count("events", Event.CHARGED_ON_ARRIVAL) == 1


@pytest.mark.parametrize("flags", ["A", "PA", "FA"])
def test_an_acknowledged_connection_lives_for_the_timeout_of_its_service(brief: Switch, flags: str) -> None:
    connect(brief, 40000)
    answer(brief, 10, 40000, "SA")
    assert connect(brief, 40000, flags) == 10
    brief.advance(2 * HANDSHAKE)
    assert connect(brief, 40000, "A") == 10
    brief.advance(TIMEOUT + LATER)
    assert connect(brief, 40000, "A") is None


@pytest.mark.parametrize("flags", ["S", "SA", "F", "P", ""])
def test_nothing_else_of_the_client_acknowledges(brief: Switch, flags: str) -> None:
    connect(brief, 40000)
    assert connect(brief, 40000, flags) == 10
    brief.advance(HANDSHAKE + LATER)
    assert connect(brief, 40000, "A") is None


def test_what_was_acknowledged_stays_so(brief: Switch) -> None:
    connect(brief, 40000)
    for flags in ("A", "S", "SA", ""):
        assert connect(brief, 40000, flags) == 10
    answer(brief, 10, 40000, "SA")
    brief.advance(HANDSHAKE + LATER)
    assert connect(brief, 40000, "A") == 10


@pytest.mark.parametrize("flags", ["SA", "A", "PA", "F"])
def test_what_the_server_sends_acknowledges_nothing(brief: Switch, flags: str) -> None:
    """It answers any SYN, and acknowledges what it takes for a stray segment."""
    connect(brief, 40000)
    assert len(answer(brief, 10, 40000, flags)) == 1
    brief.advance(HANDSHAKE + LATER)
    assert connect(brief, 40000, "A") is None


def test_it_lasts_no_longer_than_the_timeout_of_its_service(brief: Switch) -> None:
    set_parameters(brief, handshake=2 * TIMEOUT)
    connect(brief, 40000)
    brief.advance(TIMEOUT + LATER)
    assert connect(brief, 40000, "A") is None


def test_udp_has_no_handshake(brief: Switch) -> None:
    connect(brief, 40000, service=DNS)
    brief.advance(HANDSHAKE + LATER)
    prefer(brief, 11, 2)
    assert connect(brief, 40000, service=DNS) == 10


def test_at_the_site_switch_too(brief: Switch) -> None:
    announce(brief, {10: 50_000}, epoch=2)
    for sport in (5, 6):
        assert [port for port, _ in brief.send(6, arriving(10, sport))] == [SITES[10].port]
    brief.send(6, arriving(10, 6, "A"))
    brief.advance(HANDSHAKE + LATER)
    for sport in (5, 6):
        brief.send(6, arriving(10, sport))
    assert brief.count("events", Event.CHARGED_ON_ARRIVAL) == 3
    assert brief.read_site(10).headroom == 50_000 - 3 * WEB.energy


def test_a_late_answer_brings_its_connection_back_while_there_is_no_other(brief: Switch) -> None:
    connect(brief, 40000)
    brief.advance(HANDSHAKE + LATER)
    prefer(brief, 11, 2)
    assert len(answer(brief, 10, 40000, "SA")) == 1
    assert connect(brief, 40000) == 10
    assert connect(brief, 40000, "A") == 10
    assert brief.counts("jobs") == {10: 1}


@pytest.mark.parametrize(("flags", "kept"), [("SA", None), ("A", 10), ("PA", 10)])
def test_a_connection_that_is_learnt_anew_is_what_its_segment_shows(
    brief: Switch, flags: str, kept: int | None
) -> None:
    assert len(answer(brief, 10, 40000, flags)) == 1
    assert brief.count("events", Event.RELEARNED) == 1
    brief.advance(HANDSHAKE + LATER)
    assert connect(brief, 40000, "A") == kept
