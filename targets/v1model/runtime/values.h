/* SPDX-License-Identifier: Apache-2.0 */
/* Values of P4 programs in C: bits of packets to integers and back, and arithmetic that C lacks. */
#ifndef GRASP_V1_VALUES_H
#define GRASP_V1_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Aligned as the words of the run time's arrays are, so that values can lie there. */
typedef unsigned __int128 v1_u128 __attribute__((aligned(8)));
typedef __int128 v1_s128 __attribute__((aligned(8)));

#define V1_VALUE static inline __attribute__((always_inline, unused))

/* How often a loop may go round: what goes on after that is an error of the P4 program. */
#define V1_ROUNDS (1u << 20)

/* A literal of more than 64 bits. */
#define V1_U128(high, low) (((v1_u128)(high) << 64) | (low))

/* `bytes` (1 to 8, a constant) big-endian bytes. Loads whole words where that is quicker: up to 7
 * bytes past the last are read, and thrown away. */
V1_VALUE uint64_t v1_load(const uint8_t *from, unsigned bytes) {
    uint64_t value;
    switch (bytes) {
    case 1:
        return *from;
    case 2: {
        uint16_t half;
        memcpy(&half, from, 2);
        return __builtin_bswap16(half);
    }
    case 3:
    case 4: {
        uint32_t word;
        memcpy(&word, from, 4);
        return __builtin_bswap32(word) >> (32 - 8 * bytes);
    }
    default:
        memcpy(&value, from, 8);
        return __builtin_bswap64(value) >> (64 - 8 * bytes);
    }
}

/* The same, the other way: the low `bytes` bytes of value, and nothing behind them. */
V1_VALUE void v1_store(uint8_t *to, unsigned bytes, uint64_t value) {
    uint64_t swapped = __builtin_bswap64(value << (64 - 8 * bytes));
    memcpy(to, &swapped, bytes);
}

/* Bits `offset` to `offset + width - 1` (bit 0 is the first on the wire) as words, the least
 * significant first. */
V1_VALUE void v1_load_bits(uint64_t *words, const uint8_t *from, size_t offset, unsigned width) {
    memset(words, 0, (width + 63) / 64 * 8);
    for (unsigned bit = 0; bit < width; bit++) {
        size_t at = offset + width - 1 - bit;
        words[bit / 64] |= (uint64_t)(from[at / 8] >> (7 - at % 8) & 1) << (bit % 64);
    }
}

V1_VALUE const uint64_t *v1_ahead(uint64_t *words, const uint8_t *from, size_t offset,
                                  unsigned width) {
    v1_load_bits(words, from, offset, width);
    return words;
}

/* The same, the other way; other bits of the bytes are kept. */
V1_VALUE void v1_store_bits(uint8_t *to, size_t offset, const uint64_t *words, unsigned width) {
    for (unsigned bit = 0; bit < width; bit++) {
        size_t at = offset + width - 1 - bit;
        uint8_t mask = (uint8_t)(0x80 >> at % 8);
        to[at / 8] =
            (uint8_t)((to[at / 8] & ~mask) | (words[bit / 64] >> (bit % 64) & 1 ? mask : 0));
    }
}

/* Copies bits between byte arrays. */
V1_VALUE void v1_copy_bits(uint8_t *to, size_t to_offset, const uint8_t *from, size_t from_offset,
                           size_t width) {
    if (to_offset % 8 == 0 && from_offset % 8 == 0 && width % 8 == 0) {
        memcpy(to + to_offset / 8, from + from_offset / 8, width / 8);
        return;
    }
    for (size_t bit = 0; bit < width; bit++) {
        size_t source = from_offset + bit, target = to_offset + bit;
        uint8_t mask = (uint8_t)(0x80 >> target % 8);
        bool set = from[source / 8] >> (7 - source % 8) & 1;
        to[target / 8] = (uint8_t)(set ? to[target / 8] | mask : to[target / 8] & ~mask);
    }
}

/* The index, or `size` if it is out of bounds: arrays that it is for have one element more. */
V1_VALUE uint64_t v1_bounded(uint64_t index, uint64_t size) {
    return index < size ? index : size;
}

/* The signed value of the low `width` bits. */
V1_VALUE int64_t v1_signed(uint64_t value, unsigned width) {
    return (int64_t)(value << (64 - width)) >> (64 - width);
}

V1_VALUE v1_s128 v1_signed128(v1_u128 value, unsigned width) {
    return (v1_s128)(value << (128 - width)) >> (128 - width);
}

/* Shifts by any amount. */
V1_VALUE uint64_t v1_shl(uint64_t value, uint64_t amount) {
    return amount < 64 ? value << amount : 0;
}

V1_VALUE uint64_t v1_shr(uint64_t value, uint64_t amount) {
    return amount < 64 ? value >> amount : 0;
}

V1_VALUE int64_t v1_sar(int64_t value, uint64_t amount) {
    return value >> (amount < 63 ? amount : 63);
}

V1_VALUE v1_u128 v1_shl128(v1_u128 value, uint64_t amount) {
    return amount < 128 ? value << amount : 0;
}

V1_VALUE v1_u128 v1_shr128(v1_u128 value, uint64_t amount) {
    return amount < 128 ? value >> amount : 0;
}

V1_VALUE v1_s128 v1_sar128(v1_s128 value, uint64_t amount) {
    return value >> (amount < 127 ? amount : 127);
}

/* Quotient and remainder; of a division by zero, which P4 leaves open, they are 0. */
#define V1_DIVIDE(type, name)                                                                      \
    V1_VALUE type v1_quotient_##name(type a, type b) {                                             \
        return b ? a / b : 0;                                                                      \
    }                                                                                              \
    V1_VALUE type v1_remainder_##name(type a, type b) {                                            \
        return b ? a % b : 0;                                                                      \
    }
V1_DIVIDE(uint64_t, u64)
V1_DIVIDE(v1_u128, u128)

/* The nearest value between low and high. */
#define V1_CLAMP(type, name)                                                                       \
    V1_VALUE type v1_clamp_##name(type value, type low, type high) {                               \
        return value < low ? low : value > high ? high : value;                                    \
    }
V1_CLAMP(uint64_t, u64)
V1_CLAMP(int64_t, s64)
V1_CLAMP(v1_u128, u128)
V1_CLAMP(v1_s128, s128)

#endif
