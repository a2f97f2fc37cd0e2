# SPDX-License-Identifier: Apache-2.0
"""The generator of first packets, on a link at whose other end scapy answers as it is told to."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]

# Answers every SYN after 20 ms, and twice, but a port that ends in 3 after 400 ms, and one that ends in 7
# with another acknowledgement; once also to a port that sent nothing, and once from another service's port.
WORLD = """
import heapq, json, os, socket, subprocess, sys, threading, time
from grasp.topo.isolation import enter
enter()
from dataclasses import asdict
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from grasp.topo.comparison import openings
from grasp.topo.comparison.openings import Generator, Order
openings._PORTS = (range(1024, 1100), range(2000, 2054))  # 130 of them
for command in (
    "link add near type veth peer name far", "address add 10.79.0.1/24 dev near",
    "link set near up", "link set far up", "route add 10.99.0.1/32 dev near",
    "neighbour add 10.99.0.1 lladdr 02:00:00:00:00:01 dev near",
):
    subprocess.run(["ip", *command.split()], check=True)
for name in ("near", "far"):
    subprocess.run(["ethtool", "-K", name, "tx", "off"], check=True, capture_output=True)
far = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
far.bind(("far", 0x0800))
far.setsockopt(263, 23, 1)
far.settimeout(0.1)
seen, resets, pending = [], set(), []
ended = threading.Event()

def answer(syn, source, port):
    reply = Ether(src=syn.dst, dst=syn.src) / IP(src=syn[IP].dst, dst=syn[IP].src)
    reply /= TCP(sport=source, dport=port, flags="SA", seq=5, ack=syn[TCP].seq + 1, options=[("MSS", 1460)])
    return bytes(reply)

def serve():
    while True:
        try:
            frame = Ether(far.recv(2048))
        except TimeoutError:
            if ended.is_set() and not pending:
                return
            continue
        if TCP not in frame:
            continue
        if "R" in frame[TCP].flags:
            resets.add(frame[TCP].sport)
            continue
        if frame[TCP].flags != "S":
            continue
        first = not seen
        seen.append(frame[TCP].sport)
        if frame[TCP].sport % 10 == 7:
            frame[TCP].seq += 1  # as an answer to an earlier connection from this port
            far.send(answer(frame, 80, frame[TCP].sport))
            continue
        wait = 0.4 if frame[TCP].sport % 10 == 3 else 0.02
        heapq.heappush(pending, (time.monotonic() + wait, 2 * [answer(frame, 80, frame[TCP].sport)]))
        if first:
            far.send(answer(frame, 80, 60_000))
            far.send(answer(frame, 81, frame[TCP].sport))

def reply():
    while not ended.is_set() or pending:
        if pending and pending[0][0] <= time.monotonic():
            for frame in heapq.heappop(pending)[1]:
                far.send(frame)
        else:
            ended.wait(0.001)

threads = [threading.Thread(target=work) for work in (serve, reply)]
[thread.start() for thread in threads]
generator = Generator("near", "10.79.0.1", "02:00:00:00:00:01", "10.99.0.1", 80)
answers = [generator.carry_out(Order(*order, time.monotonic())) for order in ((100, 1.0), (300, 0.2))]
ended.set()
[thread.join() for thread in threads]
print(json.dumps([[asdict(a) for a in answers], seen, sorted(resets)]))
"""


def test_sent_answered_and_waits_are_those_of_the_link() -> None:
    world = subprocess.run(
        [sys.executable, "-c", WORLD], capture_output=True, text=True, check=False, timeout=60
    )
    assert world.returncode == 0, world.stderr
    answers, seen, resets = json.loads(world.stdout)
    assert [answer["sent"] for answer in answers] == [100, 60]
    ports = [*range(1024, 1100), *range(2000, 2054)]
    assert seen == ports + ports[:30]  # in order, and none again before all others
    # Neither with another acknowledgement nor late, also where it comes before the last SYN was sent.
    expected = [sum(port % 10 not in (3, 7) for port in part) for part in (seen[:100], seen[100:])]
    assert [answer["answered"] for answer in answers] == expected
    assert answers[0]["p50_us"] >= 20_000  # the kernel's stamps: no less than the other end waited
    assert answers[0]["seconds"] >= 0.99  # at the rate that was ordered, and not at once
    assert set(resets) == {*seen, 60_000}  # the client's kernel ends what it does not know
