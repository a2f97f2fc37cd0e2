# SPDX-License-Identifier: Apache-2.0
"""A site's server: answers jobs over TCP and UDP, and counts them by hour.

    python -m grasp.topo.services SITE ADDRESS PORT

says ``{"ready": true}`` when it listens, then answers each line of standard input with one line of JSON, the
counts so far, and ends with standard input. One light process for a host: nothing heavy is imported here.
"""

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path
from typing import cast

from grasp.topo import resets
from grasp.topo.job import SIZE, Record

_BACKLOG = 1024


class Ledger:
    """The jobs that this site has served."""

    def __init__(self, site: int) -> None:
        self.site = site
        self.jobs_per_hour: Counter[int] = Counter()
        self.repeated = 0
        self.strays = 0
        self._seen: set[tuple[int, int]] = set()
        self._peers: set[resets.Peer] = set()
        self._resets_before = _resets_sent()

    def answer(self, request: Record, first: bool) -> bytes:
        """Enter a request; `first` says that it opens a job here."""
        if first:
            job = (request.hour, request.job)
            self.repeated += job in self._seen
            self._seen.add(job)
            self.jobs_per_hour[request.hour] += 1
        return request._replace(site=self.site).pack()

    def opened(self, peer: resets.Peer) -> None:
        """Enter a connection."""
        self._peers.add(peer)

    def reset(self, peer: resets.Peer) -> None:
        """Enter a reset that was sent. One to whoever has been here answers a late segment: no stray."""
        self.strays += peer not in self._peers

    def summary(self) -> dict[str, object]:
        """Return what was counted.

        `jobs_per_hour`; `repeated` jobs, that came twice; `resets`, sent to segments of no connection;
        `strays`, those of them that went to where no connection was ever opened from.
        """
        return {
            "jobs_per_hour": dict(self.jobs_per_hour),
            "repeated": self.repeated,
            "resets": _resets_sent() - self._resets_before,
            "strays": self.strays,
        }


class Connection(asyncio.Protocol):
    """One TCP job."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._buffer = b""
        self._served = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection's sending side."""
        self._transport = cast(asyncio.Transport, transport)
        self._ledger.opened(transport.get_extra_info("peername"))

    def data_received(self, data: bytes) -> None:
        """Answer every whole request."""
        self._buffer += data
        while len(self._buffer) >= SIZE:
            request, self._buffer = Record.unpack(self._buffer[:SIZE]), self._buffer[SIZE:]
            self._transport.write(self._ledger.answer(request, first=not self._served))
            self._served = True


class Datagrams(asyncio.DatagramProtocol):
    """UDP jobs; the first request of a job has exchange number 0."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the socket's sending side."""
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Answer a request; what is none gets no answer."""
        if len(data) == SIZE:
            request = Record.unpack(data)
            self._transport.sendto(self._ledger.answer(request, first=request.exchange == 0), addr)


def _resets_sent() -> int:
    """TCP resets that this network namespace has sent (RFC 4022, tcpOutRsts).

    A live server sends one only when a segment arrives that belongs to no connection of its own.
    """
    lines = Path("/proc/net/snmp").read_text().splitlines()
    names, values = (line.split()[1:] for line in lines if line.startswith("Tcp:"))
    return int(values[names.index("OutRsts")])


async def serve(site: int, address: str, port: int) -> None:
    """Serve until standard input ends."""
    loop = asyncio.get_running_loop()
    ledger = Ledger(site)
    await loop.create_server(lambda: Connection(ledger), address, port, backlog=_BACKLOG)
    await loop.create_datagram_endpoint(lambda: Datagrams(ledger), (address, port))
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    with resets.watched(ledger.reset):
        print(json.dumps({"ready": True}), flush=True)
        while await commands.readline():
            print(json.dumps(ledger.summary()), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
