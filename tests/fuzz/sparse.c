/* SPDX-License-Identifier: BSD-2-Clause */
/* sparse.c - see sparse.h. */
#include "sparse.h"

#include <string.h>

#include "must.h"

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

bool sparse_decode(const uint8_t *data, size_t bytes, struct sparse *out)
{
	if (bytes < SPARSE_HEAD)
		return false;
	*out = (struct sparse){
		.units = least(sparse_get32(data), SPARSE_UNITS_MAX),
		.outside_units =
			least(sparse_get32(data + 4), SPARSE_UNITS_MAX),
		.flags = sparse_get32(data + 8),
		.superblock = sparse_get32(data + 12),
		.pieces = data + SPARSE_HEAD,
		.bytes = bytes - SPARSE_HEAD,
	};
	out->count = (uint32_t)((out->bytes + SPARSE_PIECE - 1) / SPARSE_PIECE);
	out->count = least(out->count, SPARSE_PIECES_MAX);
	return out->units > 0;
}

static struct blk_dev *load(
	const struct sparse *s, uint32_t first, uint32_t units)
{
	struct blk_dev *dev;

	MUST(blk_open_mem((uint64_t)units * SPARSE_UNIT, &dev) == 0);
	for (uint32_t i = 0; i < s->count; i++) {
		size_t at = (size_t)i * SPARSE_PIECE;
		size_t left = s->bytes - at;
		uint8_t piece[SPARSE_PIECE] = {0};
		uint32_t unit;

		memcpy(piece, s->pieces + at,
			left < SPARSE_PIECE ? left : SPARSE_PIECE);
		unit = sparse_get32(piece);
		if (unit >= first && unit - first < units)
			MUST(blk_write(dev,
				     (uint64_t)(unit - first) * SPARSE_UNIT,
				     SPARSE_UNIT, piece + 4) == 0);
	}
	return dev;
}

struct blk_dev *sparse_load(const struct sparse *s)
{
	return load(s, 0, s->units);
}

struct blk_dev *sparse_load_outside(const struct sparse *s)
{
	return s->outside_units ? load(s, s->units, s->outside_units) : NULL;
}
