# SPDX-License-Identifier: Apache-2.0
"""The run time's C interface (runtime/program.h and control.h) in ctypes."""

from __future__ import annotations

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_bool,
    c_char,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)  # fmt: skip
from functools import cache

from grasp.targets.v1model.compile import compile_runtime

NONE = 0xFFFFFFFF  # V1_NONE and V1_NO_ACTION
SLACK = 64  # V1_SLACK


class Field(Structure):
    """struct v1_field."""

    _fields_ = (
        ("name", c_char_p), ("match", c_uint32), ("width", c_uint32), ("word", c_uint32), ("shift", c_uint32),
    )  # fmt: skip


class Action(Structure):
    """struct v1_action."""

    _fields_ = (
        ("name", c_char_p), ("id", c_uint32), ("parameters", c_uint32), ("widths", POINTER(c_uint32)),
        ("names", POINTER(c_char_p)),
    )  # fmt: skip


class Table(Structure):
    """struct v1_table_info."""

    _fields_ = (
        ("name", c_char_p), ("id", c_uint32), ("match", c_uint32), ("fields", c_uint32),
        ("field", POINTER(Field)), ("key_words", c_uint32), ("size", c_uint32), ("actions", c_uint32),
        ("action", POINTER(c_uint32)), ("default_action", c_uint32), ("default_args", POINTER(c_uint64)),
        ("const_default", c_bool), ("const_entries", c_bool), ("direct_counter", c_bool),
        ("support_timeout", c_bool), ("direct_meter", c_uint32), ("profile", c_uint32),
        ("entries", c_uint32), ("entry", c_void_p), ("direct_counter_name", c_char_p),
        ("direct_meter_name", c_char_p),
    )  # fmt: skip


class Profile(Structure):
    """struct v1_profile_info."""

    _fields_ = (("name", c_char_p), ("id", c_uint32), ("size", c_uint32), ("select", c_void_p))


class Register(Structure):
    """struct v1_register_info."""

    _fields_ = (("name", c_char_p), ("id", c_uint32), ("width", c_uint32), ("size", c_uint32))


class Counter(Structure):
    """struct v1_counter_info."""

    _fields_ = (("name", c_char_p), ("id", c_uint32), ("size", c_uint32))


class Meter(Structure):
    """struct v1_meter_info."""

    _fields_ = (("name", c_char_p), ("id", c_uint32), ("unit", c_uint32), ("size", c_uint32))


class Digest(Structure):
    """struct v1_digest_info."""

    _fields_ = (
        ("name", c_char_p), ("id", c_uint32), ("fields", c_uint32), ("widths", POINTER(c_uint32)),
        ("words", c_uint32),
    )  # fmt: skip


class ProgramInfo(Structure):
    """struct v1_program, up to its functions."""

    _fields_ = (
        ("abi", c_uint32), ("name", c_char_p), ("state_bytes", c_uint32), ("header_bytes", c_uint32),
        ("actions", c_uint32), ("action", POINTER(Action)),
        ("tables", c_uint32), ("table", POINTER(Table)),
        ("profiles", c_uint32), ("profile", POINTER(Profile)),
        ("registers", c_uint32), ("reg", POINTER(Register)),
        ("counters", c_uint32), ("counter", POINTER(Counter)),
        ("meters", c_uint32), ("meter", POINTER(Meter)),
        ("digests", c_uint32), ("digest_info", POINTER(Digest)),
        ("value_sets", c_uint32), ("value_set", POINTER(Table)),
    )  # fmt: skip


LogFunction = CFUNCTYPE(None, c_uint32, c_char_p)


class Options(Structure):
    """struct v1_options."""

    _fields_ = (
        ("cpu_port", c_uint32), ("drop_port", c_uint32), ("queues", c_uint32), ("queue_depth", c_uint32),
        ("log_level", c_uint32), ("pcap", c_char_p), ("log", LogFunction),
    )  # fmt: skip


