# SPDX-License-Identifier: Apache-2.0
"""The os-ken application: OpenFlow 1.3 connections, whose events go to the controller.

os-ken runs a thread for each connection's reading and writing, and one for the application's handlers. They
are started from a daemon thread and so are daemons too: nothing of os-ken outlives the controller.
"""

import logging
import os
import threading
from typing import Any, ClassVar, Protocol

os.environ["OSKEN_HUB_TYPE"] = "native"  # threads of the system, not eventlet's; read when os-ken is loaded

from os_ken.base.app_manager import AppManager, OSKenApp
from os_ken.cfg import CONF
from os_ken.controller import ofp_event
from os_ken.controller.controller import Datapath
from os_ken.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.controller.ofp_handler import OFPHandler
from os_ken.lib import hub
from os_ken.ofproto import ofproto_v1_3

from grasp import UserError
from grasp.control.openflow.flows import Flow, Match
from grasp.control.openflow.messages import (
    flow_request,
    from_match,
    from_stats,
    has_more,
    is_over,
    is_refusal,
)

LOG = logging.getLogger(__name__)

_ECHO_SECONDS = 2.0
_MISSED_ECHOES = 2


class Switchboard(Protocol):
    """Who is told of switches; each is known by its datapath id and the connection that it came with."""

    def up(self, datapath: Any, found: list[Flow]) -> None:
        """A switch is connected and holds these entries."""

    def down(self, datapath: Any) -> None:
        """A switch's connection ended."""

    def packet_in(self, datapath: Any, port: int, frame: bytes) -> None:
        """A switch has no entry for a packet."""

    def removed(self, datapath: Any, match: Match, cookie: int) -> None:
        """An entry ended."""

    def refused(self, datapath: Any, number: int) -> None:
        """A switch did not take an entry of this number."""


class Southbound(OSKenApp):  # type: ignore[misc]
    """Passes on what switches say."""

    OFP_VERSIONS: ClassVar[list[int]] = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, board: Switchboard) -> None:
        super().__init__()
        self._board = board
        self._entries: dict[Any, list[Any]] = {}  # parts of the list of entries, until it is whole

    @set_ev_cls(ofp_event.EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER])  # type: ignore[untyped-decorator]
    def state_changed(self, event: Any) -> None:
        """Ask a new switch for its entries; note a lost one."""
        datapath = event.datapath
        if event.state == MAIN_DISPATCHER:
            self._entries[datapath] = []
            datapath.send_msg(flow_request(datapath))
        else:
            self._entries.pop(datapath, None)
            self._board.down(datapath)

    @set_ev_cls(ofp_event.EventOFPFlowStatsReply, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def entries_listed(self, event: Any) -> None:
        """Collect a new switch's entries; it is up when they are all there."""
        datapath = event.msg.datapath
        if datapath not in self._entries:
            return
        self._entries[datapath] += event.msg.body
        if not has_more(event.msg):
            self._board.up(datapath, from_stats(self._entries.pop(datapath)))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def packet_came(self, event: Any) -> None:
        """Pass a packet on."""
        message = event.msg
        self._board.packet_in(message.datapath, message.match["in_port"], message.data)

    @set_ev_cls(ofp_event.EventOFPFlowRemoved, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def entry_removed(self, event: Any) -> None:
        """Pass the end of an entry on, unless the controller ended it."""
        message = event.msg
        if is_over(message.reason):
            self._board.removed(message.datapath, from_match(message.match), message.cookie)

    @set_ev_cls(ofp_event.EventOFPErrorMsg, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def refused(self, event: Any) -> None:
        """Pass on that an entry was not taken."""
        message = event.msg
        if is_refusal(message.type):
            self._board.refused(message.datapath, message.xid)
        else:
            LOG.warning("switch %s: error %s, %s", message.datapath.id, message.type, message.code)


class _Handshake(OFPHandler):  # type: ignore[misc]
    """os-ken's part of the protocol (hello, features, echo), without its own way of listening."""

    def start(self) -> None:
        OSKenApp.start(self)


class _Datapath(Datapath):  # type: ignore[misc]
    """A connection whose end is noticed: os-ken's waits forever for its writing thread, which never ends."""

    def _recv_loop(self) -> None:
        try:
            super()._recv_loop()
        finally:
            self.close()
            self.send(b"")  # wakes the writing thread, which finds the connection closed and ends


def _serve_connection(socket: Any, address: Any) -> None:
    _Datapath(socket, address).serve()


def listen(endpoint: str, board: Switchboard) -> None:
    """Take switches' connections at ``address:port`` from now on, in threads of their own.

    Raises UserError when that cannot be opened.
    """
    CONF.set_override("echo_request_interval", _ECHO_SECONDS)
    CONF.set_override("maximum_unreplied_echo_requests", _MISSED_ECHOES)
    host, _, port = endpoint.rpartition(":")
    try:
        server = hub.StreamServer((host.strip("[]"), int(port)), _serve_connection)
    except OSError as error:
        raise UserError(
            f"OpenFlow switches cannot be taken at {endpoint}: {error.strerror or error};"
            " name another address in controller.openflow"
        ) from None

    def run() -> None:
        manager = AppManager.get_instance()
        # The handshake first: it is what the application's handlers are registered with.
        apps = [manager.instantiate(_Handshake), manager.instantiate(Southbound, board)]
        for app in apps:
            app.start()
        server.serve_forever()

    threading.Thread(target=run, name="openflow", daemon=True).start()
