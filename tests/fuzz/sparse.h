/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sparse.h - how the fuzzer's bytes become a device that is mostly empty.
 *
 *   0..3    units of 1 KiB on the device
 *   4..7    units on a second device, for a journal; 0: there is none
 *   8..11   enum sparse_flag
 *   12..15  the block of the copy of the superblock to begin with; 0: none
 *   16..    pieces of 1028 bytes: the number of a unit, and what is in it
 *
 * Numbers are le32.  Units of the second device count on behind the first's.
 * The last piece is filled up with zeroes; of two for one unit the later wins.
 */
#ifndef TESTS_FUZZ_SPARSE_H
#define TESTS_FUZZ_SPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blk/blk.h"

enum {
	SPARSE_HEAD = 16,
	SPARSE_UNIT = 1024,
	SPARSE_PIECE = 4 + SPARSE_UNIT,
	SPARSE_UNITS_MAX = 64 << 10,
	SPARSE_PIECES_MAX = 512, /* more are ignored */
};

enum sparse_flag {
	SPARSE_SMALL_CACHE = 1, /* as few dentries and blocks as there may be */
	SPARSE_NO_REPLAY = 2,
	SPARSE_WALK_REF = 4,
};

struct sparse {
	uint32_t units;
	uint32_t outside_units;
	uint32_t flags;
	uint32_t superblock;
	uint32_t count; /* of pieces; the last may be cut */
	const uint8_t *pieces;
	size_t bytes; /* of pieces */
};

/* False: too short for anything. */
bool sparse_decode(const uint8_t *data, size_t bytes, struct sparse *out);

/* The device; and the second, or NULL.  Both in memory. */
struct blk_dev *sparse_load(const struct sparse *s);
struct blk_dev *sparse_load_outside(const struct sparse *s);

static inline uint32_t sparse_get32(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

static inline void sparse_put32(uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

#endif /* TESTS_FUZZ_SPARSE_H */