COUNTS = (
    "received", "dropped_ingress", "dropped_egress", "dropped_no_port", "dropped_loop", "dropped_priority",
    "dropped_too_long", "no_clone_session", "no_multicast_group", "events_lost", "assertions",
)  # fmt: skip


class Counts(Structure):
    """struct v1_counts."""

    _fields_ = tuple((name, c_uint64) for name in COUNTS)


class Target(Structure):
    """struct v1_target."""

    _fields_ = (("kind", c_uint32), ("id", c_uint32), ("args", POINTER(c_uint64)))


class Rates(Structure):
    """struct v1_rates."""

    _fields_ = tuple((name, c_uint64) for name in ("configured", "cir", "cburst", "pir", "pburst"))


class EntryInfo(Structure):
    """struct v1_entry_info."""

    _fields_ = (
        ("kind", c_uint32), ("id", c_uint32), ("priority", c_int32), ("constant", c_uint32),
        ("timeout", c_uint64), ("idle", c_uint64), ("packets", c_uint64), ("bytes", c_uint64),
        ("rates", Rates),
    )  # fmt: skip


class Count(Structure):
    """struct v1_count."""

    _fields_ = (("packets", c_uint64), ("bytes", c_uint64))


class Weight(Structure):
    """struct v1_weight."""

    _fields_ = (("member", c_uint32), ("weight", c_uint32))


class Replica(Structure):
    """struct v1_replica."""

    _fields_ = (("port", c_uint32), ("instance", c_uint32))


class DigestConfig(Structure):
    """struct v1_digest_config."""

    _fields_ = tuple((n, c_uint64) for n in ("enabled", "max_timeout", "max_list_size", "ack_timeout"))


class EventInfo(Structure):
    """struct v1_event_info."""

    _fields_ = tuple((name, c_uint32) for name in ("kind", "object", "number", "length", "program"))


PORT_COUNTS = (
    "rx_packets", "rx_bytes", "tx_packets", "tx_bytes", "rx_lost", "rx_truncated", "tx_queue_full",
    "tx_too_long", "tx_too_short", "tx_errors",
)  # fmt: skip


class PortInfo(Structure):
    """struct v1_port_info."""

    _fields_ = (
        ("number", c_uint32), ("up", c_uint32), ("name", c_char * 16),
        *((name, c_uint64) for name in PORT_COUNTS),
    )  # fmt: skip


_WORDS, _UINT = POINTER(c_uint64), c_uint32
_KEY = (_WORDS, _WORDS, c_int32)  # value, mask, priority
_CELLS = (c_void_p, _UINT, _UINT, _UINT, c_void_p)  # context, array, first, count, cells

