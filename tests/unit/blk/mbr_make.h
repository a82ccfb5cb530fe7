/* SPDX-License-Identifier: BSD-2-Clause */
/* mbr_make.h - partition tables by hand. */
#ifndef TESTS_MBR_MAKE_H
#define TESTS_MBR_MAKE_H

#include <string.h>

#include "../cmocka_all.h"
#include "blk/blk.h"

enum { SECTORS = 131072 };

#define SECTOR    UINT64_C(512)
#define DEV_BYTES (SECTORS * SECTOR)

static inline void put32(uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

static inline void mbr_entry_put(uint8_t *sector, int index, uint8_t type,
	uint32_t first, uint32_t count)
{
	uint8_t *entry = sector + 446 + (size_t)16 * index;

	memset(entry, 0, 16);
	entry[4] = type;
	put32(entry + 8, first);
	put32(entry + 12, count);
	sector[510] = 0x55;
	sector[511] = 0xaa;
}

static inline void put(struct blk_dev *dev, uint64_t sector, const void *data)
{
	assert_int_equal(blk_write(dev, sector * SECTOR, SECTOR, data), 0);
}

#endif /* TESTS_MBR_MAKE_H */
