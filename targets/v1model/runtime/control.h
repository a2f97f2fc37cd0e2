/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine (engine.py, through ctypes) calls. Objects are numbered as the program's
 * descriptors number them; keys, masks and arguments are words as program.h defines them. Functions
 * that return int return 0 or more, or a negative enum v1_error. They may be called from any thread
 * at any time. */
#ifndef GRASP_V1_CONTROL_H
#define GRASP_V1_CONTROL_H

#include "state.h"

enum v1_error {
    V1_INVALID = -1, /* argument out of range, wrong kind of target */
    V1_NOT_FOUND = -2,
    V1_EXISTS = -3,
    V1_FULL = -4,
    V1_READ_ONLY = -5, /* const entries, const default */
    V1_IN_USE = -6,    /* member or group still referred to */
    V1_NO_MEMORY = -7,
    V1_SYSTEM = -8 /* errno says more */
};

enum v1_level { V1_ERROR = 0, V1_WARNING = 1, V1_INFO = 2, V1_DEBUG = 3 };

struct v1_options {
    uint32_t cpu_port; /* V1_NONE: none */
    uint32_t drop_port;
    uint32_t queues;      /* per port */
    uint32_t queue_depth; /* packets in each */
    uint32_t log_level;   /* enum v1_level: the last that is logged */
    const char *pcap;     /* folder, or NULL */
    void (*log)(uint32_t level, const char *text);
};

struct v1_counts { /* packets, by fate; see SwitchCounts in objects.py */
    uint64_t received;
    uint64_t dropped_ingress;
    uint64_t dropped_egress;
    uint64_t dropped_no_port;
    uint64_t dropped_loop;
    uint64_t dropped_priority;
    uint64_t dropped_too_long;
    uint64_t no_clone_session;
    uint64_t no_multicast_group;
    uint64_t events_lost;
    uint64_t assertions;
};

struct v1_target { /* what an entry leads to */
    uint32_t kind; /* enum v1_target_kind */
    uint32_t id;   /* action index, member id or group id */
    const uint64_t *args;
};
enum v1_target_kind { V1_CALL = 0, V1_MEMBER = 1, V1_GROUP = 2 };

struct v1_entry_info { /* an entry as v1_table_read gives it */
    uint32_t kind, id;
    int32_t priority;
    uint32_t constant;
    uint64_t timeout, idle;
    uint64_t packets, bytes;
    struct v1_rates rates;
};

struct v1_weight {
    uint32_t member, weight;
};

struct v1_replica {
    uint32_t port, instance;
};

struct v1_digest_config {
    uint64_t enabled, max_timeout, max_list_size, ack_timeout;
};

enum v1_event_kind {
    V1_PACKET_IN = 1, /* data: the packet */
    V1_DIGEST = 2,    /* object: digest, number: list id, data: words of the samples */
    V1_IDLE = 3,      /* object: table, data: per entry the words of value, mask, priority */
    V1_PORT = 4       /* object: port, number: 1 up, 0 down */
};

struct v1_event_info {
    uint32_t kind, object, number, length;
    uint32_t program; /* how many programs had been activated: objects are this one's */
};

/* Switch, programs, clock. */
struct v1_switch *v1_switch_create(const struct v1_options *options);
void v1_switch_destroy(struct v1_switch *sw);
struct v1_context *v1_load(struct v1_switch *sw, const struct v1_program *program, int *error);
/* Run a program (NULL: none); returns how many have been activated, this one included. */
int v1_activate(struct v1_switch *sw, struct v1_context *context);
void v1_unload(struct v1_context *context); /* not the active one */
uint64_t v1_clock(struct v1_switch *sw);
void v1_set_clock(struct v1_switch *sw, bool stands, uint64_t now);
void v1_read_counts(struct v1_switch *sw, struct v1_counts *counts);

/* Packets without ports. v1_process leaves (port, length: uint32_t; bytes) for each packet that
 * goes out in a buffer that is good until the next call; it returns its size. v1_bench returns the
 * nanoseconds of processor time that it took. */
int64_t v1_process(struct v1_switch *sw, uint32_t port, const uint8_t *data, uint32_t length,
                   const uint8_t **out);
int v1_packet_out(struct v1_switch *sw, const uint8_t *data, uint32_t length);
int64_t v1_bench(struct v1_switch *sw, const uint8_t *packets, const uint32_t *lengths,
                 const uint32_t *ports, uint32_t number, uint64_t count);

/* Tables; number `tables + n` is value set n, whose members have no target (NULL). */
int v1_table_add(struct v1_context *context, uint32_t table, const uint64_t *value,
                 const uint64_t *mask, int32_t priority, const struct v1_target *target,
                 uint64_t timeout);
int v1_table_modify(struct v1_context *context, uint32_t table, const uint64_t *value,
                    const uint64_t *mask, int32_t priority, const struct v1_target *target,
                    const uint64_t *timeout);
int v1_table_delete(struct v1_context *context, uint32_t table, const uint64_t *value,
                    const uint64_t *mask, int32_t priority);
