# SPDX-License-Identifier: Apache-2.0
"""The comparison's arithmetic, its measuring instruments, and its page, without a network."""

import json
import os
import re
import time
from html import escape

import numpy as np
import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from grasp.topo import compare
from grasp.topo.comparison import page, plots, report
from grasp.topo.comparison.figures import FIGURES, beyond, is_limited_by_the_generator, sustained
from grasp.topo.comparison.latency import parse, times
from grasp.topo.comparison.openings import Opening
from grasp.topo.comparison.trial import Step, Trial, followed_ms, is_sustained
from grasp.topo.comparison.usage import Traffic, carried, cpu_seconds, parse_sockets
from grasp.topo.report import Settings
from grasp.topo.traffic import Outcome

VIP, CLIENT = "10.100.0.1", "10.1.2.1"


def segment(
    time_us: float, *, out: bool, flags: str, sequence: int, acknowledgement: int, payload: bytes = b""
):
    source, destination, ports = (CLIENT, VIP, (4000, 80)) if out else (VIP, CLIENT, (80, 4000))
    tcp = TCP(sport=ports[0], dport=ports[1], flags=flags, seq=sequence, ack=acknowledgement)
    frame = bytes(Ether() / IP(src=source, dst=destination) / tcp / payload)
    return parse(frame.ljust(60, b"\0"), round(time_us * 1000))


def test_waits_are_read_off_the_frames() -> None:
    seen = [
        segment(0, out=True, flags="S", sequence=2**32 - 1, acknowledgement=0),
        segment(900, out=False, flags="SA", sequence=50, acknowledgement=0),
        segment(950, out=True, flags="A", sequence=0, acknowledgement=51),
        segment(2000, out=True, flags="PA", sequence=0, acknowledgement=51, payload=b"a"),
        segment(2100, out=False, flags="A", sequence=51, acknowledgement=1),
        segment(3000, out=True, flags="PA", sequence=1, acknowledgement=51, payload=b"b"),
        segment(3300, out=False, flags="A", sequence=51, acknowledgement=2),
        segment(4000, out=True, flags="PA", sequence=2, acknowledgement=51, payload=b"c"),
    ]
    found = times([item for item in seen if item is not None], 4000)
    assert found.first == pytest.approx(900)
    assert found.later == pytest.approx([100, 300])
    assert times([item for item in seen if item is not None], 4001).first is None


def test_other_frames_are_no_segments() -> None:
    assert parse(b"\0" * 60, 0) is None
    assert parse(bytes(Ether() / IP() / TCP())[:40], 0) is None


def test_openings_are_sound_segments() -> None:
    opening = Opening(bytes.fromhex("020000020101"), bytes.fromhex("020000000001"), CLIENT, VIP, 80)
    for port in (1024, 65_535):
        frame = Ether(opening.frame(port))
        assert (frame.dst, frame.src) == ("02:00:00:00:00:01", "02:00:00:02:01:01")
        assert (frame[IP].src, frame[IP].dst) == (CLIENT, VIP)
        assert (frame[TCP].sport, frame[TCP].dport, str(frame[TCP].flags)) == (port, 80, "S")
        sums = frame[IP].chksum, frame[TCP].chksum
        del frame[IP].chksum, frame[TCP].chksum
        rebuilt = Ether(bytes(frame))
        assert sums == (rebuilt[IP].chksum, rebuilt[TCP].chksum)


def test_sockets_counters_are_added_up() -> None:
    text = (
        "0 0 127.0.0.1:6653 127.0.0.1:40000 cubic wscale:7,7 bytes_sent:100 bytes_acked:90 bytes_received:20"
        " segs_out:4 segs_in:5 data_segs_out:3\n"
        "0 0 127.0.0.1:6653 127.0.0.1:40001 cubic bytes_sent:1 segs_out:1 segs_in:1\n"
    )
    first, second = ("127.0.0.1:6653", "127.0.0.1:40000"), ("127.0.0.1:6653", "127.0.0.1:40001")
    found = parse_sockets(text)
    assert found == {first: Traffic(9, 120), second: Traffic(2, 1)}
    assert carried({first: Traffic(1, 20)}, found) == Traffic(10, 101)
    assert carried({("gone", "peer"): Traffic(1, 20)}, found) == Traffic(11, 121)


