/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crash_sectors.h - sectors that carry the number of the write that filled
 * them, so that a state after a power cut can be judged one by one.
 */
#ifndef TESTS_CRASH_SECTORS_H
#define TESTS_CRASH_SECTORS_H

#include <string.h>

#include "../cmocka_all.h"
#include "blk/blk.h"
#include "blk/layers.h"

enum { SECTORS = 48 };

#define SECTOR    UINT64_C(512)
#define DEV_BYTES (SECTORS * SECTOR)

static inline void fill(uint8_t *data, uint64_t sectors, uint32_t id)
{
	for (uint64_t at = 0; at < sectors * SECTOR; at += sizeof(id))
		memcpy(data + at, &id, sizeof(id));
}

static inline void put(
	struct blk_dev *dev, uint64_t first, uint64_t count, uint32_t id)
{
	static uint8_t data[DEV_BYTES];

	fill(data, count, id);
	assert_int_equal(
		blk_write(dev, first * SECTOR, count * SECTOR, data), 0);
}

/* The number that fills each sector of a state. */
static inline void ids_read(struct blk_dev *dev, uint32_t ids[SECTORS])
{
	static uint8_t data[DEV_BYTES];

	assert_int_equal(blk_read(dev, 0, DEV_BYTES, data), 0);
	for (int i = 0; i < SECTORS; i++) {
		const uint8_t *at = data + i * SECTOR;

		memcpy(&ids[i], at, sizeof(ids[i]));
		/* The whole sector repeats its first word. */
		assert_int_equal(memcmp(at, at + 4, SECTOR - 4), 0);
	}
}

static inline void state_ids(
	struct blk_dev *dev, uint64_t cut, uint64_t seed, uint32_t ids[SECTORS])
{
	struct blk_dev *cold = NULL;

	assert_int_equal(blk_crash_state(dev, cut, seed, &cold), 0);
	assert_int_equal(blk_geom(cold).bytes, DEV_BYTES);
	ids_read(cold, ids);
	blk_close(cold);
}

#endif /* TESTS_CRASH_SECTORS_H */
