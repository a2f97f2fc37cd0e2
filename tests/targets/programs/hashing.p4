// SPDX-License-Identifier: Apache-2.0
// Checksums of IPv4 and UDP, verified and updated, and every hash.

#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> destination; bit<48> source; bit<16> ethertype; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length; bit<16> id; bit<3> flags; bit<13> offset;
    bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> source; bit<32> destination;
}
header udp_t { bit<16> source; bit<16> destination; bit<16> length; bit<16> checksum; }
header request_t { // instead of IPv4: EtherType 0x9000
    bit<5> a; bit<11> b; bit<32> c; bit<48> d;
    bit<16> crc16; bit<32> crc32; bit<16> csum16; bit<16> xor16; bit<64> identity; bit<16> bounded; bit<32> constant;
}

struct headers_t { ethernet_t ethernet; ipv4_t ipv4; udp_t udp; request_t request; }
struct metadata_t { }

parser HashingParse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ethertype) {
            0x0800: ipv4;
            0x9000: request;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol) {
            17: udp;
            default: accept;
        }
    }
    state udp { packet.extract(hdr.udp); transition accept; }
    state request { packet.extract(hdr.request); transition accept; }
}

control HashingVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.flags,
              hdr.ipv4.offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.source, hdr.ipv4.destination },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        verify_checksum_with_payload(hdr.udp.isValid() && hdr.udp.checksum != 0,
            { hdr.ipv4.source, hdr.ipv4.destination, 8w0, hdr.ipv4.protocol, hdr.udp.length,
              hdr.udp.source, hdr.udp.destination, hdr.udp.length },
            hdr.udp.checksum, HashAlgorithm.csum16);
    }
}

control HashingIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 1;
        if (standard.checksum_error == 1) {
            standard.egress_spec = 2;
        }
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            hdr.ipv4.destination = 0x0a000063;
        }
        if (hdr.udp.isValid()) {
            hdr.udp.destination = 4321;
        }
        if (hdr.request.isValid()) {
            hash(hdr.request.crc16, HashAlgorithm.crc16, 32w0,
                 { hdr.request.a, hdr.request.b, hdr.request.c, hdr.request.d }, 32w0x10000);
            hash(hdr.request.crc32, HashAlgorithm.crc32, 32w0,
                 { hdr.request.a, hdr.request.b, hdr.request.c, hdr.request.d }, 64w0x100000000);
            hash(hdr.request.csum16, HashAlgorithm.csum16, 32w0,
                 { hdr.request.a, hdr.request.b, hdr.request.c, hdr.request.d }, 32w0x10000);
            hash(hdr.request.xor16, HashAlgorithm.xor16, 32w0,
                 { hdr.request.a, hdr.request.b, hdr.request.c, hdr.request.d }, 32w0x10000);
            hash(hdr.request.identity, HashAlgorithm.identity, 64w0,
                 { hdr.request.d }, 64w0xffffffffffffffff);
            hash(hdr.request.bounded, HashAlgorithm.crc32, 32w1000,
                 { hdr.request.c, hdr.request.a, hdr.request.b }, 32w77);
            hash(hdr.request.constant, HashAlgorithm.crc32_custom, 32w0,
                 { hdr.request.b, 5w21, 32w0xdeadbeef }, 64w0x100000000);
        }
    }
}

control HashingEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }

control HashingCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.flags,
              hdr.ipv4.offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.source, hdr.ipv4.destination },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.udp.isValid(),
            { hdr.ipv4.source, hdr.ipv4.destination, 8w0, hdr.ipv4.protocol, hdr.udp.length,
              hdr.udp.source, hdr.udp.destination, hdr.udp.length },
            hdr.udp.checksum, HashAlgorithm.csum16);
    }
}

control HashingDeparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.request);
    }
}

V1Switch(HashingParse(), HashingVerify(), HashingIngress(), HashingEgress(), HashingCompute(), HashingDeparse()) main;
