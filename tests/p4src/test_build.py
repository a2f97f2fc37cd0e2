# SPDX-License-Identifier: Apache-2.0
"""The committed output of the compiler belongs to the committed sources."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.p4src.site_switch import Event
from tests.p4src.switch import BUILD, p4info

from grasp.control import wire

SOURCES = BUILD.parent
ROOT = SOURCES.parent
PROGRAM = BUILD / "grasp.json"
P4INFO = BUILD / "grasp.p4info.txtpb"


def test_every_file_is_the_one_that_was_compiled() -> None:
    lines = (BUILD / "sha256sums").read_text().splitlines()
    recorded = {name: digest for digest, name in (line.split() for line in lines)}
    files = [*SOURCES.glob("*.p4"), PROGRAM, P4INFO]
    assert recorded == {str(f.relative_to(ROOT)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


@pytest.mark.skipif(shutil.which("p4c-bm2-ss") is None, reason="p4c-bm2-ss is not on PATH")
def test_compiling_again_gives_the_same_bytes_without_a_warning(tmp_path: Path) -> None:
    again, info = tmp_path / "grasp.json", tmp_path / "grasp.p4info.txtpb"
    command = ["p4c-bm2-ss", "--arch", "v1model", "--p4runtime-files", str(info), "-o", str(again)]
    result = subprocess.run(
        [*command, "p4src/grasp.p4"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stderr + result.stdout == ""
    assert info.read_bytes() == P4INFO.read_bytes()
    assert again.read_bytes() == PROGRAM.read_bytes()


def _source_infos(node: object) -> Iterator[tuple[str, int, int, str]]:
    if isinstance(node, dict):
        if "source_info" in node:
            info = node["source_info"]
            yield info["filename"], info["line"], info["column"], info["source_fragment"]
        for child in node.values():
            yield from _source_infos(child)
    elif isinstance(node, list):
        for child in node:
            yield from _source_infos(child)


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _expanded(line: str, text: str) -> str | None:
    """What a line that invokes one of the file's macros stands for; None if it does not."""
    for name, parameters, body in re.findall(r"#define (\w+)\((.*?)\)((?:.*\\\n)*.*)", text):
        if invoked := re.fullmatch(rf"\s*{name}\((.*)\)", line):
            values = [word.strip() for word in invoked[1].split(",")]
            for parameter, value in zip(parameters.split(","), values, strict=True):
                body = re.sub(rf"\b{parameter.strip()}\b", value, body)
            return _squeezed(body.replace("\\\n", " "))
    return None


def test_every_fragment_stands_where_the_output_says() -> None:
    """p4c notes file, line and text of what it translates: the output is of these very sources."""
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in SOURCES.glob("*.p4")}
    infos = set(_source_infos(json.loads(PROGRAM.read_text())))
    assert len(infos) > 500
    # Constants and controls aside, every file leaves a trace in the output.
    assert {name for name, *_ in infos} >= set(texts) - {"p4src/headers.p4", "p4src/metadata.p4"}
    for name, number, column, fragment in infos:
        line = texts[name].splitlines()[number - 1]
        wanted = _squeezed(fragment.removesuffix(" ...").replace('\\"', '"'))
        body = _expanded(line, texts[name])
        if body is None:
            assert _squeezed(line[column:]).startswith(wanted), (name, number)
        else:
            assert wanted in body, (name, number)


def test_headers_are_those_of_the_driver() -> None:
    for header, mirror in (("packet_out", wire.PacketOut), ("packet_in", wire.PacketIn)):
        (metadata,) = [h for h in p4info().controller_packet_metadata if h.preamble.name == header]
        assert {field.name: field.bitwidth for field in metadata.metadata} == dict(mirror.WIDTHS)


def _enum(file: str, name: str) -> dict[str, int]:
    body = re.search(rf"enum bit<8> {name} \{{(.*?)\n\}}", (SOURCES / file).read_text(), re.DOTALL)
    assert body is not None
    return {word: int(value) for word, value in re.findall(r"^\s+(\w+) = (\d+)", body[1], re.MULTILINE)}


@pytest.mark.parametrize(
    ("file", "enum", "mirror"),
    [
        ("constants.p4", "operation_t", wire.Operation),
        ("constants.p4", "reason_t", wire.Reason),
        ("constants.p4", "status_t", wire.Status),
        ("constants.p4", "role_t", wire.Role),
        ("constants.p4", "drop_t", wire.Drop),
        ("counters.p4", "event_t", Event),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_codes_are_those_of_the_program(file: str, enum: str, mirror: type[wire.Drop]) -> None:
    assert {code.name: code.value for code in mirror} == _enum(file, enum)


def test_counters_have_a_cell_for_every_code() -> None:
    sizes = {counter.preamble.alias: counter.size for counter in p4info().counters}
    assert sizes == {"jobs": 256, "drops": len(wire.Drop), "events": len(Event)}
