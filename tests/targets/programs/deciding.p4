// SPDX-License-Identifier: Apache-2.0
// Control flow: switch, hit and miss, exit and return, loops and ifs in actions, entries of every kind of match,
// keys of invalid headers, masked keys. Each step leaves a trace in the packet.

#include <core.p4>
#include <v1model.p4>

header request_t { bit<8> program; bit<16> x; bit<32> y; bit<128> z; bit<32> trace; }
header extra_t { bit<16> x; }

struct headers_t { request_t request; extra_t extra; }
struct metadata_t { bit<8> step; }

parser DecidingParse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.request);
        transition select(hdr.request.program) {
            0x80 &&& 0x80: extra;
            default: accept;
        }
    }
    state extra { packet.extract(hdr.extra); transition accept; }
}

control DecidingVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control DecidingIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action trace(bit<32> mark) { hdr.request.trace = hdr.request.trace << 4 | mark; }
    action leave() { exit; }
    action count_down() { // a loop: one mark for each of x
        for (bit<16> i = 0; i < hdr.request.x; i = i + 1) {
            if (i == 3) { break; }
            if (i == 1) { continue; }
            hdr.request.trace = hdr.request.trace + 1;
        }
    }
    action early(bit<32> mark) {
        if (hdr.request.x == 7) {
            hdr.request.trace = 0x77;
            return;
        }
        hdr.request.trace = mark;
    }

    table exact_table {
        key = { hdr.request.x: exact; hdr.request.y: exact; }
        actions = { trace; NoAction; }
        const entries = { (1, 1): trace(1); (1, 2): trace(2); }
        default_action = trace(9);
    }
    table lpm_table {
        key = { hdr.request.y: lpm; }
        actions = { trace; NoAction; }
        const entries = {
            0x0a000000 &&& 0xff000000: trace(1);
            0x0a0b0000 &&& 0xffff0000: trace(2);
            0x0a0b0c0d: trace(3);
            _: trace(4);
        }
    }
    table ternary_table {
        key = { hdr.request.x: ternary; hdr.request.z: ternary; }
        actions = { trace; NoAction; }
        const entries = {
            (0x0100 &&& 0xff00, 0x1 &&& 0xff): trace(1);
            (0x0100 &&& 0xff00, _): trace(2);
            (_, 0xffff0000000000000000000000000000 &&& 0xffff0000000000000000000000000000): trace(3);
        }
        default_action = trace(9);
    }
    table range_table {
        key = { hdr.request.x: range; hdr.request.y[7:0]: exact; }
        actions = { trace; NoAction; }
        const entries = {
            (10 .. 20, 1): trace(1);
            (15 .. 30, 1): trace(2);
            (_, 2): trace(3);
        }
        default_action = trace(9);
    }
    table invalid_table {
        key = { hdr.extra.isValid(): exact; hdr.extra.x: exact; }
        actions = { trace; NoAction; }
        const entries = { (false, 0): trace(1); (true, 0): trace(2); (true, 5): trace(3); }
        default_action = trace(9);
    }
    table look {
        key = { hdr.request.x: exact; }
        actions = { trace; NoAction; }
        size = 16;
        default_action = NoAction;
    }
    table choose {
        key = { hdr.request.x: exact; }
        actions = { trace; leave; count_down; early; @defaultonly NoAction; }
        size = 16;
        default_action = NoAction;
    }

    apply {
        standard.egress_spec = 1;
        if (hdr.request.program & 0x7f == 0) {
            exact_table.apply();
        } else if (hdr.request.program & 0x7f == 1) {
            lpm_table.apply();
        } else if (hdr.request.program & 0x7f == 2) {
            ternary_table.apply();
        } else if (hdr.request.program & 0x7f == 3) {
            range_table.apply();
        } else if (hdr.request.program & 0x7f == 4) {
            invalid_table.apply();
        } else if (hdr.request.program & 0x7f == 5) {
            if (look.apply().hit) { meta.step = 1; } else { meta.step = 2; }
            trace((bit<32>)meta.step);
        } else if (hdr.request.program & 0x7f == 6) {
            switch (choose.apply().action_run) {
                trace: { trace(5); }
                count_down: { trace(6); return; }
                early: { }
                default: { trace(7); exit; }
            }
            trace(8);
        } else if (hdr.request.program & 0x7f == 7) {
            switch (hdr.request.x) {
                1: { trace(1); }
                2:
                3: { trace(2); }
                default: { trace(3); }
            }
        }
        trace(0xe);
    }
}

control DecidingEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { hdr.request.trace = hdr.request.trace << 4 | 0xf; }
}

control DecidingCompute(inout headers_t hdr, inout metadata_t meta) { apply { } }

control DecidingDeparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.request);
        packet.emit(hdr.extra);
    }
}

V1Switch(DecidingParse(), DecidingVerify(), DecidingIngress(), DecidingEgress(), DecidingCompute(), DecidingDeparse()) main;
