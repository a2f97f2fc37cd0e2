# SPDX-License-Identifier: Apache-2.0
"""Packets per second through veth pairs at less than 1 % loss, in a network namespace of the run's own.

Two ports: clients on one, servers of three sites on the other. Connections are opened through the switch,
then their packets pass in both directions at a rate that is searched for: the highest at which 99 % arrive.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

from grasp import UserError
from grasp.targets.bench.remote import Controller
from grasp.targets.bench.scenario import ACK, CLIENTS, SYN, Scenario, site_of
from grasp.targets.interface import SwitchConfig, find
from grasp.targets.v1model.compile import compile_shared

SCENARIO = Scenario((1,), {0: 2, 1: 2, 2: 2})
NEAR, FAR = ("sw1", "sw2"), ("host1", "host2")  # ends of the pairs, by port
CONNECTIONS = 512
LOSS = 0.01
STEPS = 9  # of the search between SLOWEST and what the sender can: its last interval is below 2 %
SLOWEST = 100.0  # packets per second
FLOOD = 1e9  # packets per second: as fast as the sender can
_CLONE_NEWNET = 0x40000000
_RECEIVED, _WAIT = 1, 5.0  # column of /proc/net/dev; s
_device_ids = count(1)


@cache
def _loops() -> ctypes.CDLL:
    library = ctypes.CDLL(str(compile_shared([Path(__file__).parent / "loops.c"], "bench")), use_errno=True)
    library.bench_copy.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int))
    library.bench_send.restype = ctypes.c_int64
    library.bench_send.argtypes = (
        ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint32), ctypes.c_char_p,
        ctypes.c_uint32, ctypes.c_double, ctypes.c_uint64,
    )  # fmt: skip
    return library


def enter_namespace() -> None:
    """Move the calling thread, and what it starts, into a fresh network namespace with two veth pairs."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET):
        raise UserError(f"no network namespace ({os.strerror(ctypes.get_errno())}): run this as root")
    commands = ["link set lo up"]
    for near, far in zip(NEAR, FAR, strict=True):
        commands.append(f"link add {near} type veth peer name {far}")
        commands += [f"link set {end} addrgenmode none arp off up" for end in (near, far)]
    subprocess.run(["ip", "-batch", "-"], input="\n".join(commands), text=True, check=True)


# ---- what is measured


@contextlib.contextmanager
def copy_loop(payload: int) -> Iterator[list[tuple[int, bytes]]]:
    """The plain loop between the two ports; yields the packets to send, which are the switches' too."""
    stop = ctypes.c_int(0)
    near = [name.encode() for name in NEAR]
    thread = threading.Thread(target=_loops().bench_copy, args=(*near, ctypes.byref(stop)))
    thread.start()
    try:
        yield _packets({n: n % len(SCENARIO.site_ports) for n in range(CONNECTIONS)}, payload)
    finally:
        stop.value = 1
        thread.join()


@contextlib.contextmanager
def switch(target: str, program: Path, payload: int) -> Iterator[list[tuple[int, bytes]]]:
    """A switch of a target with its connections open; yields their packets."""
    device_id = next(_device_ids)
    address = f"127.0.0.1:{50_000 + device_id}"
    config = SwitchConfig(device_id, address, dict(zip((1, 2), NEAR, strict=True)))
    running = find(target)(config)
    with tempfile.TemporaryDirectory(prefix="grasp-bench-") as folder:
        running.start(Path(folder) / "switch.log")
        try:
            with Controller(address, device_id, program) as controller, _Hosts() as hosts:
                for port, frame in controller.fill(SCENARIO):
                    hosts.send(port, frame)
                yield _packets({n: hosts.connect(n) for n in range(CONNECTIONS)}, payload)
        finally:
            running.stop()


class _Hosts:
    """The far ends: clients behind port 1, servers behind port 2."""

    def __enter__(self) -> _Hosts:
        self._sockets = []
        for name in FAR:
            end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
            end.setsockopt(263, 23, 1)  # SOL_PACKET, PACKET_IGNORE_OUTGOING
            end.bind((name, 0))
            end.settimeout(_WAIT)
            self._sockets.append(end)
        return self

    def __exit__(self, *_: object) -> None:
        for end in self._sockets:
            end.close()

    def send(self, port: int, frame: bytes) -> None:
        """Send a frame into a port."""
        self._sockets[port - 1].send(frame)

    def connect(self, number: int) -> int:
        """Open a connection; returns the site that the switch chose for it."""
        client, port = _ends(number)
        self.send(*SCENARIO.from_client(client, port, SYN, 0))
        try:
            return site_of(self._sockets[1].recv(2048))
        except TimeoutError:
            raise UserError(f"connection {number} of the benchmark did not pass the switch") from None


def _ends(number: int) -> tuple[int, int]:
    """Client and source port of a connection."""
    return CLIENTS[number % len(CLIENTS)], 20_000 + number // len(CLIENTS)


def _packets(sites: dict[int, int], payload: int) -> list[tuple[int, bytes]]:
    """(port, frame): a segment with data from and to each client in turn."""
    packets = []
    for number, site in sites.items():
        packets.append(SCENARIO.from_client(*_ends(number), ACK, payload))
        packets.append(SCENARIO.from_site(site, *_ends(number), ACK, payload))
    return packets


# ---- the measurement


@dataclass
class _Trial:
    sent: int
    arrived: int
    seconds: float

    @property
    def loss(self) -> float:
        return 1 - self.arrived / self.sent


class Sender:
    """Sends packets into the ports, again and again, and counts what comes back."""

    def __init__(self, packets: list[tuple[int, bytes]]) -> None:
        self._count = len(packets)
        self._data = b"".join(frame for _, frame in packets)
        self._lengths = (ctypes.c_uint32 * self._count)(*(len(frame) for _, frame in packets))
        self._to = bytes(port - 1 for port, _ in packets)

    def trial(self, rate: float, seconds: float) -> _Trial:
        """Offer a rate for some time."""
        before, start = _arrived(), time.monotonic()
        far = [name.encode() for name in FAR]
        arguments = (*far, self._data, self._lengths, self._to, self._count, rate, int(seconds * 1e9))
        sent = _loops().bench_send(*arguments)
        elapsed = time.monotonic() - start
        if sent <= 0:
            raise UserError(f"cannot send: {os.strerror(ctypes.get_errno())}")
        last, now = -1, _arrived()
        while now != last:  # what is still in queues
            time.sleep(0.05)
            last, now = now, _arrived()
        return _Trial(sent, now - before, elapsed)

    def best_rate(self, seconds: float) -> float:
        """The highest rate, packets per second, at which less than 1 % is lost."""
        flood = self.trial(FLOOD, seconds)
        if flood.loss < LOSS:
            return flood.arrived / flood.seconds
        low, high, best = SLOWEST, flood.sent / flood.seconds, 0.0
        for _ in range(STEPS):
            middle = math.sqrt(low * high)  # so that slow targets are measured as closely as fast ones
            trial = self.trial(middle, seconds)
            if trial.loss < LOSS:
                low, best = middle, trial.arrived / trial.seconds
            else:
                high = middle
        return best


def _arrived() -> int:
    """Packets that the far ends have received; the calling thread's namespace is meant."""
    total = 0
    for line in Path("/proc/thread-self/net/dev").read_text().splitlines():
        name, _, columns = line.partition(":")
        if name.strip() in FAR:
            total += int(columns.split()[_RECEIVED])
    return total
