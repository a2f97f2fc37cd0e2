# SPDX-License-Identifier: Apache-2.0
"""The OpenFlow connections themselves, over loopback: what one peer says must not silence the others."""

import contextlib
import queue
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator

import pytest

# Says what it is told of; a frame that begins with "bad" is a fault of the controller's own.
BOARD = """
import socket, sys, threading, time
from os_ken.ofproto import ofproto_v1_3_parser as parser
from grasp.control.openflow import southbound
class Board:
    def say(self, *words): print(*words, flush=True)
    def up(self, datapath, found):
        self.say("up", datapath.id, len(found))
        if datapath.id == 99: southbound.hang_up(datapath)
    def down(self, datapath): self.say("down", datapath.id)
    def packet_in(self, datapath, port, frame):
        if frame.startswith(b"bad"): raise RuntimeError("bad")
        if frame.startswith(b"much"):
            for _ in range(300):
                datapath.send_msg(parser.OFPPacketOut(datapath, 0xFFFFFFFF, 1, [], bytes(60_000)))
        time.sleep(0.0005)  # as a decision takes
        self.say("packet", datapath.id, port)
    def removed(self, datapath, match, cookie): self.say("removed", datapath.id)
    def refused(self, datapath, number): self.say("refused", datapath.id, number)
southbound.listen(sys.argv[1], Board())
print("ready", flush=True)
threading.Event().wait()
"""

PATIENCE = 20.0
HELLO, ERROR, ECHO, ECHO_REPLY, FEATURES, FEATURES_REPLY = 0, 1, 2, 3, 5, 6
PACKET_IN, REMOVED, PACKET_OUT, STATS, STATS_REPLY = 10, 11, 13, 18, 19
ENTRIES, PORTS = 1, 13
ENDLESS = struct.pack("!BBHIHH", 4, HELLO, 12, 1, 1, 0)
IN_PORT_1 = struct.pack("!HHHBBI4x", 1, 12, 0x8000, 0, 4, 1)
ANYTHING = struct.pack("!HH4x", 1, 4)
MASKED = struct.pack("!HHHBBHHBBIIxx", 1, 22, 0x8000, 10, 2, 0x800, 0x8000, 25, 8, 0xC0000200, 0xFFFFFF00)


def message(kind: int, body: bytes = b"", number: int = 1) -> bytes:
    return struct.pack("!BBHI", 4, kind, 8 + len(body), number) + body


def packet_in(frame: bytes, match: bytes = IN_PORT_1) -> bytes:
    return message(
        PACKET_IN, struct.pack("!IHBBQ", 0xFFFFFFFF, len(frame), 0, 0, 0) + match + b"\0\0" + frame
    )


def removed(match: bytes) -> bytes:
    return message(REMOVED, struct.pack("!QHBBIIHHQQ", 0, 5, 0, 0, 1, 0, 1, 0, 0, 0) + match)


class Peer:
    """A switch, as far as the controller can tell."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, timeout=PATIENCE)

    def read(self, kind: int) -> tuple[int, bytes]:
        """Read until a message of that kind; return its number and body."""
        while True:
            head = self._exactly(8)
            _, found, length, number = struct.unpack("!BBHI", head)
            body = self._exactly(length - 8)
            if found == kind:
                return number, body
            if found == ECHO:
                self.socket.sendall(message(ECHO_REPLY, body, number))

    def shake_hands(self, datapath: int) -> None:
        self.socket.sendall(message(HELLO))
        number, _ = self.read(FEATURES)
        features = struct.pack("!QIBBxxII", datapath, 0, 254, 0, 0x4F, 0)
        self.socket.sendall(message(FEATURES_REPLY, features, number))
        for kind in (PORTS, ENTRIES):
            number, body = self.read(STATS)
            assert body[:2] == struct.pack("!H", kind)
            self.socket.sendall(message(STATS_REPLY, struct.pack("!HH4x", kind, 0), number))

    def is_hung_up(self) -> bool:
        with contextlib.suppress(ConnectionResetError):
            while self.socket.recv(4096):
                pass
        return True

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            assert part, "the controller hung up"
            data += part
        return data


class World:
    def __init__(self, program: "subprocess.Popen[str]", address: tuple[str, int]) -> None:
        self.address = address
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, args=(program.stdout,), daemon=True).start()

    def said(self) -> str:
        """Return the next line; fails where there is none for long."""
        return self._lines.get(timeout=PATIENCE)

    def _listen(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._lines.put(line.strip())

    def switch(self, datapath: int) -> Peer:
        peer = Peer(self.address)
        peer.shake_hands(datapath)
        assert self.said() == f"up {datapath} 0"
        return peer


@pytest.fixture
def world() -> Iterator[World]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()
    with subprocess.Popen(
        [sys.executable, "-c", BOARD, f"127.0.0.1:{address[1]}"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as program:  # fmt: skip
        found = World(program, address)
        assert found.said() == "ready"
        yield found
        program.kill()


def test_what_a_switch_says_is_passed_on(world: World) -> None:
    switch = world.switch(1)
    switch.socket.sendall(packet_in(b"frame"))
    assert world.said() == "packet 1 1"
    switch.socket.sendall(removed(IN_PORT_1))
    assert world.said() == "removed 1"
    switch.socket.sendall(message(ERROR, struct.pack("!HH", 2, 0) + message(14), number=7))
    assert world.said() == "refused 1 7"
    switch.socket.close()
    assert world.said() == "down 1"


@pytest.mark.parametrize(
    "strange",
    [packet_in(b"frame", ANYTHING), removed(MASKED), message(ERROR, struct.pack("!HH", 2, 0), number=0)],
)
def test_what_is_not_for_the_controller_is_passed_over(world: World, strange: bytes) -> None:
    switch = world.switch(1)
    switch.socket.sendall(strange + packet_in(b"frame"))
    assert world.said() == "packet 1 1"


def test_a_fault_ends_the_connection_that_caused_it_and_no_other(world: World) -> None:
    good, bad = world.switch(1), world.switch(2)
    bad.socket.sendall(packet_in(b"bad"))
    assert bad.is_hung_up()
    assert world.said() == "down 2"
    good.socket.sendall(packet_in(b"frame"))
    assert world.said() == "packet 1 1"
    world.switch(2).socket.sendall(packet_in(b"frame"))
    assert world.said() == "packet 2 1"


def test_a_switch_can_be_turned_away_while_another_says_a_lot(world: World) -> None:
    """Whoever is told of the switch must not wait for os-ken's queue of events, which fills up meanwhile."""
    busy = world.switch(1)
    stranger = Peer(world.address)
    busy.socket.sendall(packet_in(b"frame") * 2000)
    stranger.shake_hands(99)
    assert stranger.is_hung_up()
    said = [world.said() for _ in range(2002)]
    assert said.count("packet 1 1") == 2000
    assert {"up 99 0", "down 99"} <= set(said)


def test_a_switch_that_does_not_read_holds_nobody_up(world: World) -> None:
    good, deaf = world.switch(1), world.switch(2)
    deaf.socket.sendall(packet_in(b"much"))  # 18 MB for it, more than the sockets of both ends hold
    assert world.said() == "packet 2 1"
    good.socket.sendall(packet_in(b"frame"))
    assert world.said() == "packet 1 1"
    for _ in range(300):  # and still gets all that is for it
        deaf.read(PACKET_OUT)


def test_a_hello_without_end_is_passed_over(world: World) -> None:
    peer = Peer(world.address)
    peer.socket.sendall(ENDLESS)
    peer.shake_hands(1)
    assert world.said() == "up 1 0"
