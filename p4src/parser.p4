// SPDX-License-Identifier: Apache-2.0
// Parser, header checksum verification and deparser.

#ifndef GRASP_PARSER_P4
#define GRASP_PARSER_P4

#include "headers.p4"
#include "metadata.p4"

error {
    BadVersion,
    BadLength
}

parser GraspParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    state start {
        transition select(meta.strikes, standard_metadata.ingress_port, meta.arrived_at) {
            (0, CPU_PORT, _): parse_packet_out;
            (0, _, _): parse_ethernet;
            (_, _, CPU_PORT): parse_packet_out;
            default: parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition select(hdr.packet_out.operation) {
            operation_t.INJECT: parse_ethernet;
            default: accept;  // what TRANSMIT carries is not looked at
        }
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ethertype) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_ARP: parse_arp;
            ETHERTYPE_GRASP: parse_grasp;
            default: accept;
        }
    }

    state parse_arp {
        packet.extract(hdr.arp);
        transition accept;
    }

    state parse_grasp {
        packet.extract(hdr.grasp);
        verify(hdr.grasp.version == GRASP_VERSION, error.BadVersion);
        transition select(hdr.grasp.type) {
            frame_t.PROBE: parse_probe;
            default: accept;
        }
    }

    state parse_probe {
        packet.extract(hdr.probe);
        transition accept;
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        verify(hdr.ipv4.version == 4 && hdr.ipv4.ihl >= 5, error.BadVersion);
        verify(hdr.ipv4.total_length >= ((bit<16>)hdr.ipv4.ihl << 2), error.BadLength);
        transition select(hdr.ipv4.ihl) {
            5: parse_ipv4_payload;
            default: parse_ipv4_options;
        }
    }

    state parse_ipv4_options {
        packet.extract(hdr.ipv4_options, ((bit<32>)hdr.ipv4.ihl - 5) << 5);
        transition parse_ipv4_payload;
    }

    // Only the first fragment starts with a transport header.
    state parse_ipv4_payload {
        transition select(hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (0, PROTOCOL_TCP): parse_tcp;
            (0, PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    // The length is checked so that ports are never read out of Ethernet padding.
    state parse_tcp {
        verify(hdr.ipv4.total_length >= ((bit<16>)hdr.ipv4.ihl << 2) + 20, error.BadLength);
        packet.extract(hdr.tcp);
        transition accept;
    }

    state parse_udp {
        verify(hdr.ipv4.total_length >= ((bit<16>)hdr.ipv4.ihl << 2) + 8, error.BadLength);
        packet.extract(hdr.udp);
        transition accept;
    }
}

control GraspVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && !hdr.ipv4_options.isValid(),
                        {hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_length,
                         hdr.ipv4.identification, hdr.ipv4.reserved, hdr.ipv4.dont_fragment,
                         hdr.ipv4.more_fragments, hdr.ipv4.fragment_offset, hdr.ipv4.ttl,
                         hdr.ipv4.protocol, hdr.ipv4.source, hdr.ipv4.destination},
                        hdr.ipv4.checksum, HashAlgorithm.csum16);
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4_options.isValid(),
                        {hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_length,
                         hdr.ipv4.identification, hdr.ipv4.reserved, hdr.ipv4.dont_fragment,
                         hdr.ipv4.more_fragments, hdr.ipv4.fragment_offset, hdr.ipv4.ttl,
                         hdr.ipv4.protocol, hdr.ipv4.source, hdr.ipv4.destination,
                         hdr.ipv4_options.options},
                        hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

// Checksums are updated incrementally where fields change (rewrite.p4), never computed anew: a packet that
// was damaged before it came here must still look damaged when it leaves.
control GraspComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control GraspDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.arp);
        packet.emit(hdr.grasp);
        packet.emit(hdr.probe);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv4_options);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
}

#endif
