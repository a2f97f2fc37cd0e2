# SPDX-License-Identifier: Apache-2.0
"""Folders of results: what is there is kept, and what is cut off does not come in."""

import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grasp import UserError
from grasp.topo import results


def test_new_and_empty_folders_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert results.make(Path("a/b")) == tmp_path / "a" / "b"
    assert results.make(Path("a/b")).is_dir()
    assert list(results.make(Path("a/b")).iterdir()) == []


def test_what_is_there_is_kept(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("another's")
    with pytest.raises(UserError, match=re.escape(f"--out {tmp_path}: is not empty; name a new folder")):
        results.make(tmp_path)
    with pytest.raises(UserError, match=r"results folder .*: Not a directory; name another with --out"):
        results.make(tmp_path / "index.html" / "x")
    with pytest.raises(UserError, match="cannot be below /run"):
        results.make(Path("/run/somewhere"), isolated=True)
    assert (tmp_path / "index.html").read_text() == "another's"


def test_where_nothing_can_be_written_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(dir: Path) -> None:  # noqa: A002 (the caller's name for it); root may write everywhere
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(results, "TemporaryFile", refuse)
    with pytest.raises(UserError, match=re.escape(f"results folder {tmp_path}: Permission denied")):
        results.make(tmp_path)


def test_all_files_come_in_together(tmp_path: Path) -> None:
    with results.whole(tmp_path) as folder:
        for name in ("index.html", "a.png"):
            (folder / name).write_text(name)
        assert [path for path in tmp_path.iterdir() if path != folder] == []
    assert sorted(os.listdir(tmp_path)) == ["a.png", "index.html"]


def test_of_two_programs_at_once_the_later_writes_over_nothing(tmp_path: Path) -> None:
    def later() -> None:
        with results.whole(tmp_path) as mine:
            for name in ("a.png", "b.png", "index.html"):
                (mine / name).write_text("later")
            with results.whole(tmp_path) as other:
                (other / "index.html").write_text("first")

    there = re.escape(f"results folder {tmp_path}: another program has put its index.html there meanwhile")
    with pytest.raises(UserError, match=there):
        later()
    assert os.listdir(tmp_path) == ["index.html"]
    assert (tmp_path / "index.html").read_text() == "first"


def test_a_move_that_is_cut_off_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = Path.rename

    def rename(path: Path, target: Path) -> Path:
        return stop() if path.name == "b.png" else moved(path, target)  # type: ignore[func-returns-value]

    def work() -> None:
        with results.whole(tmp_path) as folder:
            for name in ("a.png", "b.png", "index.html"):
                (folder / name).write_text(name)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(KeyboardInterrupt):
        work()
    assert os.listdir(tmp_path) == []


PROGRAM = """
import os, signal, sys
from pathlib import Path
from grasp import UserError
from grasp.control import cli
from grasp.topo import results
out = Path(sys.argv[2])
def fill():
    with results.whole(out) as folder:
        (folder / "index.html").write_text("page")
        os.kill(os.getpid(), signal.SIGTERM) if sys.argv[1] == "terminated" else None
def fail():
    os.rmdir(out)
    out.write_text("")
    fill()
def run(argv):
    results.make(out)
    if sys.argv[1] == "mistaken":
        raise UserError("a mistake")
    if sys.argv[1] == "lost":
        results.deliver(fail, lambda: print("x" * 100_000))
    fill()
    return 0
cli._run = run
sys.exit(cli.main())
"""


def program(what: str, out: Path, stdout: int | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a command that makes a folder and fills it."""
    words = [sys.executable, "-c", PROGRAM, what, str(out)]
    return subprocess.run(words, stdout=stdout, stderr=subprocess.PIPE, timeout=60, check=False)


def test_a_mistake_found_late_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    assert program("mistaken", tmp_path / "old" / "new" / "newer").returncode == 2
    assert os.listdir(tmp_path / "old") == []
    assert program("mistaken", tmp_path / "old").returncode == 2
    assert os.listdir(tmp_path) == ["old"]
    assert program("filled", tmp_path / "old" / "new").returncode == 0
    assert os.listdir(tmp_path / "old" / "new") == ["index.html"]


def test_sigterm_leaves_nothing(tmp_path: Path) -> None:
    ended = program("terminated", tmp_path / "out")
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGTERM, b"")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("full", [False, True])
def test_the_folders_fault_is_said_though_nothing_can_be_printed(tmp_path: Path, full: bool) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open("/dev/full", "wb") as disk:
        ended = program("lost", tmp_path / "out", disk.fileno() if full else writer)
    os.close(writer)
    assert ended.stderr.decode() == (
        f"grasp: results folder {tmp_path / 'out'}: File exists; name another with --out\n"
    )
    assert ended.returncode == 2


def stop() -> None:
    raise KeyboardInterrupt


def fill_up() -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def deny() -> None:
    raise OSError(errno.EROFS, "Read-only file system")


@pytest.mark.parametrize(
    ("trouble", "seen"), [(stop, KeyboardInterrupt), (fill_up, OSError), (deny, UserError)]
)
def test_nothing_is_left_of_what_was_cut_off(
    tmp_path: Path, trouble: Callable[[], None], seen: type[BaseException]
) -> None:
    def work() -> None:
        with results.whole(tmp_path) as folder:
            (folder / "index.html").write_text("half a p")
            trouble()

    with pytest.raises(seen) as caught:
        work()
    assert os.listdir(tmp_path) == []
    if seen is OSError:  # the command line says it with status 1
        assert isinstance(caught.value, OSError)
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path))
    if seen is UserError:
        assert (
            str(caught.value) == f"results folder {tmp_path}: Read-only file system; name another with --out"
        )
