// SPDX-License-Identifier: Apache-2.0
// GRASP: the switch sends each connection to the data centre with the most unused green energy.
//
// One program for every switch. A packet comes in as one of these, and is dropped and counted otherwise:
//
//   packet-out ── TakeOperation ─┬─ TRANSMIT ───────────────────────────────────────────────► port
//                                ├─ INJECT (as if from a port) ─┐
//                                └─ site operation ─────────────┼──────┐
//   any port ──── Ports (role, source binding) ─────────────────┤      │
//      ARP ────── ArpResponder ─────────────────────────────────┼──────┼────────────────────► back
//      GRASP ──── Frames ─┬─ REGISTER, REPORT, DISCOVERY ───────┼──────┼────────────────────► controller
//                         └─ HEARTBEAT, PROBE ──────────────────┼──────┤
//      IPv4 ───── ClassifyService ─ LookUpConnection ─ ChooseSite      │
//                         │                                  └─────────┤
//                         │                                        LoadSite
//                         │                              ApplyOperation, TakeHeartbeat,
//                         │                              TakeProbe, Charge
//                         └────────────────► Rewrite ─ Route ─ StoreConnection ──────────────► next hop
//                                                              StoreSite (the bracket), EmitProbe ► neighbours

#include <core.p4>
#include <v1model.p4>

#include "affinity.p4"
#include "arp.p4"
#include "egress.p4"
#include "frames.p4"
#include "operations.p4"
#include "parser.p4"
#include "ports.p4"
#include "probes.p4"
#include "rewrite.p4"
#include "routing.p4"
#include "selection.p4"
#include "services.p4"
#include "sites.p4"

control GraspIngress(inout headers_t hdr, inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    TakeOperation() take_operation;
    Ports() port_roles;
    ArpResponder() arp;
    Frames() frames;
    ClassifyService() classify_service;
    LookUpConnection() look_up_connection;
    ChooseSite() choose_site;
    LoadSite() load_site;
    ApplyOperation() apply_operation;
    TakeHeartbeat() take_heartbeat;
    TakeProbe() take_probe;
    Charge() charge;
    RewriteToServer() rewrite_to_server;
    Route() route;
    TrackReturn() track_return;
    RewriteToClient() rewrite_to_client;
    DecrementTtl() decrement_ttl;
    StoreConnection() store_connection;
    StoreSite() store_site;
    EmitProbe() emit_probe;

    action set_parameters(time_t expiry, time_t linger, time_t handshake, time_t flowlet_gap,
                          mac_t gateway) {
        meta.parameters.expiry = expiry;
        meta.parameters.linger = linger;
        meta.parameters.handshake = handshake;
        meta.parameters.flowlet_gap = flowlet_gap;
        meta.parameters.gateway = gateway;
    }

    table parameters {
        key = {}
        actions = {
            set_parameters;
            NoAction;
        }
        default_action = NoAction;
    }

    apply {
        // What no path below claims is dropped, and cannot leak to port 0.
        mark_to_drop(standard_metadata);
        if (meta.strikes == 0) {
            meta.now = standard_metadata.ingress_global_timestamp;
            meta.arrived_at = standard_metadata.ingress_port;
        }
        meta.port = meta.arrived_at;
        meta.length = standard_metadata.packet_length;
        parameters.apply();

        if (standard_metadata.parser_error != error.NoError) {
            meta.drop = drop_t.MALFORMED;
        } else if (hdr.packet_out.isValid()) {
            take_operation.apply(hdr, meta, standard_metadata);
        }
        if (meta.drop == drop_t.NONE && meta.kind == kind_t.UNDECIDED) {
            port_roles.apply(hdr, meta);
        }
        if (meta.drop == drop_t.NONE && meta.kind == kind_t.UNDECIDED) {
            if (hdr.arp.isValid()) {
                arp.apply(hdr, meta, standard_metadata);
            } else if (hdr.grasp.isValid()) {
                frames.apply(hdr, meta, standard_metadata);
            } else if (hdr.ipv4.isValid()) {
                if (standard_metadata.checksum_error == 1) {
                    meta.drop = drop_t.BAD_CHECKSUM;
                } else if ((bit<32>)hdr.ipv4.total_length + 14 > meta.length) {
                    meta.drop = drop_t.MALFORMED;
                } else if (hdr.ipv4.ttl <= 1) {
                    meta.drop = drop_t.TTL;
                } else {
                    classify_service.apply(hdr, meta);
                    if (meta.drop == drop_t.NONE && meta.kind != kind_t.PLAIN) {
                        look_up_connection.apply(hdr, meta);
                        if (meta.kind == kind_t.TO_SERVICE) {
                            choose_site.apply(hdr, meta);
                        }
                    }
                }
            }
        }

        if (meta.drop == drop_t.NONE && meta.site_known) {
            load_site.apply(meta);
            if (hdr.packet_out.isValid()) {
                apply_operation.apply(hdr, meta, standard_metadata);
            } else if (meta.kind == kind_t.HEARTBEAT) {
                take_heartbeat.apply(hdr, meta, standard_metadata);
            } else if (meta.kind == kind_t.PROBE) {
                take_probe.apply(hdr, meta, standard_metadata);
            } else if (meta.kind == kind_t.TO_SERVICE || (meta.kind == kind_t.ARRIVING && meta.local)) {
                charge.apply(hdr, meta, standard_metadata);
            }
        }

        if (meta.drop == drop_t.NONE && hdr.ipv4.isValid() && meta.kind != kind_t.DONE) {
            if (meta.kind == kind_t.TO_SERVICE) {
                rewrite_to_server.apply(hdr, meta);
            }
            if (meta.drop == drop_t.NONE) {
                route.apply(hdr, meta);
            }
            if (meta.drop == drop_t.NONE && meta.kind == kind_t.RETURNING) {
                track_return.apply(hdr, meta);
                if (meta.to_host) {
                    rewrite_to_client.apply(hdr, meta);
                }
            }
            if (meta.drop == drop_t.NONE) {
                bool tracked = meta.kind == kind_t.TO_SERVICE || meta.kind == kind_t.RETURNING ||
                               (meta.kind == kind_t.ARRIVING && meta.local);
                if (tracked && (meta.connection.affinity == affinity_t.HIT ||
                                meta.connection.affinity == affinity_t.CREATED)) {
                    store_connection.apply(hdr, meta);
                }
                if (meta.charged && meta.kind == kind_t.TO_SERVICE) {
                    jobs.count((bit<32>)meta.site);
                } else if (meta.charged) {
                    events.count((bit<32>)(bit<8>)event_t.CHARGED_ON_ARRIVAL);
                }
                decrement_ttl.apply(hdr);
                hdr.ethernet.destination = meta.next_mac;
                hdr.ethernet.source = meta.parameters.gateway;
                standard_metadata.egress_spec = meta.egress_port;
            }
        }

        if (meta.drop == drop_t.NONE || meta.strike) {
            store_site.apply(meta);
        }
        if (meta.drop != drop_t.NONE) {
            drops.count((bit<32>)(bit<8>)meta.drop);
            mark_to_drop(standard_metadata);
        } else if (meta.probe_out) {
            emit_probe.apply(hdr, meta);
        }
    }
}

V1Switch(GraspParser(), GraspVerifyChecksum(), GraspIngress(), GraspEgress(), GraspComputeChecksum(),
         GraspDeparser()) main;