# Result type, then the arguments' types, as control.h declares them.
_PROTOTYPES = {
    "v1_switch_create": (c_void_p, POINTER(Options)),
    "v1_switch_destroy": (None, c_void_p),
    "v1_load": (c_void_p, c_void_p, c_void_p, POINTER(c_int)),
    "v1_activate": (c_int, c_void_p, c_void_p),
    "v1_unload": (None, c_void_p),
    "v1_clock": (c_uint64, c_void_p),
    "v1_set_clock": (None, c_void_p, c_bool, c_uint64),
    "v1_read_counts": (None, c_void_p, POINTER(Counts)),
    "v1_process": (c_int64, c_void_p, _UINT, c_char_p, _UINT, POINTER(c_void_p)),
    "v1_packet_out": (c_int, c_void_p, c_char_p, _UINT),
    "v1_bench": (c_int64, c_void_p, c_char_p, POINTER(_UINT), POINTER(_UINT), _UINT, c_uint64),
    "v1_table_add": (c_int, c_void_p, _UINT, *_KEY, POINTER(Target), c_uint64),
    "v1_table_modify": (c_int, c_void_p, _UINT, *_KEY, POINTER(Target), POINTER(c_uint64)),
    "v1_table_delete": (c_int, c_void_p, _UINT, *_KEY),
    "v1_table_clear": (c_int, c_void_p, _UINT),
    "v1_table_read": (c_int, c_void_p, _UINT, *_KEY, c_void_p, _UINT),
    "v1_table_set_default": (c_int, c_void_p, _UINT, _UINT, _WORDS),
    "v1_table_default": (c_int, c_void_p, _UINT, POINTER(_UINT), _WORDS),
    "v1_table_set_count": (c_int, c_void_p, _UINT, *_KEY, c_uint64, c_uint64),
    "v1_table_set_rates": (c_int, c_void_p, _UINT, *_KEY, POINTER(Rates)),
    "v1_member_set": (c_int, c_void_p, _UINT, _UINT, _UINT, _WORDS, c_bool),
    "v1_member_delete": (c_int, c_void_p, _UINT, _UINT),
    "v1_member_list": (c_int, c_void_p, _UINT, POINTER(_UINT), _UINT),
    "v1_member_read": (c_int, c_void_p, _UINT, _UINT, POINTER(_UINT), _WORDS),
    "v1_group_set": (c_int, c_void_p, _UINT, _UINT, POINTER(Weight), _UINT, _UINT, c_bool),
    "v1_group_delete": (c_int, c_void_p, _UINT, _UINT),
    "v1_group_list": (c_int, c_void_p, _UINT, POINTER(_UINT), _UINT),
    "v1_group_read": (c_int, c_void_p, _UINT, _UINT, POINTER(Weight), _UINT, POINTER(_UINT)),
    "v1_register_get": (c_int, *_CELLS),
    "v1_register_set": (c_int, *_CELLS),
    "v1_counter_get": (c_int, *_CELLS),
    "v1_counter_set": (c_int, *_CELLS),
    "v1_meters_get": (c_int, *_CELLS),
    "v1_meters_set": (c_int, *_CELLS),
    "v1_multicast_set": (c_int, c_void_p, _UINT, POINTER(Replica), _UINT, c_bool),
    "v1_multicast_get": (c_int, c_void_p, _UINT, POINTER(Replica), _UINT),
    "v1_multicast_list": (c_int, c_void_p, POINTER(_UINT), _UINT),
    "v1_session_set": (c_int, c_void_p, _UINT, POINTER(Replica), _UINT, _UINT, _UINT, c_bool),
    "v1_session_get": (
        c_int, c_void_p, _UINT, POINTER(Replica), _UINT, POINTER(_UINT), POINTER(_UINT),
    ),
    "v1_session_list": (c_int, c_void_p, POINTER(_UINT), _UINT),
    "v1_next_event": (c_int, c_void_p, c_int64, POINTER(EventInfo), c_void_p, c_size_t),
    "v1_wake": (None, c_void_p),
    "v1_sweep": (None, c_void_p),
    "v1_digest_set": (c_int, c_void_p, _UINT, POINTER(DigestConfig)),
    "v1_digest_get": (c_int, c_void_p, _UINT, POINTER(DigestConfig)),
    "v1_digest_ack": (c_int, c_void_p, _UINT, _UINT),
    "v1_port_add": (c_int, c_void_p, _UINT, c_char_p),
    "v1_port_remove": (c_int, c_void_p, _UINT),
    "v1_port_list": (c_int, c_void_p, POINTER(PortInfo), _UINT),
    "v1_start": (c_int, c_void_p),
    "v1_stop": (c_int, c_void_p),
}  # fmt: skip


@cache
def runtime() -> ctypes.CDLL:
    """The run time, compiled and loaded at first use; its functions return to no lock of Python's."""
    library = ctypes.CDLL(str(compile_runtime()), mode=ctypes.RTLD_GLOBAL, use_errno=True)
    for name, (result, *arguments) in _PROTOTYPES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
