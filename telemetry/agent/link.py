# SPDX-License-Identifier: Apache-2.0
"""The agent's interface: a raw socket for frames of the GRASP EtherType, and who the interface is."""

import errno
import fcntl
import logging
import os
import socket
import struct
from ipaddress import IPv4Address

from grasp import UserError
from grasp.telemetry.protocol import ETHERTYPE

log = logging.getLogger(__name__)

SIOCGIFADDR = 0x8915  # linux/sockios.h
_ETHERNET = 1  # ARPHRD_ETHER of linux/if_arp.h
_LARGEST_FRAME = 2048


class Link:
    """A non-blocking AF_PACKET socket bound to one interface and EtherType."""

    def __init__(self, interface: str) -> None:
        self.interface = interface
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        except PermissionError:
            raise UserError("the agent needs a raw socket: run it as root or with CAP_NET_RAW") from None
        try:
            # Bound with the EtherType only now, so that no other interface's frames slip in before.
            self._socket.bind((interface, ETHERTYPE))
        except OSError as error:
            self._socket.close()
            raise UserError(f"interface {interface!r}: {os.strerror(error.errno or errno.ENODEV)}") from None
        _, _, _, kind, mac = self._socket.getsockname()
        if kind != _ETHERNET:
            self._socket.close()
            raise UserError(f"interface {interface!r}: not an Ethernet interface")
        self.mac: bytes = mac
        self._failing = False

    def fileno(self) -> int:
        """Return the descriptor, to wait for frames on."""
        return self._socket.fileno()

    def address(self) -> IPv4Address:
        """Return the interface's IPv4 address."""
        request = struct.pack("16s16x", self.interface.encode())
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            try:
                answer = fcntl.ioctl(control, SIOCGIFADDR, request)
            except OSError:
                raise UserError(
                    f"interface {self.interface!r}: has no IPv4 address; give the server's with --address"
                ) from None
        return IPv4Address(answer[20:24])

    def send(self, frame: bytes) -> None:
        """Send a frame; a link that is down or busy loses it, as a network may. UserError if it is gone."""
        try:
            self._socket.send(frame)
        except OSError as error:
            if error.errno in (errno.ENODEV, errno.ENXIO):
                raise UserError(f"interface {self.interface!r}: has gone") from None
            if not self._failing:
                log.warning("interface %s: cannot send (%s)", self.interface, error.strerror)
            self._failing = True
        else:
            self._failing = False

    def receive(self) -> bytes | None:
        """Return the next frame that waits, None when there is none."""
        try:
            return self._socket.recv(_LARGEST_FRAME)
        except OSError as error:  # BlockingIOError, or the report of a link that went down
            if error.errno != errno.ENETDOWN and not isinstance(error, BlockingIOError):
                raise UserError(f"interface {self.interface!r}: {error.strerror}") from None
            return None

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
