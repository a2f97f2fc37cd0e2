# SPDX-License-Identifier: Apache-2.0
import json
import os
import time
from pathlib import Path

import pytest

from grasp import UserError
from grasp.control.events import EventLog


def test_a_line_is_in_the_file_when_the_event_was_noted(tmp_path):
    path = tmp_path / "events.jsonl"
    before = time.time()
    log = EventLog(path)
    log.emit("registered", site="ny1", at=("s1", 4))
    log.emit("switch_up", switch="s1", folder=Path("x"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert before <= lines[0].pop("time") <= lines[1].pop("time") <= time.time()
    assert lines == [
        {"event": "registered", "site": "ny1", "at": ["s1", 4]},
        {"event": "switch_up", "switch": "s1", "folder": "x"},
    ]
    log.close()


def test_a_file_is_appended_to(tmp_path):
    for _ in range(2):
        log = EventLog(tmp_path / "events.jsonl")
        log.emit("ready")
        log.close()
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) == 2


def test_a_file_that_cannot_be_written_is_a_user_error(tmp_path):
    with pytest.raises(UserError, match="cannot be written to"):
        EventLog(tmp_path / "missing" / "events.jsonl")


def test_a_pipe_takes_events_too(tmp_path):
    path = tmp_path / "events"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDWR)
    log = EventLog(path)
    log.emit("ready")
    assert json.loads(os.read(reader, 4096))["event"] == "ready"
    log.close()
    os.close(reader)
