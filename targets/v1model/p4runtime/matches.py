# SPDX-License-Identifier: Apache-2.0
"""Match keys: from FieldMatch messages to the engine's keys, and back in canonical form.

A key has one item per match field, in the table's order: a value for exact, (value, prefix length) for LPM,
(value, mask) for ternary and optional, (low, high) for range. None is "don't care": messages leave it out.
"""

from collections.abc import Iterable, Sequence

from finsy.proto import p4i, p4r

from grasp.targets.v1model.objects import Key

from . import bytestrings
from .errors import invalid_argument

Item = int | tuple[int, int] | None

_KINDS = {
    p4i.MatchField.EXACT: "exact",
    p4i.MatchField.LPM: "lpm",
    p4i.MatchField.TERNARY: "ternary",
    p4i.MatchField.RANGE: "range",
    p4i.MatchField.OPTIONAL: "optional",
}


def kind(field: p4i.MatchField) -> str:
    """The name of a field's match type, also that of the FieldMatch member for it; "" if unknown."""
    return _KINDS.get(field.match_type, "")


def needs_priority(fields: Iterable[p4i.MatchField]) -> bool:
    """Whether entries of a table with these fields have a priority."""
    return any(kind(field) in ("ternary", "range", "optional") for field in fields)


def ones(width: int) -> int:
    """The largest value of a field."""
    return (1 << width) - 1


def normalize(key: Key, fields: Sequence[p4i.MatchField]) -> Key:
    """A key in which every item that matches everything is None."""
    return tuple(_normalize(item, field) for item, field in zip(key, fields, strict=True))


def _normalize(item: Item, field: p4i.MatchField) -> Item:
    if not isinstance(item, tuple):
        return item
    everything = item == (0, ones(field.bitwidth)) if kind(field) == "range" else item[1] == 0
    return None if everything else item


def decode(matches: Iterable[p4r.FieldMatch], fields: Sequence[p4i.MatchField], owner: str) -> Key:
    """The key that the messages describe; `owner` (a table or value set) is named in refusals."""
    given: dict[int, p4r.FieldMatch] = {}
    known = {field.id for field in fields}
    for match in matches:
        if match.field_id not in known:
            raise invalid_argument(f"{owner} has no match field {match.field_id}")
        if match.field_id in given:
            raise invalid_argument(f"{owner}: match field {match.field_id} is given twice")
        given[match.field_id] = match
    return tuple(_decode_field(field, given.get(field.id), owner) for field in fields)


def _decode_field(field: p4i.MatchField, match: p4r.FieldMatch | None, owner: str) -> Item:
    name, want = f"{owner}: {field.name}", kind(field)
    if match is None:
        if want == "exact":
            raise invalid_argument(f"{name}: an exact match field cannot be left out")
        return None
    if match.WhichOneof("field_match_type") != want:
        raise invalid_argument(f"{name}: wants {want} match, not {match.WhichOneof('field_match_type')}")
    item = _normalize(_decode_item(field, match, want, name), field)
    if item is None:
        raise invalid_argument(f"{name}: leave out the match field to match everything")
    return item


def _decode_item(field: p4i.MatchField, match: p4r.FieldMatch, want: str, name: str) -> Item:
    width = field.bitwidth
    if want == "exact":
        return bytestrings.decode(match.exact.value, width, name)
    if want == "optional":
        return bytestrings.decode(match.optional.value, width, name), ones(width)
    if want == "lpm":
        value, length = bytestrings.decode(match.lpm.value, width, name), match.lpm.prefix_len
        if not 0 <= length <= width:
            raise invalid_argument(f"{name}: prefix length {length} is not in 0..{width}")
        if value & ones(width - length):
            raise invalid_argument(f"{name}: bits after the prefix of length {length} are not 0")
        return value, length
    if want == "ternary":
        value = bytestrings.decode(match.ternary.value, width, name)
        mask = bytestrings.decode(match.ternary.mask, width, name)
        if value & ~mask:
            raise invalid_argument(f"{name}: bits outside the mask are not 0")
        return value, mask
    low = bytestrings.decode(match.range.low, width, name)
    high = bytestrings.decode(match.range.high, width, name)
    if low > high:
        raise invalid_argument(f"{name}: the low bound {low} is above the high bound {high}")
    return low, high


def encode(key: Key, fields: Sequence[p4i.MatchField]) -> list[p4r.FieldMatch]:
    """The canonical messages of a key, in the table's order, "don't care" fields left out."""
    items = zip(fields, normalize(key, fields), strict=True)
    return [_encode_item(field, item) for field, item in items if item is not None]


def _encode_item(field: p4i.MatchField, item: int | tuple[int, int]) -> p4r.FieldMatch:
    match = p4r.FieldMatch(field_id=field.id)
    if isinstance(item, int):
        match.exact.value = bytestrings.encode(item)
        return match
    first = bytestrings.encode(item[0])
    if kind(field) == "optional":
        match.optional.value = first
    elif kind(field) == "lpm":
        match.lpm.value, match.lpm.prefix_len = first, item[1]
    elif kind(field) == "ternary":
        match.ternary.value, match.ternary.mask = first, bytestrings.encode(item[1])
    else:
        match.range.low, match.range.high = first, bytestrings.encode(item[1])
    return match
