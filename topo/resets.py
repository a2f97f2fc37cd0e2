# SPDX-License-Identifier: Apache-2.0
"""The TCP resets that this network namespace sends, and to whom.

A kernel sends one to whoever sends it a segment of a connection that it does not have (RFC 9293, 3.5.2): one
that was led here from another site, or a late copy of one that is over. Only the addressee tells them apart.
"""

import asyncio
import contextlib
import ctypes
import socket
import struct
from collections.abc import Callable, Iterator

Peer = tuple[str, int]
"""Address and port."""

_ETH_P_ALL = 3  # from linux/if_ether.h: with any other, packets that leave are not seen
_SO_ATTACH_FILTER = 26  # from asm-generic/socket.h
_LONGEST_HEADERS = 60 + 20
# The kernel hands over nothing but TCP resets that leave. Classic BPF, as (code, if true, if false, operand);
# packets begin with their IP header.
_FILTER = (
    (0x30, 0, 0, 0xFFFFF004),  # ldb type: what kind of packet it is here
    (0x15, 0, 8, socket.PACKET_OUTGOING),  # jeq
    (0x28, 0, 0, 0xFFFFF000),  # ldh protocol
    (0x15, 0, 6, 0x0800),  # jeq IPv4
    (0x30, 0, 0, 9),  # ldb [9]
    (0x15, 0, 4, socket.IPPROTO_TCP),  # jeq
    (0xB1, 0, 0, 0),  # ldxb 4 * ([0] & 0xf): where the TCP header begins
    (0x50, 0, 0, 13),  # ldb [x + 13]: flags
    (0x45, 0, 1, 0x04),  # jset RST
    (0x06, 0, 0, _LONGEST_HEADERS),  # ret
    (0x06, 0, 0, 0),  # ret nothing
)


@contextlib.contextmanager
def watched(sent: Callable[[Peer], None]) -> Iterator[None]:
    """Call `sent` with the addressee of each reset, in the running loop; needs CAP_NET_RAW."""
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ETH_P_ALL)) as packets:
        program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in _FILTER))
        described = struct.pack("@HP", len(_FILTER), ctypes.addressof(program))
        packets.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, described)
        packets.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while packets.recv(1):  # what came before the filter was there
                pass
        loop.add_reader(packets, lambda: sent(_addressee(packets.recv(_LONGEST_HEADERS))))
        try:
            yield
        finally:
            loop.remove_reader(packets)


def _addressee(packet: bytes) -> Peer:
    (port,) = struct.unpack_from("!H", packet, (packet[0] & 0xF) * 4 + 2)
    return socket.inet_ntoa(packet[16:20]), port
