// SPDX-License-Identifier: Apache-2.0
// What the controller can count, over P4Runtime.

#ifndef GRASP_COUNTERS_P4
#define GRASP_COUNTERS_P4

#include "constants.p4"

// Index of the `events` counter.
enum bit<8> event_t {
    AFFINITY_HIT = 0,
    OVERFLOW = 1,
    PROBE_ACCEPTED = 2,
    PROBE_REFUSED = 3,
    STRUCK_OUT = 4,
    RELEARNED = 5,
    CHARGED_ON_ARRIVAL = 6,
    FORECAST_SET = 7
}
const bit<32> EVENTS = 8;

counter(SITES, CounterType.packets) jobs;          // by site: jobs that this switch sent there
counter(DROP_REASONS, CounterType.packets) drops;  // by drop_t
counter(EVENTS, CounterType.packets) events;       // by event_t

#endif
