# SPDX-License-Identifier: Apache-2.0
"""What agents and the controller say to each other: frames, bodies, keys. docs/protocol.md has the pictures.

Every body ends with an HMAC-SHA256 (RFC 2104) over the GRASP header and the rest of the body, so that a type,
a site or a flag cannot be exchanged under it. Registration is authenticated by a key derived from the site's
enrolment secret; reports by a session key derived (HKDF-SHA256, RFC 5869) from the secret and one nonce of
each side. Neither key travels.

Integers are big endian, times are microseconds since 1970-01-01 UTC, addresses are IPv4 as integers.
Parsing is strict: what is cut short, too long, of another version or type, or not authentic raises
`ProtocolError` and yields nothing.
"""

import hashlib
import hmac
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Self

ETHERTYPE = 0x88B5
VERSION = 1
MINIMUM_FRAME = 60
"""Ethernet frames shorter than this are padded on their way (the frame check sequence not counted)."""
ETHERNET_LENGTH = 14
GRASP_LENGTH = 4
NONCE_LENGTH = 16
TAG_LENGTH = hashlib.sha256().digest_size
NAME_LIMIT = 32
"""Longest name of a site, parameter or unit, in bytes of UTF-8."""
CONTROLLER_MAC = bytes.fromhex("0200000000fe")
"""Source of the controller's frames and destination of the agents': locally administered, never a host's."""

ENERGY_LIMIT_MWH = 2**46
"""Forecasts stay below this: the switches' signed 48 bits, with room for what is spent."""

REQUESTED = 0x01
"""Flag of REGISTER: the header's site is the id that the agent has or wants."""


class ProtocolError(ValueError):
    """Bytes that are not a frame or body of this protocol, or not authentic."""


class AuthenticationError(ProtocolError):
    """A message whose code was not made with the expected key."""


class FrameType(IntEnum):
    """Second byte of the GRASP header."""

    REGISTER = 1
    REGISTERED = 2
    REPORT = 3
    REPORTED = 4
    HEARTBEAT = 5
    PROBE = 6
    DISCOVERY = 7


class Refusal(IntEnum):
    """Why a message changed nothing; also the status that REPORTED carries."""

    NONE = 0
    MALFORMED = 1  # cut short, over-long, another version
    UNENROLLED = 2  # no such site in the configuration
    AUTHENTICATION = 3  # the message authentication code is wrong
    HARDWARE_ADDRESS = 4  # Ethernet source is not the site's
    SERVER_ADDRESS = 5  # server address is not the site's
    REPLAY = 6  # sequence or time not newer than what was accepted
    TIME = 7  # time stamp too far from the controller's clock
    PORT = 8  # not the port where the site registered, or to which it is pinned
    ALIVE = 9  # the site is alive at another port
    SITE_ID = 10  # an id that is taken, or not the site's
    UNREGISTERED = 11  # report of a site that has no session
    EPOCH = 12  # forecast for neither the current nor the next epoch
    UNKNOWN_PARAMETER = 13
    MISSING_PARAMETER = 14
    NOT_A_NUMBER = 15
    INFINITE = 16
    NEGATIVE = 17
    OUT_OF_RANGE = 18  # outside the parameter's configured range
    TOO_LARGE = 19  # more energy than the switches' unit can hold