int v1_table_clear(struct v1_context *context, uint32_t table);
/* One entry or, with `value` NULL, all in the order of their insertion. Returns how many there are
 * and writes at most `room`: for each a v1_entry_info, then the words of value, mask and the
 * largest argument list that the table's actions have (at least one word). */
int v1_table_read(struct v1_context *context, uint32_t table, const uint64_t *value,
                  const uint64_t *mask, int32_t priority, uint8_t *out, uint32_t room);
int v1_table_set_default(struct v1_context *context, uint32_t table, uint32_t action,
                         const uint64_t *args); /* V1_NONE: the program's own */
int v1_table_default(struct v1_context *context, uint32_t table, uint32_t *action, uint64_t *args);
int v1_table_set_count(struct v1_context *context, uint32_t table, const uint64_t *value,
                       const uint64_t *mask, int32_t priority, uint64_t packets, uint64_t bytes);
int v1_table_set_rates(struct v1_context *context, uint32_t table, const uint64_t *value,
                       const uint64_t *mask, int32_t priority, const struct v1_rates *rates);

/* Action profiles. */
int v1_member_set(struct v1_context *context, uint32_t profile, uint32_t member, uint32_t action,
                  const uint64_t *args, bool exists);
int v1_member_delete(struct v1_context *context, uint32_t profile, uint32_t member);
int v1_member_list(struct v1_context *context, uint32_t profile, uint32_t *ids, uint32_t room);
int v1_member_read(struct v1_context *context, uint32_t profile, uint32_t member, uint32_t *action,
                   uint64_t *args);
int v1_group_set(struct v1_context *context, uint32_t profile, uint32_t group,
                 const struct v1_weight *weights, uint32_t count, uint32_t max_size, bool exists);
int v1_group_delete(struct v1_context *context, uint32_t profile, uint32_t group);
int v1_group_list(struct v1_context *context, uint32_t profile, uint32_t *ids, uint32_t room);
int v1_group_read(struct v1_context *context, uint32_t profile, uint32_t group,
                  struct v1_weight *weights, uint32_t room, uint32_t *max_size);

/* Registers (cells copied as they lie in memory), counters, meters; `count` cells from `first`. */
int v1_register_get(struct v1_context *context, uint32_t reg, uint32_t first, uint32_t count,
                    void *cells);
int v1_register_set(struct v1_context *context, uint32_t reg, uint32_t first, uint32_t count,
                    const void *cells);
int v1_counter_get(struct v1_context *context, uint32_t counter, uint32_t first, uint32_t count,
                   struct v1_count *cells);
int v1_counter_set(struct v1_context *context, uint32_t counter, uint32_t first, uint32_t count,
                   const struct v1_count *cells);
int v1_meters_get(struct v1_context *context, uint32_t meter, uint32_t first, uint32_t count,
                  struct v1_rates *rates);
int v1_meters_set(struct v1_context *context, uint32_t meter, uint32_t first, uint32_t count,
                  const struct v1_rates *rates);

/* Replication. Lists as above. */
int v1_multicast_set(struct v1_context *context, uint32_t group, const struct v1_replica *replicas,
                     uint32_t count, bool remove);
int v1_multicast_get(struct v1_context *context, uint32_t group, struct v1_replica *replicas,
                     uint32_t room);
int v1_multicast_list(struct v1_context *context, uint32_t *groups, uint32_t room);
int v1_session_set(struct v1_context *context, uint32_t session, const struct v1_replica *replicas,
                   uint32_t count, uint32_t class_of_service, uint32_t packet_length, bool remove);
int v1_session_get(struct v1_context *context, uint32_t session, struct v1_replica *replicas,
                   uint32_t room, uint32_t *class_of_service, uint32_t *packet_length);
int v1_session_list(struct v1_context *context, uint32_t *sessions, uint32_t room);

/* Events. v1_next_event waits up to timeout_ms (negative: for ever) and copies the event's data if
 * it fits, else only says how long it is and keeps it. Returns 1, or 0 if there was none. */
int v1_next_event(struct v1_switch *sw, int64_t timeout_ms, struct v1_event_info *info,
                  uint8_t *data, size_t room);
void v1_wake(struct v1_switch *sw);
void v1_sweep(struct v1_switch *sw); /* look for idle entries and due digests now */
int v1_digest_set(struct v1_context *context, uint32_t digest,
                  const struct v1_digest_config *config);
int v1_digest_get(struct v1_context *context, uint32_t digest, struct v1_digest_config *config);
int v1_digest_ack(struct v1_context *context, uint32_t digest, uint32_t list);

/* Ports and the loop that serves them. */
struct v1_port_counts {
    uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
    uint64_t rx_lost, rx_truncated, tx_queue_full, tx_too_long, tx_too_short, tx_errors;
};
struct v1_port_info {
    uint32_t number, up;
    char name[16];
    struct v1_port_counts counts;
};
int v1_port_add(struct v1_switch *sw, uint32_t port, const char *name);
int v1_port_remove(struct v1_switch *sw, uint32_t port);
int v1_port_list(struct v1_switch *sw, struct v1_port_info *ports, uint32_t room);
int v1_start(struct v1_switch *sw);
int v1_stop(struct v1_switch *sw);

#endif
