# SPDX-License-Identifier: Apache-2.0
"""Commands and entries as OpenFlow 1.3 messages, and back, in the classes of os-ken."""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address
from typing import Any

from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from grasp.control.openflow.commands import Add, Delete, Transmit
from grasp.control.openflow.flows import CONTROLLER, Action, Flow, Match, Move, Output, Set, match

_ETHERNET_FIELDS = frozenset({"eth_src", "eth_dst", "arp_sha", "arp_tha"})
# Of tcp_flags (an extension of OpenFlow 1.3; in 1.5 a field like others) SYN and ACK are matched.
_MATCHED_FLAGS = 0x12
_PARTS_REFUSED = (ofp.OFPET_BAD_ACTION, ofp.OFPET_BAD_INSTRUCTION, ofp.OFPET_BAD_MATCH)
_MOVED_BITS = {"eth_src": 48, "arp_sha": 48, "arp_spa": 32}


def to_message(datapath: Any, command: Add | Delete | Transmit) -> Any:
    """Return the message of a command. A flow entry's transaction id is its connection's number."""
    if isinstance(command, Transmit):
        return parser.OFPPacketOut(
            datapath,
            buffer_id=ofp.OFP_NO_BUFFER,
            in_port=command.in_port or ofp.OFPP_CONTROLLER,
            actions=_to_actions(command.actions),
            data=command.frame,
        )
    flow = command.flow
    message = parser.OFPFlowMod(
        datapath,
        cookie=flow.cookie,
        command=ofp.OFPFC_ADD if isinstance(command, Add) else ofp.OFPFC_DELETE_STRICT,
        idle_timeout=flow.idle_timeout,
        priority=flow.priority,
        buffer_id=ofp.OFP_NO_BUFFER,
        out_port=ofp.OFPP_ANY,
        out_group=ofp.OFPG_ANY,
        flags=ofp.OFPFF_SEND_FLOW_REM if flow.notify else 0,
        match=_to_match(flow.match),
        instructions=[parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, _to_actions(flow.actions))],
    )
    message.set_xid(command.number if isinstance(command, Add) else 0)
    return message


def from_stats(stats: Iterable[Any]) -> list[Flow]:
    """Return the entries that a switch listed, without those whose matches are never asked for."""
    return [
        Flow(
            priority=entry.priority,
            match=matched,
            actions=tuple(
                _from_action(action)
                for part in entry.instructions
                for action in getattr(part, "actions", (part,))
            ),
            cookie=entry.cookie,
            idle_timeout=entry.idle_timeout,
            notify=bool(entry.flags & ofp.OFPFF_SEND_FLOW_REM),
        )
        for entry in stats
        if (matched := from_match(entry.match)) is not None
    ]


def from_match(found: Any) -> Match | None:
    """Return a match as the switch told it; None for one that is never asked for, as with masks."""
    fields = dict(found.items())
    flags = fields.get("tcp_flags")
    if isinstance(flags, tuple) and flags[1] == _MATCHED_FLAGS:
        fields["tcp_flags"] = flags[0]
    try:
        return match(**{name: _to_number(value) for name, value in fields.items()})
    except ValueError:
        return None


def is_over(reason: int) -> bool:
    """Whether an entry's removal ends its connection: not when the controller itself removed it."""
    return bool(reason != ofp.OFPRR_DELETE)


def is_refusal(kind: int, request: bytes) -> bool:
    """Whether an error is a switch's word that it does not take an entry; `request` is what it is about."""
    about_entry = request[1:2] == bytes([ofp.OFPT_FLOW_MOD])
    return kind == ofp.OFPET_FLOW_MOD_FAILED or (kind in _PARTS_REFUSED and about_entry)


def flow_request(datapath: Any) -> Any:
    """Return the question for all entries."""
    return parser.OFPFlowStatsRequest(datapath)


def has_more(reply: Any) -> bool:
    """Whether further parts of a reply follow."""
    return bool(reply.flags & ofp.OFPMPF_REPLY_MORE)


def _to_match(wanted: Match) -> Any:
    fields: dict[str, Any] = {name: _to_value(name, value) for name, value in wanted}
    if "tcp_flags" in fields:
        fields["tcp_flags"] = fields["tcp_flags"], _MATCHED_FLAGS
    return parser.OFPMatch(**fields)


@lru_cache(maxsize=4096)
def _to_actions(actions: tuple[Action, ...]) -> list[Any]:
    """Return actions in os-ken's classes; the same few, of clients and sites, come again and again."""
    result = []
    for action in actions:
        match action:
            case Set(field, value):
                result.append(parser.OFPActionSetField(**{field: _to_value(field, value)}))
            case Move(source, destination):
                result.append(
                    parser.NXActionRegMove(
                        src_field=source, dst_field=destination, n_bits=_MOVED_BITS[source]
                    )
                )
            case Output(port):
                # A packet for the controller goes there whole: no switch keeps what was cut off.
                length = ofp.OFPCML_NO_BUFFER if port == CONTROLLER else 0
                result.append(parser.OFPActionOutput(port, length))
    return result


def _from_action(action: Any) -> Action:
    if isinstance(action, parser.OFPActionSetField) and isinstance(action.value, int | str):
        return Set(action.key, _to_number(action.value))
    if isinstance(action, parser.NXActionRegMove):
        return Move(action.src_field, action.dst_field)
    # Actions that are never asked for make an entry differ from the wanted one, and so they are replaced.
    return Output(getattr(action, "port", 0))


def _to_value(name: str, value: int) -> int | str:
    """Return a field's value as os-ken takes it."""
    return value.to_bytes(6).hex(":") if name in _ETHERNET_FIELDS else value


def _to_number(value: Any) -> int:
    """Return a field's value as os-ken gives it, as a number; raises ValueError if it is none."""
    if isinstance(value, int):
        return value
    if not isinstance(value, str):
        raise ValueError("a value with a mask")
    return int(value.replace(":", ""), 16) if value.count(":") == 5 else int(IPv4Address(value))
