# SPDX-License-Identifier: Apache-2.0
"""What a request is refused with: a canonical code and a message, per request or per update of a batch."""

from collections.abc import Sequence
from functools import partial

from finsy.proto import p4r, rpc_code, rpc_status

SPACE = "v1model-grasp"  # error space of p4.v1.Error; the numeric codes in it are unused
DETAILS_KEY = "grpc-status-details-bin"  # trailing metadata that carries google.rpc.Status


class P4RuntimeError(Exception):
    """A refusal; `code` is a google.rpc.Code number, the text is for the controller's developer."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def to_proto(self) -> p4r.Error:
        """As one element of a batch's error details."""
        return p4r.Error(canonical_code=self.code, message=self.message, space=SPACE)


invalid_argument = partial(P4RuntimeError, rpc_code.INVALID_ARGUMENT)
not_found = partial(P4RuntimeError, rpc_code.NOT_FOUND)
already_exists = partial(P4RuntimeError, rpc_code.ALREADY_EXISTS)
permission_denied = partial(P4RuntimeError, rpc_code.PERMISSION_DENIED)
resource_exhausted = partial(P4RuntimeError, rpc_code.RESOURCE_EXHAUSTED)
failed_precondition = partial(P4RuntimeError, rpc_code.FAILED_PRECONDITION)
out_of_range = partial(P4RuntimeError, rpc_code.OUT_OF_RANGE)
unimplemented = partial(P4RuntimeError, rpc_code.UNIMPLEMENTED)


class BatchError(Exception):
    """Some elements of a batch were refused; one outcome per update, or per entity asked for, in order."""

    def __init__(self, outcomes: Sequence[P4RuntimeError | None]) -> None:
        refused = [outcome for outcome in outcomes if outcome is not None]
        super().__init__(f"{len(refused)} of {len(outcomes)} refused, the first: {refused[0].message}")
        self.outcomes = outcomes

    def to_proto(self) -> rpc_status.Status:
        """The google.rpc.Status whose details say how each element fared."""
        status = rpc_status.Status(code=rpc_code.UNKNOWN, message=str(self))
        for outcome in self.outcomes:
            error = p4r.Error(canonical_code=rpc_code.OK) if outcome is None else outcome.to_proto()
            status.details.add().Pack(error)
        return status
