# SPDX-License-Identifier: Apache-2.0
"""A site's server and a client's jobs, on loopback."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from grasp.topo import resets
from grasp.topo.job import SIZE, Record
from grasp.topo.services import Connection, Datagrams, Ledger
from grasp.topo.traffic import Order, handshake_us, perform


@pytest.fixture
async def site() -> AsyncIterator[tuple[Ledger, int]]:
    loop = asyncio.get_running_loop()
    ledger = Ledger(7)
    server = await loop.create_server(lambda: Connection(ledger), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    datagrams, _ = await loop.create_datagram_endpoint(lambda: Datagrams(ledger), ("127.0.0.1", port))
    yield ledger, port
    datagrams.close()
    server.close()
    await server.wait_closed()


def order(port: int, **changes: object) -> Order:
    return replace(
        Order(hour=3, job=1, at=0.0, address="127.0.0.1", port=port, exchanges=3, hold=0.02, patience=2.0),
        **changes,  # type: ignore[arg-type]
    )


async def test_tcp_job(site: tuple[Ledger, int]) -> None:
    ledger, port = site
    outcome = await perform(order(port))
    assert (outcome.sites, outcome.error, outcome.hour, outcome.job) == ([7], None, 3, 1)
    assert outcome.connect_us is not None
    assert 0 < outcome.connect_us < 1e6
    assert outcome.closed - outcome.opened >= 0.02
    assert ledger.jobs_per_hour == {3: 1}


async def test_udp_job(site: tuple[Ledger, int]) -> None:
    ledger, port = site
    outcome = await perform(order(port, protocol="udp", hour=4))
    assert (outcome.sites, outcome.error, outcome.connect_us) == ([7], None, None)
    assert ledger.jobs_per_hour == {4: 1}


async def test_a_job_that_comes_twice_shows(site: tuple[Ledger, int]) -> None:
    ledger, port = site
    await perform(order(port))
    await perform(order(port))
    assert ledger.summary()["repeated"] == 1


async def test_only_resets_to_strangers_are_strays(site: tuple[Ledger, int]) -> None:
    """A late copy of a segment, when its connection is over, is answered with a reset: nothing moved."""
    ledger, port = site
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setblocking(False)
        await loop.sock_connect(client, ("127.0.0.1", port))
        await loop.sock_sendall(client, Record(0, 0, 0).pack())
        await loop.sock_recv(client, SIZE)
        peer = client.getsockname()
    ledger.reset(peer)
    assert ledger.strays == 0
    ledger.reset(("127.0.0.1", port))
    assert ledger.summary()["strays"] == 1


@pytest.mark.network
async def test_resets_are_seen_with_their_addressee() -> None:
    """Whoever calls at a closed port gets one; who is served and who only sends gets none."""
    seen: asyncio.Queue[resets.Peer] = asyncio.Queue()
    with resets.watched(seen.put_nowait), socket.create_server(("127.0.0.1", 0)) as server:
        with socket.socket() as served:
            served.connect(server.getsockname())
            fine = served.getsockname()
        with socket.socket() as closed, socket.socket() as refused:
            closed.bind(("127.0.0.1", 0))
            refused.bind(("127.0.0.1", 0))
            stranger = refused.getsockname()
            with pytest.raises(ConnectionRefusedError):
                refused.connect(closed.getsockname())
        async with asyncio.timeout(5):
            while (peer := await seen.get()) != stranger:
                assert peer != fine


async def test_refused() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        outcome = await perform(order(unused.getsockname()[1]))
    assert outcome.error == "Connection refused"
    assert outcome.sites == []


async def test_silent_server_is_a_timeout() -> None:
    kept: list[asyncio.StreamWriter] = []  # one that nothing refers to is closed
    server = await asyncio.start_server(lambda reader, writer: kept.append(writer), "127.0.0.1", 0)
    outcome = await perform(order(server.sockets[0].getsockname()[1], patience=0.05))
    assert outcome.error == "timeout"
    kept.pop().close()
    server.close()


async def test_changed_site_shows() -> None:
    turn = iter((7, 8, 8))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(SIZE):
            writer.write(Record.unpack(data)._replace(site=next(turn)).pack())
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    outcome = await perform(order(server.sockets[0].getsockname()[1]))
    assert outcome.sites == [7, 8]
    server.close()


def test_handshake_is_the_kernels_own_measure() -> None:
    """The kernel's sample lies within the duration of connect, as a clock around it sees it."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        before = time.monotonic()
        client.connect(server.getsockname())
        elapsed = time.monotonic() - before
        sample = handshake_us(client, elapsed=99.0)
        assert 0 < sample <= elapsed * 1e6 + 1
