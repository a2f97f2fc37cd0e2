# SPDX-License-Identifier: Apache-2.0
import json

import pytest

from grasp.control import cli, doctor


def test_what_is_there_is_found_and_needs_no_remedy(capsys):
    status = cli.main(["doctor", "--json"])
    findings = {finding["name"]: finding for finding in json.loads(capsys.readouterr().out)}
    assert findings["Python"]["found"].count(".") == 2
    assert findings["numpy"]["needed"]
    assert not findings["simple_switch_grpc"]["needed"]
    assert status == (not all(finding["found"] for finding in findings.values() if finding["needed"]))


@pytest.mark.parametrize(
    ("mounts", "mounted"),
    [
        ("22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n23 22 0:5 / /proc rw - proc proc rw\n", True),
        ("23 22 0:5 / /proc rw - proc proc rw\n24 22 254:0 /srv /srv rw - ext4 /dev/vda rw\n", False),
        (None, False),
    ],
)
def test_a_chroot_is_known_by_its_root(tmp_path, mounts, mounted):
    file = tmp_path / "mountinfo"
    if mounts is not None:
        file.write_text(mounts)
    assert doctor.root_is_mounted(file) is mounted


@pytest.mark.parametrize(("name", "status"), [("cc", 1), ("p4c-bm2-ss", 0)])
def test_what_is_missing_comes_with_what_to_do(monkeypatch, capsys, name, status):
    everything = [doctor.Finding("Python", "everything", True, "3", "")]
    lacking = doctor._program(name + "-not-here", "a purpose", status == 1, "the way out")
    monkeypatch.setattr(doctor, "examine", lambda: [*everything, lacking])
    assert cli.main(["doctor"]) == status
    shown = capsys.readouterr().out
    assert ("missing" in shown) == (status == 1)
    assert f"{name}-not-here: the way out" in shown
