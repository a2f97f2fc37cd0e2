# SPDX-License-Identifier: Apache-2.0
"""Wake-on-LAN: the packet that wakes a sleeping server up, sent to everyone on its network."""

import re
import socket

from grasp import UserError

PORT = 9  # discard: nothing answers, should a packet reach a server that is awake
BROADCAST = "255.255.255.255"

_SYNCHRONISATION = b"\xff" * 6
_REPETITIONS = 16
_MAC = re.compile(r"[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}", re.IGNORECASE)


def magic_packet(mac: str) -> bytes:
    """Return six bytes of ones and sixteen times the address, for which a sleeping network card listens.

    Raises UserError for what is no address of one card.
    """
    if not _MAC.fullmatch(mac) or int(mac[:2], 16) & 1:
        raise UserError(f"{mac}: give the MAC address of a network card, such as 02:00:00:00:00:01")
    return _SYNCHRONISATION + bytes.fromhex(re.sub("[:-]", "", mac)) * _REPETITIONS


def woken_by(frame: bytes) -> str | None:
    """Return the address of the card that a frame wakes up; the magic packet may stand anywhere in it."""
    start = frame.find(_SYNCHRONISATION)
    while start >= 0:
        address = frame[start + 6 : start + 12]
        if len(address) == 6 and frame.startswith(address * _REPETITIONS, start + 6):
            return address.hex(":")
        start = frame.find(_SYNCHRONISATION, start + 1)
    return None


def wake(mac: str, interface: str, address: str = BROADCAST) -> None:
    """Send a magic packet from an interface to a broadcast address, once."""
    packet = magic_packet(mac)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        out.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        out.sendto(packet, (address, PORT))
