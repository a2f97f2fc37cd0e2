# SPDX-License-Identifier: Apache-2.0
"""The command ``grasp study``: small studies from end to end, what they leave behind, users' mistakes."""

import argparse
import errno
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grasp import UserError
from grasp.schedulers.replicas.theory import wait_of_least_loaded, wait_of_many
from grasp.topo.studies import command, parallel
from grasp.topo.studies.consolidation import measure
from grasp.topo.studies.output import many
from grasp.topo.studies.replicas.measure import QUANTILES, crossings, interval, spread, window
from grasp.topo.year import style

REPLICAS = ("replicas", "--servers", "6", "--jobs", "400", "--seeds", "3", "--workers", "1")
SMALL_REPLICAS = (
    *REPLICAS,
    "--loads",
    "0.5,0.8",
    "--replicas",
    "2,3",
    "--delays",
    "0,0.5",
    "--hour",
    "2",
    "--site-servers",
    "3",
)
SMALL_CONSOLIDATION = ("consolidation", "--servers", "new=2,old=1", "--sleep", "standby", "--workers", "1")


def study(*argv: str) -> int:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return command.run(parser.parse_args(argv))


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """Forty minutes of two requests a second, as a file."""
    path = tmp_path / "load.csv"
    path.write_text("minute,requests_per_s\n" + "".join(f"{n},2\n" for n in range(40)))
    return str(path)


def left_behind(folder: Path, name: str, plots: Sequence[str]) -> dict[str, Any]:
    """Check the folder and return its numbers."""
    page = (folder / "index.html").read_text()
    assert page.count("<svg") == 0
    assert page.count("data:image/svg+xml;base64,") == len(plots)
    assert "http://" not in page.replace("http://www.w3.org", "")
    for plot in plots:
        assert (folder / f"{plot}.png").stat().st_size > 5000
    return dict(json.loads((folder / f"{name}.json").read_text()))


