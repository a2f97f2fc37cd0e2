# SPDX-License-Identifier: Apache-2.0
"""Compilation is cached by content, and a user without a compiler is told what to do."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from grasp import UserError
from grasp.targets.v1model import compile as building

SOURCE = "int answer(void) { return 42; }\n"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    return tmp_path / "grasp"


@pytest.mark.packet
def test_a_source_is_compiled_once(cache, monkeypatch):
    first = building.compile_program(SOURCE)
    assert ctypes.CDLL(str(first)).answer() == 42
    assert first.parent == cache
    monkeypatch.setattr(building.subprocess, "run", None)  # nothing is run any more
    assert building.compile_program(SOURCE) == first
    assert [file.name for file in cache.iterdir()] == [first.name]


@pytest.mark.packet
def test_other_source_other_options_another_object():
    objects = {building.compile_program(SOURCE), building.compile_program(SOURCE + "\n")}
    assert len(objects | {building.compile_program(SOURCE, optimise=0)}) == 3


@pytest.mark.packet
def test_a_source_that_does_not_compile(cache):
    with pytest.raises(UserError, match=r"could not compile the program: .*error"):
        building.compile_program("int answer(void) { return forty_two; }\n")
    assert list(cache.iterdir()) == []


def test_no_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match="apt-get install gcc"):
        building.compile_program(SOURCE)


@pytest.mark.parametrize("command", [" ", "/nowhere/cc"])
def test_a_compiler_that_is_none_is_passed_over(monkeypatch, command):
    default = building.compiler()
    monkeypatch.setenv("CC", command)
    assert building.compiler() == default


def test_a_compiler_that_is_no_command(monkeypatch):
    monkeypatch.setenv("CC", 'gcc "')
    with pytest.raises(UserError, match="CC="):
        building.compiler()


def test_a_cache_that_cannot_be_written_to(monkeypatch):
    monkeypatch.setattr(building, "cache_folder", lambda: Path("/proc"))  # refuses root, too
    with pytest.raises(UserError, match="XDG_CACHE_HOME"):
        building.compile_program(SOURCE)


def test_a_cache_that_cannot_be(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(UserError, match="XDG_CACHE_HOME"):
        building.cache_folder()
