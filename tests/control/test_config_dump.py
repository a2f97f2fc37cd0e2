# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample import EXAMPLE, example

from grasp.control.config import Parameter, Timing, parse
from grasp.control.config_dump import dump
from grasp.telemetry.protocol import EpochClock


def test_the_example_comes_back():
    assert parse(dump(example()), Path("/elsewhere/controller.toml")) == example()


def test_secrets_stay_in_their_files(tmp_path):
    file = tmp_path / 'a "quoted" \\ name'
    file.write_text("ab" * 20)
    config = example()
    config = replace(
        config, sites=(replace(config.sites[0], secret=b"\xab" * 20, secret_file=file), *config.sites[1:])
    )
    text = dump(config)
    assert "abab" not in text
    assert parse(text, EXAMPLE) == config


def test_what_is_left_out_stays_out():
    config = replace(example(), metrics=None, admin=None, events=None)
    assert parse(dump(config), EXAMPLE) == config


microseconds = st.integers(1_000_000, 3_600_000_000)
units = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=8)


@given(
    st.builds(EpochClock, st.integers(0, 2**52), microseconds, st.integers(0, 2**32 - 1)),
    st.builds(
        Timing, **dict.fromkeys(("linger", "handshake", "flowlet_gap", "discovery", "read"), microseconds)
    ),
    st.lists(
        st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}", fullmatch=True), min_size=1, max_size=5, unique=True
    ),
    units,
    st.floats(-1e9, 1e9),
    st.floats(1e-6, 1e6),
)
def test_any_configuration_comes_back(epochs, timing, names, unit, minimum, weight):
    parameters = tuple(Parameter(name, unit, minimum, minimum + 10.0, weight) for name in names)
    config = replace(example(), interval=500_000, epochs=epochs, timing=timing, parameters=parameters)
    assert parse(dump(config), EXAMPLE) == config


def test_values_of_no_known_kind_are_not_written():
    with pytest.raises(TypeError, match="no place"):
        dump(replace(example(), metrics=object()))