def test_replicas_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert study(*SMALL_REPLICAS, "--out", str(tmp_path / "made" / "here"), "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    found = left_behind(tmp_path / "made" / "here", "replicas", ("gain", "waits", "delay", "join"))
    assert found == printed
    assert found["event_check"]["largest_difference"] < 1e-4
    checked = found["least_work_check"]
    assert [(cell["d"], cell["load"]) for cell in checked] == [
        (d, x) for d in (2, 3) for x in (0.5, 0.8, 0.9)
    ]
    apart = [abs(cell["replicas"] - cell["least_work"]) for cell in checked]
    usual = [np.hypot(cell["replicas_ci"], cell["least_work_ci"]) for cell in checked]
    assert [cell["within"] for cell in checked] == [a <= most for a, most in zip(apart, usual, strict=True)]
    assert all(a <= 3 * most for a, most in zip(apart, usual, strict=True))
    assert sum(cell["within"] for cell in checked) >= 4  # of 6, each of which is so 19 times of 20
    policies = {(row["policy"], row["d"]) for row in found["waits"]}
    assert policies == {
        ("random", 1),
        ("replicas", 2),
        ("replicas", 3),
        ("least-work", 1),
        ("shortest-queue", 1),
        ("shortest-of", 2),
    }
    for cell in found["gains"]:  # the gain is a ratio of the waits beside it, seed by seed
        random, mine = (
            next(
                row["after_warmup"]["mean"]
                for row in found["waits"]
                if (row["policy"], row["d"], row["load"]) == (policy, d, cell["load"])
            )
            for policy, d in (("random", 1), ("replicas", cell["d"]))
        )
        assert cell["after_warmup"] == pytest.approx(random / mine, rel=0.5)
    late = [cell for cell in found["delays"] if cell["delay"] > 0]
    assert all(cell["duplicates_per_job"] > 0 and cell["work_done"] > cell["load"] for cell in late)
    prompt = [cell for cell in found["delays"] if cell["delay"] == 0]
    assert all(cell["duplicates_per_job"] == 0 for cell in prompt)
    join = found["join"]
    assert all(row["green_ratio"] <= join["green_ratio_limit"] + 0.02 for row in join["rows"])
    greenest = next(row for row in join["rows"] if row["policy"] == "greenest")
    assert greenest["green_ratio"] == pytest.approx(join["green_ratio_limit"], abs=0.02)


def test_replicas_do_not_depend_on_where_they_run(capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for workers in ("1", "2"):
        assert study(*SMALL_REPLICAS, "--workers", workers, "--json") == 0
        found.append(json.loads(capsys.readouterr().out))
        found[-1].pop("wall_s")
    assert found[0] == found[1]


def test_replicas_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert study(*SMALL_REPLICAS, "--service", "pareto", "--warmup", "0") == 0
    shown = capsys.readouterr().out
    assert "2 replicas, after the warm-up" in shown
    assert "synthetic year, seed 0" in shown


@pytest.mark.parametrize(
    ("servers", "service", "theory"),
    [
        ("20", "exponential", {2: "limit", 3: None}),
        ("3", "exponential", {2: None, 3: "all"}),
        ("30", "pareto", {2: None, 3: None}),
    ],
)
def test_theory_stands_beside_what_it_is_about(
    servers: str, service: str, theory: dict[int, str | None], capsys: pytest.CaptureFixture[str]
) -> None:
    options = (*SMALL_REPLICAS, "--servers", servers, "--service", service)
    assert study(*options, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    for row in found["waits"]:
        if row["policy"] == "replicas":
            value = {
                None: None,
                "limit": wait_of_least_loaded(row["load"], row["d"]),
                "all": wait_of_many(row["load"], int(servers)),
            }[theory[row["d"]]]
            assert row["theory_mean"] == value
    limits = {d: any(cell["many_servers"] for cell in found["gains"] if cell["d"] == d) for d in theory}
    assert limits == {d: name == "limit" for d, name in theory.items()}
    for row in found["published"]:
        assert (row["many_servers"]["largest"] is None) == (theory[row["d"]] != "limit")
    assert study(*options) == 0
    assert ("limit of many servers  " in capsys.readouterr().out) == ("limit" in theory.values())


def test_replicas_when_nobody_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loads = ("--loads", "0.001", "--delay-loads", "0.001", "--delays", "0")
    options = (*REPLICAS, *loads, "--jobs", "5", "--replicas", "5", "--hour", "1", "--site-servers", "1")
    assert study(*options, "--out", str(tmp_path), "--json") == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert [cell["after_warmup"] for cell in found["gains"]] == [None]
    assert study(*options) == 0
    assert "none" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["price", "consolidation", "replicas"])
def test_a_folder_with_something_in_it_is_refused_before_the_work(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "index.html").write_text("another's")
    monkeypatch.setattr(parallel, "each", pytest.fail)
    with pytest.raises(UserError, match="is not empty; name a new folder, or remove it first"):
        study(name, "--out", str(tmp_path))
    assert (tmp_path / "index.html").read_text() == "another's"


def test_a_disk_that_is_full_in_the_end_takes_the_files_but_not_the_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fill_up(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(style, "save", fill_up)
    with pytest.raises(OSError, match="No space left") as caught:
        study(*SMALL_REPLICAS, "--out", str(tmp_path), "--json")
    assert caught.value.filename == str(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert json.loads(capsys.readouterr().out)["study"] == "replicas"


def test_consolidation_from_end_to_end(
    tmp_path: Path, trace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert study(*SMALL_CONSOLIDATION, "--trace", trace, "--idles", "0.4", "--out", str(out), "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    found = left_behind(out, "consolidation", ("power", "servers", "energy", "thresholds", "attacks"))
    page = (out / "index.html").read_text()
    assert "Load from load.csv." in page
    assert "ynthetic" not in page
    assert found == printed
    assert {(run["scenario"], run["policy"]) for run in found["runs"]} == {
        (scenario, policy)
        for scenario in ("day", "sudden load", "failing servers", "pulses", "held sessions")
        for policy in ("all on", "standby")
    }
    for run in found["runs"]:
        assert run["sessions_cut_by_stops"] == 0
        assert run["just_enough_wh"] < run["energy_wh"]
        assert sum(run["causes"].values()) == run["late"] + run["lost"]
        assert run["between"] == (run["just_enough_wh"] <= run["energy_wh"] and run["saved"] >= 0)
    assert found["verified"]["runs"] == len(found["runs"]) + len(found["idle_thresholds"])
    assert found["wake_on_lan"] is None


def test_a_day_between_just_enough_and_all_on(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--servers", "new=2,middle=1,old=1", "--peak", "2", "--sleep", "hibernate", "--idles", "0.4")
    assert study("consolidation", *options, "--workers", "1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verified"]["between"] == found["verified"]["consolidated"] == 6
    day = next(run for run in found["runs"] if run["policy"] == "hibernate")
    assert 0 < day["saved"] < 1 - day["just_enough_wh"] / found["runs"][0]["energy_wh"]
    assert sum(day["causes"].values()) == day["late"] + day["lost"] > 0


def test_a_simulation_that_contradicts_itself_ends_in_one_line(
    trace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Careless(measure.Consolidation):
        """Puts servers to sleep whatever is left on them."""

        def review(self, now: float, states: Any, reports: Any, dispatcher: Any) -> Any:
            free = {server: replace(report, held=False) for server, report in reports.items()}
            return super().review(now, states, free, dispatcher)

    monkeypatch.setattr(measure, "Consolidation", Careless)
    with pytest.raises(UserError) as caught:
        study(*SMALL_CONSOLIDATION, "--trace", trace)
    assert "study consolidation: the simulation contradicts itself" in str(caught.value)
    assert "living sessions lost their server" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_day_on_which_nothing_could_be_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The only server fails at 30 % of the trace, before the first request, and is not back in time."""
    late = tmp_path / "late.csv"
    late.write_text("\n".join(["requests_per_s", *20 * ["0"], *20 * ["3"]]))
    options = ("--servers", "new=1", "--sleep", "off", "--idles", "0.4", "--workers", "1")
    assert study("consolidation", *options, "--trace", str(late), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    failed = [run for run in found["runs"] if run["scenario"] == "failing servers"]
    assert [(run["lost"], run["p99_response_s"]) for run in failed] == [(failed[0]["requests"], None)] * 2
    assert study("consolidation", *options, "--trace", str(late)) == 0
    assert "Load from late.csv." in " ".join(capsys.readouterr().out.split())


def test_names_are_shown_as_they_are(tmp_path: Path, trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What the terminal's library would take for markup, and bytes that are no text."""
    odd = Path(trace).rename(tmp_path / os.fsdecode(b"load[bold]\xff.csv"))
    out = tmp_path / "o" / "[/2]"
    assert study(*SMALL_CONSOLIDATION, "--trace", str(odd), "--idles", "0.4", "--out", str(out)) == 0
    shown = capsys.readouterr().out
    assert r"Load from load[bold]\xff.csv." in " ".join(shown.split())
    assert f"{out}/index.html" in shown
    assert r"Load from load[bold]\xff.csv." in (out / "index.html").read_text()
    assert json.loads((out / "consolidation.json").read_text())["settings"]["trace"] == r"load[bold]\xff.csv"


def test_a_peak_beside_a_trace_is_refused(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        study("consolidation", "--peak", "3", "--trace", trace)
    assert "--trace: not allowed with argument --peak" in capsys.readouterr().err


def test_a_load_that_does_not_fit_into_memory_is_refused() -> None:
    with pytest.raises(UserError, match="--peak: 496,800,000 requests do not fit into memory"):
        study("consolidation", "--peak", "10000")


def test_consolidation_in_words(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert study(*SMALL_CONSOLIDATION, "--trace", trace) == 0
    assert "held sessions, standby" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--loads", "0.5,1.2"), "--loads 1.2: must be between"),
        (("--loads", "half"), "--loads half"),
        (("--loads", "0.1:0.9:0.001"), "--loads: 801 values; at most 200"),
        (("--jobs", "10000000", "--seeds", "1000"), "do not fit into memory; give at most 300,000,000"),
        (("--jobs", "10000001"), "--jobs 10000001: must be between 1 and 10000000"),
        (
            ("--replicas", "7"),
            "--replicas 7: there are only 6 servers; give fewer, or more --servers",
        ),
        (("--replicas", "1"), "--replicas 1"),
        (("--servers", "20", "--replicas", "10"), "--replicas 10: the join puts them at different sites"),
        (("--loads", "1e999999999"), "--loads 1e999999999: give numbers"),
        (("--loads", "0:1e600000:1e-600000"), "--loads 0:1e600000:1e-600000: give numbers"),
        (("--hour", "0.1", "--site-servers", "1", "--join-load", "0.1"), "they make 0 jobs an hour"),
        (("--hour", "100000", "--site-servers", "10000"), "at most 5,000,000 in all"),
        (("--servers", "1", "--replicas", "2"), "--servers 1: must be between 2 and 10000"),
        (("--servers", "2", "--replicas", "2,3"), "--replicas 3: there are only 2 servers"),
        (("--jobs", "0"), "--jobs 0"),
        (("--seeds", "0"), "--seeds 0"),
        (("--workers", "0"), "--workers 0"),
        (("--delays", "0,-1"), "--delays"),
        (("--service", "normal"), "--service normal: must be one of exponential, "),
        (("--energy", "sun"), "--energy sun: must be synthetic, tmy3:DIR"),
        (("--energy", "tmy3:"), "--energy tmy3:: must be synthetic, tmy3:DIR"),
        (("--energy", "csv:own.csv"), "--energy csv:own.csv: must be synthetic, tmy3:DIR, epw:DIR, psm:DIR"),
        (("--energy", "parquet:own.parquet"), "--energy parquet:own.parquet: must be synthetic"),
        (("--energy", "epw:there"), "there"),
        (("--fill", "interpolate"), "--fill interpolate: is of weather files; --energy synthetic has no"),
        (("--energy", "tmy3:there", "--energy-seed", "3"), "--energy-seed 3: is of the synthetic year"),
        (("--date", "13-45"), "--date 13-45: the typical year has no such day"),
        (("--job-energy", "nan"), "--job-energy nan"),
        (("--out", "/dev/null/x"), "results folder /dev/null/x: Not a directory"),
        (("--out", ""), "--out: the name of the folder is empty"),
    ],
)
def test_replicas_mistakes(argv: Sequence[str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        study(*REPLICAS, *argv)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--servers", "new"), "--servers new"),
        (("--servers", "fast=2"), "--servers fast: must be one of new, middle, old"),
        (("--servers", "new=0"), "their number"),
        (("--sleep", "nap"), "--sleep nap: must be one of off, hibernate, standby"),
        (("--sleep", "off,off"), "twice"),
        (("--peak", "0"), "--peak 0"),
        (("--step", "0.0001"), "--step 0.0001"),
        (("--idle", "1"), "--idle 1"),
        (("--idles", "2"), "--idles 2"),
        (("--report-every", "0"), "--report-every 0"),
        (("--seed", "-1"), "--seed -1"),
        (("--trace", "/no/such/file"), "--trace /no/such/file: No such file"),
        (("--out", "/dev/null/x"), "results folder /dev/null/x: Not a directory"),
    ],
)
def test_consolidation_mistakes(argv: Sequence[str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        study("consolidation", "--workers", "1", *argv)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column requests_per_s"),
        ("minute,rate\n0,1\n", "no column requests_per_s"),
        ("requests_per_s\n1\n-2\n", "line 3"),
        ("requests_per_s\nmany\n", "line 2"),
        ("requests_per_s\n1\n\n\nmany\n", "line 5"),
        ("requests_per_s\nnan\n", "line 2"),
        ("requests_per_s\n1\n", "has 1 minutes"),
        ("\ufeffrequests_per_s\n" + 40 * "0.01\n", "has 24 requests; give at least 100"),
        ("requests_per_s\n\x00\n", "line"),
        (b"requests_per_s\n\xff\n", "--trace"),
    ],
)
def test_bad_traces(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError) as caught:
        study("consolidation", "--trace", str(path))
    assert message in str(caught.value)


def test_crossings() -> None:
    assert crossings([0, 1, 2, 3], [4, 2, 3, 3], 2.5) == pytest.approx([0.75, 1.5])
    assert crossings([0, 1], [1, 2], 5) == []


def test_intervals_cover() -> None:
    """A 95 % interval holds the true mean in about 95 % of the trials."""
    draw = np.random.default_rng(0)
    trials = [interval(draw.normal(3, 2, 5)) for _ in range(2000)]
    covered = np.mean([abs(mean - 3) < (half or 0) for mean, half in trials])
    assert covered == pytest.approx(0.95, abs=0.015)
    assert interval(np.array([2.0])) == (2.0, None)


def test_spread() -> None:
    assert spread([1, 2, 3, 4, 5, 6, 7], 3) == [1, 4, 7]
    assert spread([1, 2], 5) == [1, 2]


@pytest.mark.parametrize("jobs", [1, 7, 1000, 1001])
def test_windows_have_the_waits_that_were_seen(jobs: int) -> None:
    waits = np.random.default_rng(jobs).random((jobs, 3)).astype(np.float32)
    seen = window(waits)
    assert seen.mean == pytest.approx(waits.mean(axis=0))
    np.testing.assert_array_equal(
        seen.quantiles, np.quantile(waits, QUANTILES, axis=0, method="inverted_cdf")
    )


def test_numbers_in_words() -> None:
    assert [many(number, "job") for number in (0, 1, 12_300, 2_500_000, 286_000_000)] == [
        "0 jobs",
        "1 job",
        "12,300 jobs",
        "2.5 million jobs",
        "286 million jobs",
    ]
