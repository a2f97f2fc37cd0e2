# SPDX-License-Identifier: Apache-2.0
"""The os-ken application: OpenFlow 1.3 connections, whose events go to the controller.

os-ken runs a thread for each connection's reading and writing, and one for the application's handlers. They
are started from a daemon thread and so are daemons too: nothing of os-ken outlives the controller.
"""

import functools
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

os.environ["OSKEN_HUB_TYPE"] = "native"  # threads of the system, not eventlet's; read when os-ken is loaded

from os_ken.base.app_manager import AppManager, OSKenApp
from os_ken.cfg import CONF
from os_ken.controller import ofp_event
from os_ken.controller.controller import Datapath
from os_ken.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.controller.ofp_handler import OFPHandler
from os_ken.lib import hub
from os_ken.ofproto import ofproto_v1_3, ofproto_v1_3_parser, ofproto_v1_4_parser, ofproto_v1_5_parser

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
_HELLO_HEADER, _ELEMENT_HEADER = 8, 4  # bytes
_MOST_WAITING = 1 << 16  # messages for a switch
_PAUSE = 1.0  # seconds until connections are taken again when the machine has no room for another


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


Handler = Callable[["Southbound", Any], None]


def hang_up(datapath: Any) -> None:
    """End a connection; its own thread notices, and says so.

    os-ken's `close` tells the application at once, and would wait for ever if that is the one that calls it.
    """
    try:
        datapath.socket.shutdown(socket.SHUT_RDWR)
    except OSError:
        LOG.debug("the connection of %s had ended already", datapath.address)


def _contained(handler: Handler) -> Handler:
    """Let what a switch says end its own connection at most: os-ken would end the application, in silence."""

    @functools.wraps(handler)
    def contained(southbound: "Southbound", event: Any) -> None:
        try:
            handler(southbound, event)
        except Exception:
            datapath = event.msg.datapath if hasattr(event, "msg") else event.datapath
            LOG.exception("switch %s: its connection is ended, for this could not be handled", datapath.id)
            hang_up(datapath)

    return contained


class Southbound(OSKenApp):  # type: ignore[misc]
    """Passes on what switches say."""

    OFP_VERSIONS: ClassVar[list[int]] = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, board: Switchboard) -> None:
        super().__init__()
        self._board = board
        self._entries: dict[Any, list[Any]] = {}  # parts of the list of entries, until it is whole

    @set_ev_cls(ofp_event.EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER])  # type: ignore[untyped-decorator]
    @_contained
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
    @_contained
    def entries_listed(self, event: Any) -> None:
        """Collect a new switch's entries; it is up when they are all there."""
        datapath = event.msg.datapath
        if datapath not in self._entries:
            return
        self._entries[datapath] += event.msg.body
        if not has_more(event.msg):
            self._board.up(datapath, from_stats(self._entries.pop(datapath)))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    @_contained
    def packet_came(self, event: Any) -> None:
        """Pass a packet on."""
        message = event.msg
        port = dict(message.match.items()).get("in_port")
        if port is not None:
            self._board.packet_in(message.datapath, port, message.data)

    @set_ev_cls(ofp_event.EventOFPFlowRemoved, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    @_contained
    def entry_removed(self, event: Any) -> None:
        """Pass the end of an entry on, unless the controller ended it."""
        message = event.msg
        matched = from_match(message.match)
        if is_over(message.reason) and matched is not None:
            self._board.removed(message.datapath, matched, message.cookie)

    @set_ev_cls(ofp_event.EventOFPErrorMsg, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    @_contained
    def refused(self, event: Any) -> None:
        """Pass on that an entry was not taken."""
        message = event.msg
        if is_refusal(message.type, bytes(message.data)) and message.xid:
            self._board.refused(message.datapath, message.xid)
        else:
            LOG.warning("switch %s: error %s, %s", message.datapath.id, message.type, message.code)


class _Handshake(OFPHandler):  # type: ignore[misc]
    """os-ken's part of the protocol (hello, features, echo), without its own way of listening."""

    def start(self) -> None:
        OSKenApp.start(self)


class _Datapath(Datapath):  # type: ignore[misc]
    """A connection whose end is noticed: os-ken's waits forever for its writing thread, which never ends.

    Nobody waits for a switch that does not read, or all others would wait too: what is for it is kept until
    its echoes are missed, some seconds and at most `_MOST_WAITING` messages. os-ken's queue is full with 16.
    """

    def __init__(self, connection: Any, address: Any) -> None:
        super().__init__(connection, address)
        self.send_q = hub.Queue(_MOST_WAITING)
        self._send_q_sem = hub.BoundedSemaphore(_MOST_WAITING)

    def _recv_loop(self) -> None:
        try:
            super()._recv_loop()
        finally:
            self.close()
            self.send(b"")  # wakes the writing thread, which finds the connection closed and ends


class _Hellos:
    """Parses hellos, but none with an element of no length: os-ken would go round there for ever."""

    def __init__(self, parse: Callable[..., Any]) -> None:
        self._parse = parse

    def __call__(
        self, datapath: Any, version: int, kind: int, length: int, number: int, message: bytes
    ) -> Any:
        """Return the message; ValueError, which os-ken logs, if it cannot be one."""
        offset = _HELLO_HEADER
        while offset < len(message):
            size = int.from_bytes(message[offset + 2 : offset + 4])
            if size < _ELEMENT_HEADER:
                raise ValueError("an element of a hello is shorter than its own header")
            offset += size
        return self._parse(datapath, version, kind, length, number, message)


def _screen_hellos() -> None:
    """Look at the hellos of all versions that have elements."""
    for version in (ofproto_v1_3_parser, ofproto_v1_4_parser, ofproto_v1_5_parser):
        parsers = version._MSG_PARSERS
        if not isinstance(parsers[ofproto_v1_3.OFPT_HELLO], _Hellos):
            parsers[ofproto_v1_3.OFPT_HELLO] = _Hellos(parsers[ofproto_v1_3.OFPT_HELLO])


def _serve_connection(connection: Any, address: Any) -> None:
    _Datapath(connection, address).serve()


def _take_connections(server: hub.StreamServer) -> None:
    """Take connections for ever, also after a time in which there was no room for one more."""
    while True:
        try:
            connection, address = server.server.accept()
        except OSError as error:
            LOG.warning("a switch's connection cannot be taken: %s", error.strerror)
            time.sleep(_PAUSE)
            continue
        try:
            hub.spawn(server.handle, connection, address)
        except RuntimeError as error:
            LOG.warning("a switch's connection cannot be served: %s", error)
            connection.close()


def listen(endpoint: str, board: Switchboard) -> None:
    """Take switches' connections at ``address:port`` from now on, in threads of their own.

    Raises UserError when that cannot be opened.
    """
    _screen_hellos()
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
        _take_connections(server)

    threading.Thread(target=run, name="openflow", daemon=True).start()
