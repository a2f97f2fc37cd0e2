# SPDX-License-Identifier: Apache-2.0
"""Study another published system in simulation.

Each study measures what its source reports, prints tables, and with --out leaves its plots, its numbers and a
page that shows all of it.
"""

import argparse
from importlib import import_module
from typing import cast

from grasp import UserError

HELP = "study prices, consolidation, replicas: other published systems, in simulation"

STUDIES = ("price", "consolidation", "replicas")
"""Sub-packages whose module `command` is one as `grasp.control.cli.Command` says."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the studies and their options."""
    studies = parser.add_subparsers(dest="study", metavar="STUDY", required=True)
    for name in STUDIES:
        study = import_module(f"grasp.topo.studies.{name}.command")
        options = studies.add_parser(
            name,
            help=study.HELP,
            description=study.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        study.configure(options)
        options.set_defaults(study=study, parser=options)


def run(args: argparse.Namespace) -> int:
    """Run the study; return the exit status. Raises UserError as well where a simulation fails its checks."""
    from grasp.schedulers.faults import SimulationError

    try:
        return cast(int, args.study.run(args))
    except SimulationError as error:
        raise UserError(
            f"study {args.study.__name__.split('.')[-2]}: the simulation contradicts itself, so there is no "
            f"result ({error}); please report the command that you gave"
        ) from error
