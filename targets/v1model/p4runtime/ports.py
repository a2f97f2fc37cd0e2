# SPDX-License-Identifier: Apache-2.0
"""Port numbers in messages, and which ports there are and work."""

from collections.abc import Iterable

from grasp.targets.v1model.objects import PortStatus

from .errors import invalid_argument, out_of_range


def decode_port(data: bytes, what: str) -> int:
    """A port number from a byte string of any length."""
    if not data:
        raise invalid_argument(f"{what}: the port is an empty byte string")
    port = int.from_bytes(data, "big")
    if port >> 32:
        raise out_of_range(f"{what}: port {data.hex()} does not fit in 32 bits")
    return port


class Ports:
    """The switch's ports as they were last heard of."""

    def __init__(self, ports: Iterable[PortStatus]) -> None:
        self._up = {port.number: port.up for port in ports}

    def changed(self, number: int, up: bool) -> None:
        """Take note that a port came up or went down."""
        self._up[number] = up

    def exists(self, port: int) -> bool:
        """Whether an interface is attached as this port."""
        return port in self._up

    def is_up(self, port: int) -> bool:
        """Whether packets can leave through this port."""
        return self._up.get(port, False)
