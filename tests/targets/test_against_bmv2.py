# SPDX-License-Identifier: Apache-2.0
"""The embedded switch and BMv2, given the same packets, send the same packets."""

from __future__ import annotations

import ctypes
import select
import shutil
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

import pytest
from finsy.proto import p4r

from grasp.targets.bench.remote import Controller
from grasp.targets.interface import SwitchConfig, find

pytestmark = [pytest.mark.packet, pytest.mark.network]
PROGRAM = Path(__file__).parent / "programs" / "report.json"
PORTS = range(6)
QUIET = 0.05  # s without a packet that end a case
LONG = 1.0  # and one that did not go alike the first time, on a busy machine perhaps
GROUPS = {1: [(1, 5), (2, 6)], 2: [(3, 4), (255, 1)], 9: []}  # port, instance
SESSIONS = {1: [(4, 3)], 2: [(4, 3), (5, 4)], 3: [(2, 0)]}


def ask(what, number=0, port=1, group=0, session=0):
    return struct.pack("!BBHHH6sH", what, number, port, group, session, bytes(6), 0x1234) + b"\xee" * 60


def cases():
    for what in (*range(12), *range(20, 27)):
        for number in (0, 20, 50, 150) if what in (5, 7, 23, 24) else (0,):
            for port, group, session in (
                (1, 0, 1),
                (1, 1, 2),
                (511, 0, 2),
                (511, 2, 3),
                (3, 0, 9),
                (0, 9, 1),
            ):
                yield ask(what, number, port, group, session)


def entities():
    for number, replicas in GROUPS.items():
        entity = p4r.Entity()
        group = entity.packet_replication_engine_entry.multicast_group_entry
        group.multicast_group_id = number
        group.replicas.extend(p4r.Replica(egress_port=port, instance=rid) for port, rid in replicas)
        yield entity
    for number, replicas in SESSIONS.items():
        entity = p4r.Entity()
        session = entity.packet_replication_engine_entry.clone_session_entry
        session.session_id = number
        session.replicas.extend(p4r.Replica(egress_port=port, instance=rid) for port, rid in replicas)
        yield entity


def run(target, log, packets, quiet, answers):
    """In a namespace of this thread's own: send every packet, note what comes out at which port."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.unshare(0x40000000) == 0  # CLONE_NEWNET
    commands = ["link set lo up"]
    for n in PORTS:
        commands.append(f"link add sw{n} type veth peer name host{n}")
        commands += [f"link set {end}{n} addrgenmode none arp off up" for end in ("sw", "host")]
    subprocess.run(["ip", "-batch", "-"], input="\n".join(commands), text=True, check=True)
    hosts = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for _ in PORTS]
    for n, host in enumerate(hosts):
        host.setsockopt(263, 23, 1)  # SOL_PACKET, PACKET_IGNORE_OUTGOING
        host.bind((f"host{n}", 0))
    switch = find(target)(SwitchConfig(1, "127.0.0.1:50051", {n: f"sw{n}" for n in PORTS}))
    switch.start(log)
    try:
        with Controller("127.0.0.1:50051", 1, PROGRAM) as controller:
            controller.write(list(entities()))
            for packet in packets:
                hosts[2].send(packet)
                answers.append(sorted(collect(hosts, quiet)))
    finally:
        switch.stop()
        for host in hosts:
            host.close()


def collect(hosts, quiet):
    end = time.monotonic() + quiet
    while (left := end - time.monotonic()) > 0:
        for host in select.select(hosts, [], [], left)[0]:
            yield hosts.index(host), host.recv(2048)
            end = time.monotonic() + quiet


@pytest.mark.skipif(shutil.which("simple_switch_grpc") is None, reason="BMv2 is not on PATH")
def test_the_same_packets_come_out(tmp_path):
    def answers(target, packets, quiet):
        found = []
        log = tmp_path / f"{target}.log"
        thread = threading.Thread(target=run, args=(target, log, packets, quiet, found))
        thread.start()
        thread.join()
        return found

    packets = list(cases())
    both = [answers(target, packets, QUIET) for target in ("v1model", "bmv2")]
    assert sum(map(len, both[1])) > 100
    # The program keeps nothing between packets, so that one can be sent again without the others.
    again = [packet for packet, ours, theirs in zip(packets, *both, strict=True) if ours != theirs]
    if again:
        both = [answers(target, again, LONG) for target in ("v1model", "bmv2")]
        for packet, ours, theirs in zip(again, *both, strict=True):
            assert (packet.hex(), ours) == (packet.hex(), theirs)