def test_processor_time_is_that_of_the_process() -> None:
    before, counted = cpu_seconds([os.getpid()]), time.process_time()
    while time.process_time() < counted + 0.1:
        pass
    assert cpu_seconds([os.getpid()]) - before == pytest.approx(time.process_time() - counted, abs=0.03)


def made(asked: float, sent: float, failed: float) -> Step:
    return Step(asked, sent, failed, 100.0, 200.0)


def test_the_sustained_rate_is_the_highest_with_less_than_one_percent_failing() -> None:
    steps = [made(100, 100, 0), made(400, 401, 0.009), made(1600, 1600, 0.01), made(800, 799, 0.2)]
    assert sustained(steps) == 401
    assert beyond(steps) == steps[3]
    assert not is_limited_by_the_generator(steps)
    slow = [made(100, 100, 0), made(400, 300, 0)]
    assert not is_sustained(slow[1])
    assert is_limited_by_the_generator(slow)
    assert not is_limited_by_the_generator([*slow, made(400, 300, 0.5)])
    assert sustained([made(100, 100, 0.5)]) is None


def job(opened: float, site: int | None) -> Outcome:
    sites, error = ([], "timeout") if site is None else ([site], None)
    return Outcome(0, 0, sites, 100, 100, opened, opened + 0.01, error)


@pytest.mark.parametrize(
    ("jobs", "followed"),
    [
        ([(9.9, 1), (10.1, 1), (10.2, 4), (10.3, 4)], 200),
        ([(10.1, 4), (10.2, 1), (10.3, 4)], 300),  # not before the last that went elsewhere
        ([(9.9, 1), (10.05, 4), (10.1, 4)], 50),
        ([(10.3, 4), (10.2, None), (10.1, 4)], 300),  # a lost one did not follow; in no order
        ([(10.1, 4), (10.35, 1)], 400),  # never: at least so long
        ([], 400),
    ],
)
def test_a_forecast_is_followed_when_all_later_jobs_go_there(
    jobs: list[tuple[float, int | None]], followed: float
) -> None:
    assert followed_ms([job(*one) for one in jobs], 10.0, 4) == pytest.approx(followed)


def trial(added_us: float, rate: float, job_packets: int, ratio: float, failed: int = 0) -> Trial:
    return Trial(
        report={
            "jobs": {"offered": 500, "completed": 500 - failed, "failed": failed},
            "controller_packets": {"job": job_packets},
            "green_ratio": ratio,
            "green_ratio_limit": 0.9,
            "load_share_difference": [0.01, 0.02],
            "affinity_violations": 0,
            "resets": 0,
            "energy_source": "made up",
        },
        traffic=Traffic(1000, 50_000),
        controller_cpu_s=1.0,
        switches_cpu_s=2.0,
        first_us=[added_us + 100, added_us + 120],
        later_us=[100.0, 101.0],
        added_us=[added_us, added_us + 20],
        steps=[made(100, 100, 0), made(rate, rate, 0), made(rate * 4, rate * 4, 0.5)],
        follow_ms=[1.0, 2.0],
        lost_after_death=3,
        last_after_death_ms=50.0,
        orphans=10,
        orphans_connected=10 if job_packets == 0 else 0,
        running=4,
        running_survived=4,
    )


@pytest.fixture
def result() -> report.Comparison:
    rounds = ((10.0, 2000.0), (20.0, 4000.0), (60.0, 1000.0))
    return report.build(
        Settings(hours=2),
        {
            "P4": [trial(added, rate, 0, 0.9) for added, rate in rounds],
            "OpenFlow": [trial(added * 100, rate / 10, 500, 0.89) for added, rate in rounds],
        },
        wall_s=100.0,
    )


