# SPDX-License-Identifier: Apache-2.0
"""Port numbers in messages, and which ports there are and work."""

from collections.abc import Callable, Iterable

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
    """The ports' state when it was last looked at."""

    def __init__(self, query: Callable[[], Iterable[PortStatus]]) -> None:
        self._query = query
        self._up: dict[int, bool] = {}
        self.refresh()

    def refresh(self) -> list[int]:
        """Look again; returns the numbers of the ports that changed."""
        now = {port.number: port.up for port in self._query()}
        changed = [
            number for number in now.keys() | self._up.keys() if now.get(number) != self._up.get(number)
        ]
        self._up = now
        return sorted(changed)

    def exists(self, port: int) -> bool:
        """Whether an interface is attached as this port."""
        return port in self._up

    def is_up(self, port: int) -> bool:
        """Whether packets can leave through this port."""
        return self._up.get(port, False)
