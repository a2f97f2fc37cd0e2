# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp.control import wire
from grasp.control.wire import Discovery, Operation, PacketIn, PacketOut, Probe, Reason, Status, WireError
from grasp.telemetry import protocol
from grasp.telemetry.protocol import Frame, FrameType, ProtocolError

P4SRC = Path(__file__).parents[2] / "p4src"
KEY = bytes(range(32))
MAC = bytes.fromhex("0200000000fe")


def unsigned(width):
    return st.integers(0, 2**width - 1)


energies = st.integers(-(2**47), 2**47 - 1)
packet_outs = st.builds(
    PacketOut, st.sampled_from(Operation), unsigned(8), unsigned(16), unsigned(8), unsigned(32), unsigned(32),
    energies, energies,
)  # fmt: skip
packet_ins = st.builds(
    PacketIn, st.sampled_from(Reason), st.sampled_from(Status), unsigned(16), unsigned(8), unsigned(8),
    unsigned(16), unsigned(32), unsigned(32), energies, energies, unsigned(16), unsigned(48),
)  # fmt: skip


# Against the program


def declared_fields(header):
    """Field names and widths of a header in headers.p4, which types them by name or as bit<N>."""
    widths = {"operation_t": 8, "reason_t": 8, "status_t": 8, "site_t": 8, "service_t": 16}
    widths |= {"energy_t": 48, "time_t": 48}
    text = (P4SRC / "headers.p4").read_text()
    body = re.search(rf"header {header} \{{(.*?)\n\}}", text, re.DOTALL).group(1)
    fields = re.findall(r"^\s+(?:bit<(\d+)>|(\w+)) (\w+);", body, re.MULTILINE)
    return {name: int(bits) if bits else widths[kind] for bits, kind, name in fields}


def declared_codes(enum):
    text = (P4SRC / "constants.p4").read_text()
    body = re.search(rf"enum bit<8> {enum} \{{(.*?)\n\}}", text, re.DOTALL).group(1)
    return {name: int(value) for name, value in re.findall(r"^\s+(\w+) = (\d+)", body, re.MULTILINE)}


@pytest.mark.parametrize(("header", "mirror"), [("packet_out_t", PacketOut), ("packet_in_t", PacketIn)])
def test_headers_are_those_of_the_program(header, mirror):
    assert dict(mirror.WIDTHS) == declared_fields(header)
    assert list(mirror.WIDTHS) == list(declared_fields(header))


@pytest.mark.parametrize(
    ("enum", "mirror"),
    [
        ("frame_t", FrameType),
        ("operation_t", Operation),
        ("reason_t", Reason),
        ("status_t", Status),
        ("role_t", wire.Role),
        ("drop_t", wire.Drop),
    ],
)
def test_codes_are_those_of_the_program(enum, mirror):
    assert {code.name: code.value for code in mirror} == declared_codes(enum)


def test_constants_are_those_of_the_program():
    constants = {}
    for file in ("constants.p4", "metadata.p4"):
        declared = re.findall(r"^const \S+ (\w+) = (\w+);", (P4SRC / file).read_text(), re.MULTILINE)
        constants |= {name: int(value, 0) for name, value in declared}
    assert constants["CPU_PORT"] == wire.CPU_PORT
    assert constants["TRUNKS"] == wire.TRUNKS
    assert constants["TRUNKS_AND_CPU"] == wire.TRUNKS_AND_CPU
    assert constants["ETHERTYPE_GRASP"] == protocol.ETHERTYPE
    assert constants["GRASP_VERSION"] == protocol.VERSION
    flags = {
        name.removeprefix("SITE_"): value for name, value in constants.items() if name.startswith("SITE_")
    }
    assert {flag.name: flag.value for flag in wire.SiteFlag} == flags


def test_the_compiled_program_declares_the_same_metadata():
    text = (P4SRC / "build" / "grasp.p4info.txtpb").read_text()
    for header, mirror in (("packet_out", PacketOut), ("packet_in", PacketIn)):
        block = re.search(
            rf'controller_packet_metadata \{{\n  preamble \{{[^}}]*name: "{header}"(.*?)\n\}}',
            text,
            re.DOTALL,
        ).group(1)
        found = re.findall(r'name: "(\w+)"\n.*?bitwidth: (\d+)', block, re.DOTALL)
        assert [(name, int(width)) for name, width in found] == list(mirror.WIDTHS.items())


# Metadata


