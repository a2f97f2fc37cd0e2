/* SPDX-License-Identifier: Apache-2.0 */
/* How tables find their entries.
 *
 * Exact tables are one hash table. LPM and ternary tables keep one hash table per distinct mask
 * (tuple space search), visited by falling priority, so that the search ends as soon as no
 * remaining mask can win; an LPM entry's priority is its prefix length. Range tables are searched
 * entry by entry. */
#include <limits.h>
#include <stdlib.h>
#include "switch.h"

#define SLOTS 8 /* of a new hash table */

struct v1_masked {
    int32_t best; /* priority of the best entry */
    uint32_t entries;
    struct v1_hash hash;
    uint64_t mask[];
};

/* ---- hash tables */

static struct v1_slot *slot_at(const struct v1_hash *hash, uint64_t at) {
    return (struct v1_slot *)(hash->slots + (at & hash->mask) * hash->stride);
}

static bool hash_create(struct v1_hash *hash, uint32_t words, uint64_t slots) {
    hash->stride = 8 * (1 + words);
    hash->slots = calloc(slots, hash->stride);
    hash->mask = slots - 1;
    hash->used = 0;
    return hash->slots != NULL;
}

static struct v1_slot *hash_slot(const struct v1_hash *hash, const uint64_t *key) {
    uint32_t words = hash->stride / 8 - 1;
    for (uint64_t at = v1_mix(key, words);; at++) {
        struct v1_slot *slot = slot_at(hash, at);
        if (!slot->entry || v1_equal(slot->key, key, words))
            return slot;
    }
}

static bool hash_grow(struct v1_hash *hash) {
    struct v1_hash bigger;
    if (!hash_create(&bigger, hash->stride / 8 - 1, 2 * (hash->mask + 1)))
        return false;
    for (uint64_t i = 0; i <= hash->mask; i++) {
        struct v1_slot *slot = slot_at(hash, i);
        if (slot->entry)
            memcpy(hash_slot(&bigger, slot->key), slot, hash->stride);
    }
    bigger.used = hash->used;
    free(hash->slots);
    *hash = bigger;
    return true;
}

/* Room for one more key; at most half of the slots are used, so that probes stay short. */
static bool hash_reserve(struct v1_hash *hash) {
    return 2 * (uint64_t)(hash->used + 1) <= hash->mask + 1 || hash_grow(hash);
}

/* Empty a slot and move up those behind it that probed past it. */
static void hash_remove(struct v1_hash *hash, struct v1_slot *slot) {
    uint32_t words = hash->stride / 8 - 1;
    uint64_t hole = (uint64_t)((uint8_t *)slot - hash->slots) / hash->stride;
    for (uint64_t at = hole + 1;; at++) {
        struct v1_slot *next = slot_at(hash, at);
        if (!next->entry)
            break;
        uint64_t home = v1_mix(next->key, words);
        if (((at - home) & hash->mask) >= ((at - hole) & hash->mask)) {
            memcpy(slot_at(hash, hole), next, hash->stride);
            hole = at;
        }
    }
    slot_at(hash, hole)->entry = NULL;
    hash->used--;
}

/* ---- look-ups */

static struct v1_entry *match_masked(const struct v1_table *table, const uint64_t *key) {
    uint32_t words = table->info->key_words;
    struct v1_entry *found = NULL;
    uint64_t masked_key[words];
    for (uint32_t i = 0; i < table->masks; i++) {
        const struct v1_masked *masked = table->masked[i];
        if (found && found->priority >= masked->best)
            break;
        for (uint32_t w = 0; w < words; w++)
            masked_key[w] = key[w] & masked->mask[w];
        struct v1_entry *entry = v1_find(&masked->hash, masked_key, words);
        if (entry && (!found || entry->priority > found->priority))
            found = entry;
    }
    return found;
}

