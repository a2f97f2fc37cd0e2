# SPDX-License-Identifier: Apache-2.0
"""C to shared objects with the system's compiler, each compiled once: the cache is keyed by content.

The run time (runtime/*.c) is one shared object, every translated program another, which finds the run time's
functions when it is loaded after it.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from grasp import UserError

RUNTIME = Path(__file__).parent / "runtime"
FLAGS = ("-std=gnu11", "-D_GNU_SOURCE", "-fPIC", "-shared", "-pthread", "-fno-semantic-interposition")


def compiler() -> list[str]:
    """The C compiler's command: $CC, else cc, gcc or clang from PATH."""
    try:
        wished = shlex.split(os.environ.get("CC", ""))
    except ValueError as error:
        raise UserError(f"CC='{os.environ['CC']}' is not a command: {error}") from None
    for command in (wished, ["cc"], ["gcc"], ["clang"]):
        if command and shutil.which(command[0]):
            return command
    raise UserError("no C compiler found: install gcc (Debian: apt-get install gcc libc6-dev) or set CC")


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/grasp or ~/.cache/grasp, created if need be."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "grasp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(folder, error) from None
    return folder


def _unusable(folder: Path, error: OSError) -> UserError:
    return UserError(
        f"cannot write to the cache {folder} ({error.strerror}): set XDG_CACHE_HOME to a writable folder"
    )


def compile_runtime() -> Path:
    """The run time's shared object."""
    return compile_shared(sorted(RUNTIME.glob("*.c")), "runtime", "-O3")


def compile_program(source: str, optimise: int = 2) -> Path:
    """The shared object of a translated program, given its C text."""
    with tempfile.TemporaryDirectory(prefix="grasp-") as folder:
        file = Path(folder) / "program.c"
        file.write_text(source)
        return compile_shared([file], "program", f"-O{optimise}")


def compile_shared(sources: Sequence[Path], name: str, optimise: str = "-O2") -> Path:
    """The shared object of C files; `name` begins its file name and stands in messages."""
    command = compiler()
    target = cache_folder() / f"{name}-{_fingerprint(command, sources, optimise)}.so"
    if target.exists():
        return target
    try:
        handle, scratch = tempfile.mkstemp(suffix=".so", prefix=f".{name}-", dir=target.parent)
    except OSError as error:
        raise _unusable(target.parent, error) from None
    os.close(handle)
    try:
        argv = [*command, optimise, *FLAGS, "-I", str(RUNTIME), *map(str, sources), "-o", scratch]
        run = subprocess.run(argv, capture_output=True, text=True, check=False)
        if run.returncode:
            lines = [line for line in run.stderr.splitlines() if "error" in line] or [run.stderr.strip()]
            raise UserError(f"{shlex.join(command)} could not compile the {name}: {lines[0]}")
        os.chmod(scratch, 0o755)
        os.rename(scratch, target)  # at once: another process may be looking for it
    finally:
        Path(scratch).unlink(missing_ok=True)
    return target


def _fingerprint(command: Sequence[str], sources: Sequence[Path], optimise: str) -> str:
    """Of everything that the shared object depends on: compiler, options, headers, sources."""
    binary = Path(shutil.which(command[0]) or command[0]).resolve()
    digest = hashlib.sha256(repr((binary, binary.stat().st_mtime_ns, command, optimise, FLAGS)).encode())
    for file in [*sorted(RUNTIME.glob("*.h")), *sources]:
        digest.update(f"{file.name}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:24]
