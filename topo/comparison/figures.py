# SPDX-License-Identifier: Apache-2.0
"""What is compared: every line of the table, with how it was measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from grasp.topo.comparison.trial import CONNECTIONS, FAILING, Step, Trial, is_sustained


@dataclass(frozen=True)
class Figure:
    """One line of the table: what it is called, how it was measured, and how a trial gives it.

    `group` is the heading that it stands under; `decimals` how it is shown.
    """

    key: str
    group: str
    name: str
    unit: str
    how: str
    value: Callable[[Trial], float | None]
    decimals: int = 0


def _quantile(values: Callable[[Trial], Sequence[float]], share: float) -> Callable[[Trial], float | None]:
    def quantile(trial: Trial) -> float | None:
        found = values(trial)
        return float(np.quantile(found, share)) if found else None

    return quantile


def _per_thousand_jobs(value: Callable[[Trial], float]) -> Callable[[Trial], float | None]:
    def per_thousand(trial: Trial) -> float | None:
        jobs = trial.report["jobs"]["completed"]
        return 1000 * value(trial) / jobs if jobs else None

    return per_thousand


def sustained(steps: Sequence[Step]) -> float | None:
    """Return the highest rate that was sustained, in connections a second; None if none was."""
    return max((step.sent for step in steps if is_sustained(step)), default=None)


def is_limited_by_the_generator(steps: Sequence[Step]) -> bool:
    """Whether no rate failed that the generator could reach."""
    return all(step.failed < FAILING for step in steps)


def beyond(steps: Sequence[Step]) -> Step | None:
    """Return the lowest rate that was asked for and not sustained."""
    return min((step for step in steps if not is_sustained(step)), key=lambda step: step.asked, default=None)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


_STAMPS = (
    f"{CONNECTIONS} connections one after the other at one client, without other load; "
    "kernel time stamps of the frames at the client's interface"
)
_HOURS = "while the hours' jobs run"

FIGURES = (
    Figure(
        "added_p50_us",
        "First packet",
        "added latency, median",
        "µs",
        "SYN to SYN-ACK, less the connection's median from a later byte to its acknowledgement; " + _STAMPS,
        _quantile(lambda trial: trial.added_us, 0.5),
    ),
    Figure(
        "added_p99_us",
        "First packet",
        "added latency, 99 %",
        "µs",
        "the same",
        _quantile(lambda trial: trial.added_us, 0.99),
    ),
    Figure(
        "first_p50_us",
        "First packet",
        "first packet, median",
        "µs",
        "SYN to SYN-ACK; " + _STAMPS,
        _quantile(lambda trial: trial.first_us, 0.5),
    ),
    Figure(
        "later_p50_us",
        "First packet",
        "later packets, median",
        "µs",
        "a byte to its acknowledgement by the site's kernel; " + _STAMPS,
        _quantile(lambda trial: trial.later_us, 0.5),
    ),
    Figure(
        "unanswered",
        "First packet",
        "connections without an answer",
        "",
        f"of these {CONNECTIONS}; they are in none of the four lines above",
        lambda trial: trial.unanswered,
    ),
    Figure(
        "sustained",
        "New connections",
        "sustained rate",
        "1/s",
        "SYNs from all clients for two seconds, each answered within 0.2 s; the highest step with less than "
        "1 % unanswered; a step that fails narrowly is tried once more",
        lambda trial: sustained(trial.steps),
    ),
    Figure(
        "beyond_rate",
        "New connections",
        "lowest rate not sustained",
        "1/s",
        "the next step: more than 1 % unanswered, or more than the generator could send",
        lambda trial: None if (step := beyond(trial.steps)) is None else step.asked,
    ),
    Figure(
        "beyond_failed",
        "New connections",
        "unanswered at that rate",
        "%",
        "of the SYNs sent in that step",
        lambda trial: None if (step := beyond(trial.steps)) is None else 100 * step.failed,
        1,
    ),
    Figure(
        "job_packets",
        "For 1,000 jobs",
        "job packets at the controller",
        "",
        "packet-ins of jobs, as the controller counts them: first packets, copies of them, and packets that "
        "overtook their entries; P4's are first packets that found no place in the affinity table. The word "
        "of an entry that idled out, one a job with OpenFlow, is none of them; it comes 30 s after the job, "
        "which may be after the hours",
        _per_thousand_jobs(lambda trial: trial.report["controller_packets"]["job"]),
    ),
    Figure(
        "segments",
        "For 1,000 jobs",
        "packets to and from the controller",
        "",
        "TCP segments of the control connections, as the kernel counts them, heartbeats and reports "
        "included; " + _HOURS,
        _per_thousand_jobs(lambda trial: trial.traffic.segments),
    ),
    Figure(
        "bytes",
        "For 1,000 jobs",
        "bytes to and from the controller",
        "kB",
        "payload of the same connections",
        _per_thousand_jobs(lambda trial: trial.traffic.bytes / 1000),
    ),
    Figure(
        "controller_cpu_s",
        "For 1,000 jobs",
        "controller's processor time",
        "s",
        "user and system time of its process, what it does anyway included; " + _HOURS,
        _per_thousand_jobs(lambda trial: trial.controller_cpu_s),
        2,
    ),
    Figure(
        "switches_cpu_s",
        "For 1,000 jobs",
        "switches' processor time",
        "s",
        "user and system time of the processes that forward packets; " + _HOURS,
        _per_thousand_jobs(lambda trial: trial.switches_cpu_s),
        2,
    ),
    Figure(
        "green_ratio",
        "Energy",
        "green ratio",
        "",
        "jobs that green energy served, counted at the servers, over all jobs",
        lambda trial: trial.report["green_ratio"],
        4,
    ),
    Figure(
        "below_limit",
        "Energy",
        "below the limit by",
        "",
        "the most that any distribution of the same jobs could reach, less the green ratio",
        lambda trial: (
            None
            if trial.report["green_ratio"] is None
            else trial.report["green_ratio_limit"] - trial.report["green_ratio"]
        ),
        4,
    ),
    Figure(
        "share_difference",
        "Energy",
        "off the scheduler's rule, at most",
        "points",
        "largest difference of a site's share of an hour's jobs from the scheduler's own choice, job after "
        "job, with complete knowledge; for green that is Algorithm 2, argmax of E/k - n",
        lambda trial: 100 * max(trial.report["load_share_difference"]),
        1,
    ),
    Figure(
        "follow_ms",
        "Changes",
        "until a new forecast is followed",
        "ms",
        "from the beginning of an hour in which another site has the energy, to the first job from which "
        "on all go there, or 400 ms where none does; 200 jobs a second from all clients, so 5 ms apart; "
        "median of three such hours",
        _quantile(lambda trial: trial.follow_ms, 0.5),
        1,
    ),
    Figure(
        "last_after_death_ms",
        "Changes",
        "last job to a dead site",
        "ms",
        "the site with all the energy loses agent, server and cable; when the last job that went there "
        "was opened; 200 jobs a second",
        lambda trial: trial.last_after_death_ms,
    ),
    Figure(
        "lost_after_death",
        "Changes",
        "jobs lost to it",
        "",
        "jobs that failed in this trial",
        lambda trial: trial.lost_after_death,
    ),
    Figure(
        "orphans_connected",
        "Changes",
        "new connections without a controller",
        "%",
        "of those opened after the controller was killed",
        lambda trial: None if (s := _share(trial.orphans_connected, trial.orphans)) is None else 100 * s,
    ),
    Figure(
        "running_survived",
        "Changes",
        "connections that survive its death",
        "%",
        "of those under way when the controller was killed, and used afterwards",
        lambda trial: None if (s := _share(trial.running_survived, trial.running)) is None else 100 * s,
    ),
    Figure(
        "completed",
        "Jobs",
        "completed",
        "%",
        "of the hours' jobs, as the clients saw it",
        lambda trial: 100 * trial.report["jobs"]["completed"] / trial.report["jobs"]["offered"],
        1,
    ),
    Figure(
        "affinity_violations",
        "Jobs",
        "affinity violations",
        "",
        "of the hours' jobs, those that two sites answered, and sites' resets to clients that opened no "
        "connection there, as the packets of one that was moved would cause",
        lambda trial: trial.report["affinity_violations"],
    ),
    Figure(
        "resets",
        "Jobs",
        "resets by sites",
        "",
        "in the hours, to segments of no connection of theirs: those above, and answers to late segments of "
        "connections that are over",
        lambda trial: trial.report["resets"],
    ),
)
