/* SPDX-License-Identifier: Apache-2.0 */
/* The hash algorithms ("calculations") that v1model programs can name, over bytes. They give what
 * BMv2's give; the caller cuts, adds the base and takes the remainder. The customisable CRCs,
 * whose parameters nothing in P4Runtime can change, are these with the parameters they start with:
 * crc16_custom is crc16, crc32_custom is crc32. */
#ifndef GRASP_V1_HASH_H
#define GRASP_V1_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t v1_hash_crc16(const uint8_t *data, size_t length);    /* CRC-16/ARC */
uint64_t v1_hash_crc32(const uint8_t *data, size_t length);    /* CRC-32, as zlib's */
uint64_t v1_hash_csum16(const uint8_t *data, size_t length);   /* Internet checksum, RFC 1071 */
uint64_t v1_hash_xor16(const uint8_t *data, size_t length);    /* of big-endian 16-bit words */
uint64_t v1_hash_identity(const uint8_t *data, size_t length); /* first 8 bytes, big endian */

/* Internet checksum of two pieces, the first of even length: headers and payload. */
uint16_t v1_checksum(const uint8_t *head, size_t head_length, const uint8_t *tail,
                     size_t tail_length);

#endif
