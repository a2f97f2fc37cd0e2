# SPDX-License-Identifier: Apache-2.0
import hashlib
import hmac
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp.telemetry import protocol
from grasp.telemetry.protocol import (
    AuthenticationError,
    EpochClock,
    Frame,
    FrameType,
    Parameter,
    ProtocolError,
    Refusal,
    Register,
    Registered,
    Report,
    Reported,
)

KEY = bytes(range(32))
MAC = bytes.fromhex("020000000100")
NONCE = bytes(range(16))

macs = st.binary(min_size=6, max_size=6)
sites = st.integers(0, 255)
words = st.integers(0, 2**32 - 1)
times = st.integers(0, 2**64 - 1)
nonces = st.binary(min_size=16, max_size=16)
names = st.text(max_size=32).filter(
    lambda name: len(name.encode(errors="ignore")) <= 32 and name.isprintable()
)
values = st.dictionaries(names, st.floats(allow_nan=False), max_size=8)

registers = st.builds(Register, names, nonces, times, words, st.none() | sites)
registereds = st.builds(
    Registered,
    site=sites,
    agent_nonce=nonces,
    controller_nonce=nonces,
    time=times,
    sequence=words,
    clock=st.builds(EpochClock, times, st.integers(1, 2**64 - 1), words),
    interval=st.integers(1, 2**64 - 1),
    heartbeat=st.integers(1, 2**64 - 1),
    parameters=st.lists(st.builds(Parameter, names, names), max_size=8).map(tuple),
)
reports = st.builds(Report, sites, words, words, times, values)
reporteds = st.builds(Reported, sites, words, st.sampled_from(Refusal), times)
messages = registers | registereds | reports | reporteds


# Keys


# RFC 5869, appendix A: the SHA-256 cases.
HKDF_VECTORS = [
    (
        "0b" * 22,
        "000102030405060708090a0b0c",
        "f0f1f2f3f4f5f6f7f8f9",
        "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
    ),
    (
        bytes(range(0x50)).hex(),
        bytes(range(0x60, 0xB0)).hex(),
        bytes(range(0xB0, 0x100)).hex(),
        "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244",
        (
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
            "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
            "cc30c58179ec3e87c14c01d5c1f3434f1d87"
        ),
    ),
    (
        "0b" * 22,
        "",
        "",
        "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
    ),
]


@pytest.mark.parametrize(("material", "salt", "info", "prk", "okm"), HKDF_VECTORS)
def test_hkdf_gives_the_published_values(material, salt, info, prk, okm):
    key = protocol.hkdf_extract(bytes.fromhex(salt), bytes.fromhex(material))
    assert key.hex() == prk
    assert protocol.hkdf_expand(key, bytes.fromhex(info), len(okm) // 2).hex() == okm


@pytest.mark.parametrize("length", [0, -1, 255 * 32 + 1])
def test_hkdf_refuses_other_lengths(length):
    with pytest.raises(ValueError, match="8160"):
        protocol.hkdf_expand(KEY, b"", length)


def test_keys_depend_on_everything_they_are_derived_from():
    keys = {
        protocol.session_key(secret, agent, controller)
        for secret in (b"s" * 16, b"t" * 16)
        for agent in (NONCE, NONCE[::-1])
        for controller in (NONCE, NONCE[::-1])
    }
    keys |= {protocol.enrolment_key(b"s" * 16), protocol.enrolment_key(b"t" * 16)}
    assert len(keys) == 10
    assert {len(key) for key in keys} == {32}


def test_the_code_is_hmac_over_header_and_body():
    frame = Reported(7, 1, Refusal.NONE, 2).seal(KEY, MAC)
    raw = frame.to_bytes()
    covered, code = raw[14:-32], raw[-32:]
    # RFC 2104 with its own words: H(K xor opad, H(K xor ipad, text))
    padded = KEY.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in padded) + covered).digest()
    assert code == hashlib.sha256(bytes(b ^ 0x5C for b in padded) + inner).digest()
    assert code == hmac.new(KEY, covered, hashlib.sha256).digest()