def test_figures_are_medians_with_their_spread(result: report.Comparison) -> None:
    added = result["figures"]["added_p50_us"]["P4"]
    assert (added["median"], added["low"], added["high"]) == (30, 20, 70)
    assert added["rounds"] == [20, 30, 70]
    per_thousand = result["figures"]["job_packets"]["OpenFlow"]
    assert per_thousand["median"] == per_thousand["high"] == 1000
    assert result["figures"]["segments"]["P4"]["median"] == 2000
    assert result["figures"]["below_limit"]["OpenFlow"]["median"] == pytest.approx(0.01)
    assert result["figures"]["share_difference"]["P4"]["median"] == pytest.approx(2)
    assert result["figures"]["orphans_connected"]["P4"]["median"] == 100
    assert set(result["figures"]) == {figure.key for figure in FIGURES}
    assert report.is_complete(result)
    json.dumps(result, allow_nan=False)


def test_a_failed_job_shows(result: report.Comparison) -> None:
    found = report.build(Settings(), {"P4": [trial(1, 100, 0, 0.9, failed=1)]}, 1.0)
    assert not report.is_complete(found)


@pytest.mark.filterwarnings("error")
def test_figures_without_a_value_are_said_to_be_none(tmp_path) -> None:
    empty = trial(1, 100, 0, 0.9)
    empty.first_us, empty.later_us, empty.added_us, empty.follow_ms = [], [], [], []
    empty.steps, empty.report["green_ratio"] = [Step(100, 0, 1, None, None)], None
    found = report.build(Settings(), {"P4": [empty], "OpenFlow": [empty]}, 1.0)
    assert found["figures"]["added_p50_us"]["P4"]["median"] is None
    lines = {name: cells for _, name, *cells in page.rows(found)}
    assert lines["sustained rate, 1/s"] == ["none", "none"]
    page.write_page(found, plots.draw_all(found, tmp_path / "plots"), tmp_path / "index.html")
    assert not re.search(r"\bnan\b", (tmp_path / "index.html").read_text())


def test_the_page_shows_every_figure_of_every_side(result: report.Comparison, tmp_path) -> None:
    figures = plots.draw_all(result, tmp_path / "plots")
    page.write_page(result, figures, tmp_path / "index.html")
    text = (tmp_path / "index.html").read_text()
    for _, name, *cells in page.rows(result):
        assert escape(name) in text
        assert all(cell in text for cell in cells)
    assert text.count("data:image/svg+xml") == len(figures) == 4
    assert "<script" not in text
    assert "0.03 against 2.01 ms" in text
    assert "10 times" in text  # connections in a second
    assert all((tmp_path / "plots" / f"{name}.png").stat().st_size > 1000 for name in figures)


def test_rounds_before_one_that_failed_are_shown() -> None:
    first, second = trial(1, 100, 0, 0.9), trial(2, 100, 0, 0.9)
    assert report.complete_rounds({"P4": [first, second], "OpenFlow": [second]}) == {
        "P4": [first], "OpenFlow": [second],
    }  # fmt: skip
    assert report.complete_rounds({"P4": [first], "OpenFlow": []}) == {}


def test_sides() -> None:
    sides = compare._sides(Settings(target="bmv2", seed=7))
    assert {name: (side.control, side.target, side.seed) for name, side in sides.items()} == {
        "P4": ("p4", "v1model", 7),
        "OpenFlow": ("openflow", "openvswitch", 7),
        "P4 on bmv2": ("p4", "bmv2", 7),
    }
    assert list(compare._sides(Settings())) == ["P4", "OpenFlow"]


def test_medians_agree_with_numpy(result: report.Comparison) -> None:
    for sides in result["figures"].values():
        for found in sides.values():
            assert found["median"] == pytest.approx(np.median(found["rounds"]), abs=1e-5)
