/* SPDX-License-Identifier: Apache-2.0 */
/* Events for the control plane: a ring of bytes between the packet loop and whoever fetches. */
#include <stdlib.h>
#include <errno.h>
#include <time.h>
#include "switch.h"

#define RING (8u << 20)

int v1_events_create(struct v1_events *events) {
    pthread_condattr_t attributes;
    events->ring = malloc(RING);
    events->bytes = RING;
    if (!events->ring)
        return V1_NO_MEMORY;
    pthread_mutex_init(&events->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&events->arrived, &attributes);
    pthread_condattr_destroy(&attributes);
    return 0;
}

void v1_events_destroy(struct v1_events *events) {
    pthread_cond_destroy(&events->arrived);
    pthread_mutex_destroy(&events->lock);
    free(events->ring);
}

static void put(struct v1_events *events, const void *data, size_t length) {
    size_t at = (events->head + events->used) % events->bytes;
    size_t first = length < events->bytes - at ? length : events->bytes - at;
    memcpy(events->ring + at, data, first);
    memcpy(events->ring, (const uint8_t *)data + first, length - first);
    events->used += length;
}

static void peek(const struct v1_events *events, size_t offset, void *data, size_t length) {
    size_t at = (events->head + offset) % events->bytes;
    size_t first = length < events->bytes - at ? length : events->bytes - at;
    memcpy(data, events->ring + at, first);
    memcpy((uint8_t *)data + first, events->ring, length - first);
}

void v1_event(struct v1_events *events, uint32_t kind, uint32_t object, uint32_t number,
              const void *data, size_t length) {
    struct v1_event_info info = {kind, object, number, (uint32_t)length, 0};
    pthread_mutex_lock(&events->lock);
    info.program = events->program;
    if (sizeof(info) + length > events->bytes - events->used) {
        events->lost++;
    } else {
        put(events, &info, sizeof(info));
        put(events, data, length);
        pthread_cond_signal(&events->arrived);
    }
    pthread_mutex_unlock(&events->lock);
}

static struct timespec after(int64_t milliseconds) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += milliseconds / 1000;
    time.tv_nsec += milliseconds % 1000 * 1000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_sec++;
        time.tv_nsec -= 1000000000;
    }
    return time;
}

int v1_next_event(struct v1_switch *sw, int64_t timeout_ms, struct v1_event_info *info,
                  uint8_t *data, size_t room) {
    struct v1_events *events = &sw->events;
    struct timespec end = after(timeout_ms < 0 ? 0 : timeout_ms);
    int status = 0;
    pthread_mutex_lock(&events->lock);
    while (!events->used && !events->woken && status != ETIMEDOUT)
        status = timeout_ms < 0 ? pthread_cond_wait(&events->arrived, &events->lock)
                                : pthread_cond_timedwait(&events->arrived, &events->lock, &end);
    bool found = events->used > 0;
    if (found) {
        peek(events, 0, info, sizeof(*info));
        if (info->length <= room) {
            peek(events, sizeof(*info), data, info->length);
            events->head = (events->head + sizeof(*info) + info->length) % events->bytes;
            events->used -= sizeof(*info) + info->length;
        }
    } else {
        events->woken = false;
    }
    pthread_mutex_unlock(&events->lock);
    return found;
}

void v1_wake(struct v1_switch *sw) {
    pthread_mutex_lock(&sw->events.lock);
    sw->events.woken = true;
    pthread_cond_signal(&sw->events.arrived);
    pthread_mutex_unlock(&sw->events.lock);
}
