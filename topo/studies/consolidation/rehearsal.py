# SPDX-License-Identifier: Apache-2.0
"""A simulation's wake-ups on a real network: a link of two ends, made in a namespace of the caller's.

The dispatcher sends from one end; at the other a sleeping server's network card would listen, and frames are
read there as they come.
"""

import socket
import subprocess
from collections import Counter
from collections.abc import Sequence

from grasp import UserError
from grasp.topo.studies.consolidation.wake import wake, woken_by

_HERE, _THERE, _ADDRESS = "dispatcher", "servers", "10.78.0.1/24"
_ETH_P_ALL = 0x0003
_PATIENCE_S = 5.0


def mac_of(server: int) -> str:
    """Return a server's address; these are administered locally."""
    return f"02:00:00:00:{server >> 8:02x}:{server & 255:02x}"


def rehearse(servers: Sequence[int]) -> dict[str, int]:
    """Send a magic packet for each of the servers in turn; count those sent, and those seen.

    Only for a network namespace of one's own (`grasp.topo.isolation.enter`): the link made here stays.
    """
    for command in (
        f"link add {_HERE} type veth peer name {_THERE}",
        f"address add {_ADDRESS} dev {_HERE}",
        f"link set {_HERE} up",
        f"link set {_THERE} up",
    ):
        done = subprocess.run(["ip", *command.split()], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise UserError(f"ip {command}: {done.stderr.strip()}")
    seen: Counter[int] = Counter()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL)) as card:
        card.bind((_THERE, 0))
        card.settimeout(_PATIENCE_S)
        for server in servers:
            wake(mac_of(server), _HERE)
            if _next_woken(card) == mac_of(server):
                seen[server] += 1
    return {"sent": len(servers), "seen": seen.total(), "servers": len(seen)}


def _next_woken(card: socket.socket) -> str | None:
    """Return the address in the next magic packet, or None when none comes in time."""
    try:
        while (woken := woken_by(card.recv(2048))) is None:
            pass
    except TimeoutError:
        return None
    return woken
