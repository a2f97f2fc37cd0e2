/* SPDX-License-Identifier: Apache-2.0 */
/* Calculations: CRCs by eight tables ("slicing"), Internet checksum, xor, identity. */
#include <endian.h>
#include <string.h>
#include "hash.h"

struct crc {
    uint32_t table[8][256];
};

static struct crc crc16, crc32;

/* table[k][b]: the CRC of byte b followed by k zero bytes; reflected polynomial. */
static void fill(struct crc *crc, uint32_t polynomial) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? value >> 1 ^ polynomial : value >> 1;
        crc->table[0][byte] = value;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t value = crc->table[k - 1][byte];
            crc->table[k][byte] = value >> 8 ^ crc->table[0][value & 0xff];
        }
}

__attribute__((constructor)) static void fill_tables(void) {
    fill(&crc16, 0xa001);
    fill(&crc32, 0xedb88320);
}

static uint32_t update(const struct crc *crc, uint32_t value, const uint8_t *data, size_t length) {
    for (; length >= 8; data += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, data, 8);
        word = le64toh(word) ^ value;
        value = 0;
        for (int i = 0; i < 8; i++)
            value ^= crc->table[7 - i][word >> 8 * i & 0xff];
    }
    for (; length > 0; data++, length--)
        value = value >> 8 ^ crc->table[0][(value ^ *data) & 0xff];
    return value;
}

uint64_t v1_hash_crc16(const uint8_t *data, size_t length) {
    return update(&crc16, 0, data, length);
}

uint64_t v1_hash_crc32(const uint8_t *data, size_t length) {
    return update(&crc32, UINT32_MAX, data, length) ^ UINT32_MAX;
}

/* Sum of little-endian 32-bit words, the last padded with zeros. Folded to 16 bits and with its
 * bytes swapped it is the sum of big-endian 16-bit words (RFC 1071, section 2). */
static uint64_t sum32(const uint8_t *data, size_t length) {
    uint64_t sum = 0, eight;
    uint32_t four;
    uint16_t two;
    for (; length >= 8; data += 8, length -= 8) {
        memcpy(&eight, data, 8);
        eight = le64toh(eight);
        sum += (eight >> 32) + (uint32_t)eight;
    }
    if (length & 4) {
        memcpy(&four, data, 4);
        sum += le32toh(four);
        data += 4;
    }
    if (length & 2) {
        memcpy(&two, data, 2);
        sum += le16toh(two);
        data += 2;
    }
    return length & 1 ? sum + *data : sum;
}

static uint16_t fold(uint64_t sum) {
    while (sum >> 16)
        sum = (sum >> 16) + (sum & 0xffff);
    return (uint16_t)~(sum >> 8 | sum << 8);
}

uint16_t v1_checksum(const uint8_t *head, size_t head_length, const uint8_t *tail,
                     size_t tail_length) {
    return fold(sum32(head, head_length) + sum32(tail, tail_length));
}

uint64_t v1_hash_csum16(const uint8_t *data, size_t length) {
    return fold(sum32(data, length));
}

uint64_t v1_hash_xor16(const uint8_t *data, size_t length) {
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++)
        value ^= (uint64_t)data[i] << (i % 2 ? 0 : 8);
    return value;
}

uint64_t v1_hash_identity(const uint8_t *data, size_t length) {
    uint64_t value = 0;
    for (size_t i = 0; i < length && i < 8; i++)
        value = value << 8 | data[i];
    return value;
}
