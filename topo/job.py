# SPDX-License-Identifier: Apache-2.0
"""What a client and a site say to each other in a job: one record, first as a request, then as its answer.

A job is a TCP connection, or a UDP exchange, of one or more requests; each answer names the site that gave
it, so that a connection that changed its site in the middle shows.
"""

import struct
from typing import NamedTuple, Self

_RECORD = struct.Struct("!IIHH")
SIZE = _RECORD.size
NO_SITE = 0xFFFF


class Record(NamedTuple):
    """A request (`site` is NO_SITE) or an answer."""

    hour: int
    job: int
    exchange: int
    site: int = NO_SITE

    def pack(self) -> bytes:
        """Bytes on the wire, `SIZE` of them."""
        return _RECORD.pack(*self)

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """Read a record from exactly `SIZE` bytes."""
        return cls(*_RECORD.unpack(data))
