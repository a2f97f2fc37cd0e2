# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch as a run has it: one database and one switch daemon of its own, in a folder of its own.

The machine's own Open vSwitch, if it runs one, is neither used nor seen. One daemon holds all bridges,
because the kernel's datapath, where the kernel has it, is one for each network namespace.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grasp import UserError

OPENFLOW = "127.0.0.1:6653"
"""Where the controller of a run takes its switches."""

_PROGRAMS = ("ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl")
_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
_KERNEL_MODULE = Path("/sys/module/openvswitch")
_RETRY_MS = 1000  # the shortest pause between attempts to connect that Open vSwitch allows


def check() -> None:
    """Raise UserError, saying what to do, if this machine has no Open vSwitch."""
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if not _SCHEMA.is_file():
        missing.append(str(_SCHEMA))
    if missing:
        raise UserError(
            f"Open vSwitch, which the OpenFlow baseline needs, is not installed ({missing[0]} is missing);"
            " on Debian: apt-get install openvswitch-switch"
        )


def datapath_type() -> str:
    """Return "system" if the kernel has Open vSwitch's datapath, else "netdev", the one in user space."""
    return "system" if _KERNEL_MODULE.exists() else "netdev"


@dataclass(frozen=True)
class Daemons:
    """The command lines of a run's own Open vSwitch, which keeps all its files in `folder`."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """What Open vSwitch's programs take their folders from."""
        return dict.fromkeys(("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"), str(self.folder))

    @property
    def socket(self) -> Path:
        """Where the database is asked; there when its server is ready."""
        return self.folder / "db.sock"

    def create(self) -> list[str]:
        """Command that makes the database."""
        return ["ovsdb-tool", "create", str(self.folder / "conf.db"), str(_SCHEMA)]

    def database(self) -> list[str]:
        """Command of the database's server."""
        remote = f"--remote=punix:{self.socket}"
        return ["ovsdb-server", str(self.folder / "conf.db"), remote, *self._control("ovsdb")]

    def switch(self) -> list[str]:
        """Command of the switch daemon."""
        return ["ovs-vswitchd", f"unix:{self.socket}", *self._control("vswitchd")]

    def initialise(self) -> list[str]:
        """Command that fills the new database, before the switch daemon runs."""
        return self._vsctl("--no-wait", "init")

    def bridge(self, name: str, number: int, ports: Mapping[int, str]) -> list[str]:
        """Command that makes a bridge, which moves no packet without an entry of the controller's."""
        words = [
            *("add-br", name, "--", "set", "Bridge", name, f"datapath_type={datapath_type()}"),
            *("fail_mode=secure", "protocols=OpenFlow13", f"other_config:datapath-id={number:016x}"),
            "other_config:disable-in-band=true",
        ]
        for port, interface in ports.items():
            words += ["--", "add-port", name, interface]
            words += ["--", "set", "Interface", interface, f"ofport_request={port}"]
        words += ["--", "set-controller", name, f"tcp:{OPENFLOW}"]
        words += ["--", "set", "Controller", name, f"max_backoff={_RETRY_MS}"]
        return self._vsctl(*words)

    def _vsctl(self, *words: str) -> list[str]:
        return ["ovs-vsctl", f"--db=unix:{self.socket}", "--timeout=30", *words]

    def _control(self, name: str) -> list[str]:
        return [f"--unixctl={self.folder / name}.ctl", "--verbose=console:warn", "--verbose=syslog:off"]