# Frames


@given(macs, macs, st.sampled_from(FrameType), sites, sites, st.binary(max_size=64))
def test_frames_survive_the_wire(destination, source, kind, site, flags, body):
    frame = Frame(destination, source, kind, site, flags, body)
    raw = frame.to_bytes()
    assert len(raw) == max(60, 18 + len(body))
    again = Frame.from_bytes(raw)
    assert again.body[: len(body)] == body
    assert not any(again.body[len(body) :])
    assert Frame(again.destination, again.source, again.type, again.site, again.flags, body) == frame


def test_a_frame_is_laid_out_as_the_switch_expects():
    raw = protocol.heartbeat(MAC, 9)
    assert raw.hex() == "0200000000fe" + "020000000100" + "88b5" + "01050900" + "00" * 42


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        (b"", "cut short"),
        (protocol.heartbeat(MAC, 9)[:17], "cut short"),
        (protocol.heartbeat(MAC, 9).replace(b"\x88\xb5", b"\x88\xb6"), "EtherType"),
        (protocol.heartbeat(MAC, 9).replace(b"\x88\xb5\x01", b"\x88\xb5\x02"), "version 2"),
        (protocol.heartbeat(MAC, 9).replace(b"\x88\xb5\x01\x05", b"\x88\xb5\x01\x08"), "type 8"),
    ],
)
def test_other_frames_are_refused(raw, complaint):
    with pytest.raises(ProtocolError, match=complaint):
        Frame.from_bytes(raw)


# Bodies


@given(messages)
def test_messages_survive_the_wire(message):
    frame = Frame.from_bytes(message.seal(KEY, MAC).to_bytes())
    assert type(message).open(KEY, frame) == message


def test_no_signed_frame_is_short_enough_to_be_padded():
    shortest = [
        Register("", NONCE, 0, 0),
        Registered(0, NONCE, NONCE, 0, 0, EpochClock(), 1, 1, ()),
        Report(0, 1, 0, 0, {}),
        Reported(0, 0, Refusal.NONE, 0),
    ]
    for message in shortest:
        frame = message.seal(KEY, MAC)
        assert len(frame.to_bytes()) == 18 + len(frame.body)


@given(messages, st.data())
def test_a_changed_bit_is_noticed(message, data):
    raw = bytearray(message.seal(KEY, MAC).to_bytes())
    bit = data.draw(st.integers(14 * 8, len(raw) * 8 - 1))
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(ProtocolError):
        type(message).open(KEY, Frame.from_bytes(bytes(raw)))


@given(messages)
def test_another_key_opens_nothing(message):
    with pytest.raises(AuthenticationError):
        type(message).open(KEY[::-1], message.seal(KEY, MAC))


@given(messages, st.data())
def test_what_is_cut_or_longer_is_refused(message, data):
    raw = message.seal(KEY, MAC).to_bytes()
    cut = raw[: data.draw(st.integers(0, len(raw) - 1))]
    longer = raw + data.draw(st.binary(min_size=1, max_size=64))
    for other in (cut, longer):
        with pytest.raises(ProtocolError):
            type(message).open(KEY, Frame.from_bytes(other))


@given(messages, st.data())
def test_an_authentic_body_of_another_length_is_refused(message, data):
    """Not the code alone protects: a body that does not parse to its end is refused even when signed."""
    frame = message.seal(KEY, MAC)
    body = frame.body[:-32]
    other = data.draw(
        st.binary(min_size=1, max_size=8).map(lambda more: body + more)
        | st.integers(0, len(body) - 1).map(lambda length: body[:length])
    )
    forged = protocol.seal(
        KEY, Frame(frame.destination, frame.source, frame.type, frame.site, frame.flags, other)
    )
    with pytest.raises(ProtocolError):
        type(message).open(KEY, forged)


@given(st.binary(max_size=200), st.sampled_from([Register, Registered, Report, Reported]))
def test_random_bodies_are_refused_with_a_reason(body, kind):
    frame_type = FrameType[kind.__name__.upper()]
    with pytest.raises(ProtocolError):
        kind.open(KEY, Frame(MAC, MAC, frame_type, 0, 0, body))


