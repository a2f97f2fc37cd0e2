# SPDX-License-Identifier: Apache-2.0
"""What the controller must still know when it starts again: one SQLite file, held by one controller.

Whatever a site or switch was told is settled is on the disk before it is told (write-ahead log, synchronous
FULL), so `kill -9` and a power cut lose nothing of it. Session keys are not stored: they follow from the
enrolment secret and the nonces that are.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grasp import UserError
from grasp.control.forecasts import Forecast, Headroom
from grasp.control.registry import Session
from grasp.control.state import PINNED, Entry
from grasp.control.topology import Link, Port

APPLICATION_ID = 0x47525350
"""SQLite's mark of whose file it is: "GRSP"."""
VERSION = 1
"""Of the schema; a file of another version is refused."""

_SCHEMA = """
CREATE TABLE sessions (
    site INTEGER PRIMARY KEY, name TEXT NOT NULL, switch TEXT NOT NULL, port INTEGER NOT NULL,
    agent_nonce BLOB NOT NULL, controller_nonce BLOB NOT NULL,
    registered INTEGER NOT NULL, sequence INTEGER NOT NULL) STRICT;
CREATE TABLE forecasts (
    site INTEGER NOT NULL, epoch INTEGER NOT NULL, energy_wh REAL NOT NULL,
    PRIMARY KEY (site, epoch)) STRICT;
CREATE TABLE headrooms (
    site INTEGER PRIMARY KEY, epoch INTEGER NOT NULL,
    budget INTEGER NOT NULL, headroom INTEGER NOT NULL) STRICT;
CREATE TABLE drained (site INTEGER PRIMARY KEY) STRICT;
CREATE TABLE pins (
    switch TEXT NOT NULL, service INTEGER NOT NULL, client INTEGER NOT NULL, port INTEGER NOT NULL,
    site INTEGER NOT NULL, idle_timeout_us INTEGER NOT NULL,
    PRIMARY KEY (switch, service, client, port)) STRICT;
CREATE TABLE links (
    a_switch TEXT NOT NULL, a_port INTEGER NOT NULL, b_switch TEXT NOT NULL, b_port INTEGER NOT NULL,
    PRIMARY KEY (a_switch, a_port)) STRICT;
"""


@dataclass(frozen=True, slots=True)
class Saved:
    """All that a store holds."""

    sessions: tuple[Session, ...]
    forecasts: tuple[Forecast, ...]
    headrooms: tuple[Headroom, ...]
    drained: tuple[int, ...]
    pins: tuple[tuple[str, Entry], ...]
    links: tuple[Link, ...]


class Store:
    """An open store; made when the file is missing. Raises UserError for a file that cannot be used.

    Every method that saves returns when its change is on the disk.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            # Its nonces lead to session keys, together with a secret: nobody else needs to read them.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            # Threads take turns where a driver has several; who calls the core, holds that driver's lock.
            self._db = sqlite3.connect(path, isolation_level=None, timeout=0.5, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise UserError(f"{path}: cannot open the controller's store: {error}") from None
        with self._errors():
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def close(self) -> None:
        """Close the file; nothing is lost without it."""
        self._db.close()

    def load(self) -> Saved:
        """Return everything."""
        with self._errors():
            return Saved(
                sessions=tuple(_session(*row) for row in self._rows("sessions")),
                forecasts=tuple(Forecast(*row) for row in self._rows("forecasts")),
                headrooms=tuple(Headroom(*row) for row in self._rows("headrooms")),
                drained=tuple(site for (site,) in self._rows("drained")),
                pins=tuple(
                    (switch, Entry(PINNED, (service, client, port), "pin", (site,), idle))
                    for switch, service, client, port, site, idle in self._rows("pins")
                ),
                links=tuple(Link(Port(*row[:2]), Port(*row[2:])) for row in self._rows("links")),
            )

    def save_session(self, session: Session) -> None:
        """Save a registration."""
        with self._transaction():
            self._put_session(session)

    def save_report(self, session: Session, forecast: Forecast, oldest: int) -> None:
        """Save an accepted report, with the session whose sequence it raised; drop epochs before `oldest`."""
        with self._transaction():
            self._put_session(session)
            self._db.execute("DELETE FROM forecasts WHERE site = ? AND epoch < ?", (forecast.site, oldest))
            self._db.execute(
                "REPLACE INTO forecasts VALUES (?, ?, ?)", (forecast.site, forecast.epoch, forecast.energy_wh)
            )

    def save_headrooms(self, headrooms: Iterable[Headroom]) -> None:
        """Save what the switches said of their sites."""
        with self._transaction():
            self._db.executemany(
                "REPLACE INTO headrooms VALUES (?, ?, ?, ?)",
                [(item.site, item.epoch, item.budget, item.headroom) for item in headrooms],
            )

    def save_drain(self, site: int, drained: bool) -> None:
        """Save whether a site is out of selection."""
        statement = "REPLACE INTO drained VALUES (?)" if drained else "DELETE FROM drained WHERE site = ?"
        with self._transaction():
            self._db.execute(statement, (site,))

    def save_pin(self, switch: str, entry: Entry) -> None:
        """Save a pinned connection."""
        with self._transaction():
            values = (switch, *entry.match, *entry.params, entry.idle_timeout_us)
            self._db.execute("REPLACE INTO pins VALUES (?, ?, ?, ?, ?, ?)", values)

    def drop_pin(self, switch: str, entry: Entry) -> None:
        """Forget a pinned connection."""
        with self._transaction():
            self._db.execute(
                "DELETE FROM pins WHERE switch = ? AND service = ? AND client = ? AND port = ?",
                (switch, *entry.match),
            )

    def save_links(self, links: Iterable[Link]) -> None:
        """Save the links; those not among them are forgotten."""
        with self._transaction():
            self._db.execute("DELETE FROM links")
            self._db.executemany("INSERT INTO links VALUES (?, ?, ?, ?)", [(*a, *b) for a, b in links])

    def _prepare(self) -> None:
        """Take the file for this process alone, and check or make its schema."""
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("BEGIN IMMEDIATE")
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        (objects,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if objects == 0:
            for statement in _SCHEMA.split(";"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._db.execute(f"PRAGMA user_version = {VERSION}")
        elif application != APPLICATION_ID:
            raise UserError(
                f"{self._path}: is not a controller's store; name another file in controller.store"
            )
        elif version != VERSION:
            raise UserError(
                f"{self._path}: has schema version {version}, this program knows {VERSION};"
                " use the program that wrote it, or move the file away"
            )
        else:
            faults = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
            if faults != "ok":
                raise sqlite3.DatabaseError(faults)
        self._db.execute("COMMIT")

    def _rows(self, table: str) -> list[tuple[Any, ...]]:
        return self._db.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()

    def _put_session(self, session: Session) -> None:
        self._db.execute(
            "REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                session.site,
                session.name,
                *session.at,
                session.agent_nonce,
                session.controller_nonce,
                session.registered,
                session.sequence,
            ),
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn SQLite's errors into what a person can act upon."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise UserError(f"{self._path}: another controller is using this store") from None
            raise UserError(f"{self._path}: the controller's store cannot be used: {error}") from None
        except sqlite3.DatabaseError as error:
            detail = " ".join(str(error).split())
            raise UserError(f"{self._path}: is damaged ({detail}); move it away to start anew") from None


def _session(
    site: int,
    name: str,
    switch: str,
    port: int,
    agent: bytes,
    controller: bytes,
    registered: int,
    sequence: int,
) -> Session:
    return Session(site, name, Port(switch, port), agent, controller, registered, sequence)
