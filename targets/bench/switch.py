# SPDX-License-Identifier: Apache-2.0
"""Measure how many packets a second the switch moves.

Two figures, each a median of some rounds that alternate between what is compared:

inside    the program alone on one core, without sockets: whole connections through a full-sized switch
network   through veth pairs in a namespace of its own (needs root), the highest rate at which less than 1 %
          is lost: a plain loop that copies frames, the embedded switch, and BMv2 if simple_switch_grpc is
          on PATH
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

from grasp import UserError

HELP = "measure how many packets a second the switch moves"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--program", type=Path, metavar="JSON", help="BMv2 JSON of a GRASP program, with its P4Info beside it"
    )
    parser.add_argument(
        "--rounds", type=int, default=5, metavar="N", help="rounds, whose median counts (default 5)"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.5, metavar="S", help="length of a trial at one rate (default 0.5)"
    )
    parser.add_argument(
        "--payload", type=int, default=100, metavar="BYTES", help="data in a packet (default 100)"
    )
    parser.add_argument("--inside-only", action="store_true", help="leave the network out")
    parser.add_argument("--json", action="store_true", help="print the results as JSON, and nothing else")


def run(args: argparse.Namespace) -> int:
    """Measure and report."""
    if args.rounds < 1 or args.seconds <= 0 or not 0 <= args.payload <= 1400:
        raise UserError("--rounds and --seconds must be positive, --payload 0 to 1400 bytes")
    program = args.program or Path(str(files("grasp"))) / "p4src" / "build" / "grasp.json"
    if not program.is_file():
        raise UserError(f"no program {program}: name one with --program")
    from rich.console import Console

    console = Console(stderr=True, quiet=args.json)
    result: dict[str, Any] = {"program": str(program), "rounds": args.rounds, "payload": args.payload}
    with console.status("the program alone") as status:
        from grasp.targets.bench import inside

        result["inside"] = inside.measure(program, args.rounds, args.payload)
        result["network"] = None
        if not args.inside_only and os.geteuid() == 0:
            result["network"] = _network(program, args, status.update)
    if args.json:
        print(json.dumps(result, indent=1))
    else:
        _show(result, needs_root=not args.inside_only and os.geteuid() != 0)
    return 0


def _network(program: Path, args: argparse.Namespace, say: Any) -> dict[str, dict[str, float]]:
    from grasp.targets.bench import network

    network.enter_namespace()
    names = ["copy", "v1model", *(["bmv2"] if shutil.which("simple_switch_grpc") else [])]
    rates: dict[str, list[float]] = {name: [] for name in names}
    for number in range(args.rounds):
        for name in names:
            say(f"round {number + 1} of {args.rounds}: {name}")
            switch = (
                network.copy_loop(args.payload)
                if name == "copy"
                else network.switch(name, program, args.payload)
            )
            with switch as packets:
                rates[name].append(network.Sender(packets).best_rate(args.seconds))
    return {
        name: {"median": statistics.median(found), "least": min(found), "most": max(found)}
        for name, found in rates.items()
    }


def _show(result: dict[str, Any], needs_root: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title="packets per second",
        caption=f"medians of {result['rounds']} rounds, {result['payload']} bytes of data",
    )
    for column in ("", "median", "least", "most", "of the copy loop"):
        table.add_column(column, justify="left" if not column else "right")
    rows = {"program alone, one core": result["inside"]}
    labels = {"copy": "veth: plain copy loop", "v1model": "veth: grasp switch", "bmv2": "veth: BMv2"}
    rows |= {labels[name]: found for name, found in (result["network"] or {}).items()}
    for label, found in rows.items():
        share = ""
        if label.startswith("veth"):
            share = f"{found['median'] / result['network']['copy']['median']:.2f}"
        table.add_row(label, *(f"{found[key]:,.0f}" for key in ("median", "least", "most")), share)
    Console().print(table)
    if needs_root:
        print("the network part needs root", file=sys.stderr)