@given(messages, messages)
def test_one_message_is_not_taken_for_another(one, other):
    if type(one) is not type(other):
        with pytest.raises(ProtocolError, match="expected"):
            type(other).open(KEY, one.seal(KEY, MAC))


def test_the_name_is_read_before_the_key_is_known():
    register = Register("elmira", NONCE, 1, 0x0A00010B, 4)
    assert Register.peek(register.seal(KEY, MAC)) == register


def test_values_that_are_no_numbers_reach_the_judge():
    report = Report(0, 1, 0, 0, {"a": math.nan, "b": -math.inf})
    again = Report.open(KEY, report.seal(KEY, MAC))
    assert math.isnan(again.values["a"])
    assert again.values["b"] == -math.inf


def _report_body(*pairs):
    body = struct.pack("!IIQB", 1, 0, 0, len(pairs))
    return body + b"".join(bytes([len(name)]) + name + struct.pack("!d", value) for name, value in pairs)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (_report_body((b"a", 1.0), (b"a", 2.0)), "twice"),
        (_report_body((b"\xff", 1.0)), "UTF-8"),
        (_report_body((b"a" * 33, 1.0)), "longer than 32"),
    ],
)
def test_authentic_reports_that_make_no_sense_are_refused(body, complaint):
    with pytest.raises(ProtocolError, match=complaint):
        Report.open(KEY, protocol.seal(KEY, Frame(MAC, MAC, FrameType.REPORT, 0, 0, body)))


def test_an_unknown_status_is_refused():
    body = struct.pack("!IBQ", 1, 200, 0)
    with pytest.raises(ProtocolError, match="status 200"):
        Reported.open(KEY, protocol.seal(KEY, Frame(MAC, MAC, FrameType.REPORTED, 0, 0, body)))


def test_a_registration_without_an_interval_is_refused():
    frame = Registered(0, NONCE, NONCE, 0, 0, EpochClock(), 0, 1, ()).seal(KEY, MAC)
    with pytest.raises(ProtocolError, match="interval"):
        Registered.open(KEY, frame)


def test_names_that_do_not_fit_are_a_mistake_of_the_sender():
    with pytest.raises(ValueError, match="longer than 32"):
        Register("é" * 17, NONCE, 0, 0).seal(KEY, MAC)


# Sequence numbers and epochs


@given(words, st.integers(1, 2**31 - 1))
def test_newer_numbers_come_after_older_ones_across_the_wrap(old, step):
    new = (old + step) % 2**32
    assert protocol.newer(new, old)
    assert not protocol.newer(old, new)


@given(words)
def test_neither_the_same_number_nor_the_opposite_one_is_newer(number):
    assert not protocol.newer(number, number)
    assert not protocol.newer((number + 2**31) % 2**32, number)


def test_real_epochs_are_hours_since_1970():
    clock = EpochClock()
    evening = 1_700_000_000  # 2023-11-14 22:13:20 UTC
    assert clock.epoch(evening * 1_000_000) == evening // 3600


def test_emulated_epochs_bear_the_number_of_the_hour_they_stand_for():
    clock = EpochClock(start=1_000_000_000, length=2_000_000, first=472_223)
    assert clock.epoch(999_999_999) == 472_222
    assert clock.epoch(1_000_000_000) == clock.epoch(1_001_999_999) == 472_223
    assert clock.begin(472_225) == 1_004_000_000
    assert EpochClock(start=10_000_000).epoch(0) == 0


@given(
    st.builds(EpochClock, st.integers(0, 2**50), st.integers(1, 2**40), st.integers(0, 2**20)),
    st.integers(0, 2**20),
)
def test_an_epoch_begins_when_the_one_before_ends(clock, later):
    epoch = clock.first + later
    assert clock.epoch(clock.begin(epoch)) == epoch
    assert clock.epoch(clock.begin(epoch) - 1) == max(0, epoch - 1)
