# SPDX-License-Identifier: Apache-2.0
"""P4Data messages of registers and digests, to and from the integers that the data plane stores."""

from collections.abc import Iterator, Mapping
from typing import Protocol, TypeVar

from finsy.proto import p4d, p4t

from . import bytestrings
from .errors import invalid_argument

T = TypeVar("T")


class Codec(Protocol):
    """How values of one P4 type look in messages and as unsigned integers, one per scalar in it."""

    def encode(self, values: Iterator[int]) -> p4d.P4Data:
        """The message, made of the next values."""

    def decode(self, data: p4d.P4Data, what: str) -> list[int]:
        """The values of a message; refuses one of another type."""


class _Bits:
    """bit<W>, int<W> and, as `enum_value`, serializable enums."""

    def __init__(self, width: int, signed: bool = False, member: str = "bitstring") -> None:
        self.width, self.signed, self.member = width, signed, member

    def encode(self, values: Iterator[int]) -> p4d.P4Data:
        value, data = next(values), p4d.P4Data()
        text = bytestrings.encode(value)
        if self.signed:
            text = bytestrings.encode_signed(bytestrings.to_signed(value, self.width))
        setattr(data, self.member, text)
        return data

    def decode(self, data: p4d.P4Data, what: str) -> list[int]:
        if data.WhichOneof("data") != self.member:
            raise invalid_argument(f"{what}: wants a {self.member}, not {data.WhichOneof('data')}")
        text: bytes = getattr(data, self.member)
        if self.signed:
            return [bytestrings.to_unsigned(bytestrings.decode_signed(text, self.width, what), self.width)]
        return [bytestrings.decode(text, self.width, what)]


class _Bool:
    def encode(self, values: Iterator[int]) -> p4d.P4Data:
        return p4d.P4Data(bool=bool(next(values)))

    def decode(self, data: p4d.P4Data, what: str) -> list[int]:
        if data.WhichOneof("data") != "bool":
            raise invalid_argument(f"{what}: wants a bool, not {data.WhichOneof('data')}")
        return [int(data.bool)]


class _Members:
    """Structs and tuples."""

    def __init__(self, member: str, codecs: list[Codec]) -> None:
        self.member, self.codecs = member, codecs

    def encode(self, values: Iterator[int]) -> p4d.P4Data:
        data = p4d.P4Data()
        getattr(data, self.member).members.extend(codec.encode(values) for codec in self.codecs)
        return data

    def decode(self, data: p4d.P4Data, what: str) -> list[int]:
        members = getattr(data, self.member).members
        if data.WhichOneof("data") != self.member or len(members) != len(self.codecs):
            raise invalid_argument(f"{what}: wants a {self.member} of {len(self.codecs)} members")
        return [
            value
            for codec, member in zip(self.codecs, members, strict=True)
            for value in codec.decode(member, what)
        ]


def make_codec(spec: p4t.P4DataTypeSpec, types: p4t.P4TypeInfo, what: str) -> Codec:
    """The codec of a type; refuses types that neither registers nor digests can have."""
    which = spec.WhichOneof("type_spec")
    if which == "bitstring":
        form = spec.bitstring.WhichOneof("type_spec")
        if form == "bit":
            return _Bits(spec.bitstring.bit.bitwidth)
        if form == "int":
            return _Bits(spec.bitstring.int.bitwidth, signed=True)
    elif which == "bool":
        return _Bool()
    elif which == "serializable_enum":
        enum = _named(types.serializable_enums, spec.serializable_enum.name)
        return _Bits(enum.underlying_type.bitwidth, member="enum_value")
    elif which == "new_type":
        new = _named(types.new_types, spec.new_type.name)
        if new.WhichOneof("representation") == "original_type":
            return make_codec(new.original_type, types, what)
        if new.translated_type.WhichOneof("sdn_type") == "sdn_bitwidth":
            return _Bits(new.translated_type.sdn_bitwidth)
    elif which == "tuple":
        return _Members("tuple", [make_codec(member, types, what) for member in spec.tuple.members])
    elif which == "struct":
        members = _named(types.structs, spec.struct.name).members
        return _Members("struct", [make_codec(member.type_spec, types, what) for member in members])
    raise invalid_argument(f"{what} has values of an unsupported type: {str(spec).strip()}")


def _named(declared: Mapping[str, T], name: str) -> T:
    """The declaration of a type."""
    if name not in declared:
        raise invalid_argument(f"P4Info does not say what type {name} is")
    return declared[name]
