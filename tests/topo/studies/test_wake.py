# SPDX-License-Identifier: Apache-2.0
"""Wake-on-LAN: the packet's bytes, what a card listens for, and packets sent on a real link."""

import json
import os
import subprocess
import sys

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from grasp import UserError
from grasp.topo.studies.consolidation.rehearsal import mac_of
from grasp.topo.studies.consolidation.wake import magic_packet, woken_by


def test_bytes() -> None:
    packet = magic_packet("00:1B:21:3c:4d:5E")
    assert packet[:6] == b"\xff\xff\xff\xff\xff\xff"
    assert len(packet) == 6 + 16 * 6
    assert {packet[start : start + 6].hex() for start in range(6, 102, 6)} == {"001b213c4d5e"}
    assert magic_packet("00-1b-21-3c-4d-5e") == packet


@pytest.mark.parametrize(
    "mac",
    [
        "",
        "00:1b:21:3c:4d",
        "00:1b:21:3c:4d:5e:6f",
        "00:1b-21:3c:4d:5e",
        "0g:1b:21:3c:4d:5e",
        "ff:ff:ff:ff:ff:ff",
    ],
)
def test_what_is_no_address_of_a_card(mac: str) -> None:
    with pytest.raises(UserError, match="MAC address"):
        magic_packet(mac)


def test_a_card_finds_the_packet_anywhere() -> None:
    packet = magic_packet("02:00:00:00:01:2c")
    for before, after in ((b"", b""), (b"\xff" * 9, b"\x00"), (b"\x00" * 42, b"\xff" * 30)):
        assert woken_by(before + packet + after) == "02:00:00:00:01:2c"
    assert woken_by(packet[:-1]) is None
    assert woken_by(b"\xff" * 6 + b"\x02" * 95) is None
    assert woken_by(b"") is None


def test_addresses_of_servers_differ() -> None:
    assert len({mac_of(server) for server in range(600)}) == 600
    assert mac_of(300) == "02:00:00:00:01:2c"


# In a network namespace of its own; a second look at the link, by scapy, is the independent witness.
SENDER = """
import json, threading
from grasp.topo.isolation import enter
enter()
from grasp.topo.studies.consolidation import rehearsal
from grasp.topo.studies.consolidation.rehearsal import rehearse
from scapy.sendrecv import AsyncSniffer
import subprocess
started = threading.Event()
real = rehearsal.wake
frames = []
def watched(mac, interface):
    if not started.is_set():
        global sniffer
        sniffer = AsyncSniffer(iface="servers", filter=None, started_callback=started.set, store=True)
        sniffer.start()
        started.wait(10)
    real(mac, interface)
rehearsal.wake = watched
counts = rehearse([0, 300, 0])
sniffer.stop()
print(json.dumps({"counts": counts, "frames": [bytes(frame).hex() for frame in sniffer.results]}))
"""


@pytest.mark.network
def test_packets_on_a_link() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    done = subprocess.run(
        [sys.executable, "-c", SENDER], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["counts"] == {"sent": 3, "seen": 3, "servers": 2}
    magic = []
    for raw in seen["frames"]:
        frame = Ether(bytes.fromhex(raw))
        if UDP in frame and frame[UDP].dport == 9:
            assert frame.dst == "ff:ff:ff:ff:ff:ff"
            assert frame[IP].dst == "255.255.255.255"
            magic.append(bytes(frame[UDP].payload))
    assert magic == [magic_packet(mac_of(server)) for server in (0, 300, 0)]


@pytest.mark.network
def test_the_study_sends_its_wake_ups() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    program = (
        "import sys, argparse\n"
        "from grasp.topo.studies import command\n"
        "parser = argparse.ArgumentParser()\n"
        "command.configure(parser)\n"
        "sys.exit(command.run(parser.parse_args(sys.argv[1:])))"
    )
    options = [
        "consolidation",
        "--wake-on-lan",
        "--workers",
        "1",
        "--json",
        "--peak",
        "2",
        "--sleep",
        "standby",
    ]
    done = subprocess.run(
        [sys.executable, "-c", program, *options, "--servers", "new=1,old=2", "--idles", "0.4"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (day,) = [run for run in found["runs"] if (run["scenario"], run["policy"]) == ("day", "standby")]
    assert day["wakes"] > 0
    assert found["wake_on_lan"]["sent"] == found["wake_on_lan"]["seen"] == day["wakes"]
