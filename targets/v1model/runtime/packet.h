/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a packet's state that the run time and every program share. */
#ifndef GRASP_V1_PACKET_H
#define GRASP_V1_PACKET_H

#include "program.h"

#define V1_SLACK                                                                                   \
    64 /* readable bytes after a packet's last, so that parsers may load whole words               \
        */

enum v1_instance { /* standard_metadata.instance_type, as simple_switch numbers them */
                   V1_NORMAL = 0,
                   V1_INGRESS_CLONE = 1,
                   V1_EGRESS_CLONE = 2,
                   V1_COALESCED = 3,
                   V1_RECIRCULATED = 4,
                   V1_REPLICATED = 5,
                   V1_RESUBMITTED = 6
};

/* standard_metadata, P4_14's intrinsic_metadata and queueing_metadata among it. The width in bits
 * stands behind each field: whoever writes keeps to it. Times in microseconds. */
struct v1_standard {
    uint64_t ingress_port;             /* 9 */
    uint64_t egress_spec;              /* 9 */
    uint64_t egress_port;              /* 9 */
    uint64_t instance_type;            /* 32 */
    uint64_t packet_length;            /* 32 */
    uint64_t enq_timestamp;            /* 32 */
    uint64_t enq_qdepth;               /* 19 */
    uint64_t deq_timedelta;            /* 32 */
    uint64_t deq_qdepth;               /* 19 */
    uint64_t ingress_global_timestamp; /* 48 */
    uint64_t egress_global_timestamp;  /* 48 */
    uint64_t mcast_grp;                /* 16 */
    uint64_t egress_rid;               /* 16 */
    uint64_t checksum_error;           /* 1 */
    uint64_t parser_error;             /* 32 */
    uint64_t priority;                 /* 3 */
    uint64_t qid;                      /* 8; P4_14 only */
};

/* What primitives ask the run time to do at the end of a pipeline. The last call wins. Field lists
 * by their JSON id. */
struct v1_requests {
    bool clone;
    bool resubmit;
    bool recirculate;
    bool exit;              /* `exit` was executed; the program's own, zeroed before a pipeline */
    bool failed;            /* see v1_assert_failed */
    uint16_t clone_session; /* 0 to 32767 */
    uint32_t clone_list;
    uint32_t resubmit_list;
    uint32_t recirculate_list;
    uint32_t digest; /* 1 + index into v1_program.digest_info, 0 for none */
};

/* First member of the program's packet state. */
struct v1_packet {
    struct v1_context *context;
    const uint8_t *data; /* the packet as it came in, or was recirculated */
    uint32_t length;     /* bytes at data */
    uint32_t parsed;     /* bytes that the parser consumed; what follows is payload */
    uint32_t received;   /* length when it came in: what counters and meters count */
    uint32_t current;    /* length now: setValid and setInvalid change it by the header's bytes */
    uint32_t truncated;  /* longest length it may leave with: see v1_truncate */
    uint32_t color;      /* scratch */
    struct v1_requests requests;
    struct v1_standard standard;
};

/* The primitive `truncate`: the smallest length asked for holds. */
static inline void v1_truncate(struct v1_packet *packet, uint64_t length) {
    if (length < packet->truncated)
        packet->truncated = (uint32_t)length;
}

/* The primitive `modify_field_rng_uniform`: a random value from low to high in *value; *value is
 * left alone when low > high. */
void v1_random(struct v1_packet *packet, uint64_t low, uint64_t high, uint64_t *value);

/* One argument of log_msg. */
struct v1_value {
    const uint64_t *words; /* V1_WORDS(width) of them */
    uint32_t width;        /* bits */
    bool is_signed;
};

/* The primitive `log_msg`: each {} of the format is replaced by the next value, in decimal. */
void v1_log_message(struct v1_packet *packet, const char *format, const struct v1_value *values,
                    uint32_t count);

/* An `assert` or `assume` that does not hold: logged with where it stands in the source, counted;
 * the packet is dropped at the end of the pipeline it is in. */
void v1_assert_failed(struct v1_packet *packet, const char *where);

#endif
