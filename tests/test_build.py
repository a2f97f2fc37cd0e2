# SPDX-License-Identifier: Apache-2.0
"""build.sh leaves the machine as it was, however the installation of packages ends.

It runs here with programs in place of Debian's, and with a file of the test's in place of policy-rc.d.
"""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "build.sh"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """The policy file of a build.sh in `tmp_path`, which finds all packages missing and no Python."""
    path = tmp_path / "policy-rc.d"
    script = re.sub("(?m)^POLICY=[^ ]*", f"POLICY={path}", SCRIPT.read_text())
    script = re.sub("(?m)^PYTHON=[^ ]*", "PYTHON=/bin/false", script)
    programs = tmp_path / "bin"
    programs.mkdir()
    seen = f"cp {path} {tmp_path}/seen"
    for file, text in {
        tmp_path / "build.sh": script,
        programs / "dpkg-query": "#!/bin/sh\nexit 1\n",
        programs / "id": "#!/bin/sh\necho 0\n",
        programs / "apt-get": f'#!/bin/sh\n[ "$1" = update ] || {{ {seen}; exec sleep "$APT_TAKES"; }}\n',
    }.items():
        file.write_text(text)
        file.chmod(0o755)
    (tmp_path / "pyproject.toml").touch()
    return path


def start(policy: Path, takes: float) -> subprocess.Popen[str]:
    folder = policy.parent
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    return subprocess.Popen(
        ["sh", "build.sh"],
        cwd=folder,
        env={**os.environ, "PATH": path, "APT_TAKES": str(takes)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # as a terminal has it: a signal reaches all
    )


def interrupt(policy: Path, number: signal.Signals) -> None:
    process = start(policy, takes=60)
    deadline = time.monotonic() + 10
    while not (policy.parent / "seen").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, number)
    process.communicate(timeout=10)
    (policy.parent / "seen").unlink()


def test_no_service_is_started_while_packages_are_installed(policy: Path) -> None:
    output, _ = start(policy, takes=0).communicate(timeout=10)
    assert "exit 101" in (policy.parent / "seen").read_text()
    assert "could not make .venv" in output  # the next step, which cannot go well here
    assert not policy.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_end_in_between_leaves_nothing(policy: Path, number: signal.Signals) -> None:
    interrupt(policy, number)
    assert not policy.exists()


def test_what_a_killed_one_left_goes_with_the_next(policy: Path) -> None:
    interrupt(policy, signal.SIGKILL)
    assert policy.exists()
    start(policy, takes=0).communicate(timeout=10)
    assert not policy.exists()


def test_another_policy_stays(policy: Path) -> None:
    policy.write_text("exit 0\n")
    start(policy, takes=0).communicate(timeout=10)
    interrupt(policy, signal.SIGINT)
    assert policy.read_text() == "exit 0\n"
