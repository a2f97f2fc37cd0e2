# SPDX-License-Identifier: Apache-2.0
"""The program inside p4_device_config: BMv2 JSON as it is, or wrapped in a p4.tmp.P4DeviceConfig message."""

from .errors import invalid_argument

_DEVICE_DATA = 3  # field of P4DeviceConfig: the JSON; 1 (reassign) and 2 (extras) mean nothing here
_VARINT, _BYTES = 0, 2  # wire types


def program_json(config: bytes) -> bytes:
    """The JSON text; empty if there is none."""
    if config.lstrip()[:1] in (b"{", b""):
        return config.strip()
    data, position = b"", 0
    while position < len(config):
        tag, position = _varint(config, position)
        value, position = _varint(config, position)
        field, wire_type = tag >> 3, tag & 7
        if wire_type == _BYTES:
            if position + value > len(config):
                raise _malformed()
            if field == _DEVICE_DATA:
                data = config[position : position + value]
            position += value
        elif wire_type != _VARINT:
            raise _malformed()
    return data


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """The number at a position, and the position behind it."""
    value = 0
    for shift in range(0, 64, 7):
        if position >= len(data):
            raise _malformed()
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise _malformed()


def _malformed() -> Exception:
    return invalid_argument("p4_device_config is neither BMv2 JSON nor a P4DeviceConfig message")
