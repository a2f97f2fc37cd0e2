/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of tables: what they lead to, and what the control plane does to them. */
#include <stdlib.h>
#include "switch.h"

/* ---- what an entry leads to */

static void release_target(struct v1_entry *entry) {
    if (entry->member)
        entry->member->uses--;
    if (entry->group)
        entry->group->uses--;
    entry->member = NULL;
    entry->group = NULL;
}

static bool allows(const struct v1_table *table, uint32_t action) {
    for (uint32_t i = 0; i < table->info->actions; i++)
        if (table->info->action[i] == action)
            return true;
    return false;
}

uint32_t v1_arg_words(const struct v1_action *action) {
    uint32_t words = 0;
    for (uint32_t i = 0; i < action->parameters; i++)
        words += V1_WORDS(action->widths[i]);
    return words;
}

void v1_set_call(const struct v1_program *program, struct v1_call *call, uint64_t *storage,
                 uint32_t action, const uint64_t *args) {
    call->action = action;
    call->words = action == V1_NO_ACTION ? 0 : v1_arg_words(&program->action[action]);
    call->args = storage;
    if (call->words)
        memcpy(storage, args, 8 * call->words);
}

static int set_target(const struct v1_context *context, struct v1_table *table,
                      struct v1_entry *entry, const struct v1_target *target) {
    struct v1_member *member = NULL;
    struct v1_group *group = NULL;
    if ((target->kind == V1_CALL) != (table->profile == NULL))
        return V1_INVALID;
    if (target->kind == V1_CALL) {
        if (!allows(table, target->id))
            return V1_INVALID;
        uint64_t *args = &entry->words[2 * table->info->key_words];
        v1_set_call(context->program, &entry->call, args, target->id, target->args);
        return 0;
    }
    if (target->kind == V1_MEMBER)
        member = v1_find_member(table->profile, target->id);
    else
        group = v1_find_group(table->profile, target->id);
    if (!member && !group)
        return V1_NOT_FOUND;
    release_target(entry);
    entry->member = member;
    entry->group = group;
    if (member)
        member->uses++;
    else
        group->uses++;
    return 0;
}

/* ---- adding and removing */

static int32_t prefix_length(const uint64_t *mask, uint32_t words) {
    int32_t length = 0;
    for (uint32_t i = 0; i < words; i++)
        length += __builtin_popcountll(mask[i]);
    return length;
}

static struct v1_entry *find(const struct v1_table *table, const uint64_t *value,
                             const uint64_t *mask, int32_t priority) {
    if (table->info->match == V1_LPM)
        priority = prefix_length(mask, table->info->key_words);
    return v1_find_entry(table, value, mask, priority);
}

static bool reserve_place(struct v1_table *table) {
    if (table->places < table->capacity)
        return true;
    uint32_t capacity = table->capacity ? 2 * table->capacity : 16;
    struct v1_entry **bigger = realloc(table->entries, capacity * sizeof(table->entries[0]));
    if (!bigger)
        return false;
    table->entries = bigger;
    table->capacity = capacity;
    return true;
}

static struct v1_entry *new_entry(const struct v1_table *table, const uint64_t *value,
                                  const uint64_t *mask) {
    uint32_t words = table->info->key_words;
    struct v1_entry *entry = calloc(1, sizeof(*entry) + 8 * (2 * words + table->arg_words));
    if (!entry)
        return NULL;
    memcpy(entry->words, value, 8 * words);
    memcpy(entry->words + words, mask, 8 * words);
    entry->value = entry->words;
    entry->mask = entry->words + words;
    entry->call.action = V1_NO_ACTION;
    return entry;
}

static int add(struct v1_context *context, struct v1_table *table, const uint64_t *value,
               const uint64_t *mask, int32_t priority, const struct v1_target *target,
               uint64_t timeout, bool constant) {
    if (table->info->match == V1_LPM)
        priority = prefix_length(mask, table->info->key_words);
    if (v1_find_entry(table, value, mask, priority))
        return V1_EXISTS;
    if (table->used >= table->info->size && !constant)
        return V1_FULL;
    struct v1_entry *entry = new_entry(table, value, mask);
    if (!entry || !reserve_place(table)) {
        free(entry);
        return V1_NO_MEMORY;
    }
    entry->priority = priority;
    entry->timeout = timeout;
    entry->hit = v1_now(context->owner);
    entry->constant = constant;
    int status = target ? set_target(context, table, entry, target) : 0;
    if (status == 0 && !v1_link_entry(table, entry))
        status = V1_NO_MEMORY;
    if (status < 0) {
        release_target(entry);
        free(entry);
        return status;
    }
    table->entries[table->places++] = entry;
    entry->handle = table->places;
    table->used++;
    return 0;
}

/* Deleted entries leave gaps in table->entries, which keeps the order of insertion. */
static void close_gaps(struct v1_table *table) {
    uint32_t places = 0;
    for (uint32_t i = 0; i < table->places; i++)
        if (table->entries[i]) {
            table->entries[places] = table->entries[i];
            table->entries[places]->handle = places + 1;
            places++;
        }
    table->places = places;
}

