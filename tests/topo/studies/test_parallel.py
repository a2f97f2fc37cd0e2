# SPDX-License-Identifier: Apache-2.0
"""Tasks in several processes: answers in order, mistakes, and processes that are killed."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from grasp import UserError
from grasp.topo.studies.parallel import each

# Processes import what they are to do, so it stands in a module of its own.
WORK = """
import os, signal, sys, time
from pathlib import Path
from grasp import UserError
def square(number):
    if number < 0:
        raise UserError("no negative numbers")
    return number * number
def die(number):
    os.kill(os.getpid(), signal.SIGKILL)
def tarry(path):
    Path(path).write_text("begun")
    time.sleep(100)
def wait_for(path):
    Path(path).write_text("begun")
    with open(path) as file:
        return file.readline().strip()
if __name__ == "__main__":
    from grasp.topo.studies.parallel import each
    from grasp.control.cli import main
    if sys.argv[1] == "ignoring":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print(*each(wait_for, sys.argv[2:], 2, "waits"))
        sys.exit()
    try:
        each(tarry, sys.argv[1:], 2, "waits")
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "study_work.py"
    path.write_text(WORK)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    sys.modules.pop("study_work", None)
    return path


@pytest.mark.parametrize("workers", [1, 2])
def test_answers_are_in_order_and_mistakes_arrive(module: Path, workers: int) -> None:
    import study_work  # type: ignore[import-not-found]

    assert each(study_work.square, [3, 1, 2], workers, "squares") == [9, 1, 4]
    with pytest.raises(UserError, match="no negative numbers"):
        each(study_work.square, [1, -1, 2], workers, "squares")


def test_where_there_is_no_terminal_progress_is_a_line(
    module: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import study_work

    each(study_work.square, [3, 1, 2], 1, "squares")
    assert capsys.readouterr().err == "3 squares\n"


def test_a_killed_process_is_told(module: Path) -> None:
    import study_work

    with pytest.raises(UserError, match="fewer --workers"):
        each(study_work.die, [1], 2, "ends")


def test_ctrl_c_ends_all_at_once(module: Path, tmp_path: Path) -> None:
    flags = [tmp_path / "one", tmp_path / "two"]
    for flag in flags:
        os.mkfifo(flag)
    with subprocess.Popen(
        [sys.executable, str(module), *map(str, flags)], stderr=subprocess.PIPE, process_group=0
    ) as program:
        for flag in flags:
            assert flag.read_text() == "begun"
        os.killpg(program.pid, signal.SIGINT)
        _, said = program.communicate(timeout=30)
    assert program.returncode == 130
    assert b"Traceback" not in said


def test_where_ctrl_c_is_ignored_the_work_goes_on(module: Path, tmp_path: Path) -> None:
    """As for what a script starts in the background."""
    flags = [tmp_path / "one", tmp_path / "two"]
    for flag in flags:
        os.mkfifo(flag)
    with subprocess.Popen(
        [sys.executable, str(module), "ignoring", *map(str, flags)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
    ) as program:
        for flag in flags:
            assert flag.read_text() == "begun"
        os.killpg(program.pid, signal.SIGINT)
        ends = [os.open(flag, os.O_RDWR) for flag in flags]  # which does not wait for a reader
        for end in ends:
            os.write(end, b"done\n")
        shown, said = program.communicate(timeout=30)
        for end in ends:
            os.close(end)
    assert (program.returncode, shown, said) == (0, b"done done\n", b"2 waits\n")


def test_no_process_outlives_the_study(module: Path, tmp_path: Path) -> None:
    flags = [tmp_path / "one", tmp_path / "two"]
    for flag in flags:
        os.mkfifo(flag)
    with subprocess.Popen([sys.executable, str(module), *map(str, flags)]) as program:
        for flag in flags:
            assert flag.read_text() == "begun"
        children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
        watches = [os.pidfd_open(int(child)) for child in children]
        assert len(watches) >= 2
        program.terminate()
        while watches:
            ended, _, _ = select.select(watches, [], [], 30)
            assert ended, "a process goes on without the study"
            for watch in ended:
                watches.remove(watch)
                os.close(watch)
