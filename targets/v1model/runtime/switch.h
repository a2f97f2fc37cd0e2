/* SPDX-License-Identifier: Apache-2.0 */
/* The switch inside: what the run time's files share, and programs do not see. */
#ifndef GRASP_V1_SWITCH_H
#define GRASP_V1_SWITCH_H

#include <pthread.h>
#include <stdatomic.h>
#include "runtime.h"
#include "control.h"

#define V1_MAX_PACKET 65536 /* bytes that a packet buffer takes, before headers are added */
#define V1_PASSES 1024      /* through ingress, per packet: a loop ends there */
#define V1_COPIES 4096      /* of a packet waiting for egress */

/* ---- action profiles */

struct v1_member {
    struct v1_call call;
    uint32_t id;
    uint32_t uses; /* by entries and groups */
    uint64_t args[];
};

struct v1_group {
    uint32_t id;
    uint32_t uses; /* by entries */
    uint32_t max_size;
    uint32_t members;
    struct v1_weight *weights;
    uint32_t buckets;
    struct v1_member **bucket; /* by member id, each as often as it weighs */
};

struct v1_profile {
    const struct v1_profile_info *info;
    struct v1_member **members; /* by id */
    uint32_t member_count;
    struct v1_group **groups; /* by id */
    uint32_t group_count;
    uint32_t arg_words;
};

/* ---- replication */

struct v1_replicas {
    uint32_t count;
    struct v1_replica replica[];
};

struct v1_session {
    uint32_t class_of_service;
    uint32_t packet_length;
    struct v1_replicas replicas; /* last: it has a flexible array */
};

#define V1_GROUPS 65536
#define V1_SESSIONS 32768

struct v1_replication {
    struct v1_replicas *groups[V1_GROUPS];
    struct v1_session *sessions[V1_SESSIONS];
};

/* ---- where packets go: real ports, a buffer (v1_process) or nowhere (v1_bench) */

struct v1_sink {
    /* Take the packet (before egress) into the port's queue; true if it is there, or dropped. */
    bool (*hold)(struct v1_switch *sw, struct v1_packet *packet, uint32_t port);
    /* Where to write a packet for the port, at least room->bytes long; NULL drops it. */
    uint8_t *(*room)(struct v1_switch *sw, uint32_t port);
    /* So many bytes were written there. */
    void (*sent)(struct v1_switch *sw, uint32_t port, uint32_t length);
};

/* ---- work in progress on the packet that is being processed */

struct v1_pending { /* waits for egress */
    uint32_t port;
    _Alignas(64) uint8_t state[];
};

struct v1_work {
    size_t state_bytes;   /* of a state, rounded up */
    size_t pending_bytes; /* of a v1_pending */
    size_t buffer_bytes;  /* of a packet buffer, with slack and room for headers */
    uint8_t *states;      /* three: the packet's, the next when it is resubmitted, a clone's */
    uint8_t *copies;      /* V1_COPIES v1_pending */
    uint32_t first, last;
    uint8_t *recirculated; /* states, each followed by a buffer */
    uint32_t recirculated_first, recirculated_last;
    uint32_t passes; /* ingress passes of this packet so far */
    uint32_t port;   /* at which it came in */
    uint8_t *scratch;
};

/* ---- events */

struct v1_events {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    uint8_t *ring;
    size_t bytes, head, used;
    uint64_t lost;
    uint32_t program; /* see v1_event_info */
    bool woken;
};

struct v1_ports;

struct v1_switch {
    pthread_mutex_t lock; /* everything below but events; held by the loop for a batch */
    atomic_uint waiting;  /* how many want the lock beside the loop, which then stands back */
    struct v1_options options;
    uint64_t started; /* monotonic clock, microseconds */
    bool clock_stands;
    uint64_t clock;             /* the time at which it stands */
    struct v1_context *context; /* the running program; NULL before the first */
    struct v1_work work;
    const struct v1_sink *sink;
    struct v1_counts counts;
    struct v1_events events;
    struct v1_ports *ports;
    uint64_t swept;   /* when idle entries were last looked for */
    uint8_t *capture; /* v1_process: port, length, bytes, and so on */
    size_t capture_bytes, capture_used;
    uint32_t captured;
};

void v1_lock(struct v1_switch *sw);
void v1_unlock(struct v1_switch *sw);
uint64_t v1_now(const struct v1_switch *sw);
void v1_tick(struct v1_switch *sw); /* read the clock for the packets that follow */

/* tables.c: the index that a table finds its entries by */
bool v1_index_create(struct v1_table *table);
void v1_index_destroy(struct v1_table *table);
struct v1_entry *v1_find_entry(const struct v1_table *table, const uint64_t *value,
                               const uint64_t *mask, int32_t priority);
bool v1_link_entry(struct v1_table *table, struct v1_entry *entry);
void v1_unlink_entry(struct v1_table *table, struct v1_entry *entry);

/* entries.c, profiles.c, meters.c, digests.c, idle.c, replication.c */
int v1_tables_create(struct v1_context *context);
void v1_tables_destroy(struct v1_context *context);
uint32_t v1_arg_words(const struct v1_action *action);
void v1_set_call(const struct v1_program *program, struct v1_call *call, uint64_t *storage,
                 uint32_t action, const uint64_t *args);
int v1_profiles_create(struct v1_context *context);
void v1_profiles_destroy(struct v1_context *context);
struct v1_member *v1_find_member(const struct v1_profile *profile, uint32_t id);
struct v1_group *v1_find_group(const struct v1_profile *profile, uint32_t id);
int v1_meter_set(struct v1_meter *meter, const struct v1_rates *rates, uint64_t now);
void v1_meter_get(const struct v1_meter *meter, struct v1_rates *rates);
int v1_digests_create(struct v1_context *context);
void v1_digests_destroy(struct v1_context *context);
void v1_learn(struct v1_packet *packet, uint32_t digest);
/* Send the lists whose time has come; returns microseconds until the next one's, or UINT64_MAX. */
uint64_t v1_digests_flush(struct v1_context *context);
void v1_sweep_tables(struct v1_switch *sw);
void v1_replication_destroy(struct v1_replication *replication);

/* pipeline.c */
int v1_work_create(struct v1_work *work, const struct v1_program *program);
void v1_work_destroy(struct v1_work *work);
void v1_run(struct v1_switch *sw, uint32_t port, const uint8_t *data, uint32_t length);
void v1_release(struct v1_switch *sw, struct v1_packet *packet, uint32_t port);

/* events.c */
int v1_events_create(struct v1_events *events);
void v1_events_destroy(struct v1_events *events);
void v1_event(struct v1_events *events, uint32_t kind, uint32_t object, uint32_t number,
              const void *data, size_t length);

/* ports.c, loop.c */
int v1_ports_create(struct v1_switch *sw);
void v1_ports_destroy(struct v1_switch *sw);
void v1_ports_reset(struct v1_switch *sw); /* drop what waits in queues: another program comes */
void v1_ports_flush(struct v1_switch *sw); /* send what was written to ports */
extern const struct v1_sink v1_live;

/* log.c */
void v1_log(struct v1_switch *sw, uint32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
