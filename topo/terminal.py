# SPDX-License-Identifier: Apache-2.0
"""What a run shows in the terminal: progress while it goes on, a summary when it has ended."""

from types import TracebackType
from typing import Self

from rich import box
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from grasp.console import console
from grasp.schedulers.base import FloatArray
from grasp.topo.report import Report, Settings
from grasp.topo.traffic import Outcome


class Progression:
    """A line on standard error that follows a run: phase or hour, jobs so far, green ratio so far.

    Where standard error is no terminal, as in a log, it is a line for each phase instead.
    """

    def __init__(self, settings: Settings, energy_wh: FloatArray, heading: str = "") -> None:
        self._settings = settings
        self._heading = heading
        self._phase = ""
        self._green_left = energy_wh / settings.job_energy  # in jobs
        self._served = self._green = 0.0
        self._console = console(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[ratio]}"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        total = settings.hours * settings.jobs_per_hour
        self._task = self._progress.add_task("starting", total=total, ratio="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def phase(self, text: str) -> None:
        """Show what is being done."""
        self._progress.update(self._task, description=self._heading + text)
        if not self._console.is_terminal and text != self._phase:
            self._console.print(self._heading + text, soft_wrap=True)
        self._phase = text

    def hour(self, hour: int) -> None:
        """Show the hour of the day."""
        self.phase(f"hour {(self._settings.start_hour + hour) % 24:02}:00")

    def outcome(self, outcome: Outcome) -> None:
        """Count a job, by the site that answered it."""
        if outcome.sites:
            place = outcome.hour, outcome.sites[0]
            self._served += 1
            self._green += min(max(self._green_left[place], 0.0), 1.0)
            self._green_left[place] -= 1
        ratio = f"green {self._green / self._served:.1%}" if self._served else ""
        self._progress.update(self._task, advance=1, ratio=ratio)


def show_summary(report: Report) -> None:
    """Print the summary of a run on standard error."""
    terminal = console(stderr=True)
    jobs, connect, packets = report["jobs"], report["connect_us"], report["controller_packets"]
    table = Table(box=box.SIMPLE_HEAD, show_header=False, title=report["energy_source"], title_justify="left")
    table.add_column(style="bold")
    table.add_column()
    for name, value in (
        ("green ratio", _ratio(report["green_ratio"])),
        ("  at most", _ratio(report["green_ratio_limit"])),
        ("  round robin", _ratio(report["green_ratio_round_robin"])),
        ("largest share difference", f"{max(report['load_share_difference']):.1%} of an hour's jobs"),
        ("jobs", f"{jobs['completed']:,} of {jobs['offered']:,} completed, {jobs['failed']:,} failed"),
        ("affinity violations", str(report["affinity_violations"])),
        ("job packets at the controller", str(packets["job"])),
        ("to connect", f"{_ms(connect['p50'])} median, {_ms(connect['p99'])} at 99 %"),
        ("duration", f"{report['wall_s']:.0f} s"),
    ):
        table.add_row(name, value)
    terminal.print(table)
    terminal.print(_sites(report))


def _sites(report: Report) -> Table:
    energy = [sum(column) for column in zip(*report["energy_wh"], strict=True)]
    jobs = [sum(column) for column in zip(*report["jobs_per_site"], strict=True)]
    expected = [sum(column) for column in zip(*report["jobs_per_site_expected"], strict=True)]
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("site")
    for head in ("green energy, kWh", "jobs served", "by the rule"):
        table.add_column(head, justify="right")
    for site, wh, served, want in zip(report["sites"], energy, jobs, expected, strict=True):
        table.add_row(site, f"{wh / 1000:.1f}", f"{served:,}", f"{want:,}")
    return table


def _ratio(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _ms(microseconds: int | None) -> str:
    return "none" if microseconds is None else f"{microseconds / 1000:.2f} ms"
