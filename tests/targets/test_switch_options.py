# SPDX-License-Identifier: Apache-2.0
"""The command line of `grasp switch`: simple_switch_grpc's options, in the ways that people write them."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

import pytest

from grasp import UserError
from grasp.targets import bmv2, interface
from grasp.targets.interface import SwitchConfig
from grasp.targets.v1model import command
from grasp.targets.v1model.options import Options, parse

DEFAULTS = Options({}, None, 0, "0.0.0.0:9559", None, 511, 1, None, "", False, None, ())


def options(line):
    return parse(shlex.split(line))


def test_defaults():
    assert options("--no-p4") == DEFAULTS


@pytest.mark.parametrize(
    "line",
    [
        "-i 1@s1-eth1 -i 2@s1-eth2 --device-id 3 x.json --cpu-port 255 --grpc-server-addr 127.0.0.1:50051",
        "x.json --device-id=3 -i1@s1-eth1 -i2@s1-eth2 -- --grpc-server-addr=127.0.0.1:50051 --cpu-port 255",
        "--device-id 3 x.json -i 1@s1-eth1 -i 2@s1-eth2 -- --cpu-port 255 --grpc-server-addr 127.0.0.1:50051",
        "--cpu-port 255 -i 1@s1-eth1 -- --grpc-server-addr 127.0.0.1:50051 --device-id 3 -i 2@s1-eth2 x.json",
    ],
)
def test_options_in_any_order(line):
    chosen = options(line)
    assert chosen.ports == {1: "s1-eth1", 2: "s1-eth2"}
    assert (chosen.program, chosen.device_id, chosen.cpu_port) == (Path("x.json"), 3, 255)
    assert chosen.grpc_address == "127.0.0.1:50051"


def test_line_of_a_mininet_script():
    chosen = options(
        "-i 1@s1-eth1 --pcap pcaps --nanolog ipc:///tmp/bm-1-log.ipc --device-id 1 build/basic.json "
        "--log-console --thrift-port 9090 -- --grpc-server-addr 0.0.0.0:50051 --disable-swap"
    )
    assert (chosen.program, chosen.pcap, chosen.log_console) == (
        Path("build/basic.json"),
        Path("pcaps"),
        True,
    )
    assert set(chosen.unused) == {"--nanolog", "--thrift-port", "--disable-swap"}


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        ("x.json", None),
        ("x.json --pcap", "."),
        ("--pcap x.json", "."),
        ("--pcap -i 1@a x.json", "."),
        ("--pcap=dump x.json", "dump"),
        ("--pcap dump x.json", "dump"),
    ],
)
def test_pcap_folder_may_be_left_out(line, folder):
    chosen = options(line)
    assert chosen.pcap == (None if folder is None else Path(folder))
    assert chosen.program == Path("x.json")


def test_no_p4_ignores_a_program():
    assert options("x.json --no-p4").program is None


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("", "--no-p4"),
        ("--no-p4 --levitate", "--levitate"),
        ("x.json y.json", "y.json"),
        ("--no-p4 -i 1", "'1'"),
        ("--no-p4 -i eth0@1", "'eth0@1'"),
        ("--no-p4 -i 1@a -i 1@b", "1@b"),
        ("--no-p4 -i 1@a -i 2@a", "2@a"),
        ("--no-p4 --cpu-port 0", "--cpu-port 0"),
        ("--no-p4 --cpu-port 511", "drop port"),
        ("--no-p4 -i 5@a --cpu-port 5", "interface a"),
        ("--no-p4 --cpu-port 512", "--cpu-port 512 is not from 1 to 511"),
        ("--no-p4 --drop-port 512", "--drop-port 512"),
        ("--no-p4 --drop-port=-1", "--drop-port -1"),
        ("--no-p4 --device-id x", "device-id"),
        ("--no-p4 --device-id=-1", "--device-id -1"),
        ("--no-p4 --device-id 18446744073709551616", "--device-id 18446744073709551616"),
        ("--no-p4 --priority-queues 1000000", "--priority-queues 1000000"),
        ("--no-p4 -L loud", "loud"),
        ("--no-p4 --priority-queues 0", "--priority-queues 0"),
        ("--no-p4 --use-files 3", "--use-files"),
    ],
)
def test_mistakes_are_named(line, part):
    with pytest.raises(UserError, match=part) as mistake:
        options(line)
    assert "\n" not in str(mistake.value)


def test_cpu_port_511_needs_another_drop_port():
    assert options("--no-p4 --cpu-port 511 --drop-port 510").cpu_port == 511


def test_words_pass_the_outer_parser_untouched():
    parser = argparse.ArgumentParser()
    command.configure(parser)
    words = ["-i", "1@a", "--help", "x.json", "--", "--cpu-port", "255"]
    assert parser.parse_args(words).words == words


# ---- targets

CONFIG = SwitchConfig(
    device_id=3,
    grpc_address="127.0.0.1:50051",
    ports={1: "s1-eth1", 2: "s1-eth2"},
    program=Path("x.json"),
    pcap=Path("dump"),
    log_level="debug",
)


def test_v1model_command_means_what_the_configuration_says():
    target = interface.find("v1model")(CONFIG)
    words = target.command()
    assert words[:3] == [sys.executable, "-m", "grasp.targets.v1model.command"]
    chosen = parse(words[3:])
    assert chosen == Options(
        CONFIG.ports,
        CONFIG.program,
        3,
        CONFIG.grpc_address,
        255,
        511,
        1,
        Path("dump"),
        "debug",
        True,
        None,
        (),
    )
    assert (target.ports, target.grpc_address) == (CONFIG.ports, CONFIG.grpc_address)


@pytest.fixture
def fake_bmv2(tmp_path, monkeypatch):
    """A simple_switch_grpc that only explains itself."""

    def install(text):
        program = tmp_path / "simple_switch_grpc"
        program.write_text(f"#!/bin/sh\necho '{text}'\n")
        program.chmod(0o755)
        bmv2._help.cache_clear()
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        return interface.find("bmv2")

    yield install
    bmv2._help.cache_clear()


def test_bmv2_command_gives_each_switch_its_own_resources(fake_bmv2):
    words = fake_bmv2("--thrift-port --notifications-addr")(CONFIG).command()
    assert words[words.index("--thrift-port") + 1] == "40051"
    assert words[words.index("--notifications-addr") + 1].startswith("ipc://")
    chosen = parse(words[1:])  # both programs understand it
    assert (chosen.ports, chosen.program, chosen.grpc_address) == (
        CONFIG.ports,
        CONFIG.program,
        CONFIG.grpc_address,
    )
    assert chosen.cpu_port == 255


def test_bmv2_command_leaves_out_what_it_was_built_without(fake_bmv2):
    words = fake_bmv2("")(CONFIG).command()
    assert "--thrift-port" not in words
    assert "--notifications-addr" not in words


def test_targets_that_cannot_be_had(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match="behavioral-model"):
        interface.find("bmv2")
    with pytest.raises(UserError, match="v1model, bmv2"):
        interface.find("tofino")
