// SPDX-License-Identifier: Apache-2.0
// Packets that pass more than once: clones, resubmitted, recirculated and multicast ones, and what they keep.
// Each egress writes into the packet what it finds.

#include <core.p4>
#include <v1model.p4>

header request_t { bit<8> operation; bit<8> rounds; bit<8> kept; bit<8> lost; bit<8> kind; bit<8> copy; bit<16> length; }
struct headers_t { request_t request; }
struct metadata_t {
    @field_list(1, 2) bit<8> kept;
    @field_list(3) bit<4> part;
    @field_list(3) bit<200> wide;
    bit<8> lost;
}

parser CopyingParse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.request); transition accept; }
}

control CopyingVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

action drop_copy(inout standard_metadata_t copy) { mark_to_drop(copy); } // p4c works on a copy of the metadata

control CopyingIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    table drop_table {
        actions = { drop_copy(standard); }
        const default_action = drop_copy(standard);
    }

    apply {
        mark_to_drop(standard);
        if (hdr.request.operation == 1) { // a clone carries what the metadata is at the end of ingress
            meta.kept = 5;
            meta.lost = 6;
            clone_preserving_field_list(CloneType.I2E, 7, 1);
            hdr.request.rounds = 99; // the clone is the packet as it came in
            meta.kept = 8;
            standard.egress_spec = 1;
        } else if (hdr.request.operation == 2) {
            if (meta.kept == hdr.request.rounds) {
                hdr.request.rounds = 0;
                standard.egress_spec = 1;
            } else {
                meta.kept = meta.kept + 1;
                meta.lost = 1;
                resubmit_preserving_field_list(2);
            }
        } else if (hdr.request.operation == 3 || hdr.request.operation == 4) {
            standard.egress_spec = 1;
            if (hdr.request.operation == 4 && standard.instance_type == 0) {
                meta.part = 0xa;
                meta.wide = 200w0x1234567890 << 120;
            }
        } else if (hdr.request.operation == 5) {
            standard.mcast_grp = 1;
        } else if (hdr.request.operation == 6) {
            standard.egress_spec = 1;
            truncate(20);
        } else if (hdr.request.operation == 7) {
            standard.egress_spec = 1;
            mark_to_drop(standard);
        } else if (hdr.request.operation == 8) {
            clone(CloneType.I2E, 7);
        } else if (hdr.request.operation == 10) {
            standard.egress_spec = 1;
            standard.mcast_grp = 1;
            drop_table.apply();
        }
    }
}

control CopyingEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (hdr.request.operation == 3 && hdr.request.rounds > 0) {
            hdr.request.rounds = hdr.request.rounds - 1;
            recirculate_preserving_field_list(0);
        }
        if (hdr.request.operation == 4 && standard.instance_type == 0) {
            clone_preserving_field_list(CloneType.E2E, 7, 3);
        }
        hdr.request.kept = meta.kept;
        if (hdr.request.operation == 4) { hdr.request.kept = (bit<8>)meta.part | (bit<8>)(meta.wide >> 124); }
        hdr.request.lost = meta.lost;
        hdr.request.kind = (bit<8>)standard.instance_type;
        hdr.request.copy = (bit<8>)standard.egress_rid;
        hdr.request.length = (bit<16>)standard.packet_length;
        if (hdr.request.operation == 9) { mark_to_drop(standard); }
    }
}

control CopyingCompute(inout headers_t hdr, inout metadata_t meta) { apply { } }
control CopyingDeparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.request); } }

V1Switch(CopyingParse(), CopyingVerify(), CopyingIngress(), CopyingEgress(), CopyingCompute(), CopyingDeparse()) main;
