# SPDX-License-Identifier: Apache-2.0
"""Draw the GRASP paper's figures 3, 4, 6 and 7 from an energy source, beside what the paper reports.

Each is written as PNG and SVG; figures.md holds them with their lines, figures.json the numbers.

  grasp figures --out results/figures --energy tmy3:weather --alignment published
"""

import argparse
import json
from typing import TYPE_CHECKING

from grasp import UserError
from grasp.telemetry.energy import arguments
from grasp.topo import results
from grasp.topo.year import options

if TYPE_CHECKING:
    from grasp.topo.year.paper import Finding

HELP = "draw the paper's figures from an energy source"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--out",
        type=results.folder,
        required=True,
        metavar="DIR",
        help="folder, new or empty, for the figures",
    )
    arguments.add_energy(parser)
    day = parser.add_argument_group("figures 3 and 4")
    day.add_argument("--date", default="06-21", metavar="MM-DD", help="their day, in UTC-5 (default: 06-21)")
    day.add_argument("--k", default="20", metavar="WH", help="energy of a job in figure 4 (default: 20)")
    day.add_argument("--jobs", default="900", metavar="N", help="jobs an hour in figure 4 (default: 900)")
    parser.add_argument("--json", action="store_true", help="print figures.json")


def run(args: argparse.Namespace) -> int:
    """Draw, report, and return the exit status."""
    import matplotlib

    from grasp.topo.year import paper, style
    from grasp.topo.year.sweep import load

    (job_wh, *more_energies) = options.job_energies(args.k)
    (jobs, *more_jobs) = options.whole_numbers("--jobs", args.jobs, 1, 10**9)
    if more_energies or more_jobs:
        raise UserError("--k and --jobs: figure 4 takes one of each")
    year = load(options.one_source(args), arguments.sites(args))
    day = year.day(args.date)
    results.make(args.out)
    with matplotlib.rc_context(style.STYLE):
        findings = [
            paper.energy_by_hour(day),
            paper.load_by_hour(day, job_wh, jobs),
            paper.gain_by_job_energy(year),
            paper.gain_by_jobs(year),
        ]
        with results.whole(args.out) as folder:
            for finding in findings:
                paper.caption(finding, year.description)
                style.save(finding.figure, folder / finding.name)
            numbers = {"energy_source": year.description, "date": args.date}
            text = json.dumps({**numbers, **{item.name: item.numbers for item in findings}}, indent=1) + "\n"
            (folder / "figures.json").write_text(text, encoding="utf-8")
            (folder / "figures.md").write_text(_page(findings, year.description), encoding="utf-8")
    if args.json:
        print(text, end="")
    else:
        for finding in findings:
            print(f"{args.out / finding.name}.png  {finding.title}")
            print(f"  the paper: {finding.paper}\n  found:     {finding.found}")
    return 0


def _page(findings: "list[Finding]", description: str) -> str:
    parts = [f"# The paper's figures from: {description}"]
    for item in findings:
        parts.append(f"## {item.title}\n\n![{item.title}]({item.name}.svg)\n")
        parts.append(f"The paper: {item.paper}. Found: {item.found}.")
    return "\n\n".join(parts) + "\n"
