// SPDX-License-Identifier: Apache-2.0
// Frames of GRASP's own EtherType: those for the controller are passed on, those for the switch recognised.

#ifndef GRASP_FRAMES_P4
#define GRASP_FRAMES_P4

#include "headers.p4"
#include "metadata.p4"
#include "to_controller.p4"

control Frames(inout headers_t hdr, inout metadata_t meta,
               inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.grasp.type == frame_t.REGISTER || hdr.grasp.type == frame_t.REPORT) {
            // A port may have no role yet when the first agent speaks; a trunk has no agents.
            if (meta.role == role_t.TRUNK) {
                meta.drop = drop_t.SPOOFED;
            } else {
                send_to_controller(hdr, meta, standard_metadata, reason_t.AGENT);
            }
        } else if (hdr.grasp.type == frame_t.DISCOVERY) {
            if (meta.role == role_t.EDGE) {
                meta.drop = drop_t.SPOOFED;
            } else {
                send_to_controller(hdr, meta, standard_metadata, reason_t.DISCOVERY);
            }
        } else if (meta.role == role_t.UNKNOWN) {
            meta.drop = drop_t.UNKNOWN_PORT;
        } else if (hdr.grasp.type == frame_t.HEARTBEAT) {
            meta.kind = kind_t.HEARTBEAT;
            meta.site = hdr.grasp.site;
            meta.site_known = true;
        } else if (hdr.grasp.type == frame_t.PROBE) {
            if (meta.role == role_t.EDGE) {
                meta.drop = drop_t.SPOOFED;
            } else {
                meta.kind = kind_t.PROBE;
                meta.site = hdr.grasp.site;
                meta.site_known = true;
            }
        } else {
            meta.drop = drop_t.MALFORMED;
        }
    }
}

#endif
