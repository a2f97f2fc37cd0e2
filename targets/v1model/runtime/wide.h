/* SPDX-License-Identifier: Apache-2.0 */
/* Integers wider than 128 bits, in two's complement. A program that needs them defines V1_LIMBS, so
 * that no result of it overflows. */
#ifndef GRASP_V1_WIDE_H
#define GRASP_V1_WIDE_H

#include "values.h"

struct v1_wide {
    uint64_t limb[V1_LIMBS]; /* the least significant first */
};

V1_VALUE struct v1_wide v1_wide_fill(const uint64_t *words, unsigned count, uint64_t rest) {
    struct v1_wide wide;
    for (unsigned i = 0; i < V1_LIMBS; i++)
        wide.limb[i] = i < count ? words[i] : rest;
    return wide;
}

/* From words, the least significant first, not negative. */
V1_VALUE struct v1_wide v1_wide_words(const uint64_t *words, unsigned count) {
    return v1_wide_fill(words, count, 0);
}

V1_VALUE struct v1_wide v1_wide_u64(uint64_t value) {
    return v1_wide_fill(&value, 1, 0);
}

V1_VALUE struct v1_wide v1_wide_s64(int64_t value) {
    uint64_t word = (uint64_t)value;
    return v1_wide_fill(&word, 1, value < 0 ? UINT64_MAX : 0);
}

V1_VALUE struct v1_wide v1_wide_u128(v1_u128 value) {
    return v1_wide_fill((uint64_t[]){(uint64_t)value, (uint64_t)(value >> 64)}, 2, 0);
}

V1_VALUE struct v1_wide v1_wide_s128(v1_s128 value) {
    v1_u128 bits = (v1_u128)value;
    return v1_wide_fill((uint64_t[]){(uint64_t)bits, (uint64_t)(bits >> 64)}, 2,
                        value < 0 ? UINT64_MAX : 0);
}

V1_VALUE v1_u128 v1_wide_low(struct v1_wide a) {
    return V1_U128(a.limb[1], a.limb[0]);
}

V1_VALUE bool v1_wide_negative(struct v1_wide a) {
    return a.limb[V1_LIMBS - 1] >> 63;
}

V1_VALUE struct v1_wide v1_wide_not(struct v1_wide a) {
    for (unsigned i = 0; i < V1_LIMBS; i++)
        a.limb[i] = ~a.limb[i];
    return a;
}

V1_VALUE struct v1_wide v1_wide_and(struct v1_wide a, struct v1_wide b) {
    for (unsigned i = 0; i < V1_LIMBS; i++)
        a.limb[i] &= b.limb[i];
    return a;
}

V1_VALUE struct v1_wide v1_wide_or(struct v1_wide a, struct v1_wide b) {
    for (unsigned i = 0; i < V1_LIMBS; i++)
        a.limb[i] |= b.limb[i];
    return a;
}

V1_VALUE struct v1_wide v1_wide_xor(struct v1_wide a, struct v1_wide b) {
    for (unsigned i = 0; i < V1_LIMBS; i++)
        a.limb[i] ^= b.limb[i];
    return a;
}

V1_VALUE struct v1_wide v1_wide_plus(struct v1_wide a, struct v1_wide b, uint64_t carry) {
    for (unsigned i = 0; i < V1_LIMBS; i++) {
        v1_u128 sum = (v1_u128)a.limb[i] + b.limb[i] + carry;
        a.limb[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
    return a;
}

V1_VALUE struct v1_wide v1_wide_add(struct v1_wide a, struct v1_wide b) {
    return v1_wide_plus(a, b, 0);
}

V1_VALUE struct v1_wide v1_wide_sub(struct v1_wide a, struct v1_wide b) {
    return v1_wide_plus(a, v1_wide_not(b), 1);
}

V1_VALUE struct v1_wide v1_wide_mul(struct v1_wide a, struct v1_wide b) {
    struct v1_wide product = {{0}};
    for (unsigned i = 0; i < V1_LIMBS; i++) {
        uint64_t carry = 0;
        for (unsigned j = 0; i + j < V1_LIMBS; j++) {
            v1_u128 sum = (v1_u128)a.limb[i] * b.limb[j] + product.limb[i + j] + carry;
            product.limb[i + j] = (uint64_t)sum;
            carry = (uint64_t)(sum >> 64);
        }
    }
    return product;
}

V1_VALUE struct v1_wide v1_wide_shl(struct v1_wide a, uint64_t amount) {
    struct v1_wide result = {{0}};
    uint64_t whole = amount / 64, part = amount % 64;
    for (uint64_t i = whole; i < V1_LIMBS; i++) {
        result.limb[i] = a.limb[i - whole] << part;
        if (part && i > whole)
            result.limb[i] |= a.limb[i - whole - 1] >> (64 - part);
    }
    return result;
}

/* Arithmetic shift. */
V1_VALUE struct v1_wide v1_wide_shr(struct v1_wide a, uint64_t amount) {
    uint64_t sign = v1_wide_negative(a) ? UINT64_MAX : 0;
    struct v1_wide result = v1_wide_fill(NULL, 0, sign);
    uint64_t whole = amount / 64, part = amount % 64;
    for (uint64_t i = 0; whole < V1_LIMBS && i < V1_LIMBS - whole; i++) {
        uint64_t above = i + whole + 1 < V1_LIMBS ? a.limb[i + whole + 1] : sign;
        result.limb[i] =
            part ? a.limb[i + whole] >> part | above << (64 - part) : a.limb[i + whole];
    }
    return result;
}

/* The low `width` bits. */
V1_VALUE struct v1_wide v1_wide_mask(struct v1_wide a, unsigned width) {
    for (unsigned i = 0; i < V1_LIMBS; i++)
        if (64 * (i + 1) > width)
            a.limb[i] = 64 * i < width ? a.limb[i] & (((uint64_t)1 << (width - 64 * i)) - 1) : 0;
    return a;
}

/* The signed value of the low `width` bits. */
V1_VALUE struct v1_wide v1_wide_signed(struct v1_wide a, unsigned width) {
    uint64_t amount = 64 * V1_LIMBS - width;
    return v1_wide_shr(v1_wide_shl(a, amount), amount);
}

/* The low `width` bits to words. */
V1_VALUE void v1_wide_store(uint64_t *words, unsigned width, struct v1_wide a) {
    a = v1_wide_mask(a, width);
    memcpy(words, a.limb, (width + 63) / 64 * sizeof *words);
}

/* All limbs to words. */
V1_VALUE const uint64_t *v1_wide_copy(uint64_t *words, struct v1_wide a) {
    memcpy(words, a.limb, sizeof a.limb);
    return words;
}

V1_VALUE bool v1_wide_equal(struct v1_wide a, struct v1_wide b) {
    uint64_t difference = 0;
    for (unsigned i = 0; i < V1_LIMBS; i++)
        difference |= a.limb[i] ^ b.limb[i];
    return difference == 0;
}

V1_VALUE bool v1_wide_less(struct v1_wide a, struct v1_wide b) {
    if (v1_wide_negative(a) != v1_wide_negative(b))
        return v1_wide_negative(a);
    for (unsigned i = V1_LIMBS; i-- > 0;)
        if (a.limb[i] != b.limb[i])
            return a.limb[i] < b.limb[i];
    return false;
}

V1_VALUE struct v1_wide v1_wide_clamp(struct v1_wide value, struct v1_wide low,
                                      struct v1_wide high) {
    return v1_wide_less(value, low) ? low : v1_wide_less(high, value) ? high : value;
}

#endif
