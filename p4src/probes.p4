// SPDX-License-Identifier: Apache-2.0
// How the headroom of each site reaches every switch, hop by hop.
//
//   agent --heartbeat--> site switch --probe--> neighbours --probe--> theirs ...
//
// The site switch stamps epoch, sequence and its authoritative headroom. Who receives a probe believes it when
// it is news, or the same news over a cheaper path, and only then passes it on: so any topology may have loops.

#ifndef GRASP_PROBES_P4
#define GRASP_PROBES_P4

#include "counters.p4"
#include "headers.p4"
#include "metadata.p4"
#include "utilisation.p4"

register<time_t>(PORTS) trunk_heard;  // when the last probe came in there

control TakeHeartbeat(inout headers_t hdr, inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    apply {
        meta.kind = kind_t.DONE;
        if (!meta.local || meta.local_port != meta.port || meta.local_mac != hdr.ethernet.source) {
            meta.drop = drop_t.UNBOUND_SITE;
        } else {
            meta.state.heard = meta.now;
            meta.state.next_hop = (bit<16>)meta.port;
            meta.state.cost = 0;
            meta.state_changed = true;
            // Without a forecast there is nothing to announce yet.
            if (meta.state.flags & SITE_KNOWN != 0) {
                meta.state.sequence = meta.state.sequence + 1;
                meta.probe_out = true;
                standard_metadata.mcast_grp = TRUNKS;
            }
        }
    }
}

control TakeProbe(inout headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    Utilisation() utilisation;

    apply {
        trunk_heard.write((bit<32>)meta.port, meta.now);

        // Traffic to the site will leave by the port on which the probe came in.
        bit<32> bytes;
        utilisation.apply(meta.port, meta.now, bytes);
        bit<32> level = bytes >> UNIT_LOG2;
        bit<16> busiest = hdr.probe.utilisation;
        if (level > (bit<32>)busiest) {
            busiest = level > 0xffff ? 16w0xffff : (bit<16>)level;
        }
        bit<24> cost = busiest ++ (hdr.probe.hops |+| 1);

        int<32> newer_epoch = (int<32>)(hdr.probe.epoch - meta.state.epoch);
        int<32> newer_sequence = (int<32>)(hdr.probe.sequence - meta.state.sequence);
        bool known = meta.state.flags & SITE_KNOWN != 0;
        bool accepted = false;
        if (meta.local || hdr.probe.hops == 255) {
            accepted = false;  // of a site attached here nobody knows more
        } else if (!known) {
            accepted = true;
        } else if (newer_epoch == 0 && newer_sequence == 0) {
            accepted = cost < meta.state.cost && meta.alive;
        } else if (!meta.alive) {
            accepted = true;  // a restarted site or switch counts from the start again
        } else {
            accepted = newer_epoch > 0 || (newer_epoch == 0 && newer_sequence > 0);
        }

        meta.kind = kind_t.DONE;
        if (accepted) {
            events.count((bit<32>)(bit<8>)event_t.PROBE_ACCEPTED);
            meta.state.epoch = hdr.probe.epoch;
            meta.state.sequence = hdr.probe.sequence;
            meta.state.headroom = hdr.probe.headroom;
            meta.state.budget = 0;
            meta.state.flags = (hdr.grasp.flags & SITE_DRAINED) | SITE_KNOWN;
            meta.age = hdr.probe.age;
            meta.state.heard = meta.now |-| ((time_t)meta.age << AGE_LOG2);
            meta.state.next_hop = (bit<16>)meta.port;
            meta.state.cost = cost;
            meta.state_changed = true;
            meta.probe_out = true;
            standard_metadata.mcast_grp = TRUNKS;
        } else {
            events.count((bit<32>)(bit<8>)event_t.PROBE_REFUSED);
        }
    }
}

// Writes what is known of the site into the probe that leaves.
control EmitProbe(inout headers_t hdr, in metadata_t meta) {
    apply {
        hdr.ethernet.setValid();
        hdr.ethernet.destination = meta.parameters.gateway;
        hdr.ethernet.source = meta.parameters.gateway;
        hdr.ethernet.ethertype = ETHERTYPE_GRASP;
        hdr.grasp.setValid();
        hdr.grasp.version = GRASP_VERSION;
        hdr.grasp.type = frame_t.PROBE;
        hdr.grasp.site = meta.site;
        hdr.grasp.flags = meta.state.flags & SITE_DRAINED;
        hdr.probe.setValid();
        hdr.probe.epoch = meta.state.epoch;
        hdr.probe.sequence = meta.state.sequence;
        hdr.probe.headroom = meta.state.headroom;
        hdr.probe.utilisation = meta.state.cost[23:8];
        hdr.probe.hops = meta.state.cost[7:0];
        hdr.probe.age = meta.age;
    }
}

#endif
