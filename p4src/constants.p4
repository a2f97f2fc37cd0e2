// SPDX-License-Identifier: Apache-2.0
// Sizes, numbers and codes that the program, the controller and the agents share.
// control/wire.py and tests/p4src check themselves against the compiled program.

#ifndef GRASP_CONSTANTS_P4
#define GRASP_CONSTANTS_P4

typedef bit<9> port_t;
typedef bit<8> site_t;      // site id, 0 to 255
typedef bit<16> service_t;  // service id, 1 to 65535; 0 is none
typedef bit<48> time_t;     // microseconds since the switch started
typedef bit<48> energy_t;   // milliwatt-hours in two's complement: below zero when a site runs on brown energy
typedef bit<48> mac_t;
typedef bit<32> ipv4_t;

const port_t CPU_PORT = 255;

// Multicast groups, filled by the controller.
const bit<16> TRUNKS = 1;          // every trunk port: probes
const bit<16> TRUNKS_AND_CPU = 2;  // the same and CPU_PORT: operations that change what probes carry

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_ARP = 0x0806;
const bit<16> ETHERTYPE_IPV6 = 0x86dd;
const bit<16> ETHERTYPE_GRASP = 0x88b5;  // IEEE local experimental EtherType 1

const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;

const bit<8> GRASP_VERSION = 1;

// Frames of ETHERTYPE_GRASP.
enum bit<8> frame_t {
    REGISTER = 1,    // agent to controller
    REGISTERED = 2,  // controller to agent
    REPORT = 3,      // agent to controller
    REPORTED = 4,    // controller to agent
    HEARTBEAT = 5,   // agent to site switch
    PROBE = 6,       // switch to switch
    DISCOVERY = 7    // controller to switch to switch to controller
}

// What a packet-out asks.
enum bit<8> operation_t {
    TRANSMIT = 1,      // send the payload out of `port`
    INJECT = 2,        // take the payload as if it had come in at `port`
    SET_FORECAST = 3,  // green energy of a site for an epoch
    SET_DRAIN = 4,     // flags bit 0: take the site out of selection, or back in
    READ_SITE = 5      // answer only
}

// Why a packet-in was sent.
enum bit<8> reason_t {
    AGENT = 1,      // REGISTER or REPORT frame
    DISCOVERY = 2,  // DISCOVERY frame
    OVERFLOW = 3,   // first packet of a connection, both affinity ways taken
    ANSWER = 4      // to an operation, with its sequence number
}

// How an operation went.
enum bit<8> status_t {
    OK = 0,
    STALE = 1,     // older epoch: nothing changed
    NOT_HERE = 2,  // the site is not attached to this switch: nothing changed
    UNKNOWN = 3    // no such operation
}

enum bit<8> role_t {
    UNKNOWN = 0,
    TRUNK = 1,
    EDGE = 2
}

// Index of the `drops` counter.
enum bit<8> drop_t {
    NONE = 0,
    MALFORMED = 1,      // cut short, or lengths and version that contradict each other
    BAD_CHECKSUM = 2,   // IPv4 header
    UNKNOWN_PORT = 3,   // no role was given to the port
    SPOOFED = 4,        // source not bound to the port, or a frame only a trunk may bring
    ARP_UNKNOWN = 5,    // ARP for an address that is not the switch's to answer
    ETHERTYPE = 6,      // not handled, VLAN tags among them
    IPV6 = 7,
    TTL = 8,
    NO_ROUTE = 9,
    NO_SITE = 10,        // every site is drained, expired or unknown
    NO_CONNECTION = 11,  // not a first packet, and no live affinity entry
    FRAGMENT = 12,       // to or from a service: ports are not in every fragment
    UNBOUND_SITE = 13,   // heartbeat of a site that is not bound to the port
    BYPASS = 14,         // a client to a site's service port, past the service address
    OPERATION = 15,      // packet-out that names no operation
    RATE = 16            // agent frame beyond what a port may send the controller
}
const bit<32> DROP_REASONS = 17;

// Ages in probes: steps of 33 ms, up to 8.4 s.
const bit<8> AGE_LOG2 = 15;
const time_t AGE_STEP = 1 << AGE_LOG2;
const time_t AGE_LIMIT = 255 << AGE_LOG2;

const bit<32> SITES = 256;
const bit<32> AFFINITY_SLOTS = 65536;  // in each of the two ways; affinity.p4 makes 16-bit slots
const bit<32> FLOWLETS = 65536;
const bit<32> PORTS = 512;

#endif
