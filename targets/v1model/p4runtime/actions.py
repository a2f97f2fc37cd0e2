# SPDX-License-Identifier: Apache-2.0
"""Actions: from Action messages to the engine's calls, and back in canonical form."""

from finsy.proto import p4r

from grasp.targets.v1model.objects import Call

from . import bytestrings
from .errors import invalid_argument
from .p4info import Index, lookup


def decode(action: p4r.Action, index: Index) -> Call:
    """The call that a message describes; it has every parameter once and no other."""
    known = lookup(index.actions, action.action_id, "action")
    name, given = known.preamble.name, {param.param_id: param.value for param in action.params}
    if len(given) != len(action.params) or given.keys() != {param.id for param in known.params}:
        wanted = ", ".join(str(param.id) for param in known.params) or "none"
        got = ", ".join(str(param.param_id) for param in action.params) or "none"
        raise invalid_argument(f"action {name}: wants the parameters {wanted}, got {got}")
    args = (
        bytestrings.decode(given[param.id], param.bitwidth, f"action {name}: {param.name}")
        for param in known.params
    )
    return Call(name, tuple(args))


def encode(call: Call, index: Index) -> p4r.Action | None:
    """The canonical message of a call; None if the P4Info does not show the action."""
    known = index.actions_by_name.get(call.action)
    if known is None:
        return None
    message = p4r.Action(action_id=known.preamble.id)
    for param, value in zip(known.params, call.args, strict=True):
        message.params.add(param_id=param.id, value=bytestrings.encode(value))
    return message


def canonical(action: p4r.Action, index: Index) -> p4r.Action:
    """A valid message with its parameters in the P4Info's order and the shortest byte strings."""
    message = encode(decode(action, index), index)
    assert message is not None  # decode has found it
    return message


def allowed(action: p4r.Action, owner: str, actions: frozenset[int]) -> None:
    """Refuse an action that a table or action profile does not have."""
    if action.action_id not in actions:
        raise invalid_argument(f"{owner} has no action {action.action_id:#010x}")
