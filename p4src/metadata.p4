// SPDX-License-Identifier: Apache-2.0
// What a packet carries from one control to the next.

#ifndef GRASP_METADATA_P4
#define GRASP_METADATA_P4

#include "constants.p4"

// What the packet is, once a control has recognised it.
enum kind_t {
    UNDECIDED,
    DONE,        // its fate is settled: nothing further looks at it
    OPERATION,   // packet-out that reads or writes a site's state
    HEARTBEAT,   // from an agent
    PROBE,       // from a neighbour
    TO_SERVICE,  // client to a service address
    ARRIVING,    // already rewritten, on its way to a site's service port
    RETURNING,   // from a site's service port to a client
    PLAIN        // any other IPv4
}

// What the affinity table says of a connection.
enum affinity_t {
    FREE,    // not there, and there is room for it
    FULL,    // not there, and both ways are taken by live connections
    HIT,     // there, in the slot of `way`
    PINNED,  // there, as an entry that the controller installed
    CREATED  // new in this packet
}

struct parameters_t {
    time_t expiry;       // silence after which a site is not believed to be alive
    time_t linger;       // how long a closed connection keeps its slot
    time_t handshake;    // how long one does that the client has not acknowledged
    time_t flowlet_gap;  // pause after which a flow may change its path
    mac_t gateway;       // the one hardware address of all switches
}

// A site's registers, read once and written back once.
struct site_state_t {
    energy_t headroom;
    energy_t budget;
    bit<32> epoch;
    bit<32> sequence;  // of the last probe
    time_t heard;      // 0: never
    bit<16> next_hop;
    bit<24> cost;      // utilisation, then hops
    bit<8> flags;
}

struct connection_t {
    bit<64> key;  // client address, client port, service: exact, so no two connections share an entry
    bit<32> slot_1;
    bit<32> slot_2;
    bit<1> way;
    time_t deadline;
    site_t site;
    bit<8> flags;
    affinity_t affinity;
    bool opening;  // a first packet can look like this
    bool fin;
    bool rst;
}

struct metadata_t {
    parameters_t parameters;
    kind_t kind;
    drop_t drop;
    bit<32> length;  // of the frame, in bytes
    port_t port;  // arrived_at, or where the packet is said to have come in (INJECT)
    role_t role;
    bool charge_injected;  // INJECT of a first packet that waited for its pinned entry

    bool site_known;  // `site` holds a site that the packet concerns
    site_t site;
    bool local;  // attached to this switch, at local_port
    port_t local_port;
    mac_t local_mac;
    site_state_t state;
    bool alive;
    bool state_changed;
    bool probe_out;  // the state goes out in a probe
    bit<8> age;  // of the last heartbeat, as the probe says it
    bool charged;  // a job was charged to the site
    bool strike;  // out of the bracket until heard of again

    service_t service;
    bit<32> energy;
    time_t timeout;
    ipv4_t service_address;
    bit<16> service_port;
    bool has_server;
    ipv4_t server;
    bit<16> server_port;
    bit<16> source_port;  // of TCP or UDP, 0 without
    bit<16> destination_port;
    bool destination_is_site;
    bool source_is_site;
    site_t source_site;
    connection_t connection;

    bool routed;  // an egress port was found
    bool to_host;  // and it leads to an attached host, not to a switch
    port_t egress_port;
    mac_t next_mac;

    // These outlive a resubmission, which clears all else, standard metadata included.
    @field_list(0)
    bit<16> strikes;  // resubmissions so far: each removes one site, so they end
    @field_list(0)
    port_t arrived_at;  // port of the first pass
    @field_list(0)
    time_t now;  // and its time
}

// Site flags, in registers, probes (DRAINED alone) and answers.
const bit<8> SITE_KNOWN = 1;           // a forecast was set or a probe accepted
const bit<8> SITE_DRAINED = 2;
const bit<8> SITE_ALIVE = 4;           // answers: heard of within the expiry
const bit<8> SITE_LOCAL = 8;           // answers: attached to this switch
const bit<8> SITE_AUTHORITATIVE = 16;  // the forecast was set here, not learnt from a probe

// Connection flags.
const bit<8> CLIENT_FIN = 1;
const bit<8> SERVER_FIN = 2;
const bit<8> CLOSED = 4;
const bit<8> ESTABLISHED = 8;  // the client has acknowledged what the server sent

#endif
