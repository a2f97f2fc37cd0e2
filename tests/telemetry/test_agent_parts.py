# SPDX-License-Identifier: Apache-2.0
"""What surrounds the agent's state machine: its memory, values, measurements and options."""

import argparse
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from grasp import UserError
from grasp.telemetry.agent import command
from grasp.telemetry.agent.memory import Memory, MemoryFile
from grasp.telemetry.agent.service import read_secret
from grasp.telemetry.agent.values import ForecastFile, Measurements, read_forecast, typical_year
from grasp.telemetry.energy.sources import parse_energy
from grasp.telemetry.metrics import Load, accepted_connections


def test_memory_survives(tmp_path: Path) -> None:
    file = MemoryFile(tmp_path / "state")
    assert file.load("elmira") == Memory("elmira")
    memory = Memory("elmira", 1024, 3, 200_000)
    file.save(memory)
    file.close()
    again = MemoryFile(tmp_path / "state")
    assert again.load("elmira") == memory
    with pytest.raises(UserError, match="belongs to site 'elmira', not 'travis'"):
        again.load("travis")


def test_two_agents_do_not_share_a_memory(tmp_path: Path) -> None:
    first = MemoryFile(tmp_path / "state")
    with pytest.raises(UserError, match="another agent is using it"):
        MemoryFile(tmp_path / "state")
    first.close()
    MemoryFile(tmp_path / "state").close()


def test_a_crash_while_saving_leaves_the_old_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = MemoryFile(tmp_path / "state")
    file.save(Memory("elmira", 1024))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match=r"state.*No space left"):
        file.save(Memory("elmira", 2048))
    assert file.load("elmira").reserved == 1024


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"name": "elmira"}',
        '{"name": "elmira", "reserved": -1, "site": null, "heartbeat": null}',
        '{"name": "elmira", "reserved": 4294967296, "site": null, "heartbeat": null}',
        '{"name": "elmira", "reserved": 1, "site": 256, "heartbeat": null}',
        '{"name": "elmira", "reserved": 1, "site": true, "heartbeat": null}',
        '{"name": "elmira", "reserved": 1, "site": 1, "heartbeat": 0}',
        '{"name": 7, "reserved": 1, "site": 1, "heartbeat": 1}',
        '{"name": "elmira", "reserved": 1, "site": 1, "heartbeat": 1, "more": 1}',
    ],
)
def test_damaged_memory_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "state").write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match="not an agent's state; remove it"):
        MemoryFile(tmp_path / "state").load("elmira")


def test_memory_in_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no/state: cannot be written \(No such file"):
        MemoryFile(tmp_path / "no" / "state")


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_forecast_files_of_both_kinds_say_the_same(tmp_path: Path) -> None:
    table = {"green_energy": {7: 12.5, 8: 0.0}, "wind": {7: 3.0, 8: 4.0}}
    assert read_forecast(write(tmp_path / "f.json", json.dumps(table))) == table
    assert read_forecast(write(tmp_path / "f.csv", "epoch,green_energy,wind\n7,12.5,3\n8,0,4\n")) == table


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("f.txt", "", r"must be a \.json or \.csv"),
        ("f.json", "{", "not JSON"),
        ("f.json", "[1]", "must map parameters"),
        ("f.json", '{"green_energy": 5}', "must map parameters"),
        ("f.json", '{"green_energy": {"x": 5}}', "green_energy: epoch 'x' is not a whole number"),
        ("f.json", '{"green_energy": {"4294967296": 5}}', "not a whole number below"),
        ("f.json", '{"green_energy": {"7": "sun"}}', "green_energy, 7: 'sun' is not a number"),
        ("f.json", '{"green_energy": {"7": NaN}}', "nan is not a number"),
        ("f.json", '{"green_energy": {"7": true}}', "True is not a number"),
        ("f.json", '{"green_energy": {"7": null}}', "None is not a number"),
        ("f.csv", "", "line 1: must be epoch"),
        ("f.csv", "hour,green_energy\n7,1\n", "line 1: must be epoch"),
        ("f.csv", "epoch,a,a\n7,1,1\n", "line 1: must be epoch"),
        ("f.csv", "epoch,green_energy\n7\n", "line 2: 1 columns, where the header has 2"),
        ("f.csv", "epoch,green_energy\n7,1\n7,2\n", "line 3: epoch 7 is given twice"),
        ("f.csv", "epoch,green_energy\n-7,1\n", "line 2: epoch '-7'"),
        ("f.csv", "epoch,green_energy\n7,inf\n", "line 2: 'inf' is not a number"),
    ],
)
def test_wrong_forecast_files_are_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(UserError, match=rf"forecast .*{name}.*{message}"):
        read_forecast(write(tmp_path / name, text))