@dataclass(frozen=True, slots=True)
class Frame:
    """An Ethernet frame of the GRASP EtherType; MAC addresses are 6 bytes."""

    destination: bytes
    source: bytes
    type: FrameType
    site: int = 0
    flags: int = 0
    body: bytes = b""

    def header(self) -> bytes:
        """Return the 4 bytes of the GRASP header, which the bodies' codes cover."""
        return struct.pack("!BBBB", VERSION, self.type, self.site, self.flags)

    def to_bytes(self) -> bytes:
        """Return the frame, padded with zeros to Ethernet's minimum."""
        ethernet = self.destination + self.source + struct.pack("!H", ETHERTYPE)
        return (ethernet + self.header() + self.body).ljust(MINIMUM_FRAME, b"\0")

    @classmethod
    def from_bytes(cls, raw: bytes) -> Self:
        """Parse a frame; its body still holds padding where the body's own length does not rule it out."""
        if len(raw) < ETHERNET_LENGTH + GRASP_LENGTH:
            raise ProtocolError(f"a frame of {len(raw)} bytes is cut short")
        ethertype, version, kind, site, flags = struct.unpack_from("!HBBBB", raw, 12)
        if ethertype != ETHERTYPE:
            raise ProtocolError(f"EtherType {ethertype:#06x} is not GRASP's {ETHERTYPE:#06x}")
        if version != VERSION:
            raise ProtocolError(f"version {version} is not {VERSION}")
        try:
            frame_type = FrameType(kind)
        except ValueError:
            raise ProtocolError(f"frame type {kind} is unknown") from None
        body = raw[ETHERNET_LENGTH + GRASP_LENGTH :]
        return cls(raw[0:6], raw[6:12], frame_type, site, flags, body)


def heartbeat(source: bytes, site: int) -> bytes:
    """Return the frame by which the agent at MAC address `source` keeps `site` in selection."""
    return Frame(CONTROLLER_MAC, source, FrameType.HEARTBEAT, site).to_bytes()


# Keys


def hkdf_extract(salt: bytes, material: bytes) -> bytes:
    """HKDF-Extract with SHA-256 (RFC 5869, section 2.2)."""
    return hmac.digest(salt or bytes(TAG_LENGTH), material, "sha256")


