// SPDX-License-Identifier: Apache-2.0
// Packet-outs: what the controller asks of the switch.
//
// Reads and writes of a site's state travel as packets, because simple_switch_grpc does not serve registers
// over P4Runtime, and because a packet reads and writes several registers as one step. Each is answered by a
// packet-in with its sequence number, so that a lost one can be sent again; each can be repeated safely.

#ifndef GRASP_OPERATIONS_P4
#define GRASP_OPERATIONS_P4

#include "headers.p4"
#include "counters.p4"
#include "metadata.p4"
#include "sites.p4"

// Recognises the operation. TRANSMIT is done here; INJECT goes on as a packet of the port it names.
control TakeOperation(inout headers_t hdr, inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.packet_out.operation == operation_t.TRANSMIT) {
            standard_metadata.egress_spec = (port_t)hdr.packet_out.port;
            hdr.packet_out.setInvalid();
            meta.kind = kind_t.DONE;
        } else if (hdr.packet_out.operation == operation_t.INJECT) {
            meta.port = (port_t)hdr.packet_out.port;
            meta.length = meta.length - (bit<32>)hdr.packet_out.minSizeInBytes();
            meta.charge_injected = hdr.packet_out.flags[0:0] == 1;
            hdr.packet_out.setInvalid();
        } else if (hdr.packet_out.operation == operation_t.SET_FORECAST ||
                   hdr.packet_out.operation == operation_t.SET_DRAIN ||
                   hdr.packet_out.operation == operation_t.READ_SITE) {
            // The header stays until the operation is applied.
            meta.kind = kind_t.OPERATION;
            meta.site = hdr.packet_out.site;
            meta.site_known = true;
        } else {
            meta.drop = drop_t.OPERATION;
        }
    }
}

// Applies an operation to the site's state and answers.
control ApplyOperation(inout headers_t hdr, inout metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    action set_forecast(energy_t headroom) {
        meta.state.headroom = headroom;
        meta.state.budget = hdr.packet_out.budget;
        meta.state.epoch = hdr.packet_out.epoch;
        meta.state.flags = meta.state.flags | SITE_KNOWN | SITE_AUTHORITATIVE;
        meta.state_changed = true;
    }

    apply {
        status_t status = status_t.OK;
        bool authoritative = meta.state.flags & SITE_AUTHORITATIVE != 0;
        int<32> age = (int<32>)(hdr.packet_out.epoch - meta.state.epoch);

        if (hdr.packet_out.operation != operation_t.READ_SITE && !meta.local) {
            status = status_t.NOT_HERE;
        } else if (hdr.packet_out.operation == operation_t.SET_FORECAST) {
            if (authoritative && age < 0) {
                status = status_t.STALE;
            } else if (authoritative && age == 0) {
                // A correction: what was charged stays charged.
                set_forecast(
                    add(meta.state.headroom, subtract(hdr.packet_out.budget, meta.state.budget)));
            } else {
                set_forecast(subtract(hdr.packet_out.budget, hdr.packet_out.spent));
            }
            if (status == status_t.OK) {
                events.count((bit<32>)(bit<8>)event_t.FORECAST_SET);
            }
        } else if (hdr.packet_out.operation == operation_t.SET_DRAIN) {
            if (hdr.packet_out.flags[0:0] == 1) {
                meta.state.flags = meta.state.flags | SITE_DRAINED;
            } else {
                meta.state.flags = meta.state.flags & ~SITE_DRAINED;
            }
            meta.state_changed = true;
        }

        time_t silence = meta.now |-| meta.state.heard;
        if (meta.state_changed && meta.alive && silence <= AGE_LIMIT && meta.state.flags & SITE_KNOWN != 0) {
            // The change travels at once, in a probe, to every switch; the controller's copy is the answer.
            // The probe is no sign of life, and says how old the last one is: a silent site is to expire
            // everywhere at the same time.
            meta.age = (bit<8>)((silence + AGE_STEP - 1) >> AGE_LOG2);
            meta.state.sequence = meta.state.sequence + 1;
            meta.probe_out = true;
            standard_metadata.mcast_grp = TRUNKS_AND_CPU;
        } else {
            standard_metadata.egress_spec = CPU_PORT;
        }
        hdr.packet_in.setValid();
        hdr.packet_in.reason = reason_t.ANSWER;
        hdr.packet_in.status = status;
        hdr.packet_in.ingress_port = (bit<16>)CPU_PORT;
        hdr.packet_in.site = meta.site;
        hdr.packet_in.flags = meta.state.flags;
        if (meta.alive) {
            hdr.packet_in.flags = hdr.packet_in.flags | SITE_ALIVE;
        }
        if (meta.local) {
            hdr.packet_in.flags = hdr.packet_in.flags | SITE_LOCAL;
        }
        hdr.packet_in.service = 0;
        hdr.packet_in.sequence = hdr.packet_out.sequence;
        hdr.packet_in.epoch = meta.state.epoch;
        hdr.packet_in.budget = meta.state.budget;
        hdr.packet_in.headroom = meta.state.headroom;
        hdr.packet_in.next_hop = meta.state.next_hop;
        hdr.packet_in.heard = silence;

        hdr.packet_out.setInvalid();
        meta.kind = kind_t.DONE;
    }
}

#endif
