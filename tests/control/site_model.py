# SPDX-License-Identifier: Apache-2.0
"""What the P4 program does with operations, in a few lines: an independent truth for the core's tests."""

from dataclasses import dataclass, field

from grasp.control.wire import Operation, PacketIn, PacketOut, Reason, SiteFlag, Status


@dataclass
class SiteState:
    epoch: int = 0
    budget: int = 0
    headroom: int = 0
    flags: int = 0


@dataclass
class SwitchModel:
    """The registers of one switch, and the sites that are attached to it."""

    local: set[int] = field(default_factory=set)
    sites: dict[int, SiteState] = field(default_factory=dict)
    heard: set[int] = field(default_factory=set)

    def restart(self) -> None:
        self.sites.clear()

    def charge(self, site: int, energy: int) -> None:
        self.sites.setdefault(site, SiteState()).headroom -= energy

    def operate(self, packet: PacketOut) -> PacketIn:
        """Apply an operation and return the answer."""
        state, status = self.sites.setdefault(packet.site, SiteState()), Status.OK
        if packet.operation is not Operation.READ_SITE and packet.site not in self.local:
            status = Status.NOT_HERE
        elif packet.operation is Operation.SET_FORECAST:
            status = self._set_forecast(state, packet)
        elif packet.operation is Operation.SET_DRAIN:
            state.flags = state.flags & ~SiteFlag.DRAINED | (SiteFlag.DRAINED if packet.flags & 1 else 0)
        flags = state.flags
        flags |= SiteFlag.LOCAL if packet.site in self.local else 0
        flags |= SiteFlag.ALIVE if packet.site in self.heard else 0
        return PacketIn(
            Reason.ANSWER, status, 255, packet.site, flags, sequence=packet.sequence,
            epoch=state.epoch, budget=state.budget, headroom=state.headroom,
        )  # fmt: skip

    @staticmethod
    def _set_forecast(state: SiteState, packet: PacketOut) -> Status:
        if state.flags & SiteFlag.AUTHORITATIVE and packet.epoch < state.epoch:
            return Status.STALE
        if state.flags & SiteFlag.AUTHORITATIVE and packet.epoch == state.epoch:
            state.headroom += packet.budget - state.budget
        else:
            state.headroom = packet.budget - packet.spent
        state.epoch, state.budget = packet.epoch, packet.budget
        state.flags |= SiteFlag.KNOWN | SiteFlag.AUTHORITATIVE
        return Status.OK
