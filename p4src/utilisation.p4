// SPDX-License-Identifier: Apache-2.0
// How busy each link is: HULA's estimate, a sum of bytes that decays with time.
//
// On a packet of D bytes, dt after the last one: U = D + U (1 - dt / tau), U = D when dt >= tau
// (Katta et al., HULA, SOSR 2016). At a constant rate U tends to rate x tau.

#ifndef GRASP_UTILISATION_P4
#define GRASP_UTILISATION_P4

#include "headers.p4"
#include "metadata.p4"

const bit<8> TAU_LOG2 = 17;   // tau = 2^17 us = 131 ms
const bit<8> UNIT_LOG2 = 14;  // probes carry U in 16 KiB steps, so that single packets do not move paths

register<bit<32>>(PORTS) link_bytes;
register<time_t>(PORTS) link_time;

// The estimate of `port`, decayed to `now`.
control Utilisation(in port_t port, in time_t now, out bit<32> bytes) {
    apply {
        time_t last;
        link_bytes.read(bytes, (bit<32>)port);
        link_time.read(last, (bit<32>)port);
        time_t elapsed = now |-| last;
        if (elapsed >> TAU_LOG2 != 0) {
            bytes = 0;
        } else {
            bit<64> decay = ((bit<64>)bytes * (bit<64>)elapsed) >> TAU_LOG2;
            bytes = bytes - (bit<32>)decay;
        }
    }
}

#endif
