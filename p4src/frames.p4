// SPDX-License-Identifier: Apache-2.0
// Frames of GRASP's own EtherType: those for the controller are passed on, those for the switch recognised.

#ifndef GRASP_FRAMES_P4
#define GRASP_FRAMES_P4

#include "headers.p4"
#include "metadata.p4"
#include "to_controller.p4"

// Agents may speak to the controller at this pace: 500 frames a second from a port, 500 in a burst. So a host
// that floods takes nothing away from the controller's other work, and other ports keep their share.
const time_t AGENT_INTERVAL = 2000;
const time_t AGENT_BURST = 1000000;

register<time_t>(PORTS) agent_due;  // when the port's frames so far would have come at an even pace

control AgentRate(inout metadata_t meta) {
    apply {
        time_t due;
        agent_due.read(due, (bit<32>)meta.port);
        if (due |-| meta.now > AGENT_BURST) {
            meta.drop = drop_t.RATE;
        } else {
            if (due < meta.now) {
                due = meta.now;
            }
            agent_due.write((bit<32>)meta.port, due + AGENT_INTERVAL);
        }
    }
}

control Frames(inout headers_t hdr, inout metadata_t meta,
               inout standard_metadata_t standard_metadata) {
    AgentRate() agent_rate;

    apply {
        if (hdr.grasp.type == frame_t.REGISTER || hdr.grasp.type == frame_t.REPORT) {
            // A port may have no role yet when the first agent speaks; a trunk has no agents.
            if (meta.role == role_t.TRUNK) {
                meta.drop = drop_t.SPOOFED;
            } else {
                agent_rate.apply(meta);
                if (meta.drop == drop_t.NONE) {
                    send_to_controller(hdr, meta, standard_metadata, reason_t.AGENT);
                }
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