static void discard(struct v1_table *table, struct v1_entry *entry) {
    v1_unlink_entry(table, entry);
    release_target(entry);
    table->entries[entry->handle - 1] = NULL;
    table->used--;
    free(entry);
    if (table->places > 2 * table->used + 16)
        close_gaps(table);
}

/* ---- what control.h offers */

static struct v1_table *table_of(const struct v1_context *context, uint32_t number) {
    uint32_t tables = context->program->tables;
    if (number < tables)
        return &context->tables[number];
    return number - tables < context->program->value_sets ? &context->value_sets[number - tables]
                                                          : NULL;
}

int v1_table_add(struct v1_context *context, uint32_t number, const uint64_t *value,
                 const uint64_t *mask, int32_t priority, const struct v1_target *target,
                 uint64_t timeout) {
    struct v1_table *table = table_of(context, number);
    if (!table || !table->info->key_words || (timeout && !table->info->support_timeout))
        return V1_INVALID;
    if (table->info->const_entries)
        return V1_READ_ONLY;
    v1_lock(context->owner);
    int status = add(context, table, value, mask, priority, target, timeout, false);
    v1_unlock(context->owner);
    return status;
}

int v1_table_modify(struct v1_context *context, uint32_t number, const uint64_t *value,
                    const uint64_t *mask, int32_t priority, const struct v1_target *target,
                    const uint64_t *timeout) {
    struct v1_table *table = table_of(context, number);
    if (!table || !table->info->key_words || (timeout && *timeout && !table->info->support_timeout))
        return V1_INVALID;
    if (table->info->const_entries)
        return V1_READ_ONLY;
    v1_lock(context->owner);
    struct v1_entry *entry = find(table, value, mask, priority);
    int status = entry ? set_target(context, table, entry, target) : V1_NOT_FOUND;
    if (status == 0) {
        entry->hit = v1_now(context->owner);
        entry->reported = false;
        if (timeout)
            entry->timeout = *timeout;
    }
    v1_unlock(context->owner);
    return status;
}

int v1_table_delete(struct v1_context *context, uint32_t number, const uint64_t *value,
                    const uint64_t *mask, int32_t priority) {
    struct v1_table *table = table_of(context, number);
    if (!table || !table->info->key_words)
        return V1_INVALID;
    if (table->info->const_entries)
        return V1_READ_ONLY;
    v1_lock(context->owner);
    struct v1_entry *entry = find(table, value, mask, priority);
    if (entry)
        discard(table, entry);
    v1_unlock(context->owner);
    return entry ? 0 : V1_NOT_FOUND;
}

int v1_table_clear(struct v1_context *context, uint32_t number) {
    struct v1_table *table = table_of(context, number);
    if (!table)
        return V1_INVALID;
    if (table->info->const_entries)
        return V1_READ_ONLY;
    v1_lock(context->owner);
    while (table->used) {
        uint32_t last = table->places;
        while (!table->entries[last - 1])
            last--;
        discard(table, table->entries[last - 1]);
    }
    v1_unlock(context->owner);
    return 0;
}

static void describe(const struct v1_table *table, const struct v1_entry *entry, uint64_t now,
                     uint8_t *out) {
    uint32_t words = table->info->key_words;
    struct v1_entry_info info = {
        .kind = entry->group    ? V1_GROUP
                : entry->member ? V1_MEMBER
                                : V1_CALL,
        .id = entry->group    ? entry->group->id
              : entry->member ? entry->member->id
                              : entry->call.action,
        .priority = entry->priority,
        .constant = entry->constant,
        .timeout = entry->timeout,
        .idle = now > entry->hit ? now - entry->hit : 0,
        .packets = entry->count.packets,
        .bytes = entry->count.bytes,
    };
    v1_meter_get(&entry->meter, &info.rates);
    memcpy(out, &info, sizeof(info));
    memcpy(out + sizeof(info), entry->words, 8 * (2 * words + table->arg_words));
}

int v1_table_read(struct v1_context *context, uint32_t number, const uint64_t *value,
                  const uint64_t *mask, int32_t priority, uint8_t *out, uint32_t room) {
    struct v1_table *table = table_of(context, number);
    if (!table || (value && !table->info->key_words))
        return V1_INVALID;
    size_t stride =
        sizeof(struct v1_entry_info) + 8 * (2 * table->info->key_words + table->arg_words);
    uint32_t count = 0;
    v1_lock(context->owner);
    uint64_t now = v1_now(context->owner);
    if (value) {
        struct v1_entry *entry = find(table, value, mask, priority);
        if (entry && count++ < room)
            describe(table, entry, now, out);
    } else {
        for (uint32_t i = 0; i < table->places; i++)
            if (table->entries[i] && count++ < room)
                describe(table, table->entries[i], now, out + (count - 1) * stride);
    }
    v1_unlock(context->owner);
    return value && !count ? V1_NOT_FOUND : (int)count;
}

