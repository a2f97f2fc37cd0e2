# SPDX-License-Identifier: Apache-2.0
"""The example configuration, the sites' agents that go with it, and a clock, for tests of the core."""

from dataclasses import dataclass, field
from pathlib import Path

from grasp.control.config import Config, Site, load, parse
from grasp.control.topology import Link, Port, Topology
from grasp.telemetry.protocol import (
    Frame,
    Register,
    Registered,
    Report,
    Reported,
    enrolment_key,
    session_key,
)

EXAMPLE = Path(__file__).parents[2] / "docs" / "controller.toml"
SECOND = 1_000_000
NOW = 1_900_000_000 * SECOND  # 2030-03-17, in the middle of an hour
EPOCH = NOW // (3600 * SECOND)

# Where sites of the example register: elmira is pinned there, the others are free.
PLACES = {0: Port("new-york", 4), 1: Port("florida", 4), 2: Port("california", 4)}

# Port 1 of each switch leads to port 2 of the next: a ring.
RING = (
    Link.between(Port("new-york", 1), Port("florida", 2)),
    Link.between(Port("florida", 1), Port("california", 2)),
    Link.between(Port("california", 1), Port("new-york", 2)),
)


def example(*replacements: tuple[str, str]) -> Config:
    """Return the example, after replacing texts in it, each of which must be there."""
    text = EXAMPLE.read_text()
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new, 1)
    return parse(text, EXAMPLE) if replacements else load(EXAMPLE)


def ring(*, missed: int = 3) -> Topology:
    return Topology(missed, RING)


def site(number: int) -> Site:
    return next(site for site in example().sites if site.id == number)


@dataclass
class Agent:
    """A site's agent that signs frames, and opens the answers; every field can be made wrong."""

    site: Site
    nonce: bytes = bytes(16)
    sequence: int = 0
    key: bytes = b""
    values: dict[str, float] = field(default_factory=lambda: {"green_energy": 1000.0, "load": 2.0})

    @classmethod
    def of(cls, number: int) -> "Agent":
        return cls(site(number))

    def register(self, now: int, *, requested: int | None = None, **changes) -> Frame:
        """Return a REGISTER frame; another nonce than the last time."""
        self.nonce = bytes([self.nonce[0] + 1]) * 16
        fields = {"name": self.site.name, "time": now, "address": int(self.site.address)} | changes
        message = Register(nonce=self.nonce, requested=requested, **fields)
        return message.seal(enrolment_key(self.site.secret), self.site.mac)

    def registered(self, frame: Frame) -> Registered:
        """Open the answer and derive the session key."""
        answer = Registered.open(enrolment_key(self.site.secret), frame)
        assert answer.agent_nonce == self.nonce
        self.key = session_key(self.site.secret, answer.agent_nonce, answer.controller_nonce)
        self.sequence = answer.sequence
        return answer

    def report(self, now: int, *, epoch: int = EPOCH, **values: float) -> Frame:
        """Return a REPORT frame with the next sequence number; `values` replace the usual ones."""
        self.sequence = (self.sequence + 1) % 2**32
        message = Report(self.site.id, self.sequence, epoch, now, self.values | values)
        return message.seal(self.key, self.site.mac)

    def reported(self, frame: Frame) -> Reported:
        return Reported.open(self.key, frame)


class Random:
    """Bytes that differ from call to call, the same in each test."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, length: int) -> bytes:
        self.calls += 1
        return self.calls.to_bytes(length, "big")
