# SPDX-License-Identifier: Apache-2.0
"""Noise on every port: no crash, nothing out, no register changed."""

from __future__ import annotations

from random import Random

import pytest
from scapy.layers.l2 import ARP, Ether
from tests.p4src.engine_switch import EngineSwitch
from tests.p4src.site_switch import (
    CLIENTS,
    DNS,
    GATEWAY,
    LOCAL_SITES,
    PORTS,
    SITES,
    TRUNKS,
    WEB,
    announce,
    arriving,
    configure,
    connect,
    from_server,
    grasp,
    heartbeat_frame,
    ipv4,
    probe,
    set_parameters,
    to_service,
    with_header_checksum,
)
from tests.p4src.switch import Output, Switch
from tests.p4src.test_bracket import check_bracket

from grasp.control.wire import CPU_PORT, Operation
from grasp.telemetry.protocol import FrameType

CLIENT = CLIENTS[0]
SENDERS = {host.port: host for host in (*CLIENTS, *(SITES[site] for site in LOCAL_SITES))}
HOUR = 3_600_000_000  # us
ETHERTYPES = (0x0800, 0x0800, 0x0806, 0x86DD, 0x8100, 0x88A8, 0x88B5, 0x88B5, 0x88B6, 0x0040)
QUIET = sorted(set(range(256)) - {FrameType.REGISTER, FrameType.REPORT, FrameType.DISCOVERY})
QUIET_FROM_TRUNKS = sorted(set(QUIET) - {FrameType.PROBE})
SYN = ipv4(CLIENT, WEB.address, to_service(41000))
FIRST_FRAGMENT = ipv4(CLIENT, DNS.address, to_service(41000, service=DNS), flags="MF")
WHOLE = [
    SYN,
    FIRST_FRAGMENT,
    ipv4(CLIENT, DNS.address, to_service(41000, service=DNS)),
    ipv4(SITES[10], CLIENT.address, from_server(41000)),
    arriving(10, 9),
    arriving(200, 9),
    heartbeat_frame(10),
    probe(200, epoch=2, headroom=99),
    grasp(FrameType.REGISTER),
    bytes(Ether(src=CLIENT.mac) / ARP(hwsrc=CLIENT.mac, psrc=CLIENT.address, pdst=WEB.address)),
]


