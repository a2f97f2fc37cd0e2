// SPDX-License-Identifier: Apache-2.0
// Affinity: a connection stays on its site until it ends or idles out, whatever the forecasts do.
//
// A hash table with two ways, in registers. A slot holds a key (client address, client port, service: exact,
// so connections never share an entry) and a state (deadline, site, flags). A slot whose deadline has passed
// is free; a live one is never overwritten. Where both ways are taken by others, the controller installs an
// entry in `pinned`, and the first packet waits for it there.
//
// The ingress switch and the site switch each keep an entry. To the first it says where the connection goes;
// to the second, that the job has been charged already: so a repeated SYN is not charged again.
//
// A TCP connection that its client never acknowledges gives its slots back soon. Otherwise a flood of first
// packets would keep all of them for as long as a connection may be silent.

#ifndef GRASP_AFFINITY_P4
#define GRASP_AFFINITY_P4

#include "counters.p4"
#include "headers.p4"
#include "metadata.p4"

register<bit<64>>(AFFINITY_SLOTS) affinity_key_1;
register<bit<64>>(AFFINITY_SLOTS) affinity_key_2;
register<bit<64>>(AFFINITY_SLOTS) affinity_state_1;
register<bit<64>>(AFFINITY_SLOTS) affinity_state_2;

control LookUpConnection(in headers_t hdr, inout metadata_t meta) {
    action pin(site_t site) {
        meta.connection.affinity = affinity_t.PINNED;
        meta.connection.site = site;
    }

    table pinned {
        key = {
            meta.service: exact @name("service");
            meta.connection.key[63:32]: exact @name("client");
            meta.connection.key[31:16]: exact @name("client_port");
        }
        actions = {
            pin;
            NoAction;
        }
        default_action = NoAction;
        support_timeout = true;
        size = 65536;
    }

    apply {
        bit<64> key_1;
        bit<64> key_2;
        bit<64> state_1;
        bit<64> state_2;
        // CRCs are linear: keys that follow a pattern, as neighbouring addresses and ports do, would collide in
        // both ways at once. A multiplication breaks the pattern, and each way has a multiplier of its own.
        bit<32> mixed;
        hash(mixed, HashAlgorithm.crc32, 32w0, {meta.connection.key}, 64w0x100000000);
        meta.connection.slot_1 = (mixed * 0x9e3779b1) >> 16;
        meta.connection.slot_2 = (mixed * 0x85ebca6b) >> 16;
        affinity_key_1.read(key_1, meta.connection.slot_1);
        affinity_key_2.read(key_2, meta.connection.slot_2);
        affinity_state_1.read(state_1, meta.connection.slot_1);
        affinity_state_2.read(state_2, meta.connection.slot_2);
        bool live_1 = state_1[63:16] > meta.now;
        bool live_2 = state_2[63:16] > meta.now;

        bit<64> state = 0;
        bool live = false;
        if (key_1 == meta.connection.key) {
            meta.connection.way = 0;
            state = state_1;
            live = live_1;
        } else if (key_2 == meta.connection.key) {
            meta.connection.way = 1;
            state = state_2;
            live = live_2;
        } else if (!live_1) {
            meta.connection.way = 0;
        } else {
            meta.connection.way = 1;
            live = live_2;
        }
        meta.connection.deadline = state[63:16];
        meta.connection.site = state[15:8];
        meta.connection.flags = state[7:0];

        if (live && state != 0) {
            meta.connection.affinity = affinity_t.HIT;
            // The same addresses and ports again: a new connection. It takes over the slot, where its next
            // packets will be looked for, even if there is a pinned entry of an earlier one.
            if (meta.connection.flags & CLOSED != 0 && meta.kind != kind_t.RETURNING &&
                hdr.tcp.isValid() && meta.connection.opening) {
                meta.connection.affinity = affinity_t.FREE;
                meta.connection.flags = 0;
            }
        } else {
            meta.connection.affinity = live ? affinity_t.FULL : affinity_t.FREE;
            meta.connection.flags = 0;
            pinned.apply();
        }
        if (meta.connection.affinity == affinity_t.HIT || meta.connection.affinity == affinity_t.PINNED) {
            events.count((bit<32>)(bit<8>)event_t.AFFINITY_HIT);
        }
    }
}

// Traffic that returns from a site: is it of the connection that is known here? `to_host` is set at the client's
// switch, which alone knows where the connection is now; another may remember the client's ports from an earlier
// connection to a site of its own, and then has nothing to do with this one.
control TrackReturn(in headers_t hdr, inout metadata_t meta) {
    apply {
        bool known = meta.connection.affinity == affinity_t.HIT ||
                     meta.connection.affinity == affinity_t.PINNED;
        if (known && meta.connection.site != meta.source_site) {
            meta.connection.affinity = affinity_t.FREE;
            if (meta.to_host) {
                meta.drop = drop_t.NO_CONNECTION;  // left over from an earlier connection to another site
            }
        } else if (meta.connection.affinity == affinity_t.FULL && meta.to_host && hdr.tcp.isValid() &&
                   hdr.tcp.syn == 1) {
            // There is no room to learn where the client's acknowledgement must go, and its SYN, if that waits
            // in the controller, may be pinned to another site than the one that answers here.
            meta.drop = drop_t.NO_CONNECTION;
        } else if (meta.connection.affinity == affinity_t.FREE && meta.to_host && hdr.tcp.isValid() &&
                   hdr.tcp.ack == 1 && !meta.connection.fin && !meta.connection.rst) {
            // A switch that restarted learns its connections anew from what servers send.
            meta.connection.site = meta.source_site;
            meta.connection.flags = hdr.tcp.syn == 0 ? ESTABLISHED : 0;
            meta.connection.affinity = affinity_t.CREATED;
            events.count((bit<32>)(bit<8>)event_t.RELEARNED);
        }
    }
}

control StoreConnection(in headers_t hdr, inout metadata_t meta) {
    apply {
        if (meta.connection.flags & CLOSED == 0) {
            if (meta.kind != kind_t.RETURNING && hdr.tcp.isValid() && hdr.tcp.ack == 1 &&
                hdr.tcp.syn == 0) {
                meta.connection.flags = meta.connection.flags | ESTABLISHED;
            }
            bool half_open = hdr.tcp.isValid() && meta.connection.flags & ESTABLISHED == 0;
            meta.connection.deadline = meta.now + meta.timeout;
            if (half_open && meta.parameters.handshake < meta.timeout) {
                meta.connection.deadline = meta.now + meta.parameters.handshake;
            }
            if (meta.connection.fin) {
                meta.connection.flags =
                    meta.connection.flags | (meta.kind == kind_t.RETURNING ? SERVER_FIN : CLIENT_FIN);
            }
            if (meta.connection.rst ||
                meta.connection.flags & (CLIENT_FIN | SERVER_FIN) == (CLIENT_FIN | SERVER_FIN)) {
                // The last acknowledgements still find their way, for a while.
                meta.connection.flags = meta.connection.flags | CLOSED;
                meta.connection.deadline = meta.now + meta.parameters.linger;
            }
        }
        bit<64> state = meta.connection.deadline ++ meta.connection.site ++ meta.connection.flags;
        if (meta.connection.way == 0) {
            affinity_key_1.write(meta.connection.slot_1, meta.connection.key);
            affinity_state_1.write(meta.connection.slot_1, state);
        } else {
            affinity_key_2.write(meta.connection.slot_2, meta.connection.key);
            affinity_state_2.write(meta.connection.slot_2, state);
        }
    }
}

#endif
