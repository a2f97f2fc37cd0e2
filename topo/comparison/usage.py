# SPDX-License-Identifier: Apache-2.0
"""What programs use: processor time, and what their control connections carry, as the kernel counts it."""

import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_USER, _SYSTEM = 13, 14  # places in /proc/PID/stat, counted from 0 (proc_pid_stat(5): 14 and 15)


def cpu_seconds(pids: Iterable[int]) -> float:
    """Return the processor time that processes, all their threads included, have used so far."""
    total = 0
    for pid in pids:
        # The name, in parentheses, may have spaces in it.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[_USER - 2]) + int(fields[_SYSTEM - 2])
    return total / _TICKS


@dataclass(frozen=True, slots=True)
class Traffic:
    """What connections carried in both directions: TCP segments, and bytes of payload."""

    segments: int = 0
    bytes: int = 0

    def __add__(self, other: "Traffic") -> "Traffic":
        return Traffic(self.segments + other.segments, self.bytes + other.bytes)

    def __sub__(self, before: "Traffic") -> "Traffic":
        return Traffic(self.segments - before.segments, self.bytes - before.bytes)


Connections = Mapping[tuple[str, str], Traffic]
"""What each connection carried so far, by its two ends."""


def control_connections(ports: Iterable[int]) -> Connections:
    """Return the connections to servers at these ports, counted at the servers' ends."""
    wanted = " or ".join(f"sport = :{port}" for port in ports)
    listed = subprocess.run(
        [
            "ss",
            "--tcp",
            "--info",
            "--numeric",
            "--no-header",
            "--oneline",
            "state",
            "established",
            f"( {wanted} )",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return parse_sockets(listed.stdout)


def parse_sockets(text: str) -> Connections:
    """Return the counters in what `ss --info --oneline` printed, in the state that was asked for."""
    found = {}
    for line in text.splitlines():
        _, _, local, peer, *words = line.split()
        counters = dict.fromkeys(("segs_out", "segs_in", "bytes_sent", "bytes_received"), 0)
        for word in words:
            name, _, value = word.partition(":")
            if name in counters:
                counters[name] = int(value)
        segments = counters["segs_out"] + counters["segs_in"]
        found[local, peer] = Traffic(segments, counters["bytes_sent"] + counters["bytes_received"])
    return found


def carried(before: Connections, after: Connections) -> Traffic:
    """Return what was carried meanwhile: all of a connection that is new, nothing of one that is gone."""
    return sum((after[ends] - before.get(ends, Traffic()) for ends in after), Traffic())
