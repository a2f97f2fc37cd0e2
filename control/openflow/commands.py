# SPDX-License-Identifier: Apache-2.0
"""What the baseline wants of the switches, as plain values; `messages` turns them into the protocol's."""

from dataclasses import dataclass

from grasp.control.core import Event
from grasp.control.openflow.flows import Action, Flow


@dataclass(frozen=True, slots=True)
class Add:
    """Insert an entry, or replace the one with its match; `number` is its connection's, 0 for none."""

    switch: str
    flow: Flow
    number: int = 0


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove an entry."""

    switch: str
    flow: Flow


@dataclass(frozen=True, slots=True)
class Transmit:
    """Let a switch apply actions to a frame, as if it had come in at a port."""

    switch: str
    in_port: int
    actions: tuple[Action, ...]
    frame: bytes


Command = Add | Delete | Transmit | Event
