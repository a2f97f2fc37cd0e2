# SPDX-License-Identifier: Apache-2.0
"""What the controller reads in a frame that a switch handed over."""

import struct
from dataclasses import dataclass

from grasp.control.openflow.flows import ETHERTYPE_IPV4
from grasp.telemetry.protocol import ETHERNET_LENGTH

_ADDRESSES = struct.Struct("!II")
_PORTS = struct.Struct("!HH")
_TCP, _UDP = 6, 17
_SYN, _SYN_ACK = 0x02, 0x12
_FRAGMENT = 0x3FFF  # more fragments, or an offset


@dataclass(frozen=True, slots=True)
class Segment:
    """An unfragmented TCP or UDP packet over IPv4; `opens` says that it can be the first of a connection.

    `sequence` is TCP's number, 0 for UDP: copies of a first packet have the same.
    """

    mac: int
    protocol: int
    source: int
    destination: int
    source_port: int
    destination_port: int
    opens: bool
    sequence: int


def parse(frame: bytes) -> Segment | None:
    """Return what a frame carries; None for anything else, and for what is cut short."""
    if len(frame) < ETHERNET_LENGTH + 20 or int.from_bytes(frame[12:14]) != ETHERTYPE_IPV4:
        return None
    begin = ETHERNET_LENGTH
    version, length = frame[begin] >> 4, 4 * (frame[begin] & 0x0F)
    protocol, transport = frame[begin + 9], begin + length
    fragment = int.from_bytes(frame[begin + 6 : begin + 8]) & _FRAGMENT
    needed = transport + (14 if protocol == _TCP else 8)
    if version != 4 or length < 20 or fragment or protocol not in (_TCP, _UDP) or len(frame) < needed:
        return None
    source, destination = _ADDRESSES.unpack_from(frame, begin + 12)
    source_port, destination_port = _PORTS.unpack_from(frame, transport)
    return Segment(
        mac=int.from_bytes(frame[6:12]),
        protocol=protocol,
        source=source,
        destination=destination,
        source_port=source_port,
        destination_port=destination_port,
        opens=protocol == _UDP or frame[transport + 13] & _SYN_ACK == _SYN,
        sequence=int.from_bytes(frame[transport + 4 : transport + 8]) if protocol == _TCP else 0,
    )
