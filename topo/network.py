# SPDX-License-Identifier: Apache-2.0
"""A topology made real with Mininet, inside the world that `isolation.enter` made. Mininet is seen here only.

Hosts are namespaces with a route to the gateway; a program runs in one of them behind `Network.inside`.
Switch nodes are processes in the world's root namespace, started by whoever owns the network.
"""

from typing import Any

from mininet.link import Link
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import Node
from mininet.node import Switch as MininetSwitch

from grasp import UserError
from grasp.topo.topology import GATEWAY, Host, Topology, Trunk

# A veth that sums nothing and cuts nothing: switches in user space see frames as they would be on a wire.
# With these left on, TCP fails while ping works.
_OFFLOADS_OFF = "tx off rx off sg off tso off gso off gro off"


class _Station(Node):  # type: ignore[misc]
    """A host configured in one go: Mininet's own way takes a dozen commands."""

    def config(self, ip: str, **_parameters: Any) -> dict[str, str]:
        name = self.defaultIntf().name
        _expect_silence(
            self,
            f"echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6; ip link set lo up; "
            f"ethtool -K {name} {_OFFLOADS_OFF} > /dev/null; ip link set {name} up; "
            f"ip address add {ip}/32 dev {name}; ip route add default via {GATEWAY} dev {name} onlink",
        )
        return {}


class _Bridgehead(MininetSwitch):  # type: ignore[misc]
    """A switch node as far as Mininet is concerned: interfaces without addresses."""

    def start(self, _controllers: list[object]) -> None:
        for interface in self.intfList():
            if interface.name != "lo":
                _expect_silence(self, f"ethtool -K {interface.name} {_OFFLOADS_OFF} > /dev/null")


class _Emulation(Mininet):  # type: ignore[misc]
    """Mininet that leaves the machine's limits and kernel settings as they are."""

    @classmethod
    def init(cls) -> None:
        Mininet.inited = True


def _expect_silence(node: Node, command: str) -> None:
    output = node.cmd(command).strip()
    if output:
        raise UserError(f"{node.name}: {output.splitlines()[0]}")


class Network:
    """The emulated network of a topology, from construction to `stop`."""

    def __init__(self, topology: Topology) -> None:
        Mininet.init = _Emulation.init  # its constructor calls it by this name
        setLogLevel("critical")
        self.topology = topology
        self._emulation = _Emulation(host=_Station, switch=_Bridgehead, controller=None, build=False)
        nodes = {
            switch.node: self._emulation.addSwitch(switch.node, dpid=f"{switch.number:x}")
            for switch in topology.switches
        }
        for host in topology.hosts:
            nodes[host.node] = self._emulation.addHost(host.node, ip=host.address)
            self._join(nodes[host.switch.node], host.port, nodes[host.node], 0, addr2=host.mac)
        for trunk in topology.trunks:
            (one, port), (other, other_port) = trunk.ends
            self._join(nodes[one.node], port, nodes[other.node], other_port)
        self._emulation.build()
        self._emulation.start()

    def _join(self, one: Node, port: int, other: Node, other_port: int, **addresses: str) -> None:
        self._emulation.addLink(one, other, port1=port, port2=other_port, cls=Link, **addresses)

    def inside(self, host: Host) -> list[str]:
        """Command prefix that runs a program in a host's network namespace."""
        return ["mnexec", "-a", str(self._emulation[host.node].pid)]

    def run(self, host: Host, command: str) -> str:
        """Run a shell command on a host and return what it printed."""
        return str(self._emulation[host.node].cmd(command))

    def cut(self, trunk: Trunk) -> None:
        """Let a trunk carry nothing more, in neither direction.

        Its interfaces stay up, so that the switches must notice by themselves. (Once an interface was taken
        down, simple_switch_grpc hears nothing more at any of its others.)
        """
        self._on_both_ends(trunk, "tc qdisc replace dev {} root blackhole")

    def mend(self, trunk: Trunk) -> None:
        """Let a trunk carry frames again."""
        self._on_both_ends(trunk, "tc qdisc delete dev {} root")

    def _on_both_ends(self, trunk: Trunk, command: str) -> None:
        for switch, port in trunk.ends:
            _expect_silence(self._emulation[switch.node], command.format(switch.interface(port)))

    def stop(self) -> None:
        """Take the network down."""
        self._emulation.stop()
