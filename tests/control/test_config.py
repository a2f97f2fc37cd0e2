# SPDX-License-Identifier: Apache-2.0
import re
from ipaddress import IPv4Address

import pytest
from sample import EXAMPLE, example

from grasp import UserError
from grasp.control.config import Parameter, Timing, load, parse
from grasp.telemetry.protocol import EpochClock


def test_the_example_loads():
    config = example()
    assert config.scheduler == "green"
    assert config.interval == 60_000_000
    assert config.parameters == (
        Parameter("green_energy", "Wh", 0.0, 500_000.0, 1.0),
        Parameter("load", "jobs/s", 0.0, 100_000.0, 0.0),
    )
    assert config.gateway.mac == bytes.fromhex("0200000000fe")
    assert config.gateway.addresses[2] == IPv4Address("10.0.3.254")
    assert [switch.name for switch in config.switches] == ["new-york", "florida", "california"]
    assert config.switches[1].ports == (1, 2, 3, 4)
    assert config.services[0].energy == 250_000
    assert config.services[1].timeout == 10_000_000
    assert (config.sites[0].switch, config.sites[0].port) == ("new-york", 4)
    assert (config.sites[1].switch, config.sites[1].port) == (None, None)
    assert config.sites[1].secret == bytes.fromhex("0123456789abcdef" * 4)
    assert config.clients[1].switch == "california"
    assert config.store == EXAMPLE.parent.absolute() / "controller.sqlite"
    assert config.metrics == "127.0.0.1:9464"


def test_the_example_states_the_defaults_where_it_says_so():
    config = example()
    assert config.timing == Timing()
    assert config.epochs == EpochClock()


def test_what_may_be_left_out_has_defaults():
    text = EXAMPLE.read_text()
    for table in ("epoch", "timing"):
        text = re.sub(rf"\[{table}\]\n([^\[].*\n)+", "", text)
    for key in ("scheduler", "metrics", "admin", "events"):
        text = re.sub(rf"(?m)^{key} = .*\n", "", text)
    config = parse(text, EXAMPLE)
    assert (config.timing, config.epochs, config.scheduler) == (Timing(), EpochClock(), "green")
    assert (config.metrics, config.admin, config.events) == (None, None, None)


def test_emulated_epochs():
    config = example(
        ("seconds = 3600.0", "seconds = 2.5"),
        ("start = 1970-01-01T00:00:00Z", "start = 2030-06-21T04:00:00.25+02:00"),
        ("first = 0", "first = 530000"),
        ("interval = 60.0", "interval = 1"),
    )
    assert config.epochs == EpochClock(1_908_237_600_250_000, 2_500_000, 530_000)


def test_a_secret_is_never_shown():
    assert "0123456789abcdef" not in repr(example())


def test_secrets_from_files(tmp_path):
    file = tmp_path / "elmira.secret"
    file.write_text("00" * 16 + "\n")
    old = 'secret = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"'
    config = example((old, f'secret_file = "{file}"'))
    assert config.sites[0].secret == bytes(16)
    with pytest.raises(UserError, match=r"sites\[1\] \(elmira\)\.secret_file: cannot read /nowhere/secret"):
        example((old, 'secret_file = "/nowhere/secret"'))
    with pytest.raises(UserError, match="give either secret or secret_file"):
        example((old, f'{old}\nsecret_file = "{file}"'))
    file.write_text("not hexadecimal")
    with pytest.raises(UserError, match=r"secret_file: a secret is at least 32 hexadecimal digits"):
        example((old, f'secret_file = "{file}"'))


