/* SPDX-License-Identifier: Apache-2.0 */
/* Action profiles: members, groups, and the choice of a member by hash. */
#include <stdlib.h>
#include "switch.h"

static const struct v1_call no_call = {.action = V1_NO_ACTION};

/* A group without members does nothing, as in BMv2. */
const struct v1_call *v1_indirect(struct v1_packet *packet, struct v1_table *table,
                                  struct v1_entry *entry) {
    const struct v1_group *group = entry->group;
    if (!group)
        return &entry->member->call;
    if (!group->buckets)
        return &no_call;
    uint64_t hash = table->profile->info->select(packet);
    return &group->bucket[hash % group->buckets]->call;
}

/* ---- arrays sorted by id; a member's and a group's id come at different places */

static uint32_t member_place(const struct v1_profile *profile, uint32_t id) {
    uint32_t low = 0, high = profile->member_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (profile->members[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t group_place(const struct v1_profile *profile, uint32_t id) {
    uint32_t low = 0, high = profile->group_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (profile->groups[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct v1_member *v1_find_member(const struct v1_profile *profile, uint32_t id) {
    uint32_t at = member_place(profile, id);
    return at < profile->member_count && profile->members[at]->id == id ? profile->members[at]
                                                                        : NULL;
}

struct v1_group *v1_find_group(const struct v1_profile *profile, uint32_t id) {
    uint32_t at = group_place(profile, id);
    return at < profile->group_count && profile->groups[at]->id == id ? profile->groups[at] : NULL;
}

/* Open a place at `at` in an array of pointers. */
static bool open_place(void *array, uint32_t *count, uint32_t at) {
    void ***pointers = array;
    void **bigger = realloc(*pointers, (*count + 1) * sizeof(void *));
    if (!bigger)
        return false;
    memmove(&bigger[at + 1], &bigger[at], (*count - at) * sizeof(void *));
    *pointers = bigger;
    ++*count;
    return true;
}

static void close_place(void *array, uint32_t *count, uint32_t at) {
    void **pointers = *(void ***)array;
    --*count;
    memmove(&pointers[at], &pointers[at + 1], (*count - at) * sizeof(void *));
}

/* ---- members */

static struct v1_profile *profile_of(const struct v1_context *context, uint32_t profile) {
    return profile < context->program->profiles ? &context->profiles[profile] : NULL;
}

static int set_member(const struct v1_context *context, struct v1_profile *profile, uint32_t id,
                      uint32_t action, const uint64_t *args, bool exists) {
    struct v1_member *member = v1_find_member(profile, id);
    if (exists != (member != NULL))
        return exists ? V1_NOT_FOUND : V1_EXISTS;
    if (!member) {
        uint32_t at = member_place(profile, id);
        if (profile->member_count >= profile->info->size)
            return V1_FULL;
        member = calloc(1, sizeof(*member) + 8 * profile->arg_words);
        if (!member || !open_place(&profile->members, &profile->member_count, at)) {
            free(member);
            return V1_NO_MEMORY;
        }
        profile->members[at] = member;
        member->id = id;
    }
    v1_set_call(context->program, &member->call, member->args, action, args);
    return 0;
}

int v1_member_set(struct v1_context *context, uint32_t number, uint32_t id, uint32_t action,
                  const uint64_t *args, bool exists) {
    struct v1_profile *profile = profile_of(context, number);
    if (!profile || action >= context->program->actions)
        return V1_INVALID;
    v1_lock(context->owner);
    int status = set_member(context, profile, id, action, args, exists);
    v1_unlock(context->owner);
    return status;
}

int v1_member_delete(struct v1_context *context, uint32_t number, uint32_t id) {
    struct v1_profile *profile = profile_of(context, number);
    if (!profile)
        return V1_INVALID;
    v1_lock(context->owner);
    struct v1_member *member = v1_find_member(profile, id);
    int status = !member ? V1_NOT_FOUND : member->uses ? V1_IN_USE : 0;
    if (status == 0) {
        close_place(&profile->members, &profile->member_count, member_place(profile, id));
        free(member);
    }
    v1_unlock(context->owner);
    return status;
}

int v1_member_list(struct v1_context *context, uint32_t number, uint32_t *ids, uint32_t room) {
    struct v1_profile *profile = profile_of(context, number);
    if (!profile)
        return V1_INVALID;
    v1_lock(context->owner);
    uint32_t count = profile->member_count;
    for (uint32_t i = 0; i < count && i < room; i++)
        ids[i] = profile->members[i]->id;
    v1_unlock(context->owner);
    return (int)count;
}

int v1_member_read(struct v1_context *context, uint32_t number, uint32_t id, uint32_t *action,
                   uint64_t *args) {
    struct v1_profile *profile = profile_of(context, number);
    if (!profile)
        return V1_INVALID;
    v1_lock(context->owner);
    const struct v1_member *member = v1_find_member(profile, id);
    if (member) {
        *action = member->call.action;
        memcpy(args, member->args, 8 * member->call.words);
    }
    v1_unlock(context->owner);
    return member ? 0 : V1_NOT_FOUND;
}

/* ---- groups */

static void release_members(const struct v1_profile *profile, const struct v1_group *group) {
    for (uint32_t i = 0; i < group->members; i++)
        v1_find_member(profile, group->weights[i].member)->uses--;
}

static int by_member(const void *a, const void *b) {
    uint32_t x = ((const struct v1_weight *)a)->member, y = ((const struct v1_weight *)b)->member;
    return x < y ? -1 : x > y;
}

/* The buckets of sorted weights, or an error. */
static int fill_buckets(const struct v1_profile *profile, struct v1_group *group) {
    uint64_t buckets = 0;
    for (uint32_t i = 0; i < group->members; i++) {
        if (!v1_find_member(profile, group->weights[i].member))
            return V1_NOT_FOUND;
        if (i > 0 && group->weights[i].member == group->weights[i - 1].member)
            return V1_INVALID;
        buckets += group->weights[i].weight;
    }
    if (buckets > UINT16_MAX || (group->max_size && buckets > group->max_size))
        return V1_FULL;
    group->bucket = malloc((buckets + 1) * sizeof(group->bucket[0]));
    if (!group->bucket)
        return V1_NO_MEMORY;
    for (uint32_t i = 0; i < group->members; i++)
        for (uint32_t w = 0; w < group->weights[i].weight; w++)
            group->bucket[group->buckets++] = v1_find_member(profile, group->weights[i].member);
    return 0;
}

static int new_group(const struct v1_profile *profile, const struct v1_weight *weights,
                     uint32_t count, uint32_t max_size, struct v1_group *group) {
    *group = (struct v1_group){.max_size = max_size, .members = count};
    group->weights = malloc((count + 1) * sizeof(weights[0]));
    if (!group->weights)
        return V1_NO_MEMORY;
    memcpy(group->weights, weights, count * sizeof(weights[0]));
    qsort(group->weights, count, sizeof(weights[0]), by_member);
    int status = fill_buckets(profile, group);
    if (status < 0)
        free(group->weights);
    return status;
}

static int set_group(struct v1_profile *profile, uint32_t id, const struct v1_weight *weights,
                     uint32_t count, uint32_t max_size, bool exists) {
    struct v1_group *group = v1_find_group(profile, id);
    struct v1_group fresh;
    if (exists != (group != NULL))
        return exists ? V1_NOT_FOUND : V1_EXISTS;
    int status = new_group(profile, weights, count, group ? group->max_size : max_size, &fresh);
    if (status < 0)
        return status;
    fresh.id = id;
    if (!group) {
        uint32_t at = group_place(profile, id);
        group = calloc(1, sizeof(*group));
        if (!group || !open_place(&profile->groups, &profile->group_count, at)) {
            free(group);
            free(fresh.weights);
            free(fresh.bucket);
            return V1_NO_MEMORY;
        }
        profile->groups[at] = group;
    }
    for (uint32_t i = 0; i < count; i++)
        v1_find_member(profile, fresh.weights[i].member)->uses++;
    release_members(profile, group);
    fresh.uses = group->uses;
    free(group->weights);
    free(group->bucket);
    *group = fresh;
    return 0;
}

int v1_group_set(struct v1_context *context, uint32_t number, uint32_t id,
                 const struct v1_weight *weights, uint32_t count, uint32_t max_size, bool exists) {
    struct v1_profile *profile = profile_of(context, number);
    if (!profile || !profile->info->select)
        return V1_INVALID;
    v1_lock(context->owner);
    int status = set_group(profile, id, weights, count, max_size, exists);
    v1_unlock(context->owner);
    return status;
}

int v1_group_delete(struct v1_context *context, uint32_t number, uint32_t id) {
    struct v1_profile *profile = profile_of(context, number);
    if (!profile)
        return V1_INVALID;
    v1_lock(context->owner);
    struct v1_group *group = v1_find_group(profile, id);
    int status = !group ? V1_NOT_FOUND : group->uses ? V1_IN_USE : 0;
    if (status == 0) {
        release_members(profile, group);
        close_place(&profile->groups, &profile->group_count, group_place(profile, id));
        free(group->weights);
        free(group->bucket);
        free(group);
    }
    v1_unlock(context->owner);
    return status;
}

int v1_group_list(struct v1_context *context, uint32_t number, uint32_t *ids, uint32_t room) {
    struct v1_profile *profile = profile_of(context, number);
    if (!profile)
        return V1_INVALID;
    v1_lock(context->owner);
    uint32_t count = profile->group_count;
    for (uint32_t i = 0; i < count && i < room; i++)
        ids[i] = profile->groups[i]->id;
    v1_unlock(context->owner);
    return (int)count;
}

int v1_group_read(struct v1_context *context, uint32_t number, uint32_t id,
                  struct v1_weight *weights, uint32_t room, uint32_t *max_size) {
    struct v1_profile *profile = profile_of(context, number);
    if (!profile)
        return V1_INVALID;
    v1_lock(context->owner);
    const struct v1_group *group = v1_find_group(profile, id);
    uint32_t count = group ? group->members : 0;
    if (group) {
        memcpy(weights, group->weights, (count < room ? count : room) * sizeof(weights[0]));
        *max_size = group->max_size;
    }
    v1_unlock(context->owner);
    return group ? (int)count : V1_NOT_FOUND;
}

/* ---- all profiles of a program */

int v1_profiles_create(struct v1_context *context) {
    const struct v1_program *program = context->program;
    context->profiles = calloc(program->profiles + 1, sizeof(context->profiles[0]));
    if (!context->profiles)
        return V1_NO_MEMORY;
    for (uint32_t i = 0; i < program->profiles; i++) {
        struct v1_profile *profile = &context->profiles[i];
        profile->info = &program->profile[i];
        profile->arg_words = 1;
        for (uint32_t a = 0; a < program->actions; a++) {
            uint32_t words = v1_arg_words(&program->action[a]);
            profile->arg_words = words > profile->arg_words ? words : profile->arg_words;
        }
    }
    return 0;
}

void v1_profiles_destroy(struct v1_context *context) {
    for (uint32_t i = 0; context->profiles && i < context->program->profiles; i++) {
        struct v1_profile *profile = &context->profiles[i];
        for (uint32_t g = 0; g < profile->group_count; g++) {
            free(profile->groups[g]->weights);
            free(profile->groups[g]->bucket);
            free(profile->groups[g]);
        }
        for (uint32_t m = 0; m < profile->member_count; m++)
            free(profile->members[m]);
        free(profile->groups);
        free(profile->members);
    }
    free(context->profiles);
}
