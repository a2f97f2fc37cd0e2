/* SPDX-License-Identifier: Apache-2.0 */
/* The switch: its life, its clock, its programs, and packets that come and go without ports. */
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include "switch.h"

/* ---- lock and clock */

/* The loop takes the lock again as soon as it has left it; `waiting` makes it stand back. */
void v1_lock(struct v1_switch *sw) {
    atomic_fetch_add(&sw->waiting, 1);
    pthread_mutex_lock(&sw->lock);
    atomic_fetch_sub(&sw->waiting, 1);
}

void v1_unlock(struct v1_switch *sw) {
    pthread_mutex_unlock(&sw->lock);
}

static uint64_t read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t monotonic_ns(void) {
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t v1_now(const struct v1_switch *sw) {
    return sw->clock_stands ? sw->clock : monotonic_ns() / 1000 - sw->started;
}

void v1_tick(struct v1_switch *sw) {
    sw->context->now = v1_now(sw);
}

uint64_t v1_clock(struct v1_switch *sw) {
    v1_lock(sw);
    uint64_t now = v1_now(sw);
    v1_unlock(sw);
    return now;
}

void v1_set_clock(struct v1_switch *sw, bool stands, uint64_t now) {
    v1_lock(sw);
    if (!stands && sw->clock_stands)
        sw->started = monotonic_ns() / 1000 - sw->clock;
    sw->clock_stands = stands;
    sw->clock = now;
    v1_unlock(sw);
}

void v1_read_counts(struct v1_switch *sw, struct v1_counts *counts) {
    v1_lock(sw);
    *counts = sw->counts;
    v1_unlock(sw);
    pthread_mutex_lock(&sw->events.lock);
    counts->events_lost = sw->events.lost;
    pthread_mutex_unlock(&sw->events.lock);
}

/* ---- life */

struct v1_switch *v1_switch_create(const struct v1_options *options) {
    struct v1_switch *sw = calloc(1, sizeof(*sw));
    if (!sw)
        return NULL;
    pthread_mutex_init(&sw->lock, NULL);
    sw->options = *options;
    sw->options.pcap = options->pcap ? strdup(options->pcap) : NULL;
    sw->started = monotonic_ns() / 1000;
    sw->sink = &v1_live;
    if (v1_events_create(&sw->events) < 0 || v1_ports_create(sw) < 0) {
        free(sw);
        return NULL;
    }
    return sw;
}

void v1_switch_destroy(struct v1_switch *sw) {
    v1_stop(sw);
    v1_ports_destroy(sw);
    v1_work_destroy(&sw->work);
    v1_events_destroy(&sw->events);
    pthread_mutex_destroy(&sw->lock);
    free((char *)sw->options.pcap);
    free(sw->capture);
    free(sw);
}

static int create_arrays(struct v1_context *context) {
    const struct v1_program *program = context->program;
    context->registers = calloc(program->registers + 1, sizeof(context->registers[0]));
    context->counters = calloc(program->counters + 1, sizeof(context->counters[0]));
    context->meters = calloc(program->meters + 1, sizeof(context->meters[0]));
    context->replication = calloc(1, sizeof(*context->replication));
    if (!context->registers || !context->counters || !context->meters || !context->replication)
        return V1_NO_MEMORY;
    bool complete = true;
    for (uint32_t i = 0; i < program->registers; i++) {
        uint32_t width = program->reg[i].width, size = program->reg[i].size;
        struct v1_register *reg = &context->registers[i];
        *reg = (struct v1_register){NULL, size, V1_CELL_BYTES(width), width};
        reg->cells = calloc((size_t)size + 1, reg->bytes);
        complete &= reg->cells != NULL;
    }
    for (uint32_t i = 0; i < program->counters; i++) {
        context->counters[i].size = program->counter[i].size;
        context->counters[i].cells =
            calloc((size_t)program->counter[i].size + 1, sizeof(struct v1_count));
        complete &= context->counters[i].cells != NULL;
    }
    for (uint32_t i = 0; i < program->meters; i++) {
        context->meters[i].size = program->meter[i].size;
        context->meters[i].unit = program->meter[i].unit;
        context->meters[i].cells =
            calloc((size_t)program->meter[i].size + 1, sizeof(struct v1_meter));
        complete &= context->meters[i].cells != NULL;
    }
    return complete ? 0 : V1_NO_MEMORY;
}

static void destroy_arrays(struct v1_context *context) {
    const struct v1_program *program = context->program;
    for (uint32_t i = 0; context->registers && i < program->registers; i++)
        free(context->registers[i].cells);
    for (uint32_t i = 0; context->counters && i < program->counters; i++)
        free(context->counters[i].cells);
    for (uint32_t i = 0; context->meters && i < program->meters; i++)
        free(context->meters[i].cells);
    free(context->registers);
    free(context->counters);
    free(context->meters);
}

struct v1_context *v1_load(struct v1_switch *sw, const struct v1_program *program, int *error) {
    *error = program->abi == V1_ABI ? 0 : V1_INVALID;
    struct v1_context *context = calloc(1, sizeof(*context));
    if (*error || !context)
        return NULL;
    context->program = program;
    context->owner = sw;
    context->drop_port = sw->options.drop_port;
    context->random = monotonic_ns();
    *error = create_arrays(context);
    if (!*error)
        *error = v1_profiles_create(context);
    if (!*error)
        *error = v1_tables_create(context);
    if (!*error)
        *error = v1_digests_create(context);
    if (*error) {
        v1_unload(context);
        return NULL;
    }
    return context;
}

void v1_unload(struct v1_context *context) {
    destroy_arrays(context);
    v1_tables_destroy(context);
    v1_profiles_destroy(context);
    v1_digests_destroy(context);
    v1_replication_destroy(context->replication);
    free(context);
}

int v1_activate(struct v1_switch *sw, struct v1_context *context) {
    struct v1_work work = {0};
    int status = context ? v1_work_create(&work, context->program) : 0;
    if (status < 0)
        return status;
    v1_lock(sw);
    v1_ports_reset(sw);
    v1_work_destroy(&sw->work);
    sw->work = work;
    sw->context = context;
    sw->counts = (struct v1_counts){0};
    if (context)
        v1_tick(sw);
    pthread_mutex_lock(&sw->events.lock);
    int activated = (int)++sw->events.program;
    pthread_mutex_unlock(&sw->events.lock);
    v1_unlock(sw);
    return activated;
}

/* ---- packets without ports */

struct captured { /* before the bytes of each packet in the capture buffer */
    uint32_t port, length;
};

static uint8_t *capture_room(struct v1_switch *sw, uint32_t port) {
    (void)port;
    size_t need = sw->capture_used + sizeof(struct captured) + sw->work.buffer_bytes;
    if (need > sw->capture_bytes) {
        uint8_t *bigger = realloc(sw->capture, 2 * need);
        if (!bigger)
            return NULL;
        sw->capture = bigger;
        sw->capture_bytes = 2 * need;
    }
    return sw->capture + sw->capture_used + sizeof(struct captured);
}

static void capture_sent(struct v1_switch *sw, uint32_t port, uint32_t length) {
    struct captured head = {port, length};
    memcpy(sw->capture + sw->capture_used, &head, sizeof(head));
    sw->capture_used += sizeof(head) + length;
}

static uint8_t *bench_room(struct v1_switch *sw, uint32_t port) {
    (void)port;
    return sw->work.scratch;
}

static void bench_sent(struct v1_switch *sw, uint32_t port, uint32_t length) {
    (void)sw, (void)port, (void)length;
}

static const struct v1_sink capture = {NULL, capture_room, capture_sent};
static const struct v1_sink nowhere = {NULL, bench_room, bench_sent};

/* A copy of the packet with slack behind it, as parsers expect. */
static uint8_t *with_slack(const uint8_t *data, size_t length) {
    uint8_t *copy = calloc(1, length + V1_SLACK);
    if (copy)
        memcpy(copy, data, length);
    return copy;
}

int64_t v1_process(struct v1_switch *sw, uint32_t port, const uint8_t *data, uint32_t length,
                   const uint8_t **out) {
    uint8_t *packet = with_slack(data, length);
    int64_t status = !packet ? V1_NO_MEMORY : length > V1_MAX_PACKET ? V1_INVALID : 0;
    v1_lock(sw);
    if (status == 0 && !sw->context)
        status = V1_NOT_FOUND;
    if (status == 0) {
        v1_tick(sw);
        sw->sink = &capture;
        sw->capture_used = 0;
        v1_run(sw, port, packet, length);
        sw->sink = &v1_live;
        *out = sw->capture;
        status = (int64_t)sw->capture_used;
    }
    v1_unlock(sw);
    free(packet);
    return status;
}

int v1_packet_out(struct v1_switch *sw, const uint8_t *data, uint32_t length) {
    uint8_t *packet = with_slack(data, length);
    int status = !packet                                                     ? V1_NO_MEMORY
                 : length > V1_MAX_PACKET || sw->options.cpu_port == V1_NONE ? V1_INVALID
                                                                             : 0;
    v1_lock(sw);
    if (status == 0 && !sw->context)
        status = V1_NOT_FOUND;
    if (status == 0) {
        v1_tick(sw);
        v1_run(sw, sw->options.cpu_port, packet, length);
        v1_ports_flush(sw);
    }
    v1_unlock(sw);
    free(packet);
    return status;
}

#define BENCH_BATCH 32 /* packets between two looks at the clock, as in the loop */

int64_t v1_bench(struct v1_switch *sw, const uint8_t *packets, const uint32_t *lengths,
                 const uint32_t *ports, uint32_t number, uint64_t count) {
    if (!sw->context || !number)
        return V1_NOT_FOUND;
    v1_lock(sw);
    sw->sink = &nowhere;
    /* Of this thread, not of the wall: others may want the processor too. */
    uint64_t start = read_clock(CLOCK_THREAD_CPUTIME_ID);
    const uint8_t *packet = packets;
    for (uint64_t i = 0, next = 0; i < count; i++) {
        if (i % BENCH_BATCH == 0)
            v1_tick(sw);
        v1_run(sw, ports[next], packet, lengths[next]);
        packet += (lengths[next] + V1_SLACK + 63) / 64 * 64;
        if (++next == number) {
            next = 0;
            packet = packets;
        }
    }
    uint64_t elapsed = read_clock(CLOCK_THREAD_CPUTIME_ID) - start;
    sw->sink = &v1_live;
    v1_unlock(sw);
    return (int64_t)elapsed;
}
