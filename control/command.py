# SPDX-License-Identifier: Apache-2.0
"""Run the controller, or ask a running one.

grasp controller --config FILE                 run until interrupted or terminated
grasp controller --config FILE status          what it knows: switches, sites, links
grasp controller --config FILE drain SITE      no new jobs to a site; its connections stay
grasp controller --config FILE undrain SITE    new jobs again

It drives P4Runtime switches. With `openflow` in the configuration it takes OpenFlow switches there instead,
and decides itself about the first packet of every job.

A running controller is asked through the socket that `admin` in the configuration names.
"""

import argparse
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from grasp import UserError

if TYPE_CHECKING:
    from grasp.control.config import Config

HELP = "run the controller of P4Runtime or OpenFlow switches, or ask a running one"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    _add_config(parser, None)
    parser.add_argument(
        "--events",
        type=Path,
        metavar="FILE",
        help="append what happens as lines of JSON (default: from the configuration)",
    )
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="default: %(default)s",
    )
    requests = parser.add_subparsers(
        dest="request", metavar="REQUEST", title="requests to a running controller"
    )
    status = requests.add_parser("status", help="print what it knows as JSON")
    drain = requests.add_parser("drain", help="give a site no new jobs")
    undrain = requests.add_parser("undrain", help="give a site new jobs again")
    for request in (drain, undrain):
        request.add_argument("site", help="name of the site")
    for request in (status, drain, undrain):
        _add_config(request, argparse.SUPPRESS)


def _add_config(parser: argparse.ArgumentParser, default: str | None) -> None:
    """Take --config before a request and after it."""
    parser.add_argument(
        "--config", type=Path, default=default, metavar="FILE", help="the controller's TOML configuration"
    )


def run(args: argparse.Namespace) -> int:
    """Run the controller, or send the request."""
    from grasp.control.config import load

    if args.config is None:
        raise UserError("the controller needs a configuration: --config FILE")
    config = load(args.config)
    if args.request is None:
        return _serve(config, args)
    return _ask(config, args)


def _ask(config: "Config", args: argparse.Namespace) -> int:
    from grasp.control.admin import ask

    if config.admin is None:
        raise UserError(
            f"{config.source}: controller.admin: a running controller is asked there; name a socket"
        )
    fields = {} if args.request == "status" else {"site": args.site}
    answer = ask(config.admin, command=args.request, **fields)
    print(answer if isinstance(answer, str) else json.dumps(answer, indent=2))
    return 0


def _serve(config: "Config", args: argparse.Namespace) -> int:
    import asyncio

    logging.basicConfig(
        level=args.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    events = args.events or config.events
    if config.openflow is not None:
        logging.getLogger("os_ken").setLevel(logging.WARNING)  # it tells of its own parts, not of switches
        from grasp.control.openflow.main import serve as serve_openflow

        asyncio.run(serve_openflow(config, config.openflow, events))
    else:
        from grasp.control.p4runtime.main import serve

        asyncio.run(serve(config, events))
    return 0
