// SPDX-License-Identifier: Apache-2.0
// Per copy: which headers it needs, whether it may go out here, and what it adds to the link's load.

#ifndef GRASP_EGRESS_P4
#define GRASP_EGRESS_P4

#include "headers.p4"
#include "metadata.p4"
#include "utilisation.p4"

control GraspEgress(inout headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    Utilisation() utilisation;

    apply {
        if (standard_metadata.egress_port == CPU_PORT) {
            if (hdr.probe.isValid()) {
                // The answer to an operation; its probe is for the other copies.
                hdr.ethernet.setInvalid();
                hdr.grasp.setInvalid();
                hdr.probe.setInvalid();
            }
        } else {
            hdr.packet_in.setInvalid();
            if (hdr.probe.isValid() &&
                standard_metadata.egress_port == standard_metadata.ingress_port) {
                mark_to_drop(standard_metadata);  // a probe goes away from where it came
            } else {
                bit<32> bytes;
                utilisation.apply(standard_metadata.egress_port,
                                  standard_metadata.egress_global_timestamp, bytes);
                link_bytes.write((bit<32>)standard_metadata.egress_port,
                                 bytes |+| standard_metadata.packet_length);
                link_time.write((bit<32>)standard_metadata.egress_port,
                                standard_metadata.egress_global_timestamp);
            }
        }
    }
}

#endif
