/* SPDX-License-Identifier: Apache-2.0 */
/* Match-action tables. A generated `apply` does:
 *
 *     uint64_t key[] = {...};                        laid out as the table's fields say
 *     struct v1_table *table = &context->tables[N];
 *     struct v1_entry *entry = v1_match_exact(table, key, 2);   or v1_match, or NULL if keyless
 *     const struct v1_call *call = v1_result(packet, table, entry);
 *     switch (call->action) { case INDEX: ... call->args[0] ... }
 *
 * and the table hit if entry is not NULL. A field of an invalid header is 0 in a key; a static key
 * mask of the JSON is applied by the generated code. With a direct meter, `if (entry)` the target
 * field is set to v1_direct_meter(packet, table, entry) before the action runs. */
#ifndef GRASP_V1_TABLES_H
#define GRASP_V1_TABLES_H

#include "state.h"

/* An action and its arguments. */
struct v1_call {
    uint32_t action;      /* index into v1_program.actions, or V1_NO_ACTION: do nothing */
    uint32_t words;       /* of the arguments */
    const uint64_t *args; /* in parameter order */
};

struct v1_group;
struct v1_masked;
struct v1_member;
struct v1_profile;

struct v1_entry {
    struct v1_call call;      /* direct tables */
    struct v1_member *member; /* indirect tables: one of the two */
    struct v1_group *group;
    struct v1_count count; /* direct counter */
    struct v1_meter meter; /* direct meter */
    uint64_t hit;          /* when it was last hit or written, microseconds */
    uint64_t timeout;      /* idle time until it is reported, microseconds; 0: never */
    int32_t priority;      /* larger wins; the prefix length in LPM tables */
    uint32_t handle;       /* its place in v1_table.entries, plus 1 */
    bool reported;         /* as idle, at the last sweep */
    bool constant;         /* came with the program */
    struct v1_entry *next; /* same mask and value, lower priority */
    const uint64_t *value; /* laid out as the key; lower bounds of ranges */
    const uint64_t *mask;  /* masks; upper bounds of ranges */
    uint64_t words[];      /* value, mask, arguments */
};

/* A slot of a hash table: the key's words follow, then comes the next slot. */
struct v1_slot {
    struct v1_entry *entry; /* NULL: empty */
    uint64_t key[];
};

/* Open addressing, linear probing, at most half full. */
struct v1_hash {
    uint8_t *slots;
    uint64_t mask; /* number of slots - 1 */
    uint32_t used;
    uint32_t stride; /* bytes of a slot: 8 * (1 + words) */
};

struct v1_table {
    const struct v1_table_info *info;
    struct v1_hash exact; /* V1_EXACT */
    struct v1_call miss;  /* the default entry */
    struct v1_profile *profile;
    bool counts;               /* direct counter or idle timeout: a hit writes to the entry */
    struct v1_masked **masked; /* V1_LPM, V1_TERNARY: a hash table per mask, best priority first */
    uint32_t masks;
    struct v1_entry **ordered; /* V1_RANGE: by falling priority */
    uint64_t *plain;           /* V1_RANGE: the key's bits that are in no range field */
    struct v1_entry **entries; /* by handle - 1, in the order of insertion; NULL where deleted */
    uint32_t places;
    uint32_t capacity;
    uint32_t used;
    uint32_t arg_words; /* the most that an action of the table takes */
    uint64_t *miss_args;
};

V1_INLINE uint64_t v1_mix(const uint64_t *key, uint32_t words) {
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < words; i++) {
        __uint128_t product = (__uint128_t)(hash ^ key[i]) * 0xd6e8feb86659fd93u;
        hash = (uint64_t)product ^ (uint64_t)(product >> 64);
    }
    return hash;
}

V1_INLINE bool v1_equal(const uint64_t *a, const uint64_t *b, uint32_t words) {
    uint64_t difference = 0;
    for (uint32_t i = 0; i < words; i++)
        difference |= a[i] ^ b[i];
    return difference == 0;
}

V1_INLINE struct v1_entry *v1_find(const struct v1_hash *hash, const uint64_t *key,
                                   uint32_t words) {
    for (uint64_t at = v1_mix(key, words);; at++) {
        const struct v1_slot *slot =
            (const struct v1_slot *)(hash->slots + (at & hash->mask) * (8 * (1 + words)));
        if (!slot->entry)
            return NULL;
        if (v1_equal(slot->key, key, words))
            return slot->entry;
    }
}

/* Look-up in a table whose match is V1_EXACT; `words` is the table's key_words, a constant. */
V1_INLINE struct v1_entry *v1_match_exact(const struct v1_table *table, const uint64_t *key,
                                          uint32_t words) {
    return v1_find(&table->exact, key, words);
}

/* Look-up in any table that has a key, and in a parser's value set. */
struct v1_entry *v1_match(const struct v1_table *table, const uint64_t *key);

/* Resolve members and groups of an indirect table; do not call directly. */
const struct v1_call *v1_indirect(struct v1_packet *packet, struct v1_table *table,
                                  struct v1_entry *entry);

/* The action to run for what the look-up found (NULL: a miss); counts the hit. */
V1_INLINE const struct v1_call *v1_result(struct v1_packet *packet, struct v1_table *table,
                                          struct v1_entry *entry) {
    if (!entry)
        return &table->miss;
    if (table->counts) {
        entry->count.packets++;
        entry->count.bytes += packet->received;
        entry->hit = packet->context->now;
    }
    if (__builtin_expect(table->profile != NULL, 0))
        return v1_indirect(packet, table, entry);
    return &entry->call;
}

/* Colour of a packet by the direct meter of the entry that it hit. */
uint32_t v1_direct_meter(const struct v1_packet *packet, const struct v1_table *table,
                         struct v1_entry *entry);

#endif