def noise(chance: Random, port: int, shortest: int) -> bytes:
    """A frame that must leave no trace when it comes in at this port."""
    kind = chance.randrange(7)
    if kind == 0:
        return chance.randbytes(chance.randint(shortest, 1600))
    if kind == 1:  # the kernel itself discards tags that are cut short
        start = chance.randbytes(12) + chance.choice(ETHERTYPES).to_bytes(2, "big")
        return start + chance.randbytes(chance.randint(6 if shortest else 0, 120))
    if kind == 2:  # GRASP: what is news on a trunk, or the controller's, left out
        types = QUIET_FROM_TRUNKS if port in TRUNKS else QUIET
        return grasp(chance.choice(types), chance.randrange(256), GATEWAY, chance.randbytes(42))
    if kind == 3:  # a whole header, of strangers
        header = chance.randbytes(4) + bytes([4]) + chance.randbytes(3)
        addresses = bytes([chance.randint(11, 250)]) + chance.randbytes(3), bytes([12]) + chance.randbytes(3)
        return _ipv4(chance, header, *addresses)
    if kind == 4:  # damaged
        frame = bytearray(SYN)
        bit = chance.randrange(14 * 8, 34 * 8)
        frame[bit // 8] ^= 1 << bit % 8
        return bytes(frame)
    if kind == 5:  # cut short
        frame = bytearray(SYN)
        return bytes(frame[: chance.randrange(shortest, len(frame))])
    if port == CLIENT.port:  # whole, and of a connection that is not there, or a fragment
        late = bytearray(SYN)
        late[47] = chance.choice(
            [n for n in range(64) if n & 0b10111 != 0b00010]
        )  # any flags but a first packet's
        late[34:36] = chance.randrange(42000, 65536).to_bytes(2, "big")
        return bytes(late) if chance.random() < 0.7 else FIRST_FRAGMENT
    return SYN if port not in TRUNKS else FIRST_FRAGMENT


def _ipv4(chance: Random, header: bytes, source: bytes, destination: bytes) -> bytes:
    payload = chance.randbytes(chance.randint(20, 80))
    fields = bytearray(b"\x45\0" + (20 + len(payload)).to_bytes(2, "big") + header[:4])
    fields += bytes([64, chance.choice([1, 6, 17, 47])]) + b"\0\0" + source + destination
    return with_header_checksum(chance.randbytes(12) + b"\x08\0" + bytes(fields) + payload)


def noisy_packet_out(chance: Random) -> bytes:
    """A packet-out that must leave no trace: an unknown operation, or noise injected."""
    if chance.random() < 0.5:
        operation = chance.choice([0, *range(6, 256)])
        return bytes([operation]) + chance.randbytes(24 + chance.randrange(100))
    port = chance.choice(PORTS)
    header = bytes([Operation.INJECT]) + chance.randbytes(1) + port.to_bytes(2, "big") + chance.randbytes(21)
    return header + noise(chance, port, 0)


def memory(switch: Switch) -> object:
    """All that the switch remembers: its registers, or what it says of them where they cannot be read."""
    counters = switch.counts("jobs"), switch.counts("events")
    if isinstance(switch, EngineSwitch):
        return switch.registers(), counters
    answers = [switch.read_site(site) for site in range(256)]
    return [(a.flags, a.epoch, a.budget, a.headroom, a.next_hop) for a in answers], counters


def occupy(switch: Switch) -> Switch:
    """Give it something to lose, and all the time in the world."""
    configure(switch, timeout=HOUR)
    set_parameters(switch, expiry=HOUR, linger=HOUR, handshake=HOUR, flowlet_gap=HOUR)
    announce(switch, {site: 50_000 - 1000 * site for site in SITES})
    for sport in range(40000, 40050):
        assert connect(switch, sport) is not None
    return switch


@pytest.fixture
def busy(blank: Switch) -> Switch:
    return occupy(blank)


def connections(switch: Switch) -> list[int | None]:
    """Where each of its connections goes."""
    return [connect(switch, sport, "A") for sport in range(40000, 40050)]


def test_noise_leaves_no_trace(busy: Switch) -> None:
    chance = Random(7)
    before = memory(busy)
    share = (20_000 if busy.real_time else 100_000) // (len(PORTS) + 1)
    shortest = 14 if busy.real_time else 0
    for port in PORTS:
        assert busy.pour(port, [noise(chance, port, shortest) for _ in range(share)]) == []
    assert busy.pour(CPU_PORT, [noisy_packet_out(chance) for _ in range(share)]) == []
    assert memory(busy) == before
    assert sum(busy.counts("drops").values()) == share * (len(PORTS) + 1)
    assert None not in connections(busy)


def damaged(chance: Random, port: int) -> bytes:
    frame = bytearray(chance.choice(WHOLE))
    for _ in range(chance.choice([1, 1, 2, 8])):
        bit = chance.randrange(len(frame) * 8)
        frame[bit // 8] ^= 1 << bit % 8
    if port in TRUNKS and frame[12:16] == bytes([0x88, 0xB5, 1, FrameType.PROBE]):
        frame[14] = 2  # what a neighbour says is believed, of sites that there are not too
    return bytes(frame[: chance.choice([len(frame), chance.randint(14, len(frame))])])


def test_damaged_frames_do_no_harm(busy: Switch) -> None:
    """Some are still whole, and mean something: whatever they do, the switch stays in order."""
    chance = Random(8)
    before = connections(busy)
    for port in PORTS:
        busy.pour(port, [damaged(chance, port) for _ in range(200 if busy.real_time else 3000)])
    assert connections(busy) == before
    assert connect(busy, 39999) is not None
    if isinstance(busy, EngineSwitch):
        check_bracket(busy)


def by_port(out: Output) -> dict[int, list[bytes]]:
    """What came out of each port, without what depends on the time: a link's load and a heartbeat's age."""
    frames: dict[int, list[bytes]] = {}
    for port, frame in out:
        if frame[12:16] == bytes([0x88, 0xB5, 1, FrameType.PROBE]):
            frame = frame[:32] + b"\0\0" + frame[34:35] + b"\0" + frame[36:]
        frames.setdefault(port, []).append(frame)
    return frames


def traffic(chance: Random, port: int) -> bytes:
    """A frame that means something at this port: of connections old and new, of sites."""
    sport = chance.randrange(39990, 40060)
    flags = chance.choice(["S", "A", "PA", "FA", "R"])
    service = chance.choice([WEB, WEB, DNS])
    if port in SENDERS:
        source = SENDERS[port]
        if source in CLIENTS:
            return ipv4(source, service.address, to_service(sport, flags, service))
        site = port + 7
        frames = [heartbeat_frame(site), ipv4(source, CLIENT.address, from_server(sport, flags, service))]
        return chance.choice(frames)
    site = chance.choice(list(SITES))
    news = probe(
        site, sequence=chance.randrange(50), headroom=chance.randrange(10**5), cost=chance.randrange(9)
    )
    return chance.choice([news, arriving(site, chance.randrange(9), flags, service)])


def test_targets_agree_to_the_byte(busy: Switch) -> None:
    """Whole and damaged frames in any order: the engine in this process sends the very same."""
    if isinstance(busy, EngineSwitch):
        pytest.skip("compares another target with the engine")
    engine = occupy(EngineSwitch())
    chance = Random(9)
    sent = 0
    for _ in range(100):
        port = chance.choice(PORTS)
        frames = [chance.choice([damaged, traffic, traffic])(chance, port) for _ in range(12)]
        expected = by_port(engine.pour(port, frames))
        assert by_port(busy.pour(port, frames)) == expected
        engine.advance(2**17)  # an idle link costs nothing
        sent += sum(map(len, expected.values()))
    assert sent > 400
    for counter in ("drops", "jobs", "events"):
        assert busy.counts(counter) == engine.counts(counter)
    engine.close()
