# SPDX-License-Identifier: Apache-2.0
"""Which controller is in charge: one primary per role, the stream with the highest election id ever seen."""

from __future__ import annotations

import asyncio
import logging

from finsy.proto import U128, p4r, rpc_code, rpc_status

from .errors import failed_precondition, invalid_argument, not_found, permission_denied, resource_exhausted
from .roles import FULL_ACCESS, parse_config

_LOG = logging.getLogger(__name__)

MAX_CONTROLLERS = 64  # streams per role
MAX_WAITING = 4096  # messages for a controller that does not read; further notifications are dropped


class Controller:
    """A stream that may have introduced itself, and what waits to be sent on it (None: its end)."""

    def __init__(self) -> None:
        self.outbox: asyncio.Queue[p4r.StreamMessageResponse | None] = asyncio.Queue()
        self.gone = asyncio.Event()
        self.role: Role | None = None
        self.election_id: int | None = None

    def send(self, message: p4r.StreamMessageResponse) -> None:
        """Queue a message that the controller has to get."""
        self.outbox.put_nowait(message)

    def notify(self, message: p4r.StreamMessageResponse) -> None:
        """Queue a message unless too many wait already."""
        if self.outbox.qsize() < MAX_WAITING:
            self.outbox.put_nowait(message)

    @property
    def is_primary(self) -> bool:
        """Whether it may write and does packet I/O for its role."""
        return self.role is not None and self.role.primary is self


class Role:
    """The controllers of one role, and what that role may do."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.message = p4r.Role()  # as the last primary sent it
        self.access = FULL_ACCESS
        self.highest: int | None = None
        self.controllers: list[Controller] = []
        self.primary: Controller | None = None

    def holder(self, election_id: int | None) -> Controller | None:
        """The live controller that uses an election id."""
        if election_id is None:
            return None
        return next((one for one in self.controllers if one.election_id == election_id), None)


class Arbitration:
    """Applies the rules for MasterArbitrationUpdate messages on one device."""

    def __init__(self, device_id: int) -> None:
        self.device_id = device_id
        self.roles = {"": Role("")}  # a role stays known, with its highest election id, when all have left

    def update(self, controller: Controller, message: p4r.MasterArbitrationUpdate) -> None:
        """Take in a message; a P4RuntimeError ends the controller's stream."""
        role = self._check(controller, message)
        access = parse_config(message.role)
        election_id = _election_id(message)
        if self.holder(controller, message) is not None:
            raise invalid_argument(f"election id {election_id} is used by another controller")
        if controller.role is None:
            if len(role.controllers) >= MAX_CONTROLLERS:
                raise resource_exhausted(f"role '{role.name}' has {MAX_CONTROLLERS} controllers already")
            role.controllers.append(controller)
            controller.role = role
        self.roles[role.name] = role
        controller.election_id = election_id
        if election_id is not None and election_id >= (role.highest or 0):
            role.highest, role.primary = election_id, controller
            role.message, role.access = message.role, access
            self._notify_all(role)
        elif role.primary is controller:
            role.primary = None
            self._notify_all(role)
        else:
            self._notify(role, controller)

    def holder(self, controller: Controller, message: p4r.MasterArbitrationUpdate) -> Controller | None:
        """Another live controller of the same role that has the message's election id."""
        role = self.roles.get(message.role.name)
        holder = None if role is None else role.holder(_election_id(message))
        return None if holder is controller else holder

    def _check(self, controller: Controller, message: p4r.MasterArbitrationUpdate) -> Role:
        """The role the message is about, if the stream may speak for it."""
        if controller.role is None:
            if message.device_id != self.device_id:
                raise not_found(f"no device {message.device_id} here, only {self.device_id}")
            return self.roles.get(message.role.name) or Role(message.role.name)
        if message.device_id != self.device_id:
            raise failed_precondition(f"this stream is for device {self.device_id}, not {message.device_id}")
        if message.role.name != controller.role.name:
            raise failed_precondition(
                f"this stream has role '{controller.role.name}': open another to change it"
            )
        return controller.role

    def leave(self, controller: Controller) -> None:
        """Forget a controller whose stream has ended."""
        role = controller.role
        if role is None:
            return
        role.controllers.remove(controller)
        controller.role = None
        controller.gone.set()
        if role.primary is controller:
            role.primary = None
            self._notify_all(role)

    def authorize(self, device_id: int, role_name: str, election_id: p4r.Uint128 | None) -> Role:
        """The role on whose behalf a primary makes a request; refuses everyone else."""
        role = self.find_role(device_id, role_name)
        primary = role.primary
        if primary is None or election_id is None or U128.decode(election_id) != primary.election_id:
            raise permission_denied(f"not the primary controller of role '{role_name}'")
        return role

    def find_role(self, device_id: int, role_name: str) -> Role:
        """A role of this device that a controller has had."""
        self.check_device(device_id)
        role = self.roles.get(role_name)
        if role is None:
            raise not_found(f"device {device_id} has no role '{role_name}'")
        return role

    def check_device(self, device_id: int) -> None:
        """Refuse a request for another device."""
        if device_id != self.device_id:
            raise not_found(f"no device {device_id} here, only {self.device_id}")

    def primaries(self) -> list[Controller]:
        """The primary controller of each role that has one."""
        return [role.primary for role in self.roles.values() if role.primary is not None]

    def _notify_all(self, role: Role) -> None:
        """Tell every controller of a role, the primary last: it may act as soon as it knows."""
        number = None if role.primary is None else role.primary.election_id
        _LOG.info("role '%s': election id of the primary of %d: %s", role.name, len(role.controllers), number)
        for controller in sorted(role.controllers, key=lambda one: one is role.primary):
            self._notify(role, controller)

    def _notify(self, role: Role, controller: Controller) -> None:
        if controller is role.primary:
            status = rpc_status.Status(code=rpc_code.OK, message="you are the primary controller")
        elif role.primary is not None:
            status = rpc_status.Status(code=rpc_code.ALREADY_EXISTS, message="another controller is primary")
        else:
            status = rpc_status.Status(code=rpc_code.NOT_FOUND, message="there is no primary controller")
        update = p4r.MasterArbitrationUpdate(device_id=self.device_id, status=status)
        if role.name or role.message.HasField("config"):
            update.role.CopyFrom(role.message)
            update.role.name = role.name
        if role.highest is not None:
            update.election_id.CopyFrom(U128.encode(role.highest))
        controller.send(p4r.StreamMessageResponse(arbitration=update))


def _election_id(message: p4r.MasterArbitrationUpdate) -> int | None:
    """None if unset, which is lower than any number, 0 included."""
    return U128.decode(message.election_id) if message.HasField("election_id") else None
