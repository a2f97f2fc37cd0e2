// SPDX-License-Identifier: Apache-2.0
// Finds the next hop: by the probes towards a site that is alive, by the controller's routes otherwise.

#ifndef GRASP_ROUTING_P4
#define GRASP_ROUTING_P4

#include "headers.p4"
#include "metadata.p4"
#include "probes.p4"

register<time_t>(FLOWLETS) flowlet_time;
register<bit<24>>(FLOWLETS) flowlet_hop;  // site, port

// A flow keeps its path while its packets follow each other closely, and may change it after a pause, when
// no packet in flight can be overtaken. It leaves a path that has fallen silent without one: a flow that never
// pauses would otherwise be lost there for good.
control Flowlet(in headers_t hdr, inout metadata_t meta) {
    apply {
        bit<32> slot;
        time_t last;
        time_t heard;
        bit<24> hop;
        hash(slot, HashAlgorithm.crc32, 32w0,
             {hdr.ipv4.source, hdr.ipv4.destination, hdr.ipv4.protocol, meta.source_port,
              meta.destination_port},
             FLOWLETS);
        flowlet_time.read(last, slot);
        flowlet_hop.read(hop, slot);
        trunk_heard.read(heard, (bit<32>)hop[15:0]);
        if (last == 0 || hop[23:16] != meta.site || meta.now |-| last > meta.parameters.flowlet_gap ||
            meta.now |-| heard > meta.parameters.expiry) {
            hop = meta.site ++ meta.state.next_hop;
            flowlet_hop.write(slot, hop);
        }
        flowlet_time.write(slot, meta.now);
        meta.egress_port = (port_t)hop[15:0];
    }
}

control Route(inout headers_t hdr, inout metadata_t meta) {
    Flowlet() flowlet;

    action forward(port_t port) {
        meta.routed = true;
        meta.egress_port = port;
        meta.next_mac = meta.parameters.gateway;
    }

    action deliver(port_t port, mac_t mac) {
        meta.routed = true;
        meta.to_host = true;
        meta.egress_port = port;
        meta.next_mac = mac;
    }

    table routes {
        key = {
            hdr.ipv4.destination: lpm @name("destination");
        }
        actions = {
            forward;
            deliver;
            NoAction;
        }
        default_action = NoAction;
        size = 4096;
    }

    apply {
        if (meta.site_known && meta.local) {
            deliver(meta.local_port, meta.local_mac);
        } else if (meta.site_known && meta.alive) {
            forward((port_t)meta.state.next_hop);
            flowlet.apply(hdr, meta);
        } else {
            routes.apply();
        }
        if (!meta.routed) {
            meta.drop = drop_t.NO_ROUTE;
        }
    }
}

#endif