# Each mistake: the text that is replaced, what by, and what the message must name.
MISTAKES = [
    # Unknown and missing keys
    ('scheduler = "green"', 'schedule = "green"', "schedule: unknown key; known here are clients, "),
    ("first = 0", "frist = 0", "epoch.frist: unknown key; known here are first, seconds, start"),
    ("server_port = 8080", "sever_port = 8080", "services[1] (web).server_port: is missing"),
    ('store = "controller.sqlite"', "", "controller.store: is missing"),
    ("[gateway]", "[gate]", "gateway: is missing"),
    ("load = 0.0", "", "weights.load: is missing"),
    ("load = 0.0", "load = 0.0\nwind = 1.0", "weights.wind: unknown key; known here are green_"),
    ("[[clients]]", "[clients]", "not TOML"),
    ("interval = 60.0", "interval = ", "not TOML"),
    # Types
    ("interval = 60.0", 'interval = "60"', "interval: '60' is not a number from 0.01 to 86400"),
    ("interval = 60.0", "interval = true", "interval: True is not a number"),
    ("missed = 3", "missed = 3.0", "timing.missed: 3.0 is not an integer from 1 to 1000"),
    ("device_id = 1", "device_id = true", "switches[1] (new-york).device_id: True is not an integer"),
    ('name = "alice"', "name = 1", "clients[1] (1).name: 1 is not a text"),
    ("ports = [1, 2, 3, 4]", "ports = 4", "(new-york).ports: must be a list"),
    ("ports = [1, 2, 3, 4]", "ports = [1, true]", "(new-york).ports: True is not allowed"),
    ("[gateway]", "[[gateway]]", "gateway: must be a table"),
    # Values
    ('scheduler = "green"', 'scheduler = "red"', "scheduler: 'red' is not one of green, round-robin"),
    ("interval = 60.0", "interval = nan", "interval: nan is not a number"),
    ("interval = 60.0", "interval = 0", "interval: 0 is not a number from 0.01"),
    ("probe = 0.2 ", "probe = -0.2 ", "timing.probe: -0.2 is not a number"),
    ("start = 1970-01-01T00:00:00Z", "start = 1970-01-01T00:00:00", "is not a date and time with an offset"),
    ("start = 1970-01-01T00:00:00Z", "start = 1969-01-01T00:00:00Z", "epoch.start"),
    ("maximum = 500_000.0", "maximum = -1.0", "parameters.green_energy.minimum: 0 is not below"),
    ("maximum = 500_000.0", "maximum = inf", "parameters.green_energy.maximum: inf is not a number"),
    ("green_energy = 1.0", "green_energy = 0", "weights: at least one parameter needs a weight above 0"),
    ("[parameters.load]", '[parameters."a b"]', "parameters.a b: a name is up to 32"),
    ('unit = "Wh"', f'unit = "{"W" * 33}"', "parameters.green_energy.unit: 'WWW"),
    ('name = "elmira"', 'name = "-elmira"', "sites[1] (-elmira).name: '-elmira' is not a name"),
    ("id = 0", "id = 256", "sites[1] (elmira).id: 256 is not an integer from 0 to 255"),
    ('address = "10.0.1.11"', 'address = "10.0.1"', "address: '10.0.1' is not an IPv4 address"),
    ('address = "10.0.1.11"', 'address = "224.0.0.1"', "address: 224.0.0.1 is not an address"),
    ('mac = "02:00:00:00:01:00"', 'mac = "02-00"', "(elmira).mac: '02-00' is not a hardware address"),
    ('mac = "02:00:00:00:01:00"', 'mac = "03:00:00:00:01:00"', "03:00:00:00:01:00 is not a unicast"),
    ("00112233445566778899aabbccddeeff" * 2, "0011", "(elmira).secret: a secret is at least 32 hexadecimal"),
    ("ports = [1, 2, 3, 4]", "ports = [1, 255]", "ports: 255 is not allowed; a port is an integer"),
    ("ports = [1, 2, 3, 4]", "ports = [1, 1]", "ports: 1 is there twice"),
    ("ports = [1, 2, 3, 4]", "ports = []", "ports: must be a list, not empty"),
    ('address = "127.0.0.1:9559"', 'address = "127.0.0.1"', "(new-york).address: '127.0.0.1' is not"),
    ('metrics = "127.0.0.1:9464"', 'metrics = "127.0.0.1:0"', "controller.metrics"),
    ('metrics = "127.0.0.1:9464"', 'metrics = "/run/grasp:9464"', "controller.metrics: '/run/grasp:9464'"),
    ('protocol = "tcp"', 'protocol = "sctp"', "(web).protocol: 'sctp' is not one of tcp, udp"),
    ("job_energy = 250.0", "job_energy = 0", "(web).job_energy: 0 is not a number from 0.001 to"),
    ("job_energy = 250.0", "job_energy = 5e6", "(web).job_energy"),
    ("\nid = 1\n", "\nid = 0\n", "services[1] (web).id: 0 is not an integer from 1 to 65535"),
    # Duplicates
    ('name = "florida"', 'name = "new-york"', "switches.name: new-york is given to both"),
    ("device_id = 2", "device_id = 1", "switches.device_id: 1 is given to both new-york and florida"),
    ('address = "127.0.0.1:9560"', 'address = "127.0.0.1:9559"', "switches.address: 127.0.0.1:9559"),
    ('name = "lompoc"', 'name = "elmira"', "sites.name: elmira"),
    ('id = 2\nname = "lompoc"', 'id = 1\nname = "lompoc"', "sites.id: 1 is given to both homestead"),
    ('address = "10.0.3.21"', 'address = "10.0.1.11"', "address: 10.0.1.11 is given to both elmira and bob"),
    ('vip = "10.100.0.1"', 'vip = "10.0.1.254"', "10.0.1.254 is given to both service web and the gateway"),
    ('mac = "02:00:00:00:02:01"', 'mac = "02:00:00:00:00:fe"', "is given to both bob and the gateway"),
    ('"10.0.2.254"', '"10.0.1.254"', "address: 10.0.1.254 is given to both the gateway and the gateway"),
    ('protocol = "udp"\nport = 53', 'protocol = "tcp"\nport = 80', "protocol, port: 10.100.0.1 tcp 80"),
    (
        'protocol = "udp"\nport = 53\nserver_port = 5353',
        'protocol = "tcp"\nport = 53\nserver_port = 8080',
        "services: protocol, server_port: tcp 8080 is given to both web and name-server",
    ),
    # Contradictions
    ('switch = "california"', 'switch = "texas"', "clients (bob).switch: 'texas' is none of new-york"),
    ("port = 3\n\n", "port = 5\n\n", "clients (alice).port: 5 is no port of new-york: 1, 2, 3, 4"),
    ("port = 4\n", "port = 3\n", "switch and port: new-york 3 is given to both elmira and alice"),
    ("port = 4\n", "", "sites[1] (elmira).port: give both switch and port, or neither"),
    ("expiry = 0.5", "expiry = 0.2", "timing.expiry: must be longer than probe"),
    ("interval = 60.0", "interval = 3601", "interval: 3601 is longer than an epoch"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=[f"{new!r}"[:40] for _, new, _ in MISTAKES])
def test_a_mistake_names_file_key_and_way_out(old, new, message):
    with pytest.raises(UserError) as raised:
        example((old, new))
    text = str(raised.value)
    assert message in text
    assert text.startswith(f"{EXAMPLE}: ")
    assert "\n" not in text


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(UserError, match=r"none\.toml: cannot read the configuration"):
        load(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"binary\.toml: cannot read the configuration"):
        load(tmp_path / "binary.toml")


def test_a_table_without_entries_is_a_mistake(tmp_path):
    text = EXAMPLE.read_text()
    text = text[: text.index("# Hosts that may send.")]
    with pytest.raises(UserError, match=r"clients: is missing"):
        parse(text, tmp_path / "controller.toml")
