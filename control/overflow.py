# SPDX-License-Identifier: Apache-2.0
"""Connections that found both ways of a switch's affinity table taken: pinned by the controller instead.

The switch has chosen the site and hands over the first packet. The controller installs an exact entry with an
idle timeout; when it is there, the packet goes back in and is charged, once.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from grasp.control.config import Service
from grasp.control.desired import PROTOCOLS
from grasp.control.state import PINNED, Entry, Key
from grasp.control.wire import CHARGE, Operation, PacketIn, PacketOut

_ETHERNET = 14
_IPV4 = 0x0800


@dataclass(frozen=True, slots=True)
class Inject:
    """A packet to be sent back into the switch that handed it over."""

    packet: PacketOut
    payload: bytes


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with a packet that was handed over: install an entry first, or send it back, or neither."""

    install: Entry | None = None
    inject: Inject | None = None


def first_packet(frame: bytes) -> tuple[int, int, int] | None:
    """Return protocol, source address and source port of an unfragmented TCP or UDP packet, else None."""
    if len(frame) < _ETHERNET + 20 or int.from_bytes(frame[12:14]) != _IPV4 or frame[_ETHERNET] >> 4 != 4:
        return None
    length = 4 * (frame[_ETHERNET] & 0x0F)
    fragment, protocol = struct.unpack_from("!HxB", frame, _ETHERNET + 6)
    if length < 20 or fragment & 0x3FFF or protocol not in PROTOCOLS.values():
        return None
    if len(frame) < _ETHERNET + length + 4:
        return None
    (address,) = struct.unpack_from("!I", frame, _ETHERNET + 12)
    (port,) = struct.unpack_from("!H", frame, _ETHERNET + length)
    return protocol, address, port


class Overflow:
    """The pinned connections of all switches; `pins` are those that a store brings from before."""

    def __init__(self, services: Iterable[Service], pins: Iterable[tuple[str, Entry]] = ()) -> None:
        self._services = {service.id: service for service in services}
        self._pins: dict[str, dict[Key, Entry]] = {}
        for switch, entry in pins:
            self._pins.setdefault(switch, {})[entry.key] = entry
        # First packets whose entry is being written.
        self._waiting: dict[tuple[str, Key], Inject] = {}

    def pins(self, switch: str) -> list[Entry]:
        """Return the entries that a switch is to have, those on their way left out."""
        pins = self._pins.get(switch, {})
        return [entry for key, entry in pins.items() if (switch, key) not in self._waiting]

    def decide(self, switch: str, header: PacketIn, frame: bytes) -> Decision:
        """Decide about a packet that a switch handed over.

        A connection that is being pinned already waits for that; one that is pinned (the packet crossed the
        entry on its way) goes back in, but is not charged again. What is no first packet is dropped.
        """
        service, packet = self._services.get(header.service), first_packet(frame)
        if service is None or packet is None or packet[0] != PROTOCOLS[service.protocol]:
            return Decision()
        entry = Entry(PINNED, (header.service, packet[1], packet[2]), "pin", (header.site,), service.timeout)
        if (switch, entry.key) in self._waiting:
            return Decision()
        if entry.key in self._pins.get(switch, {}):
            return Decision(inject=_inject(header.ingress_port, frame, charge=False))
        self._pins.setdefault(switch, {})[entry.key] = entry
        self._waiting[switch, entry.key] = _inject(header.ingress_port, frame, charge=True)
        return Decision(install=entry)

    def installed(self, switch: str, entry: Entry) -> Inject | None:
        """Take note that a switch has an entry; return the packet that waited for it."""
        self._pins.setdefault(switch, {})[entry.key] = entry
        return self._waiting.pop((switch, entry.key), None)

    def removed(self, switch: str, entry: Entry) -> None:
        """Forget an entry that could not be written, or whose connection is over."""
        self._pins.get(switch, {}).pop(entry.key, None)
        self._waiting.pop((switch, entry.key), None)

    def disconnected(self, switch: str) -> None:
        """Forget the entries that were on their way; the clients' repeated packets will ask again."""
        for waiting_switch, key in [pair for pair in self._waiting if pair[0] == switch]:
            del self._waiting[waiting_switch, key], self._pins[switch][key]


def _inject(port: int, frame: bytes, *, charge: bool) -> Inject:
    return Inject(PacketOut(Operation.INJECT, flags=CHARGE if charge else 0, port=port), frame)
