# SPDX-License-Identifier: Apache-2.0
"""`grasp switch` as a process: it starts, says so, serves, and ends as it should."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import pytest

from grasp import UserError
from grasp.targets.interface import SwitchConfig, find

from .rig import DEVICE, JSON, Client, call, entry, exact

pytestmark = pytest.mark.packet
COMMAND = [sys.executable, "-m", "grasp.targets.v1model.command"]


@pytest.fixture
def start(tmp_path):
    """Starts switches and ends them after the test."""
    started = []

    def start(port=0, program=None):
        config = SwitchConfig(DEVICE, f"127.0.0.1:{port or free_port()}", {}, program)
        switch = find("v1model")(config)
        switch.log = tmp_path / f"switch{len(started)}.log"
        switch.start(switch.log)
        started.append(switch)
        return switch

    yield start
    for switch in started:
        switch.stop()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def number(switch):
    return int(switch.grpc_address.rpartition(":")[2])


async def test_switch_serves_and_a_restarted_one_takes_the_address_again(start):
    switch = start(program=JSON)
    async with Client(number(switch)) as one:
        await one.arbitrate()
        assert not (await one.get_config()).HasField("config")  # the program at the start has no P4Info
        await one.set_config(data=b"")
        await one.insert(
            entry("exact_match", exact(1, b"\1"), exact(2, b"\1"), action=call("forward", b"\1"))
        )
        assert len(await one.read(entry("exact_match"))) == 1
    line = switch.log.read_text().splitlines()[0]
    assert line == f"Server listening on {switch.grpc_address} (P4Runtime, device {DEVICE})"
    switch.stop()
    start(number(switch))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_with_status_0(number):
    process = subprocess.Popen(
        [*COMMAND, "--no-p4", "--grpc-server-addr", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline().startswith("Server listening on 127.0.0.1:")
    process.send_signal(number)
    assert process.wait(10) == 0
    assert process.stdout.read() == ""


def test_unix_socket(tmp_path):
    address = f"unix:{tmp_path}/switch"
    process = subprocess.Popen(
        [*COMMAND, "--no-p4", "--grpc-server-addr", address], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline().startswith(f"Server listening on {address} ")
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(f"{tmp_path}/switch")
    process.terminate()
    assert process.wait(10) == 0


def run(*words):
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, timeout=60)


def test_address_in_use():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = run("--no-p4", "--grpc-server-addr", f"127.0.0.1:{taken.getsockname()[1]}")
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert "Address already in use" in ended.stderr


def test_start_is_not_fooled_by_another_server(tmp_path, start):
    other = start()
    with pytest.raises(UserError, match="in use"):
        find("v1model")(other.config).start(tmp_path / "log")


def test_start_tells_why_a_switch_ended(tmp_path):
    config = SwitchConfig(DEVICE, f"127.0.0.1:{free_port()}", {1: "no-such-link"})
    with pytest.raises(UserError, match=rf"switch {DEVICE} \(v1model\) ended: .*no-such-link"):
        find("v1model")(config).start(tmp_path / "log")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--no-p4", "-i", "0@no-such-link"], "no-such-link"),
        (["no-such-program.json"], "no-such-program.json"),
        (["/dev/null"], "/dev/null is empty"),
        (["--no-p4", "--grpc-server-addr", "127.0.0.1:99999"], "127.0.0.1:99999"),
        (["--no-p4", "--grpc-server-addr", "nonsense"], "nonsense"),
        (["--no-p4", "--log-file", "/no/such/folder/log"], "/no/such/folder/log"),
        ([__file__], "JSON"),
    ],
)
def test_mistakes_are_one_line_and_status_2(words, part):
    ended = run(*words)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("grasp: ")
    assert part in ended.stderr


def test_program_that_the_target_cannot_run_is_refused_at_start(tmp_path):
    program = tmp_path / "levitate.json"
    program.write_text(JSON.read_text().replace('"op" : "mark_to_drop"', '"op" : "levitate"'))
    ended = run(str(program), "--grpc-server-addr", "127.0.0.1:0")
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "levitate" in ended.stderr