static void own_default(const struct v1_context *context, struct v1_table *table) {
    v1_set_call(context->program, &table->miss, table->miss_args, table->info->default_action,
                table->info->default_args);
}

int v1_table_set_default(struct v1_context *context, uint32_t number, uint32_t action,
                         const uint64_t *args) {
    if (number >= context->program->tables)
        return V1_INVALID;
    struct v1_table *table = &context->tables[number];
    if (action != V1_NONE && !allows(table, action))
        return V1_INVALID;
    if (table->info->const_default)
        return V1_READ_ONLY;
    v1_lock(context->owner);
    if (action == V1_NONE)
        own_default(context, table);
    else
        v1_set_call(context->program, &table->miss, table->miss_args, action, args);
    v1_unlock(context->owner);
    return 0;
}

int v1_table_default(struct v1_context *context, uint32_t number, uint32_t *action,
                     uint64_t *args) {
    if (number >= context->program->tables)
        return V1_INVALID;
    const struct v1_call *miss = &context->tables[number].miss;
    v1_lock(context->owner);
    *action = miss->action;
    if (miss->words)
        memcpy(args, miss->args, 8 * miss->words);
    v1_unlock(context->owner);
    return 0;
}

int v1_table_set_count(struct v1_context *context, uint32_t number, const uint64_t *value,
                       const uint64_t *mask, int32_t priority, uint64_t packets, uint64_t bytes) {
    struct v1_table *table = table_of(context, number);
    if (!table || !table->info->key_words || !table->info->direct_counter)
        return V1_INVALID;
    v1_lock(context->owner);
    struct v1_entry *entry = find(table, value, mask, priority);
    if (entry)
        entry->count = (struct v1_count){packets, bytes};
    v1_unlock(context->owner);
    return entry ? 0 : V1_NOT_FOUND;
}

int v1_table_set_rates(struct v1_context *context, uint32_t number, const uint64_t *value,
                       const uint64_t *mask, int32_t priority, const struct v1_rates *rates) {
    struct v1_table *table = table_of(context, number);
    if (!table || !table->info->key_words || !table->info->direct_meter)
        return V1_INVALID;
    v1_lock(context->owner);
    struct v1_entry *entry = find(table, value, mask, priority);
    int status = entry ? v1_meter_set(&entry->meter, rates, v1_now(context->owner)) : V1_NOT_FOUND;
    v1_unlock(context->owner);
    return status;
}

/* ---- all tables of a program */

static int create_table(struct v1_context *context, struct v1_table *table,
                        const struct v1_table_info *info) {
    const struct v1_program *program = context->program;
    table->info = info;
    table->counts = info->direct_counter || info->support_timeout;
    table->profile = info->profile == V1_NONE ? NULL : &context->profiles[info->profile];
    table->arg_words = 1;
    for (uint32_t i = 0; i < program->actions; i++)
        if (allows(table, i) || i == info->default_action) {
            uint32_t words = v1_arg_words(&program->action[i]);
            table->arg_words = words > table->arg_words ? words : table->arg_words;
        }
    table->miss_args = calloc(table->arg_words, 8);
    if (!table->miss_args || !v1_index_create(table))
        return V1_NO_MEMORY;
    own_default(context, table);
    for (uint32_t i = 0; i < info->entries; i++) {
        const struct v1_const_entry *entry = &info->entry[i];
        struct v1_target target = {V1_CALL, entry->action, entry->args};
        int status = add(context, table, entry->value, entry->mask, entry->priority,
                         info->actions ? &target : NULL, 0, true);
        if (status < 0)
            return status;
    }
    return 0;
}

static void destroy_table(struct v1_table *table) {
    for (uint32_t i = 0; i < table->places; i++)
        free(table->entries[i]);
    free(table->entries);
    free(table->miss_args);
    v1_index_destroy(table);
}

int v1_tables_create(struct v1_context *context) {
    const struct v1_program *program = context->program;
    context->tables = calloc(program->tables + 1, sizeof(context->tables[0]));
    context->value_sets = calloc(program->value_sets + 1, sizeof(context->value_sets[0]));
    if (!context->tables || !context->value_sets)
        return V1_NO_MEMORY;
    int status = 0;
    for (uint32_t i = 0; i < program->tables && status == 0; i++)
        status = create_table(context, &context->tables[i], &program->table[i]);
    for (uint32_t i = 0; i < program->value_sets && status == 0; i++)
        status = create_table(context, &context->value_sets[i], &program->value_set[i]);
    return status;
}

void v1_tables_destroy(struct v1_context *context) {
    for (uint32_t i = 0; context->tables && i < context->program->tables; i++)
        destroy_table(&context->tables[i]);
    for (uint32_t i = 0; context->value_sets && i < context->program->value_sets; i++)
        destroy_table(&context->value_sets[i]);
    free(context->tables);
    free(context->value_sets);
}
