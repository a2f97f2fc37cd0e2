/* SPDX-License-Identifier: Apache-2.0 */
/* Multicast groups and clone sessions, as the control plane sets them. */
#include <stdlib.h>
#include "switch.h"

static int list(void *const *pointers, uint32_t size, uint32_t *numbers, uint32_t room) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < size; i++)
        if (pointers[i] && count++ < room)
            numbers[count - 1] = i;
    return (int)count;
}

int v1_multicast_set(struct v1_context *context, uint32_t group, const struct v1_replica *replicas,
                     uint32_t count, bool remove) {
    if (group == 0 || group >= V1_GROUPS)
        return V1_INVALID;
    struct v1_replicas *fresh = NULL;
    if (!remove) {
        fresh = malloc(sizeof(*fresh) + count * sizeof(replicas[0]));
        if (!fresh)
            return V1_NO_MEMORY;
        fresh->count = count;
        memcpy(fresh->replica, replicas, count * sizeof(replicas[0]));
    }
    v1_lock(context->owner);
    struct v1_replicas *old = context->replication->groups[group];
    context->replication->groups[group] = fresh;
    v1_unlock(context->owner);
    free(old);
    return remove && !old ? V1_NOT_FOUND : 0;
}

int v1_multicast_get(struct v1_context *context, uint32_t group, struct v1_replica *replicas,
                     uint32_t room) {
    if (group >= V1_GROUPS)
        return V1_INVALID;
    v1_lock(context->owner);
    const struct v1_replicas *found = context->replication->groups[group];
    if (found)
        memcpy(replicas, found->replica,
               (found->count < room ? found->count : room) * sizeof(replicas[0]));
    int status = found ? (int)found->count : V1_NOT_FOUND;
    v1_unlock(context->owner);
    return status;
}

int v1_multicast_list(struct v1_context *context, uint32_t *groups, uint32_t room) {
    v1_lock(context->owner);
    int count = list((void *const *)context->replication->groups, V1_GROUPS, groups, room);
    v1_unlock(context->owner);
    return count;
}

int v1_session_set(struct v1_context *context, uint32_t session, const struct v1_replica *replicas,
                   uint32_t count, uint32_t class_of_service, uint32_t packet_length, bool remove) {
    if (session >= V1_SESSIONS)
        return V1_INVALID;
    struct v1_session *fresh = NULL;
    if (!remove) {
        fresh = malloc(sizeof(*fresh) + count * sizeof(replicas[0]));
        if (!fresh)
            return V1_NO_MEMORY;
        fresh->class_of_service = class_of_service;
        fresh->packet_length = packet_length;
        fresh->replicas.count = count;
        memcpy(fresh->replicas.replica, replicas, count * sizeof(replicas[0]));
    }
    v1_lock(context->owner);
    struct v1_session *old = context->replication->sessions[session];
    context->replication->sessions[session] = fresh;
    v1_unlock(context->owner);
    free(old);
    return remove && !old ? V1_NOT_FOUND : 0;
}

int v1_session_get(struct v1_context *context, uint32_t session, struct v1_replica *replicas,
                   uint32_t room, uint32_t *class_of_service, uint32_t *packet_length) {
    if (session >= V1_SESSIONS)
        return V1_INVALID;
    v1_lock(context->owner);
    const struct v1_session *found = context->replication->sessions[session];
    if (found) {
        uint32_t count = found->replicas.count < room ? found->replicas.count : room;
        memcpy(replicas, found->replicas.replica, count * sizeof(replicas[0]));
        *class_of_service = found->class_of_service;
        *packet_length = found->packet_length;
    }
    int status = found ? (int)found->replicas.count : V1_NOT_FOUND;
    v1_unlock(context->owner);
    return status;
}

int v1_session_list(struct v1_context *context, uint32_t *sessions, uint32_t room) {
    v1_lock(context->owner);
    int count = list((void *const *)context->replication->sessions, V1_SESSIONS, sessions, room);
    v1_unlock(context->owner);
    return count;
}

void v1_replication_destroy(struct v1_replication *replication) {
    for (uint32_t i = 0; replication && i < V1_GROUPS; i++)
        free(replication->groups[i]);
    for (uint32_t i = 0; replication && i < V1_SESSIONS; i++)
        free(replication->sessions[i]);
    free(replication);
}
