// SPDX-License-Identifier: Apache-2.0
// Headers, as they lie on the wire, and the metadata that travels with a packet.

#ifndef GRASP_HEADERS_P4
#define GRASP_HEADERS_P4

#include "constants.p4"

@controller_header("packet_out")
header packet_out_t {
    operation_t operation;
    bit<8> flags;     // SET_DRAIN: bit 0, drained; INJECT: bit 0, charge the job
    bit<16> port;     // TRANSMIT, INJECT
    site_t site;      // SET_FORECAST, SET_DRAIN, READ_SITE
    bit<32> sequence; // comes back in the answer
    bit<32> epoch;    // SET_FORECAST
    energy_t budget;  // SET_FORECAST: green energy of the epoch
    energy_t spent;   // SET_FORECAST: what of it was used before (a switch that restarted)
}

@controller_header("packet_in")
header packet_in_t {
    reason_t reason;
    status_t status;       // ANSWER
    bit<16> ingress_port;
    site_t site;           // ANSWER, OVERFLOW
    bit<8> flags;          // ANSWER: site flags, see SITE_KNOWN and the others
    service_t service;     // OVERFLOW
    bit<32> sequence;      // ANSWER: the operation's
    bit<32> epoch;         // ANSWER
    energy_t budget;       // ANSWER
    energy_t headroom;     // ANSWER
    bit<16> next_hop;      // ANSWER: port towards the site
    time_t heard;          // ANSWER: microseconds since the site was last heard of
}

header ethernet_t {
    mac_t destination;
    mac_t source;
    bit<16> ethertype;
}

header arp_t {
    bit<16> hardware;
    bit<16> protocol;
    bit<8> hardware_length;
    bit<8> protocol_length;
    bit<16> operation;
    mac_t sender_mac;
    ipv4_t sender;
    mac_t target_mac;
    ipv4_t target;
}

header grasp_t {
    bit<8> version;
    frame_t type;
    site_t site;
    bit<8> flags;  // PROBE: site flags
}

header probe_t {
    bit<32> epoch;
    bit<32> sequence;
    energy_t headroom;
    bit<16> utilisation;  // largest on the way, in UTILISATION_UNIT
    bit<8> hops;
    bit<8> reserved;
}

header ipv4_t_ {
    bit<4> version;
    bit<4> ihl;
    bit<8> tos;
    bit<16> total_length;
    bit<16> identification;
    bit<1> reserved;
    bit<1> dont_fragment;
    bit<1> more_fragments;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    ipv4_t source;
    ipv4_t destination;
}

#endif
