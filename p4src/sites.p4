// SPDX-License-Identifier: Apache-2.0
// A site's state: headroom, freshness and the way there.
//
// It is read once and written once per packet, and every write passes the bracket, so the winner at the
// bracket's root is always the argmax of what the registers hold.

#ifndef GRASP_SITES_P4
#define GRASP_SITES_P4

#include "bracket.p4"
#include "headers.p4"
#include "metadata.p4"

// Sums that stop at the ends of the range instead of wrapping from brown to green.
energy_t add(in energy_t a, in energy_t b) {
    return (energy_t)((int<48>)a |+| (int<48>)b);
}

energy_t subtract(in energy_t a, in energy_t b) {
    return (energy_t)((int<48>)a |-| (int<48>)b);
}

register<energy_t>(SITES) site_headroom;
register<energy_t>(SITES) site_budget;
register<bit<32>>(SITES) site_epoch;
register<bit<32>>(SITES) site_sequence;
register<time_t>(SITES) site_heard;
register<bit<16>>(SITES) site_next_hop;
register<bit<24>>(SITES) site_cost;
register<bit<8>>(SITES) site_flags;

control LoadSite(inout metadata_t meta) {
    action deliver_to_site(port_t port, mac_t mac) {
        meta.local = true;
        meta.local_port = port;
        meta.local_mac = mac;
    }

    // Sites attached to this switch. Heartbeats must come from the port and address given here.
    table local_sites {
        key = {
            meta.site: exact @name("site");
        }
        actions = {
            deliver_to_site;
            NoAction;
        }
        default_action = NoAction;
        size = SITES;
    }

    apply {
        bit<32> index = (bit<32>)meta.site;
        local_sites.apply();
        site_headroom.read(meta.state.headroom, index);
        site_budget.read(meta.state.budget, index);
        site_epoch.read(meta.state.epoch, index);
        site_sequence.read(meta.state.sequence, index);
        site_heard.read(meta.state.heard, index);
        site_next_hop.read(meta.state.next_hop, index);
        site_cost.read(meta.state.cost, index);
        site_flags.read(meta.state.flags, index);
        meta.alive = meta.state.heard != 0 && meta.now |-| meta.state.heard <= meta.parameters.expiry;
    }
}

control StoreSite(inout metadata_t meta) {
    Bracket() bracket;

    apply {
        bit<32> index = (bit<32>)meta.site;
        if (meta.state_changed) {
            site_headroom.write(index, meta.state.headroom);
            site_budget.write(index, meta.state.budget);
            site_epoch.write(index, meta.state.epoch);
            site_sequence.write(index, meta.state.sequence);
            site_heard.write(index, meta.state.heard);
            site_next_hop.write(index, meta.state.next_hop);
            site_cost.write(index, meta.state.cost);
            site_flags.write(index, meta.state.flags);
        }
        if (meta.state_changed || meta.strike) {
            bool eligible = !meta.strike &&
                            meta.state.flags & (SITE_KNOWN | SITE_DRAINED) == SITE_KNOWN &&
                            meta.state.heard != 0 &&
                            meta.now |-| meta.state.heard <= meta.parameters.expiry;
            bracket.apply(meta.site, meta.state.headroom, eligible);
        }
    }
}

#endif
