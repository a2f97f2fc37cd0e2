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
    bit<16> utilisation;  // largest on the way, in steps of 2^UNIT_LOG2 bytes
    bit<8> hops;
    bit<8> age;  // of the site's last heartbeat, in steps of 2^AGE_LOG2 us, rounded up
}

header ipv4_header_t {
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

header ipv4_options_t {
    varbit<320> options;
}

header tcp_t {
    bit<16> source;
    bit<16> destination;
    bit<32> sequence;
    bit<32> acknowledgement;
    bit<4> data_offset;
    bit<4> reserved;
    bit<2> ecn;
    bit<1> urg;
    bit<1> ack;
    bit<1> psh;
    bit<1> rst;
    bit<1> syn;
    bit<1> fin;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

header udp_t {
    bit<16> source;
    bit<16> destination;
    bit<16> length;
    bit<16> checksum;
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t packet_in;
    ethernet_t ethernet;
    arp_t arp;
    grasp_t grasp;
    probe_t probe;
    ipv4_header_t ipv4;
    ipv4_options_t ipv4_options;
    tcp_t tcp;
    udp_t udp;
}

#endif
