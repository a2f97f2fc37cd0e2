# SPDX-License-Identifier: Apache-2.0
"""A client: opens the jobs that it is told to open, and says how each one went.

    python -m grasp.topo.traffic

reads one order a line on standard input (`Order`), writes one outcome a line on standard output (`Outcome`),
both JSON, and ends when standard input has ended and every job has. One light process for a host.
"""

import asyncio
import contextlib
import json
import os
import socket
import struct
import sys
import time
from dataclasses import asdict, dataclass

from grasp.topo.job import SIZE, Record

_TCP_INFO_LENGTH = 104
_TCP_INFO_RTT = 68  # offset of tcpi_rtt in struct tcp_info of linux/tcp.h
_TCP_INFO_TOTAL_RETRANS = 100


@dataclass(frozen=True, slots=True)
class Order:
    """One job: when to open it (CLOCK_MONOTONIC), to what, and its requests spread over `hold` seconds."""

    hour: int
    job: int
    at: float
    address: str
    port: int
    protocol: str = "tcp"
    exchanges: int = 1
    hold: float = 0.0
    patience: float = 5.0  # seconds that a connection, or an answer, may take


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job went: the sites that answered it, SYN to SYN-ACK in microseconds, and what failed, if it did.

    `slowest_us` is the longest time that an answer took, a sign of a path that was away for a while.
    `opened` and `closed` are on CLOCK_MONOTONIC. More than one site in `sites` is a violation of affinity.
    """

    hour: int
    job: int
    sites: list[int]
    connect_us: int | None
    slowest_us: int
    opened: float
    closed: float
    error: str | None


async def perform(order: Order) -> Outcome:
    """Carry out one order; failures are part of the outcome."""
    sites: list[int] = []
    waits: list[float] = []
    connect_us: int | None = None
    error: str | None = None
    opened = time.monotonic()
    kind = socket.SOCK_STREAM if order.protocol == "tcp" else socket.SOCK_DGRAM
    with socket.socket(socket.AF_INET, kind) as connection:
        connection.setblocking(False)
        try:
            async with asyncio.timeout(order.patience):
                await asyncio.get_running_loop().sock_connect(connection, (order.address, order.port))
            if order.protocol == "tcp":
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connect_us = handshake_us(connection, time.monotonic() - opened)
            for exchange in range(order.exchanges):
                if exchange:
                    await asyncio.sleep(order.hold / (order.exchanges - 1))
                asked = time.monotonic()
                async with asyncio.timeout(order.patience):
                    site = await _ask(connection, Record(order.hour, order.job, exchange))
                waits.append(time.monotonic() - asked)
                if site not in sites:
                    sites.append(site)
        except TimeoutError:
            error = "timeout"
        except OSError as reason:
            error = os.strerror(reason.errno) if reason.errno else str(reason.strerror)
    slowest_us = round(max(waits, default=0) * 1e6)
    return Outcome(order.hour, order.job, sites, connect_us, slowest_us, opened, time.monotonic(), error)


async def _ask(connection: socket.socket, request: Record) -> int:
    """Send a request and return the site that answered it."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(connection, request.pack())
    data = b""
    while len(data) < SIZE:
        piece = await loop.sock_recv(connection, SIZE - len(data))
        if not piece:
            raise ConnectionResetError(None, "closed by the site")
        data += piece
    answer = Record.unpack(data)
    if answer._replace(site=request.site) != request:
        raise ConnectionError(None, "answer to another request")
    return answer.site


def handshake_us(connection: socket.socket, elapsed: float) -> int:
    """Microseconds from SYN to SYN-ACK, as the client's kernel measured them.

    Right after the handshake the kernel's round-trip estimate holds this one sample. A SYN that was sent
    again gives no sample (Karn's rule), so `elapsed`, from the call to its return in seconds, stands in.
    """
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_LENGTH)
    rtt, retransmitted = (
        struct.unpack_from("=I", info, offset)[0] for offset in (_TCP_INFO_RTT, _TCP_INFO_TOTAL_RETRANS)
    )
    return round(elapsed * 1e6) if retransmitted or not rtt else rtt


async def follow_orders() -> None:
    """Read orders, perform each at its time, report; return when all is done."""
    loop = asyncio.get_running_loop()
    orders = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    print(json.dumps({"ready": True}), flush=True)

    async def one(order: Order) -> None:
        await asyncio.sleep(order.at - time.monotonic())
        print(json.dumps(asdict(await perform(order))), flush=True)

    async with asyncio.TaskGroup() as jobs:
        while line := await orders.readline():
            jobs.create_task(one(Order(**json.loads(line))))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(follow_orders())
