// SPDX-License-Identifier: Apache-2.0
// What can be done with headers: add, remove, copy, compare, push and pop, index at run time, unions, variable fields.
// The operation is the first byte of the packet.

#include <core.p4>
#include <v1model.p4>

header request_t { bit<8> operation; bit<8> index; bit<8> result; bit<8> count; }
header item_t { bit<8> kind; bit<24> value; }
header word_t { bit<16> value; }
header byte_t { bit<8> value; }
header_union either_t { word_t word; byte_t byte; }
header text_t { bit<8> length; varbit<256> data; }
header odd_t { bit<3> a; int<11> b; bit<66> c; bit<8> d; } // 88 bits

struct headers_t {
    request_t request;
    item_t[4] items;
    item_t spare;
    either_t either;
    either_t other;
    text_t text;
    text_t copy;
    odd_t odd;
}
struct metadata_t { }

parser MovingParse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    bit<8> left;
    state start {
        packet.extract(hdr.request);
        left = hdr.request.count;
        transition select(hdr.request.operation) {
            0x40: text;
            0x41: odd;
            default: items;
        }
    }
    state items {
        transition select(left) {
            0: accept;
            default: item;
        }
    }
    state item {
        packet.extract(hdr.items.next);
        left = left - 1;
        transition items;
    }
    state text {
        packet.extract(hdr.text, (bit<32>)packet.lookahead<bit<8>>() * 8);
        transition accept;
    }
    state odd {
        packet.extract(hdr.odd);
        transition accept;
    }
}

control MovingVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control MovingIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 1;
        bit<8> operation = hdr.request.operation;
        if (operation == 0x01) {
            hdr.items.push_front(1);
            hdr.items[0].setValid();
            hdr.items[0].kind = 0xaa;
        } else if (operation == 0x02) {
            hdr.items.push_front(3);
        } else if (operation == 0x03) {
            hdr.items.pop_front(1);
        } else if (operation == 0x04) {
            hdr.items.pop_front(2);
        } else if (operation == 0x10) {
            hdr.items[hdr.request.index].value = 0x123456;
        } else if (operation == 0x11) {
            hdr.request.result = hdr.items[hdr.request.index].kind;
        } else if (operation == 0x12) {
            hdr.items[hdr.request.index].setInvalid();
        } else if (operation == 0x13) {
            if (hdr.items[hdr.request.index].isValid()) { hdr.request.result = 1; }
        } else if (operation == 0x20) {
            hdr.spare = hdr.items[1];
            hdr.items[1] = hdr.items[0];
            hdr.items[0] = hdr.spare;
            hdr.spare.setInvalid();
        } else if (operation == 0x21) {
            if (hdr.items[0] == hdr.items[1]) { hdr.request.result = 1; }
        } else if (operation == 0x30) {
            hdr.either.word.setValid();
            hdr.either.word.value = 0x1234;
            hdr.either.byte.setValid(); // and the word is gone
            hdr.either.byte.value = 0x56;
            hdr.other = hdr.either;
        } else if (operation == 0x31) {
            hdr.either.byte.setValid();
            if (hdr.either.isValid()) { hdr.request.result = 1; }
            hdr.either.byte.setInvalid();
            if (!hdr.either.isValid()) { hdr.request.result = hdr.request.result + 2; }
        } else if (operation == 0x40) {
            hdr.copy = hdr.text;
            if (hdr.copy == hdr.text) { hdr.request.result = 1; }
        } else if (operation == 0x41) {
            hdr.odd.a = hdr.odd.a + 1;
            hdr.odd.b = hdr.odd.b - 1;
            hdr.odd.c = hdr.odd.c + 1;
        } else if (operation == 0x50) { // setValid clears what was there
            hdr.spare.setValid();
            hdr.spare.value = 0xffffff;
            hdr.spare.setInvalid();
            hdr.spare.setValid();
            hdr.spare.kind = 0xbb;
        }
    }
}

control MovingEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }
control MovingCompute(inout headers_t hdr, inout metadata_t meta) { apply { } }

control MovingDeparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.request);
        packet.emit(hdr.items);
        packet.emit(hdr.spare);
        packet.emit(hdr.either);
        packet.emit(hdr.other);
        packet.emit(hdr.text);
        packet.emit(hdr.copy);
        packet.emit(hdr.odd);
    }
}

V1Switch(MovingParse(), MovingVerify(), MovingIngress(), MovingEgress(), MovingCompute(), MovingDeparse()) main;
