/* SPDX-License-Identifier: BSD-2-Clause */
/* place.c - from log blocks to device blocks, by the map's sorted extents. */
#include "base/assert.h"
#include "jnl/codec.h"

uint32_t jnl_place_blocks(const struct jnl_place *place)
{
	const struct jnl_extent *last;

	if (place->map_count == 0)
		return 0;
	last = &place->map[place->map_count - 1];
	return last->log + last->count;
}

/* The index of the extent that holds @log. */
static uint32_t place_find(const struct jnl_place *place, uint32_t log)
{
	uint32_t low = 0;
	uint32_t high = place->map_count;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (place->map[mid].log <= log)
			low = mid;
		else
			high = mid;
	}
	ASSERT(log - place->map[low].log < place->map[low].count);
	return low;
}

blk_no jnl_place_dev(const struct jnl_place *place, uint32_t log)
{
	const struct jnl_extent *e = &place->map[place_find(place, log)];

	return e->dev + (log - e->log);
}

uint32_t jnl_place_run(const struct jnl_place *place, uint32_t log)
{
	uint32_t i = place_find(place, log);
	const struct jnl_extent *e = &place->map[i];
	uint32_t run = e->count - (log - e->log);

	for (; i + 1 < place->map_count; i++, e++) {
		if (e[1].dev != e->dev + e->count)
			break;
		run += e[1].count;
	}
	return run;
}
