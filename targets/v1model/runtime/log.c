/* SPDX-License-Identifier: Apache-2.0 */
/* What the switch and programs have to say, and primitives that are too rare to be inlined. */
#include <stdarg.h>
#include <stdio.h>
#include "switch.h"

void v1_log(struct v1_switch *sw, uint32_t level, const char *format, ...) {
    char text[512];
    va_list arguments;
    if (!sw->options.log || level > sw->options.log_level)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    sw->options.log(level, text);
}

/* Divide the number by 10 in place; returns the remainder. */
static uint32_t divide(uint64_t *words, uint32_t count) {
    uint64_t remainder = 0;
    for (uint32_t i = count; i-- > 0;) {
        __uint128_t part = (__uint128_t)remainder << 64 | words[i];
        words[i] = (uint64_t)(part / 10);
        remainder = (uint64_t)(part % 10);
    }
    return (uint32_t)remainder;
}

static void negate(uint64_t *words, uint32_t width) {
    uint32_t count = V1_WORDS(width);
    bool carry = true;
    for (uint32_t i = 0; i < count; i++) {
        words[i] = ~words[i] + carry;
        carry = carry && words[i] == 0;
    }
    if (width % 64)
        words[count - 1] &= (UINT64_C(1) << width % 64) - 1;
}

/* The value in decimal at the end of `text`; returns where it starts, NULL if it does not fit. */
static const char *decimal(const struct v1_value *value, char *text, size_t size) {
    uint32_t count = V1_WORDS(value->width);
    uint64_t words[count + 1], any;
    uint32_t top = value->width ? value->width - 1 : 0;
    memcpy(words, value->words, 8 * count);
    bool negative = value->is_signed && words[top / 64] >> top % 64 & 1;
    if (negative)
        negate(words, value->width);
    char *at = text + size;
    *--at = 0;
    do {
        if (at < text + 2)
            return NULL;
        *--at = (char)('0' + divide(words, count));
        any = 0;
        for (uint32_t i = 0; i < count; i++)
            any |= words[i];
    } while (any);
    if (negative)
        *--at = '-';
    return at;
}

void v1_log_message(struct v1_packet *packet, const char *format, const struct v1_value *values,
                    uint32_t count) {
    char text[1024], number[700];
    size_t used = 0;
    uint32_t next = 0;
    if (packet->context->owner->options.log_level < V1_INFO)
        return;
    for (const char *at = format; *at && used + 1 < sizeof(text);) {
        if (at[0] == '{' && at[1] == '}' && next < count) {
            const char *digits = decimal(&values[next++], number, sizeof(number));
            size_t length = digits ? strlen(digits) : 0;
            if (used + length + 1 > sizeof(text))
                break;
            memcpy(text + used, digits ? digits : "", length);
            used += length;
            at += 2;
        } else {
            text[used++] = *at++;
        }
    }
    text[used] = 0;
    v1_log(packet->context->owner, V1_INFO, "%s", text);
}

void v1_assert_failed(struct v1_packet *packet, const char *where) {
    struct v1_switch *sw = packet->context->owner;
    packet->requests.failed = true;
    if (sw->counts.assertions++ == 0)
        v1_log(sw, V1_ERROR, "assertion failed, packet dropped (said once, counted always): %s",
               where);
}

/* splitmix64: each state is as good as any, so no seeding is needed. */
static uint64_t next_random(struct v1_context *context) {
    uint64_t z = context->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void v1_random(struct v1_packet *packet, uint64_t low, uint64_t high, uint64_t *value) {
    if (low > high)
        return;
    uint64_t range = high - low + 1, bits = next_random(packet->context);
    *value = range ? low + (uint64_t)((__uint128_t)bits * range >> 64) : bits;
}
