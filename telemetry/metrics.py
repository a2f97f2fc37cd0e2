# SPDX-License-Identifier: Apache-2.0
"""What a site measures about itself."""

from pathlib import Path

SNMP = Path("/proc/self/net/snmp")


def accepted_connections(snmp: Path = SNMP) -> int:
    """Return the number of TCP connections accepted in this network namespace since it exists.

    The kernel counts them as PassiveOpens (RFC 4022), so no server has to report its jobs. Raises OSError
    where there is no such file, ValueError where it has no such count.
    """
    rows = [line.split() for line in snmp.read_text(encoding="ascii").splitlines() if line.startswith("Tcp:")]
    if len(rows) != 2 or "PassiveOpens" not in rows[0]:
        raise ValueError(f"{snmp} has no count of accepted connections")
    return int(rows[1][rows[0].index("PassiveOpens")])


class Load:
    """Jobs that the site begins per second: TCP connections accepted since the last look at them."""

    def __init__(self, now_us: int, snmp: Path = SNMP) -> None:
        self._snmp = snmp
        self._before = (now_us, accepted_connections(snmp))
        self._rate = 0.0

    def per_second(self, now_us: int) -> float:
        """Return the rate since the last call; `now_us` is a monotonic time in microseconds."""
        then, before = self._before
        if now_us > then:
            count = accepted_connections(self._snmp)
            self._rate = (count - before) % 2**32 * 1e6 / (now_us - then)
            self._before = (now_us, count)
        return self._rate
