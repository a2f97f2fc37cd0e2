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

/* Sum of big-endian 16-bit words, the last padded with zero; not folded. */
static uint64_t sum16(const uint8_t *data, size_t length) {
    uint64_t sum = 0;
    for (; length >= 4; data += 4, length -= 4) {
        uint32_t word;
        memcpy(&word, data, 4);
        word = be32toh(word);
        sum += (word >> 16) + (word & 0xffff);
    }
    if (length >= 2)
        sum += (uint64_t)data[0] << 8 | data[1];
    if (length % 2)
        sum += (uint64_t)data[length - 1] << 8;
    return sum;
}

uint16_t v1_checksum(const uint8_t *head, size_t head_length, const uint8_t *tail,
                     size_t tail_length) {
    uint64_t sum = sum16(head, head_length) + sum16(tail, tail_length);
    while (sum >> 16)
        sum = (sum >> 16) + (sum & 0xffff);
    return (uint16_t)~sum;
}

uint64_t v1_hash_csum16(const uint8_t *data, size_t length) {
    return v1_checksum(data, length, data, 0);
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