@given(packet_outs | packet_ins)
def test_headers_survive_the_wire(header):
    metadata = header.metadata()
    assert all(0 <= metadata[name] < 2**width for name, width in header.WIDTHS.items())
    again = type(header).from_metadata(metadata)
    assert again == header
    for name in header.CODES:
        assert type(getattr(again, name)) is header.CODES[name]


def test_negative_energies_are_in_twos_complement():
    packet = PacketOut(Operation.SET_FORECAST, budget=-1, spent=-(2**47))
    assert packet.metadata()["budget"] == 0xFFFF_FFFF_FFFF
    assert packet.metadata()["spent"] == 0x8000_0000_0000


@pytest.mark.parametrize(
    ("field", "value"),
    [("site", 256), ("site", -1), ("budget", 2**47), ("spent", -(2**47) - 1), ("port", 65536)],
)
def test_values_that_do_not_fit_are_not_sent(field, value):
    with pytest.raises(WireError, match=f"{field} {value}"):
        PacketOut(Operation.SET_FORECAST, **{field: value}).metadata()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"surplus": 1}, "surplus"),
        ({"site": 256}, "site 256"),
        ({"headroom": -1}, "headroom -1"),
        ({"headroom": 2**48}, "headroom 281474976710656"),
        ({"reason": 0}, "reason 0 is unknown"),
        ({"status": 4}, "status 4 is unknown"),
    ],
)
def test_metadata_of_another_program_is_refused(change, complaint):
    with pytest.raises(WireError, match=complaint):
        PacketIn.from_metadata(PacketIn(Reason.ANSWER).metadata() | change)


def test_a_missing_field_is_refused():
    metadata = PacketIn(Reason.ANSWER).metadata()
    del metadata["heard"]
    with pytest.raises(WireError, match="heard"):
        PacketIn.from_metadata(metadata)


# Energies


@pytest.mark.parametrize(
    ("energy_wh", "energy_mwh"), [(0, 0), (1.2344, 1234), (-2.5, -2500), (70e9, 70_000_000_000_000)]
)
def test_energies_become_whole_milliwatt_hours(energy_wh, energy_mwh):
    assert wire.milliwatt_hours(energy_wh) == energy_mwh


@pytest.mark.parametrize("energy_wh", [2**46 / 1000, -(2**46) / 1000, float("nan"), float("inf")])
def test_energies_beyond_the_unit_are_refused(energy_wh):
    with pytest.raises(WireError, match="Wh"):
        wire.milliwatt_hours(energy_wh)


# Frames


@given(st.builds(Discovery, unsigned(64), unsigned(16), unsigned(64)))
def test_discovery_frames_survive_the_wire(discovery):
    raw = discovery.seal(KEY).to_bytes()
    assert Discovery.open(KEY, Frame.from_bytes(raw)) == discovery


@given(st.builds(Discovery, unsigned(64), unsigned(16), unsigned(64)), st.data())
def test_discovery_frames_that_were_touched_are_refused(discovery, data):
    raw = discovery.seal(KEY).to_bytes()
    changed = bytearray(raw)
    changed[data.draw(st.integers(14, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    for other in (bytes(changed), raw[:-1], raw + b"\0"):
        with pytest.raises(ProtocolError):
            Discovery.open(KEY, Frame.from_bytes(other))
    with pytest.raises(ProtocolError):
        Discovery.open(KEY[::-1], Frame.from_bytes(raw))


@given(
    st.builds(
        Probe, unsigned(8), unsigned(32), unsigned(32), energies, unsigned(16), unsigned(8), unsigned(8)
    )
)
def test_probes_survive_the_wire(probe):
    frame = probe.to_frame(MAC)
    assert Probe.from_frame(frame) == probe
    assert Probe.from_frame(Frame.from_bytes(frame.to_bytes())) == probe  # padded


def test_a_probe_is_laid_out_as_the_program_declares_it():
    raw = Probe(7, 1, 2, -3, 4, 5, 2).to_frame(MAC).to_bytes()
    assert raw[14:36].hex() == "01060702" + "00000001" + "00000002" + "fffffffffffd" + "0004" + "05" + "00"


@pytest.mark.parametrize("length", [0, 17, 19, 100])
def test_probes_of_another_length_are_refused(length):
    with pytest.raises(ProtocolError):
        Probe.from_frame(Frame(MAC, MAC, FrameType.PROBE, body=bytes(length)))
