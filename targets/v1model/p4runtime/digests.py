# SPDX-License-Identifier: Apache-2.0
"""Digests: their configuration, and the lists of samples that the program gathers."""

from __future__ import annotations

import time
from collections.abc import Iterator

from finsy.proto import p4i, p4r, p4t

from grasp.targets.v1model.objects import DigestConfig, DigestList
from grasp.targets.v1model.program import Program

from .errors import already_exists, invalid_argument, not_found
from .p4data import make_codec


class Digest:
    """One digest; nothing is sent until a controller configures it."""

    def __init__(self, info: p4i.Digest, types: p4t.P4TypeInfo, program: Program) -> None:
        self.info, self.program, self.name = info, program, info.preamble.name
        self.config: p4r.DigestEntry | None = None
        self._codec = make_codec(info.type_spec, types, f"digest {self.name}")

    def write(self, kind: p4r.Update.Type.ValueType, message: p4r.DigestEntry) -> None:
        """Begin, change or end the sending of samples."""
        if kind == p4r.Update.INSERT and self.config is not None:
            raise already_exists(f"digest {self.name} is configured")
        if kind != p4r.Update.INSERT and self.config is None:
            raise not_found(f"digest {self.name} is not configured")
        if kind == p4r.Update.DELETE:
            self.program.set_digest(self.name, None)
            self.config = None
            return
        config = message.config
        if min(config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns) < 0:
            raise invalid_argument(f"digest {self.name}: timeouts and sizes cannot be negative")
        self.program.set_digest(
            self.name,
            DigestConfig(
                max_timeout_us=-(-config.max_timeout_ns // 1000),
                max_list_size=config.max_list_size,
                ack_timeout_us=-(-config.ack_timeout_ns // 1000),
            ),
        )
        self.config = p4r.DigestEntry()
        self.config.CopyFrom(message)

    def read(self, message: p4r.DigestEntry) -> Iterator[p4r.DigestEntry]:
        """The configuration; reading a digest by its id that has none is refused, as BMv2 does."""
        if self.config is not None:
            yield self.config
        elif message.digest_id:
            raise not_found(f"digest {self.name} is not configured")

    def acknowledge(self, list_id: int) -> None:
        """Let samples of a list be sent again."""
        self.program.ack_digest(self.name, list_id)

    def message(self, event: DigestList) -> p4r.DigestList:
        """The message for a list of samples."""
        return p4r.DigestList(
            digest_id=self.info.preamble.id,
            list_id=event.list_id,
            data=[self._codec.encode(iter(sample)) for sample in event.samples],
            timestamp=time.time_ns(),
        )
