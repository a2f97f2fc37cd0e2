// SPDX-License-Identifier: Apache-2.0
// A packet says what is to be done with it, and tells on its way out what it met: standard metadata as ingress
// and egress saw them. So two targets can be compared byte by byte.
#include <core.p4>
#include <v1model.p4>

header ask_t {
    bit<8> what;
    bit<8> number;
    bit<16> port;
    bit<16> group;
    bit<16> session;
    bit<48> padding;
    bit<16> ethertype;
}

header report_t {
    bit<8> tag;
    bit<16> ingress_port;
    bit<16> egress_spec;
    bit<16> egress_port;
    bit<32> instance_type;
    bit<32> packet_length;
    bit<8> no_ingress_time;
    bit<8> no_egress_time;
    bit<16> group;
    bit<16> rid;
    bit<8> error_seen;
    bit<8> priority;
    bit<16> own;
    bit<16> kept;
}

struct headers_t {
    ask_t ask;
    report_t first;
    report_t second;
}

struct metadata_t {
    bit<16> own;
    @field_list(1)
    bit<16> kept;
    @field_list(2)
    bit<9> port;
}

const bit<8> FIRST = 0x55;
const bit<8> SECOND = 0x66;

parser ReportParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard) {
    state start {
        meta.own = 0xabcd;
        packet.extract(hdr.ask);
        transition select(packet.lookahead<bit<8>>()) {
            FIRST: first;
            default: accept;
        }
    }
    state first {
        packet.extract(hdr.first);
        transition select(packet.lookahead<bit<8>>()) {
            SECOND: second;
            default: accept;
        }
    }
    state second {
        packet.extract(hdr.second);
        transition accept;
    }
}

control Report(inout report_t report, in bit<8> tag, in metadata_t meta, in standard_metadata_t standard) {
    apply {
        report.setValid();
        report.tag = tag;
        report.ingress_port = (bit<16>)standard.ingress_port;
        report.egress_spec = (bit<16>)standard.egress_spec;
        report.egress_port = (bit<16>)standard.egress_port;
        report.instance_type = standard.instance_type;
        report.packet_length = standard.packet_length;
        report.no_ingress_time = standard.ingress_global_timestamp == 0 ? 8w1 : 8w0;
        report.no_egress_time = standard.egress_global_timestamp == 0 ? 8w1 : 8w0;
        report.group = standard.mcast_grp;
        report.rid = standard.egress_rid;
        report.error_seen = standard.parser_error == error.NoError ? 8w0 : 8w1;
        report.priority = (bit<8>)standard.priority;
        report.own = meta.own;
        report.kept = meta.kept;
    }
}

control ReportIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Report() report;
    apply {
        report.apply(hdr.first, FIRST, meta, standard);
        standard.egress_spec = (bit<9>)hdr.ask.port;
        standard.mcast_grp = hdr.ask.group;
        meta.own = 0x1111;
        meta.kept = meta.kept + 1;
        meta.port = standard.ingress_port;
        bool again = standard.instance_type != 0;
        bit<32> session = (bit<32>)hdr.ask.session;
        if (hdr.ask.what == 1) {
            clone_preserving_field_list(CloneType.I2E, session, 1);
        } else if (hdr.ask.what == 2 && !again) {
            resubmit_preserving_field_list(1);
        } else if (hdr.ask.what == 3 && !again) {
            resubmit_preserving_field_list(2);
        } else if (hdr.ask.what == 4) {
            clone(CloneType.I2E, session);
            mark_to_drop(standard);
        } else if (hdr.ask.what == 5) {
            truncate((bit<32>)hdr.ask.number);
        } else if (hdr.ask.what == 6) {
            clone_preserving_field_list(CloneType.I2E, session, 2);
            if (!again) {
                resubmit_preserving_field_list(1);
            }
        } else if (hdr.ask.what == 7) {
            standard.priority = (bit<3>)hdr.ask.number;
        } else if (hdr.ask.what == 8) {
            hdr.ask.padding = 0x112233445566;
            clone(CloneType.I2E, session);
        } else if (hdr.ask.what == 9) {
            hdr.first.setInvalid();
        } else if (hdr.ask.what == 10) {
            exit;
        } else if (hdr.ask.what == 11) {
            standard.egress_spec = 511;
        }
    }
}

control ReportEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Report() report;
    apply {
        report.apply(hdr.second, SECOND, meta, standard);
        meta.kept = meta.kept + 100;
        meta.port = standard.egress_port;
        bool clone_of_egress = standard.instance_type == 2;
        bit<32> session = (bit<32>)hdr.ask.session;
        if (hdr.ask.what == 20 && !clone_of_egress) {
            clone_preserving_field_list(CloneType.E2E, session, 1);
        } else if (hdr.ask.what == 21 && !clone_of_egress) {
            clone(CloneType.E2E, session);
            mark_to_drop(standard);
        } else if (hdr.ask.what == 22) {
            hdr.ask.what = 0;
            recirculate_preserving_field_list(1);
        } else if (hdr.ask.what == 23) {
            hdr.ask.what = 0;
            truncate((bit<32>)hdr.ask.number);
            recirculate_preserving_field_list(2);
        } else if (hdr.ask.what == 24) {
            truncate((bit<32>)hdr.ask.number);
        } else if (hdr.ask.what == 25) {
            standard.egress_spec = 5;
        } else if (hdr.ask.what == 26) {
            mark_to_drop(standard);
            standard.egress_spec = 3;
        }
    }
}

control ReportVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control ReportCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control ReportDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(ReportParser(), ReportVerify(), ReportIngress(), ReportEgress(), ReportCompute(),
         ReportDeparser()) main;
