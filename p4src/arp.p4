// SPDX-License-Identifier: Apache-2.0
// Answers ARP requests for service addresses and for the hosts' gateway.

#ifndef GRASP_ARP_P4
#define GRASP_ARP_P4

#include "headers.p4"
#include "metadata.p4"

const bit<16> ARP_REQUEST = 1;
const bit<16> ARP_REPLY = 2;

control ArpResponder(inout headers_t hdr, inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    action answer_arp(mac_t mac) {
        hdr.ethernet.destination = hdr.ethernet.source;
        hdr.ethernet.source = mac;
        hdr.arp.operation = ARP_REPLY;
        hdr.arp.target_mac = hdr.arp.sender_mac;
        hdr.arp.sender_mac = mac;
        ipv4_t asked = hdr.arp.target;
        hdr.arp.target = hdr.arp.sender;
        hdr.arp.sender = asked;
        standard_metadata.egress_spec = meta.port;
    }

    table arp_responder {
        key = {
            hdr.arp.target: exact @name("target");
        }
        actions = {
            answer_arp;
            NoAction;
        }
        default_action = NoAction;
        size = 1024;
    }

    apply {
        meta.kind = kind_t.DONE;
        if (meta.role != role_t.EDGE) {
            meta.drop = drop_t.SPOOFED;
        } else if (hdr.arp.hardware != 1 || hdr.arp.protocol != ETHERTYPE_IPV4 ||
                   hdr.arp.hardware_length != 6 || hdr.arp.protocol_length != 4 ||
                   hdr.arp.operation != ARP_REQUEST) {
            meta.drop = drop_t.ARP_UNKNOWN;
        } else if (!arp_responder.apply().hit) {
            meta.drop = drop_t.ARP_UNKNOWN;
        }
    }
}

#endif
