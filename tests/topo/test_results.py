# SPDX-License-Identifier: Apache-2.0
"""Folders of results: what is there is kept, and what is cut off does not come in."""

import errno
import os
import re
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
