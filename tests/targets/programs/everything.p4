// SPDX-License-Identifier: Apache-2.0
// One of each kind of object that P4Runtime knows, for the tests of the embedded target's server.
//
// Ingress port 1..: a frame whose EtherType the tables know is sent to the port that `forward` says.

#include <core.p4>
#include <v1model.p4>

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<3> mode;
    bit<4> padding;
}

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> reason;
}

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ethertype;
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t packet_in;
    ethernet_t ethernet;
}

struct metadata_t {
    bit<2> color;
    bit<1> special;
}

struct learned_t {
    bit<48> source;
    bit<9> port;
}

const bit<9> CPU_PORT = 255;

parser EverythingParser(
    packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    value_set<bit<16>>(4) special_types;

    state start {
        transition select(standard.ingress_port) {
            CPU_PORT: parse_packet_out;
            default: parse_ethernet;
        }
    }
    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_ethernet;
    }
    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ethertype) {
            special_types: parse_special;
            default: accept;
        }
    }
    state parse_special {
        meta.special = 1;
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control NoUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control EverythingIngress(
    inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(16, CounterType.packets_and_bytes) ports;
    counter(4, CounterType.packets) types;
    meter(8, MeterType.packets) policer;
    register<bit<32>>(16) cells;
    register<int<16>>(4) balances;
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<2>>(MeterType.bytes) rates;

    action drop() {
        mark_to_drop(standard);
    }
    action forward(bit<9> port) {
        standard.egress_spec = port;
    }
    action flood(bit<16> group) {
        standard.mcast_grp = group;
    }
    action to_controller(bit<7> reason) {
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = standard.ingress_port;
        hdr.packet_in.reason = reason;
        standard.egress_spec = CPU_PORT;
    }
    action learn() {
        digest<learned_t>(1, {hdr.ethernet.source, standard.ingress_port});
    }
    action count_forward(bit<9> port) {
        hits.count();
        rates.read(meta.color);
        standard.egress_spec = port;
    }
    action remember(bit<32> value, int<16> balance) {
        cells.write((bit<32>)standard.ingress_port, value);
        balances.write(1, balance);
    }

    table exact_match {
        key = {
            hdr.ethernet.destination: exact;
            standard.ingress_port: exact;
        }
        actions = {
            forward;
            flood;
            to_controller;
            @tableonly remember;
            @defaultonly NoAction;
        }
        default_action = NoAction();
        size = 64;
        support_timeout = true;
    }
    table lpm_match {
        key = {
            hdr.ethernet.source: lpm;
        }
        actions = {
            count_forward;
            NoAction;
        }
        default_action = NoAction();
        counters = hits;
        meters = rates;
        size = 32;
    }
    table ternary_match {
        key = {
            hdr.ethernet.source: ternary;
            hdr.ethernet.ethertype: range;
            standard.ingress_port: optional;
        }
        actions = {
            forward;
            drop;
            NoAction;
        }
        const default_action = NoAction();
        size = 8;
    }
    table fixed {
        key = {
            hdr.ethernet.ethertype: ternary;
        }
        actions = {
            forward;
            drop;
        }
        const entries = {
            0x0806: forward(7);
            0x8800 &&& 0xff00: drop();
        }
        default_action = drop();
    }
    table prepared {
        key = {
            hdr.ethernet.ethertype: exact;
        }
        actions = {
            forward;
            NoAction;
        }
        entries = {
            const 0x1111: forward(1);
            0x2222: forward(2);
        }
        default_action = NoAction();
        size = 8;
    }
    table keyless {
        actions = {
            learn;
            NoAction;
        }
        default_action = NoAction();
    }
    action_profile(8) members;
    table by_member {
        key = {
            standard.ingress_port: exact;
        }
        actions = {
            forward;
            drop;
        }
        implementation = members;
    }
    @max_group_size(4)
    action_selector(HashAlgorithm.crc16, 16, 10) selector;
    table by_selector {
        key = {
            hdr.ethernet.ethertype: exact;
            hdr.ethernet.source: selector;
        }
        actions = {
            forward;
            drop;
        }
        implementation = selector;
    }

    apply {
        if (hdr.packet_out.isValid()) {
            standard.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            exit;
        }
        mark_to_drop(standard);
        bit<32> color;
        ports.count((bit<32>)standard.ingress_port);
        types.count((bit<32>)meta.special);
        policer.execute_meter((bit<32>)standard.ingress_port, color);
        keyless.apply();
        prepared.apply();
        by_member.apply();
        by_selector.apply();
        lpm_match.apply();
        ternary_match.apply();
        if (standard.egress_spec == 511) {
            fixed.apply();
        }
        exact_match.apply();
    }
}

control EverythingEgress(
    inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {}
}

control EverythingDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
    }
}

V1Switch(
    EverythingParser(), NoVerify(), EverythingIngress(), EverythingEgress(), NoUpdate(),
    EverythingDeparser()) main;