def hkdf_expand(key: bytes, info: bytes, length: int) -> bytes:
    """HKDF-Expand with SHA-256 (RFC 5869, section 2.3); `length` in bytes, at most 255 * 32."""
    if not 0 < length <= 255 * TAG_LENGTH:
        raise ValueError(f"HKDF yields 1 to {255 * TAG_LENGTH} bytes, not {length}")
    block, output = b"", b""
    for counter in range(1, -(-length // TAG_LENGTH) + 1):
        block = hmac.digest(key, block + info + bytes([counter]), "sha256")
        output += block
    return output[:length]


def enrolment_key(secret: bytes) -> bytes:
    """Return the key of REGISTER and REGISTERED, so that the secret itself signs nothing."""
    return hkdf_expand(hkdf_extract(b"", secret), b"grasp enrolment", TAG_LENGTH)


def session_key(secret: bytes, agent_nonce: bytes, controller_nonce: bytes) -> bytes:
    """Return the key of REPORT and REPORTED for one registration."""
    return hkdf_expand(hkdf_extract(agent_nonce + controller_nonce, secret), b"grasp session", TAG_LENGTH)


def seal(key: bytes, frame: Frame) -> Frame:
    """Return the frame with the code of its header and body appended."""
    tag = hmac.digest(key, frame.header() + frame.body, "sha256")
    return Frame(frame.destination, frame.source, frame.type, frame.site, frame.flags, frame.body + tag)


def unseal(key: bytes, frame: Frame) -> bytes:
    """Return the body without its code, or raise AuthenticationError."""
    body, tag = frame.body[:-TAG_LENGTH], frame.body[-TAG_LENGTH:]
    if not hmac.compare_digest(tag, hmac.digest(key, frame.header() + body, "sha256")):
        raise AuthenticationError("the message authentication code is wrong")
    return body


# Sequence numbers and epochs


def newer(a: int, b: int) -> bool:
    """Whether the 32-bit sequence number `a` comes after `b` (serial number arithmetic, RFC 1982)."""
    return 0 < (a - b) % 2**32 < 2**31


@dataclass(frozen=True, slots=True)
class EpochClock:
    """Which epoch it is: `first` began at `start` and every epoch lasts `length` (both microseconds).

    Real time is the default, hours since 1970. Emulated epochs are shorter, begin when the run does, and bear
    the number of the hour that they stand for.
    """

    start: int = 0
    length: int = 3_600_000_000
    first: int = 0

    def epoch(self, now: int) -> int:
        """Return the epoch at a time; before the first one began, the number is smaller (at least 0)."""
        return max(0, self.first + (now - self.start) // self.length)

    def begin(self, epoch: int) -> int:
        """Return the time at which an epoch begins."""
        return self.start + (epoch - self.first) * self.length


# Bodies


class _Reader:
    """Takes fields off a body, front to back, and insists that nothing is missing or left."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, length: int) -> bytes:
        piece = self._data[self._at : self._at + length]
        if len(piece) != length:
            raise ProtocolError(f"the body is cut short at byte {len(self._data)}")
        self._at += length
        return piece

    def integer(self, length: int) -> int:
        return int.from_bytes(self.take(length), "big")

    def text(self) -> str:
        length = self.integer(1)
        if length > NAME_LIMIT:
            raise ProtocolError(f"a name of {length} bytes is longer than {NAME_LIMIT}")
        try:
            return self.take(length).decode()
        except UnicodeDecodeError:
            raise ProtocolError("a name is not UTF-8") from None

    def number(self) -> float:
        value: float = struct.unpack("!d", self.take(8))[0]
        return value

    def end(self) -> None:
        if self._at != len(self._data):
            raise ProtocolError(f"the body has {len(self._data) - self._at} bytes too many")


def _text(name: str) -> bytes:
    raw = name.encode()
    if len(raw) > NAME_LIMIT:
        raise ValueError(f"the name {name!r} is longer than {NAME_LIMIT} bytes")
    return bytes([len(raw)]) + raw


def _expect(frame: Frame, frame_type: FrameType) -> None:
    if frame.type != frame_type:
        raise ProtocolError(f"a {frame.type.name} frame where {frame_type.name} was expected")
    if len(frame.body) < TAG_LENGTH:
        raise ProtocolError("the body is cut short before its code")


@dataclass(frozen=True, slots=True)
class Register:
    """An agent asks to take part. `requested` is the id that it had before, if it knows one."""

    name: str
    nonce: bytes
    time: int
    address: int
    requested: int | None = None

    def seal(self, key: bytes, source: bytes) -> Frame:
        """Return the frame, sent from MAC address `source`, signed with the enrolment key."""
        body = self.nonce + struct.pack("!QI", self.time, self.address) + _text(self.name)
        site, flags = (0, 0) if self.requested is None else (self.requested, REQUESTED)
        return seal(key, Frame(CONTROLLER_MAC, source, FrameType.REGISTER, site, flags, body))

    @classmethod
    def peek(cls, frame: Frame) -> Self:
        """Parse without authenticating: the name says which key `open` needs."""
        _expect(frame, FrameType.REGISTER)
        reader = _Reader(frame.body[:-TAG_LENGTH])
        nonce, time, address = reader.take(NONCE_LENGTH), reader.integer(8), reader.integer(4)
        name = reader.text()
        reader.end()
        return cls(name, nonce, time, address, frame.site if frame.flags & REQUESTED else None)

    @classmethod
    def open(cls, key: bytes, frame: Frame) -> Self:
        """Parse and authenticate with the enrolment key."""
        register = cls.peek(frame)
        unseal(key, frame)
        return register


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a report must contain: the parameter's name and the unit of its value."""

    name: str
    unit: str


@dataclass(frozen=True, slots=True)
class Registered:
    """The controller's answer to `Register`: all that the agent needs to report.

    `sequence` is the last one accepted from the site; the agent goes on above it. `interval` (between
    reports) and `heartbeat` (between heartbeats) are microseconds.
    """

    site: int
    agent_nonce: bytes
    controller_nonce: bytes
    time: int
    sequence: int
    clock: EpochClock
    interval: int
    heartbeat: int
    parameters: tuple[Parameter, ...]

    def seal(self, key: bytes, destination: bytes) -> Frame:
        """Return the frame to MAC address `destination`, signed with the enrolment key."""
        body = self.agent_nonce + self.controller_nonce
        body += struct.pack("!QIQQIQQ", self.time, self.sequence, self.clock.start, self.clock.length,
                            self.clock.first, self.interval, self.heartbeat)  # fmt: skip
        body += bytes([len(self.parameters)])
        body += b"".join(_text(parameter.name) + _text(parameter.unit) for parameter in self.parameters)
        return seal(key, Frame(destination, CONTROLLER_MAC, FrameType.REGISTERED, self.site, 0, body))

    @classmethod
    def open(cls, key: bytes, frame: Frame) -> Self:
        """Parse and authenticate with the enrolment key."""
        _expect(frame, FrameType.REGISTERED)
        reader = _Reader(unseal(key, frame))
        agent_nonce, controller_nonce = reader.take(NONCE_LENGTH), reader.take(NONCE_LENGTH)
        time, sequence = reader.integer(8), reader.integer(4)
        clock = EpochClock(reader.integer(8), reader.integer(8), reader.integer(4))
        interval, heartbeat_interval = reader.integer(8), reader.integer(8)
        parameters = tuple(Parameter(reader.text(), reader.text()) for _ in range(reader.integer(1)))
        reader.end()
        if not (clock.length and interval and heartbeat_interval):
            raise ProtocolError("an interval of zero")
        return cls(frame.site, agent_nonce, controller_nonce, time, sequence, clock, interval,
                   heartbeat_interval, parameters)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """A site's values for one epoch; the controller judges them. Each transmission has its own sequence."""

    site: int
    sequence: int
    epoch: int
    time: int
    values: Mapping[str, float]

    def seal(self, key: bytes, source: bytes) -> Frame:
        """Return the frame, sent from MAC address `source`, signed with the session key."""
        body = struct.pack("!IIQB", self.sequence, self.epoch, self.time, len(self.values))
        body += b"".join(_text(name) + struct.pack("!d", value) for name, value in self.values.items())
        return seal(key, Frame(CONTROLLER_MAC, source, FrameType.REPORT, self.site, 0, body))

    @classmethod
    def open(cls, key: bytes, frame: Frame) -> Self:
        """Parse and authenticate with the session key."""
        _expect(frame, FrameType.REPORT)
        reader = _Reader(unseal(key, frame))
        sequence, epoch, time = reader.integer(4), reader.integer(4), reader.integer(8)
        count = reader.integer(1)
        values = {reader.text(): reader.number() for _ in range(count)}
        reader.end()
        if len(values) != count:
            raise ProtocolError("a parameter is reported twice")
        return cls(frame.site, sequence, epoch, time, values)


@dataclass(frozen=True, slots=True)
class Reported:
    """The controller's answer to a report that was authentic: accepted (NONE), or why its content was not."""

    site: int
    sequence: int
    status: Refusal
    time: int

    def seal(self, key: bytes, destination: bytes) -> Frame:
        """Return the frame to MAC address `destination`, signed with the session key."""
        body = struct.pack("!IBQ", self.sequence, self.status, self.time)
        return seal(key, Frame(destination, CONTROLLER_MAC, FrameType.REPORTED, self.site, 0, body))

    @classmethod
    def open(cls, key: bytes, frame: Frame) -> Self:
        """Parse and authenticate with the session key."""
        _expect(frame, FrameType.REPORTED)
        reader = _Reader(unseal(key, frame))
        sequence, status, time = reader.integer(4), reader.integer(1), reader.integer(8)
        reader.end()
        try:
            return cls(frame.site, sequence, Refusal(status), time)
        except ValueError:
            raise ProtocolError(f"status {status} is unknown") from None
