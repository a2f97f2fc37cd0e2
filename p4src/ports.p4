// SPDX-License-Identifier: Apache-2.0
// What a port is for, and who may send from it.

#ifndef GRASP_PORTS_P4
#define GRASP_PORTS_P4

#include "headers.p4"
#include "metadata.p4"

control Ports(in headers_t hdr, inout metadata_t meta) {
    ipv4_t claimed = 0;

    action set_role(role_t role) {
        meta.role = role;
    }

    table ports {
        key = {
            meta.port: exact @name("ingress_port");
        }
        actions = {
            set_role;
            NoAction;
        }
        default_action = NoAction;
        size = PORTS;
    }

    table sources {
        key = {
            meta.port: exact @name("ingress_port");
            hdr.ethernet.source: exact @name("ethernet_source");
            claimed: exact @name("ipv4_source");
        }
        actions = {
            NoAction;
        }
        default_action = NoAction;
        size = 4096;
    }

    apply {
        ports.apply();
        if (hdr.ipv4.isValid() || hdr.arp.isValid()) {
            if (meta.role == role_t.UNKNOWN) {
                meta.drop = drop_t.UNKNOWN_PORT;
            } else if (meta.role == role_t.EDGE) {
                // Source binding: a host speaks with its own addresses, or is not heard.
                claimed = hdr.ipv4.source;
                if (hdr.arp.isValid()) {
                    claimed = hdr.arp.sender;
                }
                if (!sources.apply().hit) {
                    meta.drop = drop_t.SPOOFED;
                }
            }
        } else if (hdr.ethernet.ethertype == ETHERTYPE_IPV6) {
            meta.drop = drop_t.IPV6;
        } else if (!hdr.grasp.isValid()) {
            meta.drop = drop_t.ETHERTYPE;
        }
    }
}

#endif
