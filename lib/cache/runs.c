/* SPDX-License-Identifier: BSD-2-Clause */
/* runs.c - see runs.h. */
#include "cache/runs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"

/* Bits at multiples of 2^order. */
static const uint64_t aligned_bits[RUN_ORDER_MAX + 1] = {
	UINT64_C(0xffffffffffffffff),
	UINT64_C(0x5555555555555555),
	UINT64_C(0x1111111111111111),
	UINT64_C(0x0101010101010101),
	UINT64_C(0x0001000100010001),
	UINT64_C(0x0000000100000001),
	UINT64_C(0x0000000000000001),
};

/* The first bit of each free aligned run of @order in @free. */
static uint64_t run_starts(uint64_t free, int order)
{
	for (int i = 0; i < order; i++)
		free &= free >> (1 << i);
	return free & aligned_bits[order];
}

static uint64_t run_mask(uint64_t unit, int order)
{
	uint64_t bits = order == RUN_ORDER_MAX
				? UINT64_MAX
				: (UINT64_C(1) << (1 << order)) - 1;

	return bits << (unit % RUN_UNITS_PER_CHUNK);
}

static int largest_order(uint64_t free)
{
	int order = RUN_ORDER_MAX;

	while (order > RUN_ORDER_NONE && run_starts(free, order) == 0)
		order--;
	return order;
}

static void relist(struct runs *r, struct run_chunk *chunk)
{
	int order = largest_order(chunk->free);

	if (order == chunk->order)
		return;
	if (chunk->order != RUN_ORDER_NONE)
		list_del(&chunk->link);
	chunk->order = order;
	if (order != RUN_ORDER_NONE)
		list_add_head(&r->by_order[order], &chunk->link);
}

int runs_init(struct runs *r, uint64_t units)
{
	uint64_t count = (units + RUN_UNITS_PER_CHUNK - 1) >> RUN_ORDER_MAX;

	r->chunks = calloc(count, sizeof(*r->chunks));
	if (r->chunks == NULL)
		return -ENOMEM;
	r->units = units;
	r->free_units = units;
	r->low_units = units;
	for (int i = 0; i <= RUN_ORDER_MAX; i++)
		list_init(&r->by_order[i]);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t here = units - (i << RUN_ORDER_MAX);
		struct run_chunk *chunk = &r->chunks[i];

		chunk->order = RUN_ORDER_NONE;
		chunk->free = here >= RUN_UNITS_PER_CHUNK
				      ? UINT64_MAX
				      : (UINT64_C(1) << here) - 1;
		list_init(&chunk->link);
		relist(r, chunk);
	}
	return 0;
}

void runs_fini(struct runs *r)
{
	free(r->chunks);
	r->chunks = NULL;
}

/* Where in @free to cut a run of @order: out of the smallest run there is. */
static unsigned best_cut(uint64_t free, int order)
{
	uint64_t starts = run_starts(free, order);

	for (int i = order; i < RUN_ORDER_MAX; i++) {
		uint64_t larger = run_starts(free, i + 1);
		uint64_t exact = starts & ~(larger | larger << (1 << i));

		if (exact != 0)
			return (unsigned)__builtin_ctzll(exact);
		starts = larger;
	}
	return 0;
}

uint64_t runs_take(struct runs *r, int order)
{
	struct run_chunk *chunk;
	unsigned bit;
	int i = order;

	while (i <= RUN_ORDER_MAX && list_empty(&r->by_order[i]))
		i++;
	if (i > RUN_ORDER_MAX)
		return RUN_NONE;
	chunk = LIST_ENTRY(r->by_order[i].next, struct run_chunk, link);
	bit = best_cut(chunk->free, order);
	chunk->free &= ~run_mask(bit, order);
	relist(r, chunk);
	r->free_units -= UINT64_C(1) << order;
	if (r->free_units < r->low_units)
		r->low_units = r->free_units;
	return ((uint64_t)(chunk - r->chunks) << RUN_ORDER_MAX) + bit;
}

void runs_give(struct runs *r, uint64_t unit, int order)
{
	struct run_chunk *chunk = &r->chunks[unit >> RUN_ORDER_MAX];
	uint64_t mask = run_mask(unit, order);

	ASSERT(unit < r->units);
	ASSERT((chunk->free & mask) == 0);
	chunk->free |= mask;
	r->free_units += UINT64_C(1) << order;
	relist(r, chunk);
}
