# SPDX-License-Identifier: Apache-2.0
"""Which network `grasp shell` joins, and what it says where there is none."""

import json
import os
from argparse import Namespace
from pathlib import Path

import pytest

from grasp import UserError
from grasp.control import shell

CONTENT = {"net_namespace": "net:[1]", "switches": {"newyork": {"grpc": "127.0.0.1:9", "device_id": 1}}}


def write(folder: Path, text: str) -> Path:
    path = folder / "network.json"
    path.write_text(text)
    return path


def test_network_is_read(tmp_path: Path) -> None:
    network = shell.read_network(write(tmp_path, json.dumps(CONTENT)))
    assert network == ("net:[1]", {"newyork": ("127.0.0.1:9", 1)})


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"switches": [1], "net_namespace": "x"}'])
def test_damaged(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError, match="damaged"):
        shell.read_network(write(tmp_path, text))


def test_no_results_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="missing"):
        shell.read_network(tmp_path / "network.json")
    with pytest.raises(UserError, match="Not a directory"):
        shell.read_network(write(tmp_path, "") / "network.json")
    (tmp_path / "other" / "network.json").mkdir(parents=True)
    with pytest.raises(UserError, match="Is a directory"):
        shell.read_network(tmp_path / "other" / "network.json")


def test_no_such_switch(tmp_path: Path) -> None:
    write(tmp_path, json.dumps(CONTENT))
    with pytest.raises(UserError, match="no switch 'boston' there; the network has newyork"):
        shell.run(Namespace(results=tmp_path, switch="boston", arguments=[]))
    write(tmp_path, json.dumps({**CONTENT, "switches": {}}))
    with pytest.raises(UserError, match="no switch"):
        shell.run(Namespace(results=tmp_path, switch=None, arguments=[]))


def test_a_run_that_has_ended(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has ended"):
        shell.process_in("net:[1]")
    assert shell.process_in(os.readlink("/proc/self/ns/net")) > 0
