# SPDX-License-Identifier: Apache-2.0
import asyncio
import re
import urllib.request
from pathlib import Path

import pytest

from grasp import UserError
from grasp.control.metrics import PROGRAM_EVENTS, Reading, serve

COUNTERS = {"jobs": [0, 5, 7], "drops": list(range(16)), "events": list(range(8))}
READING = Reading(
    up={"s1": True, "s2": False},
    switches={"s1": COUNTERS, "s2": {}},
    controller={"packets_overflow": 3, "refused_replay": 2},
    status={
        "sites": [
            {"site": "ny1", "id": 1, "budget_wh": 5.0, "headroom_wh": -0.5},
            {"site": "ny2", "id": 2, "budget_wh": None, "headroom_wh": None},
        ]
    },
)


async def read() -> Reading:
    return READING


def scrape(port: int) -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        return answer.read().decode()


async def test_a_scrape_shows_switches_jobs_drops_events_and_the_controllers_packets(unused_tcp_port):
    async with serve(f"127.0.0.1:{unused_tcp_port}", read):
        text = await asyncio.to_thread(scrape, unused_tcp_port)
    for line in (
        'grasp_switch_up{switch="s1"} 1.0',
        'grasp_switch_up{switch="s2"} 0.0',
        'grasp_jobs_total{site="ny2",switch="s1"} 7.0',
        'grasp_drops_total{reason="no_site",switch="s1"} 10.0',
        'grasp_events_total{event="struck_out",switch="s1"} 4.0',
        'grasp_controller_packets_total{kind="overflow"} 3.0',
        'grasp_refused_total{reason="replay"} 2.0',
        'grasp_budget_wh{site="ny1"} 5.0',
        'grasp_headroom_wh{site="ny1"} -0.5',
    ):
        assert line in text.splitlines()
    assert 'grasp_headroom_wh{site="ny2"}' not in text


async def test_an_address_in_use_is_a_user_error(unused_tcp_port):
    async with serve(f"127.0.0.1:{unused_tcp_port}", read):
        with pytest.raises(UserError, match="cannot be served at"):
            async with serve(f"127.0.0.1:{unused_tcp_port}", read):
                pass


def test_names_of_events_are_the_programs():
    source = Path(__file__).parents[2].joinpath("p4src", "counters.p4").read_text()
    declared = re.search(r"enum bit<8> event_t \{(.*?)\}", source, re.DOTALL)
    assert declared
    names = dict(re.findall(r"(\w+) = (\d+)", declared[1]))
    assert {name.lower(): int(index) for name, index in names.items()} == {
        name: index for index, name in enumerate(PROGRAM_EVENTS)
    }
