/* SPDX-License-Identifier: Apache-2.0 */
/* Two-rate three-colour meters (RFC 2698, colour-blind unless a colour is given), and cells of
 * indirect counters and meters for the control plane. */
#include "switch.h"

/* Tokens are counted from the meter's origin, so that rounding does not add up. The peak bucket is
 * asked first: a red packet takes no tokens, a yellow one only of the peak bucket. */
uint32_t v1_meter_color(const struct v1_packet *packet, struct v1_meter *meter, uint32_t unit,
                        uint32_t before) {
    static const uint32_t colors[2] = {V1_RED, V1_YELLOW};
    uint64_t now = packet->context->now;
    uint64_t need = unit == V1_PACKETS ? 1 : packet->received;
    if (!meter->configured)
        return V1_GREEN;
    uint64_t elapsed = now > meter->origin ? now - meter->origin : 0;
    for (int i = 0; i < 2; i++) {
        struct v1_bucket *bucket = &meter->bucket[i];
        uint64_t made = (uint64_t)((double)elapsed * bucket->rate);
        if (made > bucket->filled) {
            uint64_t tokens = bucket->tokens + (made - bucket->filled);
            bucket->tokens = tokens < bucket->burst ? tokens : bucket->burst;
            bucket->filled = made;
        }
        if (bucket->tokens < need)
            return colors[i] > before ? colors[i] : before;
        bucket->tokens -= need;
    }
    return before;
}

uint32_t v1_direct_meter(const struct v1_packet *packet, const struct v1_table *table,
                         struct v1_entry *entry) {
    return v1_meter_color(packet, &entry->meter, table->info->direct_meter - 1, V1_GREEN);
}

int v1_meter_set(struct v1_meter *meter, const struct v1_rates *rates, uint64_t now) {
    if (rates->configured && rates->cir > rates->pir)
        return V1_INVALID;
    *meter = (struct v1_meter){
        .configured = rates->configured,
        .origin = now,
        .bucket = {{(double)rates->pir / 1e6, rates->pburst, rates->pburst, 0},
                   {(double)rates->cir / 1e6, rates->cburst, rates->cburst, 0}},
        .rates = *rates,
    };
    return 0;
}

void v1_meter_get(const struct v1_meter *meter, struct v1_rates *rates) {
    *rates = meter->rates;
}

/* ---- cells */

static bool within(uint32_t size, uint32_t first, uint32_t count) {
    return first <= size && count <= size - first;
}

int v1_register_get(struct v1_context *context, uint32_t number, uint32_t first, uint32_t count,
                    void *cells) {
    const struct v1_register *reg = &context->registers[number];
    if (!within(reg->size, first, count))
        return V1_INVALID;
    v1_lock(context->owner);
    memcpy(cells, (uint8_t *)reg->cells + (size_t)first * reg->bytes, (size_t)count * reg->bytes);
    v1_unlock(context->owner);
    return 0;
}

int v1_register_set(struct v1_context *context, uint32_t number, uint32_t first, uint32_t count,
                    const void *cells) {
    const struct v1_register *reg = &context->registers[number];
    if (!within(reg->size, first, count))
        return V1_INVALID;
    v1_lock(context->owner);
    memcpy((uint8_t *)reg->cells + (size_t)first * reg->bytes, cells, (size_t)count * reg->bytes);
    v1_unlock(context->owner);
    return 0;
}

int v1_counter_get(struct v1_context *context, uint32_t number, uint32_t first, uint32_t count,
                   struct v1_count *cells) {
    const struct v1_counter *counter = &context->counters[number];
    if (!within(counter->size, first, count))
        return V1_INVALID;
    v1_lock(context->owner);
    memcpy(cells, &counter->cells[first], count * sizeof(cells[0]));
    v1_unlock(context->owner);
    return 0;
}

int v1_counter_set(struct v1_context *context, uint32_t number, uint32_t first, uint32_t count,
                   const struct v1_count *cells) {
    const struct v1_counter *counter = &context->counters[number];
    if (!within(counter->size, first, count))
        return V1_INVALID;
    v1_lock(context->owner);
    memcpy(&counter->cells[first], cells, count * sizeof(cells[0]));
    v1_unlock(context->owner);
    return 0;
}

int v1_meters_get(struct v1_context *context, uint32_t number, uint32_t first, uint32_t count,
                  struct v1_rates *rates) {
    const struct v1_meters *meters = &context->meters[number];
    if (!within(meters->size, first, count))
        return V1_INVALID;
    v1_lock(context->owner);
    for (uint32_t i = 0; i < count; i++)
        v1_meter_get(&meters->cells[first + i], &rates[i]);
    v1_unlock(context->owner);
    return 0;
}

int v1_meters_set(struct v1_context *context, uint32_t number, uint32_t first, uint32_t count,
                  const struct v1_rates *rates) {
    const struct v1_meters *meters = &context->meters[number];
    int status = 0;
    if (!within(meters->size, first, count))
        return V1_INVALID;
    v1_lock(context->owner);
    for (uint32_t i = 0; i < count && status == 0; i++)
        status = v1_meter_set(&meters->cells[first + i], &rates[i], v1_now(context->owner));
    v1_unlock(context->owner);
    return status;
}
