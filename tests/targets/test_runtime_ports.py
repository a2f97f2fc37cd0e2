# SPDX-License-Identifier: Apache-2.0
"""Real interfaces: veth pairs and tun devices in namespaces of the tests' own."""

from __future__ import annotations

import ctypes
import fcntl
import functools
import os
import select
import socket
import struct
import subprocess
import threading
import time

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.utils import rdpcap

from grasp import UserError
from grasp.targets.v1model.engine import Engine
from grasp.targets.v1model.objects import PacketIn, PortEvent

from . import bare

pytestmark = [pytest.mark.packet, pytest.mark.network]
CLONE_NEWNET = 0x40000000
WAIT = 5.0  # s: an event that has not come by then will not come
QUIET = 0.1  # s: long enough for a packet that must not come


def in_namespace(test):
    """Run a test in a thread that moves into a fresh network namespace, which ends with it."""

    @functools.wraps(test)
    def run(*args, **kwargs):
        failure: list[BaseException] = []

        def body():
            try:
                libc = ctypes.CDLL(None, use_errno=True)
                if libc.unshare(CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "unshare (are you root?)")
                ip("link set lo up")
                test(*args, **kwargs)
            except BaseException as error:
                failure.append(error)

        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
        if failure:
            raise failure[0]

    return run


def ip(*lines):
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True, check=True)


class Host:
    """The far end of a veth pair whose near end, sw<number>, is the switch's port."""

    def __init__(self, number, mtu=1500):
        self.near, self.far = f"sw{number}", f"host{number}"
        ip(
            f"link add {self.near} mtu {mtu} type veth peer name {self.far} mtu {mtu}",
            *(f"link set {end} addrgenmode none" for end in (self.near, self.far)),
            *(f"link set {end} up" for end in (self.near, self.far)),
        )
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.setsockopt(263, 23, 1)  # SOL_PACKET, PACKET_IGNORE_OUTGOING
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.socket.bind((self.far, 0))

    def send(self, data):
        self.socket.send(data)

    def receive(self, wait=WAIT):
        """The next frame, or None."""
        if not select.select([self.socket], [], [], wait)[0]:
            return None
        return self.socket.recv(65536)


@pytest.fixture
def switch():
    with Engine(cpu_port=255) as engine:
        bare.load(engine)
        yield engine


def attach(switch, *numbers):
    hosts = [Host(number) for number in numbers]
    for number, host in zip(numbers, hosts, strict=True):
        switch.add_port(number, host.near)
    switch.start()
    return hosts


def eventually(condition):
    """Wait until a condition holds; fail if it does not within WAIT."""
    end = time.monotonic() + WAIT
    while not (result := condition()):
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.01)
    return result


def status(switch, number):
    return next(port for port in switch.ports() if port.number == number)


@in_namespace
def test_frames_go_from_port_to_port(switch):
    one, two = attach(switch, 1, 2)
    sent = bare.packet(port=2, payload=b"hello")
    one.send(sent)
    assert two.receive() == sent
    two.send(bare.packet(port=1))
    assert one.receive() == bare.packet(port=1)
    assert one.receive(QUIET) is None
    first = status(switch, 1)
    assert (first.interface, first.up, first.rx_packets, first.tx_packets) == ("sw1", True, 1, 1)
    assert first.rx_bytes == len(sent)
    two.send(bare.packet(port=255))
    events = [switch.next_event(WAIT) for _ in range(3)]
    assert events == [PortEvent(1, True), PortEvent(2, True), PacketIn(bare.packet(port=255))]
    switch.packet_out(bare.packet(port=2, payload=b"out"))
    assert two.receive() == bare.packet(port=2, payload=b"out")


@in_namespace
def test_many_frames_lose_none(switch):
    one, two = attach(switch, 1, 2)
    for start in range(0, 10_000, 1000):  # bursts that the ring holds, though the switch may come late
        for number in range(start, start + 1000):
            one.send(bare.packet(port=2, kept=number))
        got = [bare.HEADER.unpack_from(two.receive())[7] for _ in range(1000)]
        assert got == list(range(start, start + 1000))
    assert status(switch, 1).rx_lost == 0


@in_namespace
def test_frames_longer_than_the_mtu_are_counted(switch):
    switch.add_port(1, Host(1, mtu=9000).near)
    two = Host(2)
    switch.add_port(2, two.near)
    switch.start()
    one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    one.bind(("host1", 0))
    one.send(bare.packet(port=2, payload=bytes(4000)))
    one.send(bare.packet(port=2, payload=bytes(1400)))
    assert len(two.receive()) == 1464
    assert status(switch, 2).tx_too_long == 1


