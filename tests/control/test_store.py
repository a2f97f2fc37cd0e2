# SPDX-License-Identifier: Apache-2.0
import signal
import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample import RING

from grasp import UserError
from grasp.control.forecasts import Forecast, Headroom
from grasp.control.registry import Session
from grasp.control.state import Entry
from grasp.control.store import VERSION, Saved, Store
from grasp.control.topology import Port

SESSION = Session(1, "homestead", Port("florida", 4), b"a" * 16, b"c" * 16, 1_900_000_000_000_000, 7)
PIN = Entry("pinned", (1, 0x0A000115, 40_000), "pin", (2,), 300_000_000)
EMPTY = Saved((), (), (), (), (), ())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "controller.sqlite"


def reopened(path):
    """What another process would find."""
    store = Store(path)
    saved = store.load()
    store.close()
    return saved


def test_a_new_store_is_empty_and_private(path):
    assert reopened(path) == EMPTY
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_everything_comes_back(path):
    store = Store(path)
    store.save_session(SESSION)
    store.save_report(replace(SESSION, sequence=8), Forecast(1, 5, 12.345), oldest=5)
    store.save_headrooms([Headroom(1, 5, 12_345, -2), Headroom(2, 5, 2**46 - 1, -(2**47))])
    store.save_drain(3, True)
    store.save_pin("florida", PIN)
    store.save_pin("california", PIN)
    store.save_links(RING)
    store.close()
    saved = reopened(path)
    assert saved == Saved(
        sessions=(replace(SESSION, sequence=8),),
        forecasts=(Forecast(1, 5, 12.345),),
        headrooms=(Headroom(1, 5, 12_345, -2), Headroom(2, 5, 2**46 - 1, -(2**47))),
        drained=(3,),
        pins=(("california", PIN), ("florida", PIN)),
        links=saved.links,
    )
    assert set(saved.links) == set(RING)


def test_what_ends_is_forgotten(path):
    store = Store(path)
    store.save_pin("florida", PIN)
    store.save_pin("california", PIN)
    store.drop_pin("florida", PIN)
    store.save_drain(3, True)
    store.save_drain(3, False)
    store.save_links(RING)
    store.save_links(RING[:1])
    for epoch in (5, 6, 7):
        store.save_report(SESSION, Forecast(1, epoch, 1.0), oldest=epoch - 1)
    store.save_report(SESSION, Forecast(1, 7, 2.0), oldest=6)
    store.close()
    saved = reopened(path)
    assert saved.pins == (("california", PIN),)
    assert saved.drained == ()
    assert saved.links == RING[:1]
    assert saved.forecasts == (Forecast(1, 6, 1.0), Forecast(1, 7, 2.0))


@given(st.binary(min_size=16, max_size=16), st.integers(0, 2**32 - 1), st.integers(0, 2**63 - 1))
def test_any_session_comes_back(tmp_path_factory, nonce, sequence, time):
    path = tmp_path_factory.mktemp("store") / "store"
    session = replace(SESSION, agent_nonce=nonce, sequence=sequence, registered=time)
    store = Store(path)
    store.save_session(session)
    store.close()
    assert reopened(path).sessions == (session,)


KILLED = """
import sys
from pathlib import Path
from grasp.control.forecasts import Forecast
from grasp.control.registry import Session
from grasp.control.store import Store
from grasp.control.topology import Port

store = Store(Path(sys.argv[1]))
number = 0
while True:
    number += 1
    session = Session(1, "homestead", Port("florida", 4), bytes(16), bytes(16), 1, number)
    store.save_report(session, Forecast(1, number, number / 2), oldest=number)
    print(number, flush=True)
"""


def test_what_was_acknowledged_outlives_kill_9(path):
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            if int(line) == 20:
                process.send_signal(signal.SIGKILL)
                break
        acknowledged = [20, *map(int, process.stdout.read().split())]
    saved = reopened(path)
    number = saved.sessions[0].sequence
    assert number >= acknowledged[-1]
    assert saved.forecasts == (Forecast(1, number, number / 2),), "one transaction, so both or neither"


def test_two_controllers_do_not_share_a_store(path):
    first = Store(path)
    with pytest.raises(UserError, match=f"{path}: another controller is using this store"):
        Store(path)
    first.close()
    assert reopened(path) == EMPTY


def test_a_newer_store_is_refused(path):
    Store(path).close()
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version = {VERSION + 1}")
    database.close()
    with pytest.raises(
        UserError, match=f"{path}: has schema version {VERSION + 1}, this program knows {VERSION}"
    ):
        Store(path)


def test_another_programs_database_is_refused_and_left_alone(path):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE precious (value)")
    database.close()
    with pytest.raises(UserError, match=f"{path}: is not a controller's store"):
        Store(path)
    assert sqlite3.connect(path).execute("SELECT count(*) FROM precious").fetchone() == (0,)


@pytest.mark.parametrize("damage", ["no database", "torn page", "cut"])
def test_a_damaged_store_is_named(path, damage):
    store = Store(path)
    for number in range(200):
        store.save_session(replace(SESSION, site=number))
    store.close()
    raw = bytearray(path.read_bytes())
    if damage == "no database":
        raw = bytearray(b"not a database at all, but long enough to be one".ljust(4096, b"."))
    elif damage == "torn page":
        raw[4096:] = b"\xa5" * (len(raw) - 4096)
    else:
        del raw[-4096 - 100 :]
    path.write_bytes(raw)
    with pytest.raises(UserError, match=f"{path}: is damaged .*; move it away to start anew") as raised:
        Store(path).load()
    assert "\n" not in str(raised.value)


def test_a_store_that_cannot_be_made_is_named(tmp_path):
    path = tmp_path / "nowhere" / "store"
    with pytest.raises(UserError, match=f"{path}: cannot open the controller's store"):
        Store(path)
