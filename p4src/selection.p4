// SPDX-License-Identifier: Apache-2.0
// Gives each connection its site: the one it has, or the one with the most headroom.

#ifndef GRASP_SELECTION_P4
#define GRASP_SELECTION_P4

#include "affinity.p4"
#include "bracket.p4"
#include "headers.p4"
#include "metadata.p4"
#include "sites.p4"
#include "to_controller.p4"

control ChooseSite(inout headers_t hdr, inout metadata_t meta) {
    Winner() winner;

    action set_server(ipv4_t address) {
        meta.has_server = true;
        meta.server = address;
    }

    table site_servers {
        key = {
            meta.site: exact @name("site");
        }
        actions = {
            set_server;
            NoAction;
        }
        default_action = NoAction;
        size = SITES;
    }

    apply {
        if (meta.connection.affinity == affinity_t.HIT ||
            meta.connection.affinity == affinity_t.PINNED) {
            meta.site = meta.connection.site;
            meta.site_known = true;
        } else if (!meta.connection.opening) {
            meta.drop = drop_t.NO_CONNECTION;
        } else {
            winner.apply(meta.site_known, meta.site);
            if (!meta.site_known) {
                meta.drop = drop_t.NO_SITE;
            }
        }
        if (meta.site_known) {
            site_servers.apply();
        }
    }
}

// Charges a job where it first appears: the ingress switch its own copy of the site's headroom, the site
// switch the authoritative one.
control Charge(inout headers_t hdr, inout metadata_t meta,
               inout standard_metadata_t standard_metadata) {
    action charge() {
        meta.state.headroom = subtract(meta.state.headroom, (energy_t)meta.energy);
        meta.state_changed = true;
        meta.connection.site = meta.site;
        meta.charged = true;
    }

    apply {
        // An entry that names another site is of an earlier connection with the same addresses and ports.
        if (meta.connection.affinity == affinity_t.HIT && meta.connection.site != meta.site) {
            meta.connection.affinity = affinity_t.FREE;
            meta.connection.flags = 0;
        }
        bool first = meta.connection.opening && (meta.connection.affinity == affinity_t.FREE ||
                                                 meta.connection.affinity == affinity_t.FULL);
        if (first && meta.kind == kind_t.TO_SERVICE && !(meta.alive && meta.has_server)) {
            // The winner has fallen silent, or the controller has not come to it yet. Without it, the packet
            // tries again.
            meta.strike = true;
            meta.kind = kind_t.DONE;
            meta.strikes = meta.strikes + 1;
            events.count((bit<32>)(bit<8>)event_t.STRUCK_OUT);
            if (meta.strikes > (bit<16>)SITES) {
                meta.drop = drop_t.NO_SITE;
            } else {
                resubmit_preserving_field_list(0);
            }
        } else if (first && meta.connection.affinity == affinity_t.FULL) {
            // Both ways are taken: the controller pins the connection and sends the packet again.
            events.count((bit<32>)(bit<8>)event_t.OVERFLOW);
            send_to_controller(hdr, meta, standard_metadata, reason_t.OVERFLOW);
        } else if (first) {
            charge();
            meta.connection.affinity = affinity_t.CREATED;
        } else if (meta.connection.affinity == affinity_t.PINNED && meta.charge_injected) {
            charge();
        }
    }
}

#endif
