# SPDX-License-Identifier: Apache-2.0
"""Packet-in and packet-out: metadata to and from the controller header in front of the packet's bytes."""

from finsy.proto import p4i, p4r

from . import bytestrings
from .errors import invalid_argument

_Fields = list[p4i.ControllerPacketMetadata.Metadata]


class PacketIO:
    """Packs and unpacks a program's two controller headers; without such a header, bytes pass unchanged."""

    def __init__(self, info: p4i.P4Info) -> None:
        headers = {one.preamble.name: list(one.metadata) for one in info.controller_packet_metadata}
        self._out = headers.get("packet_out", [])
        self._in = headers.get("packet_in", [])

    def pack(self, packet: p4r.PacketOut) -> bytes:
        """What enters on the CPU port. Metadata that is left out is 0, as clients of BMv2 expect."""
        values: dict[int, bytes] = {}
        known = {field.id for field in self._out}
        for one in packet.metadata:
            if one.metadata_id not in known or one.metadata_id in values:
                raise invalid_argument(f"packet-out metadata {one.metadata_id} is unknown or given twice")
            values[one.metadata_id] = one.value
        bits = 0
        for field in self._out:
            data = values.get(field.id, b"\0")
            bits = bits << field.bitwidth | bytestrings.decode(
                data, field.bitwidth, f"packet-out {field.name}"
            )
        length = _length(self._out)
        padding = 8 * length - sum(field.bitwidth for field in self._out)
        header: bytes = (bits << padding).to_bytes(length, "big")
        return header + packet.payload

    def unpack(self, data: bytes) -> p4r.PacketIn | None:
        """The message for a packet that left on the CPU port; None if it is shorter than the header."""
        length = _length(self._in)
        if len(data) < length:
            return None
        packet = p4r.PacketIn(payload=data[length:])
        bits, left = int.from_bytes(data[:length], "big"), 8 * length
        for field in self._in:
            left -= field.bitwidth
            value = bits >> left & ((1 << field.bitwidth) - 1)
            packet.metadata.add(metadata_id=field.id, value=bytestrings.encode(value))
        return packet


def _length(fields: _Fields) -> int:
    """Bytes of a controller header."""
    return (sum(field.bitwidth for field in fields) + 7) // 8
