// SPDX-License-Identifier: Apache-2.0
// Hands a packet to the controller, unchanged, behind a header that says why.

#ifndef GRASP_TO_CONTROLLER_P4
#define GRASP_TO_CONTROLLER_P4

#include "headers.p4"
#include "metadata.p4"

action send_to_controller(inout headers_t hdr, inout metadata_t meta,
                          inout standard_metadata_t standard_metadata, in reason_t reason) {
    hdr.packet_in.setValid();
    hdr.packet_in.reason = reason;
    hdr.packet_in.status = status_t.OK;
    hdr.packet_in.ingress_port = (bit<16>)meta.port;
    hdr.packet_in.site = meta.site;
    hdr.packet_in.flags = 0;
    hdr.packet_in.service = meta.service;
    hdr.packet_in.sequence = 0;
    hdr.packet_in.epoch = 0;
    hdr.packet_in.budget = 0;
    hdr.packet_in.headroom = 0;
    hdr.packet_in.next_hop = 0;
    hdr.packet_in.heard = 0;
    standard_metadata.egress_spec = CPU_PORT;
    meta.kind = kind_t.DONE;
}

#endif
