# SPDX-License-Identifier: Apache-2.0
"""The control planes that a run can have, by name, and how the network of each is built."""

import asyncio
from typing import Protocol

from grasp.control.rules import rule_for_controller, rule_for_switches
from grasp.targets.interface import find
from grasp.topo import ovs
from grasp.topo.configuration import Files, grpc_address
from grasp.topo.emulation import Emulation, Recording
from grasp.topo.openflow import OpenFlowEmulation
from grasp.topo.topology import Topology


def check_scheduler(control: str, name: str) -> None:
    """Raise UserError if a control plane cannot run a scheduler."""
    (rule_for_controller if control == "openflow" else rule_for_switches)(name)


class Builder(Protocol):
    """Builds the network of a topology in the present world; `group` takes its watches."""

    def __call__(
        self, topology: Topology, files: Files, recording: Recording, group: asyncio.TaskGroup
    ) -> Emulation:
        """Build it."""


def builder(control: str, target: str) -> Builder:
    """Return how a network is built; UserError, saying what to do, if this machine cannot run it."""
    if control == "openflow":
        ovs.check()
        return OpenFlowEmulation
    kind = find(target)

    def build(topology: Topology, files: Files, recording: Recording, group: asyncio.TaskGroup) -> Emulation:
        return Emulation(topology, kind, files, recording, group)

    return build


def control_ports(control: str, topology: Topology) -> list[int]:
    """Return the ports at which a run's control connections are taken, by switches or by the controller."""
    if control == "openflow":
        return [int(ovs.OPENFLOW.rpartition(":")[2])]
    return [int(grpc_address(switch).rpartition(":")[2]) for switch in topology.switches]