/* Compare two values of a field in keys: below 0, 0, above 0. */
static int compare_field(const struct v1_field *field, const uint64_t *a, const uint64_t *b) {
    if (field->width <= 64) {
        uint64_t ones = field->width == 64 ? UINT64_MAX : (UINT64_C(1) << field->width) - 1;
        uint64_t x = (a[field->word] >> field->shift) & ones;
        uint64_t y = (b[field->word] >> field->shift) & ones;
        return x < y ? -1 : x > y;
    }
    for (uint32_t i = V1_WORDS(field->width); i-- > 0;) {
        uint64_t x = a[field->word + i], y = b[field->word + i];
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

static bool in_ranges(const struct v1_table *table, const struct v1_entry *entry,
                      const uint64_t *key) {
    for (uint32_t i = 0; i < table->info->fields; i++) {
        const struct v1_field *field = &table->info->field[i];
        if (field->match == V1_RANGE && (compare_field(field, key, entry->value) < 0 ||
                                         compare_field(field, key, entry->mask) > 0))
            return false;
    }
    return true;
}

static struct v1_entry *match_range(const struct v1_table *table, const uint64_t *key) {
    for (uint32_t i = 0; i < table->used; i++) {
        struct v1_entry *entry = table->ordered[i];
        uint64_t difference = 0;
        for (uint32_t w = 0; w < table->info->key_words; w++)
            difference |= (key[w] ^ entry->value[w]) & entry->mask[w] & table->plain[w];
        if (!difference && in_ranges(table, entry, key))
            return entry;
    }
    return NULL;
}

struct v1_entry *v1_match(const struct v1_table *table, const uint64_t *key) {
    switch (table->info->match) {
    case V1_EXACT:
        return v1_find(&table->exact, key, table->info->key_words);
    case V1_RANGE:
        return match_range(table, key);
    default:
        return match_masked(table, key);
    }
}

/* ---- entries in their table's structures */

static int find_masked(const struct v1_table *table, const uint64_t *mask) {
    for (uint32_t i = 0; i < table->masks; i++)
        if (v1_equal(table->masked[i]->mask, mask, table->info->key_words))
            return (int)i;
    return -1;
}

struct v1_entry *v1_find_entry(const struct v1_table *table, const uint64_t *value,
                               const uint64_t *mask, int32_t priority) {
    uint32_t words = table->info->key_words;
    struct v1_entry *entry = NULL;
    if (table->info->match == V1_EXACT)
        return v1_find(&table->exact, value, words);
    if (table->info->match == V1_RANGE) {
        for (uint32_t i = 0; i < table->used; i++) {
            entry = table->ordered[i];
            if (entry->priority == priority && v1_equal(entry->value, value, words) &&
                v1_equal(entry->mask, mask, words))
                return entry;
        }
        return NULL;
    }
    int at = find_masked(table, mask);
    if (at >= 0)
        entry = v1_find(&table->masked[at]->hash, value, words);
    while (entry && entry->priority != priority)
        entry = entry->next;
    return entry;
}

/* Put table->masked[at], whose best priority has changed, where it belongs. */
static void reorder(struct v1_table *table, uint32_t at) {
    struct v1_masked *masked = table->masked[at];
    for (; at > 0 && table->masked[at - 1]->best < masked->best; at--)
        table->masked[at] = table->masked[at - 1];
    for (; at + 1 < table->masks && table->masked[at + 1]->best > masked->best; at++)
        table->masked[at] = table->masked[at + 1];
    table->masked[at] = masked;
}

static struct v1_masked *add_mask(struct v1_table *table, const uint64_t *mask) {
    uint32_t words = table->info->key_words;
    struct v1_masked **bigger =
        realloc(table->masked, (table->masks + 1) * sizeof(table->masked[0]));
    if (!bigger)
        return NULL;
    table->masked = bigger;
    struct v1_masked *masked = calloc(1, sizeof(*masked) + 8 * words);
    if (!masked || !hash_create(&masked->hash, words, SLOTS)) {
        free(masked);
        return NULL;
    }
    masked->best = INT32_MIN;
    memcpy(masked->mask, mask, 8 * words);
    table->masked[table->masks++] = masked;
    return masked;
}

static bool link_masked(struct v1_table *table, struct v1_entry *entry) {
    uint32_t words = table->info->key_words;
    int at = find_masked(table, entry->mask);
    struct v1_masked *masked = at >= 0 ? table->masked[at] : add_mask(table, entry->mask);
    if (!masked || !hash_reserve(&masked->hash))
        return false;
    struct v1_slot *slot = hash_slot(&masked->hash, entry->value);
    if (!slot->entry) {
        memcpy(slot->key, entry->value, 8 * words);
        masked->hash.used++;
    }
    struct v1_entry **link = &slot->entry;
    while (*link && (*link)->priority > entry->priority)
        link = &(*link)->next;
    entry->next = *link;
    *link = entry;
    masked->entries++;
    if (entry->priority > masked->best) {
        masked->best = entry->priority;
        reorder(table, at >= 0 ? (uint32_t)at : table->masks - 1);
    }
    return true;
}

static int32_t best_of(const struct v1_masked *masked) {
    int32_t best = INT32_MIN;
    for (uint64_t i = 0; i <= masked->hash.mask; i++) {
        const struct v1_entry *entry = slot_at(&masked->hash, i)->entry;
        if (entry && entry->priority > best)
            best = entry->priority;
    }
    return best;
}

static void unlink_masked(struct v1_table *table, struct v1_entry *entry) {
    uint32_t at = (uint32_t)find_masked(table, entry->mask);
    struct v1_masked *masked = table->masked[at];
    struct v1_slot *slot = hash_slot(&masked->hash, entry->value);
    struct v1_entry **link = &slot->entry;
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    if (!slot->entry)
        hash_remove(&masked->hash, slot);
    if (--masked->entries == 0) {
        free(masked->hash.slots);
        free(masked);
        table->masks--;
        memmove(&table->masked[at], &table->masked[at + 1],
                (table->masks - at) * sizeof(table->masked[0]));
    } else if (entry->priority == masked->best && table->info->match != V1_LPM) {
        masked->best = best_of(masked);
        reorder(table, at);
    }
}

static bool link_range(struct v1_table *table, struct v1_entry *entry) {
    struct v1_entry **bigger =
        realloc(table->ordered, (table->used + 1) * sizeof(table->ordered[0]));
    if (!bigger)
        return false;
    table->ordered = bigger;
    uint32_t at = table->used;
    for (; at > 0 && bigger[at - 1]->priority < entry->priority; at--)
        bigger[at] = bigger[at - 1];
    bigger[at] = entry;
    return true;
}

bool v1_link_entry(struct v1_table *table, struct v1_entry *entry) {
    if (table->info->match == V1_RANGE)
        return link_range(table, entry);
    if (table->info->match != V1_EXACT)
        return link_masked(table, entry);
    if (!hash_reserve(&table->exact))
        return false;
    struct v1_slot *slot = hash_slot(&table->exact, entry->value);
    memcpy(slot->key, entry->value, 8 * table->info->key_words);
    slot->entry = entry;
    table->exact.used++;
    return true;
}

void v1_unlink_entry(struct v1_table *table, struct v1_entry *entry) {
    if (table->info->match == V1_EXACT) {
        hash_remove(&table->exact, hash_slot(&table->exact, entry->value));
    } else if (table->info->match == V1_RANGE) {
        uint32_t at = 0;
        while (table->ordered[at] != entry)
            at++;
        memmove(&table->ordered[at], &table->ordered[at + 1],
                (table->used - at - 1) * sizeof(table->ordered[0]));
    } else {
        unlink_masked(table, entry);
    }
}

/* ---- life */

static uint64_t *plain_bits(const struct v1_table_info *info) {
    uint64_t *plain = malloc(8 * (info->key_words + 1));
    if (!plain)
        return NULL;
    memset(plain, 0xff, 8 * info->key_words);
    for (uint32_t i = 0; i < info->fields; i++) {
        const struct v1_field *field = &info->field[i];
        if (field->match != V1_RANGE)
            continue;
        if (field->width >= 64)
            memset(&plain[field->word], 0, 8 * V1_WORDS(field->width));
        else
            plain[field->word] &= ~(((UINT64_C(1) << field->width) - 1) << field->shift);
    }
    return plain;
}

bool v1_index_create(struct v1_table *table) {
    if (table->info->match == V1_RANGE)
        return (table->plain = plain_bits(table->info)) != NULL;
    return table->info->match != V1_EXACT ||
           hash_create(&table->exact, table->info->key_words, SLOTS);
}

void v1_index_destroy(struct v1_table *table) {
    for (uint32_t i = 0; i < table->masks; i++) {
        free(table->masked[i]->hash.slots);
        free(table->masked[i]);
    }
    free(table->masked);
    free(table->ordered);
    free(table->plain);
    free(table->exact.slots);
}
