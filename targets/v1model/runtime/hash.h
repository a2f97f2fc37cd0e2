/* SPDX-License-Identifier: Apache-2.0 */
/* The hash algorithms ("calculations") of v1model, over bytes. They give what BMv2's give; the
 * caller cuts, adds the base and takes the remainder. */
#ifndef GRASP_V1_HASH_H
#define GRASP_V1_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t v1_hash_crc16(const uint8_t *data, size_t length);    /* CRC-16/ARC */
uint64_t v1_hash_crc32(const uint8_t *data, size_t length);    /* CRC-32, as zlib's */
uint64_t v1_hash_crcCCITT(const uint8_t *data, size_t length); /* CRC-16/IBM-3740 */
uint64_t v1_hash_csum16(const uint8_t *data, size_t length);   /* Internet checksum, RFC 1071 */
uint64_t v1_hash_cksum16(const uint8_t *data, size_t length);  /* the same */
uint64_t v1_hash_xor16(const uint8_t *data, size_t length);
uint64_t v1_hash_xor32(const uint8_t *data, size_t length);
uint64_t v1_hash_identity(const uint8_t *data, size_t length); /* first 8 bytes, big endian */
/* The customisable CRCs with the parameters they start with. */
uint64_t v1_hash_crc8_custom(const uint8_t *data, size_t length);
uint64_t v1_hash_crc16_custom(const uint8_t *data, size_t length);
uint64_t v1_hash_crc32_custom(const uint8_t *data, size_t length);
uint64_t v1_hash_crc64_custom(const uint8_t *data, size_t length);
uint64_t v1_hash_xxh64(const uint8_t *data, size_t length);
uint64_t v1_hash_bmv2_hash(const uint8_t *data, size_t length); /* xxh64 */
uint64_t v1_hash_hash_ex(const uint8_t *data, size_t length);   /* FNV-like, 32 bits */
uint64_t v1_hash_toeplitz(const uint8_t *data, size_t length);  /* with a key of zeros: 0 */

/* Internet checksum (RFC 1071) of two pieces, the first of even length: headers and payload. */
uint16_t v1_checksum(const uint8_t *head, size_t head_length, const uint8_t *tail,
                     size_t tail_length);

#endif
