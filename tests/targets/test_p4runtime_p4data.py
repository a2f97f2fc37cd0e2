# SPDX-License-Identifier: Apache-2.0
"""P4Data of nested types, as digests carry them."""

from __future__ import annotations

import pytest
from finsy.proto import p4d, p4t

from grasp.targets.v1model.p4runtime.errors import P4RuntimeError
from grasp.targets.v1model.p4runtime.p4data import make_codec


def nested():
    """struct { bit<48>; bool; tuple<serializable enum>; type over bit<9>; translated type; int<8> }"""
    types = p4t.P4TypeInfo()
    types.serializable_enums["kind"].underlying_type.bitwidth = 8
    types.new_types["port"].original_type.bitstring.bit.bitwidth = 9
    types.new_types["sdn_port"].translated_type.sdn_bitwidth = 32
    members = types.structs["learned"].members
    members.add().type_spec.bitstring.bit.bitwidth = 48
    members.add().type_spec.bool.SetInParent()
    members.add().type_spec.tuple.members.add().serializable_enum.name = "kind"
    members.add().type_spec.new_type.name = "port"
    members.add().type_spec.new_type.name = "sdn_port"
    members.add().type_spec.bitstring.int.bitwidth = 8
    spec = p4t.P4DataTypeSpec()
    spec.struct.name = "learned"
    return make_codec(spec, types, "digest")


def test_nested_values_survive():
    values = [1, 1, 3, 257, 5, 0xFE]
    data = nested().encode(iter(values))
    members = data.struct.members
    assert [members[n].bitstring for n in (0, 3, 4, 5)] == [b"\1", b"\1\1", b"\5", b"\xfe"]
    assert (members[1].bool, members[2].tuple.members[0].enum_value) == (True, b"\3")
    assert nested().decode(data, "digest") == values


@pytest.mark.parametrize(
    "wrong",
    [
        p4d.P4Data(bool=True),
        p4d.P4Data(struct=p4d.P4StructLike(members=[p4d.P4Data(bool=True)])),
        p4d.P4Data(struct=p4d.P4StructLike(members=[p4d.P4Data(bitstring=b"\1")] * 6)),
    ],
)
def test_data_of_another_type_is_refused(wrong):
    with pytest.raises(P4RuntimeError, match="wants a"):
        nested().decode(wrong, "digest")