def test_forecast_file_is_read_again_when_replaced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "f.csv", "epoch,green_energy\n7,1\n")
    forecast = ForecastFile(path)
    assert (forecast("green_energy", 7), forecast("green_energy", 8), forecast("wind", 7)) == (
        1.0,
        None,
        None,
    )
    write(tmp_path / "new", "epoch,green_energy\n7,2\n8,3\n").replace(path)
    assert (forecast("green_energy", 7), forecast("green_energy", 8)) == (2.0, 3.0)
    write(tmp_path / "new", "epoch,green_energy\n7,").replace(path)
    assert forecast("green_energy", 7) == 2.0
    assert "going on with the values read before" in caplog.text
    path.unlink()
    assert forecast("green_energy", 8) == 3.0


def test_typical_year_is_matched_by_the_calendar() -> None:
    year = typical_year("synthetic", "orlando", "grasp2018", "utc", 4, "perfect", 0.0)
    day = parse_energy("synthetic", seed=4).day("06-21")
    assert [year("green_energy", int(epoch)) for epoch in day.hours.astype(int)] == day.wh[:, 4].tolist()
    later = 26 * 8760 + 24 * 6  # the same hours of 2027: 26 years and 6 leap days later
    assert year("green_energy", int(day.hours.astype(int)[12]) + later) == day.wh[12, 4]
    assert year("wind", 5) is None


def test_load_counts_the_connections_that_the_kernel_accepted() -> None:
    clock = 1_000_000
    load = Load(clock)
    before = accepted_connections()
    with socket.create_server(("127.0.0.1", 0)) as server:
        for _ in range(20):
            with socket.create_connection(server.getsockname()), server.accept()[0]:
                pass
    after = accepted_connections()
    assert after - before >= 20
    assert load.per_second(clock + 2_000_000) >= 10
    assert load.per_second(clock + 2_000_000) >= 10  # the same moment: the same answer


def test_load_over_a_made_file(tmp_path: Path) -> None:
    def snmp(count: int) -> Path:
        return write(tmp_path / "snmp", f"Ip: X\nIp: 1\nTcp: ActiveOpens PassiveOpens\nTcp: 9 {count}\n")

    load = Load(0, snmp(2**32 - 10))
    snmp(20)  # the kernel's counter wrapped
    assert load.per_second(3_000_000) == 10
    snmp(20)
    assert load.per_second(4_000_000) == 0
    assert Measurements(lambda parameter, epoch: 5.0, load)("load", 1, 4_000_000) == 0
    with pytest.raises(ValueError, match="no count of accepted connections"):
        Load(0, write(tmp_path / "snmp", "Udp: a\nUdp: 1\n"))


@pytest.mark.parametrize("text", ["", "00" * 15, "not hexadecimal digits, of any length", "é" * 40])
def test_weak_secrets_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError, match="at least 32 hexadecimal digits"):
        read_secret(write(tmp_path / "secret", text))


def test_secret_is_read_as_the_controller_does(tmp_path: Path) -> None:
    assert read_secret(write(tmp_path / "secret", bytes(range(20)).hex() + "\n")) == bytes(range(20))
    with pytest.raises(UserError, match=r"secret .*nowhere: cannot be read \(No such file"):
        read_secret(tmp_path / "nowhere")


def options(tmp_path: Path, *more: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    secret = write(tmp_path / "secret", bytes(range(16)).hex())
    forecast = write(tmp_path / "f.csv", "epoch,green_energy\n7,1\n")
    given = ["--name", "elmira", "--interface", "nosuch0", "--secret-file", str(secret)]
    source = [] if "--energy" in more else ["--forecast", str(forecast)]
    return parser.parse_args([*given, "--state", str(tmp_path / "state"), *source, *more])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--name", "x" * 33], "name 'xxx.*up to 32 of"),
        (["--name", "50%s"], "name '50%s': up to 32 of"),
        (["--secret-file", "/nowhere"], "secret /nowhere: cannot be read"),
        (["--energy", "synthetic"], "--energy needs --station"),
        (["--energy", "synthetic", "--station", "atlantis"], "station 'atlantis'"),
        (["--energy", "synthetic", "--station", "march", "--seed", "-1"], "seed -1: must be 0 or more"),
        (["--energy", "synthetic", "--station", "march", "--method", "oracle"], "method 'oracle'"),
    ],
)
def test_wrong_options_are_one_line(tmp_path: Path, more: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        command.run(options(tmp_path, *more))


@pytest.mark.skipif(os.geteuid() != 0, reason="raw sockets are root's")
def test_missing_interface_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="interface 'nosuch0': No such device"):
        command.run(options(tmp_path))


def test_without_privileges_it_says_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "socket", refused)
    with pytest.raises(UserError, match="run it as root or with CAP_NET_RAW"):
        command.run(options(tmp_path))


def test_start_is_light() -> None:
    """Nine agents start at once: what takes a second to import must not come with a forecast file's agent."""
    script = "import sys, grasp.telemetry.agent.service; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert not {"numpy", "pandas", "pvlib", "scapy", "grpc"} & set(modules.split())
