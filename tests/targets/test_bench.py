# SPDX-License-Identifier: Apache-2.0
"""The benchmark measures what it says: its traffic is right, its figures come from packets that arrived."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from grasp import UserError
from grasp.targets.bench import inside, network, switch
from grasp.targets.bench.scenario import ACK, BUDGET, ENERGY, SYN, VIP, full_name, segment, site_of
from grasp.targets.v1model.compile import compile_program
from grasp.targets.v1model.engine import Engine
from grasp.targets.v1model.p4load import load
from grasp.targets.v1model.translate import translate

PROGRAM = Path(str(files("grasp"))) / "p4src" / "build" / "grasp.json"


@given(st.binary(max_size=99), st.integers(1, 65535))
def test_segments_have_right_checksums(data, port):
    frame = Ether(segment(0x020000010000, 0x0A010001, VIP, (port, 80), SYN | ACK, data))
    anew = IP(bytes(frame[IP]))
    del anew.chksum, anew[TCP].chksum
    anew = IP(bytes(anew))
    assert (frame[IP].chksum, frame[TCP].chksum) == (anew.chksum, anew[TCP].chksum)
    assert len(frame) >= 60
    assert bytes(frame[TCP].payload)[: len(data)] == data


@pytest.mark.packet
def test_the_traffic_is_whole_connections_to_all_sites():
    with Engine(cpu_port=255) as engine:
        program = inside._prepare(engine, compile_program(translate(load(PROGRAM.read_bytes()))))
        packets = inside._connections(engine, 100)
        drops = program.read_counters(full_name(program.counters, "drops"))
        jobs = [cell.packets for cell in program.read_counters(full_name(program.counters, "jobs"))]
        headroom = program.read_registers(full_name(program.registers, "site_headroom"))
    assert sum(cell.packets for cell in drops) == 0
    assert len(packets) == 10 * sum(jobs)
    assert sum(jobs) > inside.CONNECTIONS / 2  # the rest would have needed the controller
    assert max(jobs[:9]) - min(jobs[:9]) <= 1
    assert headroom[:9] == [BUDGET - ENERGY * count for count in jobs[:9]]


@pytest.mark.packet
def test_the_program_alone_as_json(capsys):
    parser = argparse.ArgumentParser()
    switch.configure(parser)
    assert switch.run(parser.parse_args(["--inside-only", "--rounds", "2", "--json"])) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["network"] is None
    assert 10_000 < report["inside"]["least"] <= report["inside"]["median"] <= report["inside"]["most"]


@pytest.mark.parametrize(
    "words", [["--rounds", "0"], ["--seconds", "0"], ["--payload", "1401"], ["--program", "/nowhere/x.json"]]
)
def test_what_cannot_be_measured(words):
    parser = argparse.ArgumentParser()
    switch.configure(parser)
    with pytest.raises(UserError):
        switch.run(parser.parse_args([*words]))


@pytest.mark.packet
@pytest.mark.network
def test_through_veth_pairs():
    """In a process of its own, which moves into a namespace."""
    words = ["switch", "--rounds", "1", "--seconds", "0.05", "--json"]
    code = "import sys; from grasp.control.cli import main; sys.exit(main(['bench', *sys.argv[1:]]))"
    run = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    rates = json.loads(run.stdout)["network"]
    assert {"copy", "v1model"} <= rates.keys()
    assert all(found["median"] > 100 for found in rates.values())


@pytest.mark.parametrize("limit", [2_000, 100_000, 700_000])
def test_the_search_finds_the_rate_at_which_packets_are_lost(monkeypatch, limit):
    """A modelled link that loses what exceeds a rate."""
    sender = network.Sender([(1, b"x")])

    def trial(rate, seconds):
        sent = int(min(rate, 900_000) * seconds)
        return network._Trial(sent, min(sent, int(limit * seconds)), seconds)

    monkeypatch.setattr(sender, "trial", trial)
    assert sender.best_rate(1.0) == pytest.approx(limit, rel=0.03)


def test_a_connection_says_where_it_went():
    port, frame = network.SCENARIO.from_client(0, 20_000, SYN, 0)
    assert port == 1
    assert site_of(frame[:30] + (0x0A020001 + 2).to_bytes(4, "big") + frame[34:]) == 2
