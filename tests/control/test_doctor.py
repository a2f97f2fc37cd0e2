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


@pytest.mark.parametrize(("name", "status"), [("cc", 1), ("p4c-bm2-ss", 0)])
def test_what_is_missing_comes_with_what_to_do(monkeypatch, capsys, name, status):
    everything = [doctor.Finding("Python", "everything", True, "3", "")]
    lacking = doctor._program(name + "-not-here", "a purpose", status == 1, "the way out")
    monkeypatch.setattr(doctor, "examine", lambda: [*everything, lacking])
    assert cli.main(["doctor"]) == status
    shown = capsys.readouterr().out
    assert ("missing" in shown) == (status == 1)
    assert f"{name}-not-here: the way out" in shown
