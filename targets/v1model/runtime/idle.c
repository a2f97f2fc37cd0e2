/* SPDX-License-Identifier: Apache-2.0 */
/* Idle timeouts: every second, entries that nothing hit for their timeout are reported; those that
 * stay idle at every other sweep, as BMv2 does, until they are deleted. */
#include "switch.h"

#define RECORDS 256 /* entries in one event */

static bool due(struct v1_entry *entry, uint64_t now) {
    bool idle = entry->timeout && now >= entry->hit + entry->timeout;
    entry->reported = idle && !entry->reported;
    return entry->reported;
}

static void sweep_table(struct v1_switch *sw, uint32_t number) {
    const struct v1_table *table = &sw->context->tables[number];
    uint32_t words = table->info->key_words, count = 0;
    size_t stride = 2 * words + 1;
    uint64_t records[RECORDS * stride];
    for (uint32_t i = 0; i < table->places; i++) {
        struct v1_entry *entry = table->entries[i];
        if (entry && due(entry, sw->context->now)) {
            uint64_t *record = &records[count++ * stride];
            memcpy(record, entry->words, 16 * words);
            record[2 * words] = (uint64_t)(int64_t)entry->priority;
        }
        if (count == RECORDS || (count && i + 1 == table->places)) {
            v1_event(&sw->events, V1_IDLE, number, count, records, 8 * stride * count);
            count = 0;
        }
    }
}

void v1_sweep_tables(struct v1_switch *sw) {
    for (uint32_t i = 0; i < sw->context->program->tables; i++)
        if (sw->context->tables[i].info->support_timeout)
            sweep_table(sw, i);
}

void v1_sweep(struct v1_switch *sw) {
    v1_lock(sw);
    if (sw->context) {
        v1_tick(sw);
        v1_sweep_tables(sw);
        v1_digests_flush(sw->context);
    }
    v1_unlock(sw);
}
