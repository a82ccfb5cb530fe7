/* SPDX-License-Identifier: BSD-2-Clause */
/* bounds.c - a copy goes to a block of the file system, outside the log. */
#include <errno.h>
#include <stdlib.h>

#include "jnl/replay_int.h"

static int by_start(const void *a, const void *b)
{
	const struct jnl_span *x = a;
	const struct jnl_span *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

int jnl_bounds_init(
	struct jnl_bounds *h, const struct jnl_place *place, blk_no count)
{
	*h = (struct jnl_bounds){.count = count};
	if (place->external)
		return 0;
	h->own = malloc(place->map_count * sizeof(*h->own));
	if (h->own == NULL)
		return -ENOMEM;
	h->own_count = place->map_count;
	for (uint32_t i = 0; i < place->map_count; i++) {
		const struct jnl_extent *e = &place->map[i];

		h->own[i] = (struct jnl_span){e->dev, e->dev + e->count};
	}
	qsort(h->own, h->own_count, sizeof(*h->own), by_start);
	return 0;
}

const char *jnl_bounds_refuse(const struct jnl_bounds *h, blk_no home)
{
	uint32_t low = 0;
	uint32_t high = h->own_count;

	if (home >= h->count)
		return "beyond the end of the file system";
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (home < h->own[mid].start)
			high = mid;
		else if (home >= h->own[mid].end)
			low = mid + 1;
		else
			return "in the journal itself";
	}
	return NULL;
}

void jnl_bounds_fini(struct jnl_bounds *h)
{
	free(h->own);
	h->own = NULL;
	h->own_count = 0;
}
