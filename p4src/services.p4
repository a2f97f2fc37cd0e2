// SPDX-License-Identifier: Apache-2.0
// Recognises IPv4 traffic of services, in each of the three places where it is met.
//
//   client --TO_SERVICE--> [ingress switch] --ARRIVING--> [site switch] --> server
//   client <-- [ingress switch] <-------------RETURNING-- [site switch] <-- server

#ifndef GRASP_SERVICES_P4
#define GRASP_SERVICES_P4

#include "headers.p4"
#include "metadata.p4"

control ClassifyService(in headers_t hdr, inout metadata_t meta) {
    action set_service(service_t service, bit<16> server_port, bit<32> energy, time_t timeout) {
        meta.service = service;
        meta.server_port = server_port;
        meta.energy = energy;
        meta.timeout = timeout;
    }

    // Service addresses, as clients know them.
    table services {
        key = {
            hdr.ipv4.destination: exact @name("destination");
            hdr.ipv4.protocol: exact @name("protocol");
            meta.destination_port: exact @name("port");
        }
        actions = {
            set_service;
            NoAction;
        }
        default_action = NoAction;
        size = 1024;
    }

    action set_destination_site(site_t site) {
        meta.destination_is_site = true;
        meta.site = site;
        meta.site_known = true;
        meta.server_port = meta.destination_port;
    }

    table site_addresses {
        key = {
            hdr.ipv4.destination: exact @name("destination");
        }
        actions = {
            set_destination_site;
            NoAction;
        }
        default_action = NoAction;
        size = SITES;
    }

    action set_source_site(site_t site) {
        meta.source_is_site = true;
        meta.source_site = site;
        meta.server_port = meta.source_port;
    }

    table site_sources {
        key = {
            hdr.ipv4.source: exact @name("source");
        }
        actions = {
            set_source_site;
            NoAction;
        }
        default_action = NoAction;
        size = SITES;
    }

    action set_site_service(service_t service, ipv4_t address, bit<16> port, bit<32> energy,
                            time_t timeout) {
        meta.service = service;
        meta.service_address = address;
        meta.service_port = port;
        meta.energy = energy;
        meta.timeout = timeout;
    }

    // Services, as the sites' servers know them: by the port they listen on.
    table site_services {
        key = {
            hdr.ipv4.protocol: exact @name("protocol");
            meta.server_port: exact @name("port");
        }
        actions = {
            set_site_service;
            NoAction;
        }
        default_action = NoAction;
        size = 1024;
    }

    apply {
        bool has_ports = true;
        if (hdr.tcp.isValid()) {
            meta.source_port = hdr.tcp.source;
            meta.destination_port = hdr.tcp.destination;
            meta.connection.opening =
                hdr.tcp.syn == 1 && hdr.tcp.ack == 0 && hdr.tcp.rst == 0 && hdr.tcp.fin == 0;
            meta.connection.fin = hdr.tcp.fin == 1;
            meta.connection.rst = hdr.tcp.rst == 1;
        } else if (hdr.udp.isValid()) {
            meta.source_port = hdr.udp.source;
            meta.destination_port = hdr.udp.destination;
            meta.connection.opening = true;
        } else {
            has_ports = false;
        }

        meta.kind = kind_t.PLAIN;
        if (has_ports && meta.role == role_t.EDGE && services.apply().hit) {
            meta.kind = kind_t.TO_SERVICE;
            meta.connection.key = hdr.ipv4.source ++ meta.source_port ++ meta.service;
        } else {
            if (!site_addresses.apply().hit) {
                site_sources.apply();
            }
            if (has_ports && (meta.destination_is_site || meta.source_is_site)) {
                if (site_services.apply().hit) {
                    if (meta.source_is_site) {
                        meta.kind = kind_t.RETURNING;
                        meta.connection.key =
                            hdr.ipv4.destination ++ meta.destination_port ++ meta.service;
                    } else if (meta.role == role_t.EDGE) {
                        meta.drop = drop_t.BYPASS;
                    } else {
                        meta.kind = kind_t.ARRIVING;
                        meta.connection.key =
                            hdr.ipv4.source ++ meta.source_port ++ meta.service;
                    }
                }
            }
        }
        // Later fragments carry no ports and could not follow the first one.
        if (meta.kind != kind_t.PLAIN && hdr.ipv4.more_fragments == 1) {
            meta.drop = drop_t.FRAGMENT;
        }
    }
}

#endif
