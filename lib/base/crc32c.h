/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crc32c.h - the two checksums of the disk formats, without final inversion.
 *
 * Both take and return the raw register: ext4 and jbd2 start from ~0, chain
 * pieces by passing one result as the next seed, and store the register as
 * it is.
 */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Castagnoli, reflected: metadata checksums, and journal checksum v2, v3. */
uint32_t crc32c(uint32_t seed, const void *data, size_t bytes);

/* IEEE 802.3, most significant bit first: journal checksum v1. */
uint32_t crc32_be(uint32_t seed, const void *data, size_t bytes);

#endif /* BASE_CRC32C_H */
