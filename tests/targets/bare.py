# SPDX-License-Identifier: Apache-2.0
"""Packets for, and answers from, the hand-written program programs/bare.c."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from grasp.targets.v1model.compile import compile_program
from grasp.targets.v1model.engine import Engine

PROGRAM = Path(__file__).parent / "programs" / "bare.c"
(CLONE, RESUBMIT, RECIRCULATE, DIGEST, DROP, LOOK_UP, CLONE_EGRESS, DROP_EGRESS, COUNT, METER, TRUNCATE,
 FOR_EVER, PRIORITY, REPORT, FAIL, LOG) = (1 << bit for bit in range(16))  # fmt: skip
TABLES = ("exact", "lpm", "ternary", "range", "wide_range", "wide_ternary", "indirect", "constant", "keyless")
VALUE_SET = len(TABLES)
HEADER = struct.Struct("<8Q")
NORMAL, INGRESS_CLONE, EGRESS_CLONE, _, RECIRCULATED, REPLICATED, RESUBMITTED = range(7)


def load(engine: Engine) -> None:
    """Let the engine run the program."""
    engine.activate(engine.load(compile_program(PROGRAM.read_text())))


def packet(
    flags: int = 0,
    port: int = 1,
    session: int = 0,
    group: int = 0,
    number: int = 0,
    key: tuple[int, int] = (0, 0),
    kept: int = 0,
    payload: bytes = b"",
) -> bytes:
    """A packet that asks for something."""
    return HEADER.pack(flags, port, session, group, number, *key, kept) + payload


@dataclass
class Answer:
    """What a packet with REPORT says about itself."""

    instance: int
    rid: int
    ingress: int
    egress: int
    length: int
    enq_qdepth: int
    deq_timedelta: int
    deq_qdepth: int
    kept: int


def answer(data: bytes) -> Answer:
    """The report in a packet."""
    words = HEADER.unpack_from(data)
    low = 0xFFFFFFFF
    return Answer(
        words[4] & 0xFF, words[4] >> 8 & 0xFFFF, words[4] >> 24 & 0xFFFF, words[4] >> 40, words[5] & low,
        words[5] >> 32, words[6] & low, words[6] >> 32, words[7],
    )  # fmt: skip


def look_up(engine: Engine, table: str, key: int) -> tuple[bool, int, int]:
    """Look a key (as one number) up: hit, action number, first argument."""
    number = TABLES.index(table)
    words = (key & (1 << 64) - 1, key >> 64)
    [(_, data)] = engine.process(0, packet(LOOK_UP, number=number, key=words))
    _, _, _, _, action, hit, _, argument = HEADER.unpack_from(data)
    return bool(hit), action & 0xFFFFFFFF, argument