@in_namespace
def test_an_mtu_that_grows_and_one_that_differs_at_the_other_end(switch):
    (one,) = attach(switch, 1)
    ip("link set sw1 mtu 9000", "link set host1 mtu 9000")
    eventually(lambda: one.socket.send(bare.packet(port=1, payload=bytes(8000))) and one.receive(QUIET))
    ip("link set host1 mtu 1500")
    switch.packet_out(bare.packet(port=1, payload=bytes(4000)))
    switch.packet_out(bare.packet(port=1))
    assert one.receive() == bare.packet(port=1)
    assert status(switch, 1).tx_errors == 1


@in_namespace
def test_a_short_queue_of_the_interface_is_waited_for(switch):
    """The interface refuses frames before the send buffer is full: none of them is lost in it."""
    one, two = attach(switch, 1, 2)
    shape = ["qdisc", "add", "dev", "sw2", "root", "tbf", "rate", "20mbit", "burst", "3000", "limit", "6000"]
    subprocess.run(["tc", *shape], check=True)
    for number in range(60):
        one.send(bare.packet(port=2, kept=number, payload=bytes(1000)))
    got = [bare.HEADER.unpack_from(two.receive())[7] for _ in range(60)]
    assert got == list(range(60))


@in_namespace
def test_a_frame_shorter_than_a_link_header_is_counted(switch):
    (one,) = attach(switch, 1)
    one.send(bare.packet(bare.TRUNCATE, port=1, kept=9))
    one.send(bare.packet(port=1))
    assert one.receive() == bare.packet(port=1)
    assert status(switch, 1).tx_too_short == 1


@in_namespace
@pytest.mark.parametrize("tag", ["8100e005", "88a80005", "810000058100000a"])
def test_vlan_tags_stay_where_they_are(switch, tag):
    """The kernel takes the outer tag off what a socket receives."""
    (one,) = attach(switch, 1)
    assert isinstance(switch.next_event(WAIT), PortEvent)
    tag = bytes.fromhex(tag)
    frame = bytearray(bare.packet(port=255, payload=b"tagged"))
    frame[12 : 12 + len(tag)] = tag
    one.send(bytes(frame))
    assert switch.next_event(WAIT) == PacketIn(bytes(frame))


@in_namespace
def test_checksums_are_as_on_a_wire(tmp_path):
    """A host leaves them to a device that a veth pair does not have."""
    with Engine(pcap=tmp_path) as engine:
        (one,) = attach(engine, 1)
        ip(
            f"address add 10.6.0.1/24 dev {one.far}",
            f"neigh add 10.6.0.2 lladdr 02:00:00:00:00:02 dev {one.far}",
        )
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.sendto(b"odd", ("10.6.0.2", 9))
        with socket.socket() as tcp:
            tcp.setblocking(False)
            assert tcp.connect_ex(("10.6.0.2", 80))
            eventually(lambda: status(engine, 1).rx_packets >= 2)
    frames = [frame for frame in rdpcap(str(tmp_path / "sw1_in.pcap")) if UDP in frame or TCP in frame]
    assert {UDP, TCP} == {kind for kind in (UDP, TCP) for frame in frames if kind in frame}
    for frame in frames:
        layer = UDP if UDP in frame else TCP
        anew = IP(bytes(frame[IP]))
        del anew[layer].chksum
        assert frame[layer].chksum == IP(bytes(anew))[layer].chksum


@in_namespace
def test_an_interface_that_goes_down_or_vanishes_comes_back(switch):
    one, two = attach(switch, 1, 2)
    for _ in range(2):
        assert switch.next_event(WAIT)
    ip("link set sw2 down")
    assert switch.next_event(WAIT) == PortEvent(2, False)
    for _ in range(70):
        one.send(bare.packet(port=2))
    eventually(lambda: status(switch, 2).tx_errors == 70)
    ip("link set sw2 up")
    assert switch.next_event(WAIT) == PortEvent(2, True)
    one.send(bare.packet(port=2))
    assert two.receive() == bare.packet(port=2)
    ip("link del sw2")
    assert switch.next_event(WAIT) == PortEvent(2, False)
    one.send(bare.packet(port=2))
    eventually(lambda: status(switch, 2).tx_errors == 71)
    two = Host(2)
    assert switch.next_event(WAIT) == PortEvent(2, True)
    one.send(bare.packet(port=2, kept=3))
    assert two.receive() == bare.packet(port=2, kept=3)
    two.send(bare.packet(port=1, kept=4))
    assert one.receive() == bare.packet(port=1, kept=4)


