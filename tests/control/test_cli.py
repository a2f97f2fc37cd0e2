# SPDX-License-Identifier: Apache-2.0
"""The command line as a process, where its streams are not what it expects."""

import json
import os
import subprocess
import sys

import pytest

from grasp.control import cli

GRASP = f"exec {sys.executable} -m grasp.control.cli"


def shell(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)


def test_a_full_disk_is_one_line() -> None:
    ended = shell(f"{GRASP} doctor --json > /dev/full")
    assert (ended.returncode, ended.stderr) == (1, "grasp: output: No space left on device\n")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(closed: str) -> None:
    ended = shell(f"{GRASP} doctor --json {closed}")
    assert "Traceback" not in ended.stderr
    assert ended.returncode in (0, 1)  # whether the machine has everything
    if ">&-" not in closed.replace("2>&-", ""):
        assert json.loads(ended.stdout)


def test_what_is_opened_does_not_become_the_output(tmp_path) -> None:
    """Without a standard output, a file would get its number, and what is printed."""
    code = "from grasp.control.cli import _open_closed_streams as fill; import os; fill(); print(9);"
    path = tmp_path / "file"
    path.touch()
    ended = shell(
        f"exec {sys.executable} -c '{code} os.write(2, str(os.open(\"{path}\", 1)).encode())' <&- >&-"
    )
    assert int(ended.stderr) > 2
    assert os.stat(path).st_size == 0


def test_a_folder_that_is_gone_is_one_line(tmp_path) -> None:
    ended = shell(f"mkdir {tmp_path}/gone && cd {tmp_path}/gone && rmdir {tmp_path}/gone && {GRASP} run")
    assert ended.returncode == 2
    assert ended.stderr == "grasp: the working directory no longer exists: cd to one that does\n"


@pytest.mark.parametrize(
    "line", ["", "nonsense", "run --hours x", "run --bogus", "run --hour 3", "study", "study nonsense"]
)
def test_a_mistake_in_the_options_is_one_line(line: str) -> None:
    ended = shell(f"{GRASP} {line}")
    assert ended.returncode == 2
    (said,) = ended.stderr.splitlines()
    assert said.startswith("grasp")
    assert said.endswith("--help tells more)")


def test_too_little_memory_is_one_line() -> None:
    code = "import grasp.control.doctor as d, grasp.control.cli as c; "
    code += 'd.run = lambda args: bytearray(2 ** 60); raise SystemExit(c.main(["doctor"]))'
    ended = shell(f"exec {sys.executable} -c '{code}'")
    assert (ended.returncode, ended.stderr) == (
        1, "grasp: this machine has not enough memory for that; ask for less\n"
    )  # fmt: skip


def printing(text: str, command: str) -> str:
    """Return a program: the command line, whose doctor prints a text in a table, or as it is."""
    return (
        "import grasp.control.doctor as d, grasp.control.cli as c; from rich.table import Table; "
        "from rich.console import Console; table = Table(); "
        f'table.add_column("{text}"); table.add_row("{text}"); '
        f"d.run = lambda args: {command} or 3; "
        'raise SystemExit(c.main(["doctor"]))'
    )


@pytest.mark.parametrize("command", ["Console().print(table)", 'print("x" * 100000)'])
def test_a_reader_that_has_left_is_no_fault(command: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-c", printing("x", command)],
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, b"")


SAYING = 'Console(stderr=True).print("progress"), print("more", file=sys.stderr), print("the result")'


@pytest.mark.parametrize("full", [False, True])
def test_what_is_said_on_the_way_may_get_lost(full: bool) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open("/dev/full", "wb") as disk:
        ended = subprocess.run(
            [sys.executable, "-c", "import sys; " + printing("x", f"[{SAYING}] and None")],
            stdout=subprocess.PIPE,
            stderr=disk if full else writer,
            timeout=60,
            check=False,
        )
    os.close(writer)
    assert (ended.returncode, ended.stdout) == (3, b"the result\n")


def test_a_pipe_of_the_commands_own_that_breaks_is_a_fault() -> None:
    code = (
        "import os, grasp.control.doctor as d, grasp.control.cli as c; ends = os.pipe(); os.close(ends[0]); "
        'd.run = lambda args: os.write(ends[1], b"x"); raise SystemExit(c.main(["doctor"]))'
    )
    ended = shell(f"exec {sys.executable} -c '{code}'")
    assert ended.returncode == 1
    assert "BrokenPipeError" in ended.stderr


def test_figures_do_not_need_what_draws_windows_elsewhere() -> None:
    code = (
        "import grasp.control.doctor as d, grasp.control.cli as c; "
        'd.run = lambda args: print(__import__("matplotlib").get_backend()); '
        'raise SystemExit(c.main(["doctor"]))'
    )
    ended = shell(f"MPLBACKEND=nonsense exec {sys.executable} -c '{code}'")
    assert (ended.returncode, ended.stdout.lower(), ended.stderr) == (0, "agg\n", "")


@pytest.mark.parametrize("variables", [{"PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "0", "LC_ALL": "C"}])
def test_a_terminal_without_unicode_shows_what_it_can(variables: dict[str, str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", printing("2 \\u00b1 1", "Console().print(table)")],
        env={**os.environ, "PYTHONCOERCECLOCALE": "0", **variables},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (3, b"")
    assert ended.stdout.count(rb"2 \xb1 1") == 2


def test_ctrl_c_while_it_is_still_loading() -> None:
    code = (
        "import os, signal, sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path, target=None):\n"
        '        name == "grasp.control.cli" and os.kill(os.getpid(), signal.SIGINT)\n'
        "sys.meta_path.insert(0, Interrupted())\n"
        "from grasp.__main__ import main\n"
        "sys.exit(main())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, "doctor"], capture_output=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")


def test_it_is_run_as_a_package() -> None:
    ended = shell(f"exec {sys.executable} -m grasp --version")
    assert (ended.returncode, ended.stdout[:6]) == (0, "grasp ")


@pytest.mark.parametrize("words", ["run --jobs 0", "study price --jobs 0", "bench studies --jobs 0"])
def test_an_unknown_option_points_to_the_commands_own_help(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(words.split())
    command = "grasp " + words.removesuffix(" --jobs 0")
    assert caught.value.code == 2
    assert capsys.readouterr().err == (
        f"{command}: unrecognized arguments: --jobs 0 ({command} --help tells more)\n"
    )
