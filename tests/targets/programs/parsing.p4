// SPDX-License-Identifier: Apache-2.0
// What a parser can do: stacks, unions, variable fields, lookahead, advance, masks, value sets, errors.
// Whatever the packet, a report comes first in the packet that leaves.

#include <core.p4>
#include <v1model.p4>

error { BadVersion }

header report_t {
    bit<8> code; 
    bit<8> path;    // bit 0: IPv4, 1: TCP, 2: UDP, 3: trusted port, 4: TLV, 5: experimental EtherType
    bit<8> tags;    // VLAN tags found
    bit<8> top;     // VLAN priority of the last tag
    bit<16> peeked; // what lookahead saw
}
header ethernet_t { bit<48> destination; bit<48> source; bit<16> ethertype; }
header vlan_t { bit<3> priority; bit<1> drop; bit<12> id; bit<16> ethertype; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length; bit<16> id; bit<3> flags; bit<13> offset;
    bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> source; bit<32> destination;
}
header options_t { varbit<320> data; }
header tcp_t { bit<16> source; bit<16> destination; bit<32> sequence; }
header udp_t { bit<16> source; bit<16> destination; bit<16> length; bit<16> checksum; }
header_union transport_t { tcp_t tcp; udp_t udp; }
header tlv_t { bit<8> type; bit<8> length; }

struct headers_t {
    report_t report;
    ethernet_t ethernet;
    vlan_t[3] vlans;
    ipv4_t ipv4;
    options_t options;
    transport_t transport;
    tlv_t tlv;
}
struct metadata_t { bit<8> path; bit<16> peeked; }

parser ParsingParse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    value_set<bit<16>>(8) trusted_ports;

    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ethertype) {
            0x8100: vlan;
            0x0800: ipv4;
            0x9000: tlv;
            0x9100 &&& 0xff00: experimental;
            default: accept;
        }
    }
    state vlan {
        packet.extract(hdr.vlans.next);
        transition select(hdr.vlans.last.ethertype, hdr.vlans.last.drop) {
            (0x8100, 0): vlan;
            (0x0800, _): ipv4;
            default: accept;
        }
    }
    state ipv4 {
        meta.path[0:0] = 1;
        packet.extract(hdr.ipv4);
        verify(hdr.ipv4.version == 4, error.BadVersion);
        transition select(hdr.ipv4.ihl) {
            5: transport;
            default: options;
        }
    }
    state options {
        packet.extract(hdr.options, (bit<32>)(((bit<16>)hdr.ipv4.ihl - 5) * 32));
        transition transport;
    }
    state transport {
        transition select(hdr.ipv4.protocol) {
            6: tcp;
            17: udp;
            default: accept;
        }
    }
    state tcp {
        meta.path[1:1] = 1;
        packet.extract(hdr.transport.tcp);
        transition accept;
    }
    state udp {
        meta.path[2:2] = 1;
        packet.extract(hdr.transport.udp);
        transition select(hdr.transport.udp.destination) {
            trusted_ports: trusted;
            default: accept;
        }
    }
    state trusted {
        meta.path[3:3] = 1;
        transition accept;
    }
    state tlv { // skip as many bytes as the TLV says, then look at two
        meta.path[4:4] = 1;
        packet.extract(hdr.tlv);
        packet.advance((bit<32>)hdr.tlv.length * 8);
        meta.peeked = packet.lookahead<bit<16>>();
        transition accept;
    }
    state experimental {
        meta.path[5:5] = 1;
        meta.peeked = (bit<16>)packet.lookahead<bit<13>>();
        transition accept;
    }
}

control ParsingVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control ParsingIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        hdr.report.setValid();
        hdr.report.path = meta.path;
        hdr.report.peeked = meta.peeked;
        if (standard.parser_error == error.PacketTooShort) { hdr.report.code = 1; }
        else if (standard.parser_error == error.StackOutOfBounds) { hdr.report.code = 2; }
        else if (standard.parser_error == error.HeaderTooShort) { hdr.report.code = 3; }
        else if (standard.parser_error == error.BadVersion) { hdr.report.code = 4; }
        else if (standard.parser_error != error.NoError) { hdr.report.code = 255; }
        if (hdr.vlans[2].isValid()) { hdr.report.tags = 3; hdr.report.top = (bit<8>)hdr.vlans[2].priority; }
        else if (hdr.vlans[1].isValid()) { hdr.report.tags = 2; hdr.report.top = (bit<8>)hdr.vlans[1].priority; }
        else if (hdr.vlans[0].isValid()) { hdr.report.tags = 1; hdr.report.top = (bit<8>)hdr.vlans[0].priority; }
        standard.egress_spec = 1;
    }
}

control ParsingEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }
control ParsingCompute(inout headers_t hdr, inout metadata_t meta) { apply { } }

control ParsingDeparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.report);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlans);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.options);
        packet.emit(hdr.transport);
        packet.emit(hdr.tlv);
    }
}

V1Switch(ParsingParse(), ParsingVerify(), ParsingIngress(), ParsingEgress(), ParsingCompute(), ParsingDeparse()) main;