@in_namespace
def test_an_idle_loop_uses_no_processor(switch):
    attach(switch, 1, 2)
    ip("link set sw2 down", "link del sw1")
    eventually(lambda: not status(switch, 1).up)
    before = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - before < 0.1


@in_namespace
def test_ports_that_cannot_be(switch):
    host = Host(1)
    switch.add_port(1, host.near)
    for number, name, reason in (
        (1, host.near, "taken"), (2, "nosuch", "no such interface"), (255, host.near, "CPU port"),
        (511, host.near, "drop port"), (512, host.near, "0 to 511"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=reason):
            switch.add_port(number, name)
    switch.remove_port(1)
    assert switch.ports() == []
    switch.add_port(1, host.near)


@in_namespace
def test_a_tun_device_takes_frames_of_any_length(switch):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH22x", b"tun0", 1))  # TUNSETIFF, IFF_TUN
    ip("link set tun0 addrgenmode none", "link set tun0 mtu 9000 up")
    switch.add_port(1, "tun0")
    switch.start()
    for flags, kept, length in ((0, 0, 64), (bare.TRUNCATE, 1, 1), (bare.TRUNCATE, 13, 13)):
        os.write(fd, struct.pack("!HH", 0, 0x88B5) + bare.packet(flags, port=1, kept=kept))
        assert select.select([fd], [], [], WAIT)[0]
        assert len(os.read(fd, 9100)) == 4 + length
    os.write(fd, struct.pack("!HH", 0, 0x88B5) + b"\x01")
    eventually(lambda: switch.counts().dropped_ingress == 1)
    os.close(fd)


@in_namespace
def test_the_queue_follows_a_shaped_interface_and_drops_at_its_tail(switch):
    """At 2 Mbit/s a burst fills the send buffer, then the port's queue, then is dropped and counted."""
    one, two = attach(switch, 1, 2)
    shape = [
        "qdisc",
        "add",
        "dev",
        "sw2",
        "root",
        "tbf",
        "rate",
        "2mbit",
        "burst",
        "3000",
        "limit",
        "1000000",
    ]
    subprocess.run(["tc", *shape], check=True)
    for _ in range(600):
        one.send(bare.packet(bare.REPORT, port=2, payload=bytes(1000)))
    eventually(lambda: status(switch, 1).rx_packets == 600)
    answers = []
    while data := two.receive(2.0):
        answers.append(bare.answer(data))
    dropped = status(switch, 2).tx_queue_full
    assert dropped > 0
    assert len(answers) == 600 - dropped
    depths = [answer.enq_qdepth for answer in answers]
    assert max(depths) == 63
    assert depths[0] == 0
    waited = [answer.deq_timedelta for answer in answers]
    assert max(waited) > 50_000
    assert all(wait == 0 for wait, depth in zip(waited[:50], depths[:50], strict=True) if not depth)
    one.send(bare.packet(bare.REPORT, port=2))
    assert bare.answer(two.receive()).enq_qdepth == 0


@in_namespace
def test_pcap_files_hold_what_passed(tmp_path):
    with Engine(pcap=tmp_path) as engine:
        bare.load(engine)
        one, two = attach(engine, 1, 2)
        sent = bare.packet(port=2, payload=bytes(range(100)))
        one.send(sent)
        assert two.receive() == sent
    assert [bytes(p) for p in rdpcap(str(tmp_path / "sw1_in.pcap"))] == [sent]
    assert [bytes(p) for p in rdpcap(str(tmp_path / "sw2_out.pcap"))] == [sent]
    assert len(rdpcap(str(tmp_path / "sw2_in.pcap"))) == 0
    with pytest.raises(UserError, match="no folder"):
        Engine(pcap=tmp_path / "none")


@in_namespace
def test_the_control_plane_gets_its_turn_under_load(switch):
    """Calls return soon although the loop never rests."""
    one, _ = attach(switch, 1, 2)
    stop = threading.Event()
    frame = bare.packet(port=2, payload=bytes(1000))

    def flood():
        while not stop.is_set():
            one.send(frame)

    sender = threading.Thread(target=flood)
    sender.start()
    try:
        eventually(lambda: status(switch, 1).rx_packets > 100)
        longest = 0.0
        for _ in range(200):
            start = time.monotonic()
            switch.program.read_registers("r32")
            longest = max(longest, time.monotonic() - start)
    finally:
        stop.set()
        sender.join()
    assert longest < 0.5
