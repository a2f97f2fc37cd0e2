# SPDX-License-Identifier: Apache-2.0
"""`grasp agent`: reports one site's green energy and keeps the site in selection."""

import argparse
from pathlib import Path

HELP = "report a site's green energy to the controller and keep the site alive"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--name", required=True, help="the site's name, as the controller knows it")
    parser.add_argument("--interface", required=True, help="Ethernet interface towards the site's switch")
    parser.add_argument(
        "--secret-file", required=True, type=Path, help="the site's enrolment secret, in hexadecimal digits"
    )
    parser.add_argument(
        "--state", required=True, type=Path, help="file that remembers used sequence numbers across restarts"
    )
    parser.add_argument("--address", help="the server's IPv4 address (default: the interface's)")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--forecast",
        type=Path,
        metavar="FILE",
        help="values by epoch, .json or .csv; read again when it changes",
    )
    source.add_argument(
        "--energy", metavar="SOURCE", help="energy of a typical year: synthetic or tmy3:DIR; needs --station"
    )
    year = parser.add_argument_group("with --energy")
    year.add_argument("--station", help="short name or USAF id of the weather station")
    year.add_argument("--model", default="grasp2018", help="generation model: grasp2018 (default) or pvwatts")
    year.add_argument("--alignment", default="utc", help="utc (default) or published")
    year.add_argument("--seed", type=int, default=0, help="of the synthetic year and of forecast errors")
    year.add_argument("--method", default="perfect", help="forecast: perfect (default) or persistence")
    year.add_argument("--error", type=float, default=0.0, help="relative forecast error (default: 0)")
    parser.add_argument(
        "--log-level", default="info", choices=("debug", "info", "warning", "error"), help="(default: info)"
    )


def run(args: argparse.Namespace) -> int:
    """Run until SIGTERM; return the exit status."""
    from grasp.telemetry.agent.service import run_agent

    return run_agent(args)
