/* SPDX-License-Identifier: Apache-2.0 */
/* State that outlives a packet: registers, counters, meters, and the context that holds them. */
#ifndef GRASP_V1_STATE_H
#define GRASP_V1_STATE_H

#include <string.h>
#include "packet.h"

#define V1_INLINE static inline __attribute__((always_inline))

/* Cells are as small as the width allows, because cache misses are what registers cost: 1, 2, 4
 * or 8 bytes in the machine's order, or 8 * V1_WORDS(width) for wider ones. */
struct v1_register {
    void *cells;
    uint32_t size;  /* cells */
    uint32_t bytes; /* of a cell */
    uint32_t width; /* bits */
};

#define V1_CELL_BYTES(width)                                                                       \
    ((width) <= 8 ? 1 : (width) <= 16 ? 2 : (width) <= 32 ? 4 : 8 * V1_WORDS(width))

/* Call these with V1_CELL_BYTES(width) of a constant width up to 64. A read out of bounds leaves
 * *value alone, a write out of bounds changes nothing, as in BMv2. */
V1_INLINE void v1_register_read(const struct v1_register *reg, uint32_t bytes, uint64_t index,
                                uint64_t *value) {
    if (__builtin_expect(index >= reg->size, 0))
        return;
    switch (bytes) {
    case 1:
        *value = ((const uint8_t *)reg->cells)[index];
        break;
    case 2:
        *value = ((const uint16_t *)reg->cells)[index];
        break;
    case 4:
        *value = ((const uint32_t *)reg->cells)[index];
        break;
    default:
        *value = ((const uint64_t *)reg->cells)[index];
    }
}

V1_INLINE void v1_register_write(struct v1_register *reg, uint32_t bytes, uint64_t index,
                                 uint64_t value) {
    if (__builtin_expect(index >= reg->size, 0))
        return;
    switch (bytes) {
    case 1:
        ((uint8_t *)reg->cells)[index] = (uint8_t)value;
        break;
    case 2:
        ((uint16_t *)reg->cells)[index] = (uint16_t)value;
        break;
    case 4:
        ((uint32_t *)reg->cells)[index] = (uint32_t)value;
        break;
    default:
        ((uint64_t *)reg->cells)[index] = value;
    }
}

/* For widths above 64: the cell's words, or NULL out of bounds. */
V1_INLINE uint64_t *v1_register_words(const struct v1_register *reg, uint64_t index) {
    if (__builtin_expect(index >= reg->size, 0))
        return NULL;
    return (uint64_t *)reg->cells + index * (reg->bytes / 8);
}

struct v1_count {
    uint64_t packets;
    uint64_t bytes;
};

struct v1_counter {
    struct v1_count *cells;
    uint32_t size;
};

/* The primitive `count`; out of bounds nothing happens. */
V1_INLINE void v1_count(const struct v1_packet *packet, struct v1_counter *counter,
                        uint64_t index) {
    if (__builtin_expect(index >= counter->size, 0))
        return;
    counter->cells[index].packets++;
    counter->cells[index].bytes += packet->received;
}

/* One of a meter's two token buckets. Rates are per microsecond. */
struct v1_bucket {
    double rate;
    uint64_t burst;
    uint64_t tokens;
    uint64_t filled; /* tokens made since the origin of time */
};

struct v1_rates { /* per second, in packets or bytes; configured = 0: no meter */
    uint64_t configured, cir, cburst, pir, pburst;
};

enum v1_color { V1_GREEN = 0, V1_YELLOW = 1, V1_RED = 2 };

/* Two-rate three-colour meter: bucket 0 is the peak rate, bucket 1 the committed one. An
 * unconfigured meter says green. */
struct v1_meter {
    bool configured;
    uint64_t origin; /* time at which it was configured, microseconds */
    struct v1_bucket bucket[2];
    struct v1_rates rates; /* as configured */
};

struct v1_meters {
    struct v1_meter *cells;
    uint32_t size;
    uint32_t unit; /* enum v1_unit */
};

/* Colour of this packet; takes the tokens. `before` is the colour it had: it gets no better. */
uint32_t v1_meter_color(const struct v1_packet *packet, struct v1_meter *meter, uint32_t unit,
                        uint32_t before);

/* The primitive `execute_meter`; out of bounds *color is left alone. */
static inline void v1_execute_meter(const struct v1_packet *packet, struct v1_meters *meters,
                                    uint64_t index, uint64_t *color) {
    if (index < meters->size)
        *color = v1_meter_color(packet, &meters->cells[index], meters->unit, V1_GREEN);
}

struct v1_table;
struct v1_profile;
struct v1_digest;
struct v1_replication;

/* What a loaded program owns on one switch. Arrays have the order of the program's descriptors. */
struct v1_context {
    const struct v1_program *program;
    struct v1_table *tables;
    struct v1_table *value_sets;
    struct v1_register *registers;
    struct v1_counter *counters;
    struct v1_meters *meters;
    struct v1_profile *profiles;
    struct v1_digest *digests;
    struct v1_replication *replication;
    uint64_t now;       /* microseconds since the switch started; read once per batch */
    uint32_t drop_port; /* 511 unless the switch was started with another */
    uint64_t random;    /* state of the generator */
    struct v1_switch *owner;
};

/* The primitives `mark_to_drop` and `drop`. */
V1_INLINE void v1_mark_to_drop(struct v1_packet *packet) {
    packet->standard.egress_spec = packet->context->drop_port;
    packet->standard.mcast_grp = 0;
}

#endif
