// SPDX-License-Identifier: Apache-2.0
// Changes of addresses, ports and TTL, with checksums that follow incrementally (RFC 1624).

#ifndef GRASP_REWRITE_P4
#define GRASP_REWRITE_P4

#include "headers.p4"
#include "metadata.p4"

// Equation 3 of RFC 1624 is HC' = ~(~HC + ~m + m') in one's complement arithmetic, for every 16-bit word m that
// becomes m'. That is the Internet checksum of the list (~HC, ~m, m', ...), which csum16 computes.

// The transport checksum covers the addresses too. It is left alone where there is none (UDP's zero).
control UpdateTransportChecksum(inout headers_t hdr, in ipv4_t old_address, in ipv4_t new_address,
                                in bit<16> old_port, in bit<16> new_port) {
    apply {
        if (hdr.tcp.isValid()) {
            hash(hdr.tcp.checksum, HashAlgorithm.csum16, 16w0,
                 {~hdr.tcp.checksum, ~old_address, new_address, ~old_port, new_port}, 32w0x10000);
        } else if (hdr.udp.checksum != 0) {
            hash(hdr.udp.checksum, HashAlgorithm.csum16, 16w0,
                 {~hdr.udp.checksum, ~old_address, new_address, ~old_port, new_port}, 32w0x10000);
            if (hdr.udp.checksum == 0) {
                hdr.udp.checksum = 0xffff;  // zero would say that there is none
            }
        }
    }
}

control UpdateHeaderChecksum(inout headers_t hdr, in ipv4_t old_address, in ipv4_t new_address) {
    apply {
        hash(hdr.ipv4.checksum, HashAlgorithm.csum16, 16w0,
             {~hdr.ipv4.checksum, ~old_address, new_address}, 32w0x10000);
    }
}

// Service address to server address, towards the site.
control RewriteToServer(inout headers_t hdr, inout metadata_t meta) {
    UpdateHeaderChecksum() update_header_checksum;
    UpdateTransportChecksum() update_transport_checksum;

    apply {
        if (meta.has_server) {
            update_header_checksum.apply(hdr, hdr.ipv4.destination, meta.server);
            update_transport_checksum.apply(hdr, hdr.ipv4.destination, meta.server, meta.destination_port,
                                            meta.server_port);
            hdr.ipv4.destination = meta.server;
            if (hdr.tcp.isValid()) {
                hdr.tcp.destination = meta.server_port;
            } else {
                hdr.udp.destination = meta.server_port;
            }
        } else {
            meta.drop = drop_t.NO_ROUTE;
        }
    }
}

// Server address to service address, towards the client.
control RewriteToClient(inout headers_t hdr, in metadata_t meta) {
    UpdateHeaderChecksum() update_header_checksum;
    UpdateTransportChecksum() update_transport_checksum;

    apply {
        update_header_checksum.apply(hdr, hdr.ipv4.source, meta.service_address);
        update_transport_checksum.apply(hdr, hdr.ipv4.source, meta.service_address, meta.source_port,
                                        meta.service_port);
        hdr.ipv4.source = meta.service_address;
        if (hdr.tcp.isValid()) {
            hdr.tcp.source = meta.service_port;
        } else {
            hdr.udp.source = meta.service_port;
        }
    }
}

control DecrementTtl(inout headers_t hdr) {
    apply {
        bit<16> before = hdr.ipv4.ttl ++ hdr.ipv4.protocol;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        hash(hdr.ipv4.checksum, HashAlgorithm.csum16, 16w0,
             {~hdr.ipv4.checksum, ~before, hdr.ipv4.ttl, hdr.ipv4.protocol}, 32w0x10000);
    }
}

#endif
