/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copies.c - memory set aside for private copies of blocks.
 *
 * A reservation is real memory, taken from the arena when it is made, so that
 * a copy inside an operation waits for nobody.  What is unreserved while it
 * is still lent out becomes a debt that the next returned copies pay.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/cpu.h"
#include "cache/cache_int.h"

static uint32_t copies_take(
	void *arg, void **items, uint32_t count, bool urgent)
{
	struct copies *k = arg;
	uint32_t got = 0;

	(void)urgent;
	while (got < count && k->count > 0)
		items[got++] = k->items[--k->count];
	return got;
}

static void copies_give(void *arg, void *const *items, uint32_t count)
{
	struct copies *k = arg;

	for (uint32_t i = 0; i < count; i++)
		k->items[k->count++] = items[i];
}

static const struct stock_source copies_source = {
	.take = copies_take, .give = copies_give};

int copies_init(struct cache *c)
{
	struct copies *k = &c->copies;
	uint64_t depth = c->capacity / 8 / c->shard_count;
	int err;

	k->most = c->capacity / 2;
	k->items = calloc(c->capacity, sizeof(*k->items));
	if (k->items == NULL)
		return -ENOMEM;
	err = stock_init(&k->stock, &copies_source, k,
		depth < STOCK_DEPTH_MAX ? (uint32_t)depth : STOCK_DEPTH_MAX);
	if (err != 0)
		free(k->items);
	return err;
}

void copies_fini(struct cache *c)
{
	stock_fini(&c->copies.stock);
	free(c->copies.items);
}

/* Take @blocks pieces out of what is set aside; what is lent out comes
 * later. */
static void give_up(struct cache *c, uint64_t blocks)
{
	struct copies *k = &c->copies;

	for (; blocks > 0; blocks--) {
		void *piece = stock_get(&k->stock, true);

		if (piece == NULL)
			break;
		arena_piece_put(&c->arena, piece);
	}
	if (blocks > 0)
		atomic_fetch_add(&k->debt, blocks);
}

int cache_reserve(struct cache *c, uint64_t blocks)
{
	struct copies *k = &c->copies;
	uint64_t before = atomic_fetch_add(&k->reserved, blocks);
	int err = 0;

	if (blocks > k->most || before > k->most - blocks) {
		atomic_fetch_sub(&k->reserved, blocks);
		return -ENOMEM;
	}
	rank_assert_below(RANK_BUF);
	for (uint64_t i = 0; i < blocks; i++) {
		void *piece;

		err = evict_piece_get(c, &piece);
		if (err != 0) {
			give_up(c, i);
			atomic_fetch_sub(&k->reserved, blocks);
			break;
		}
		stock_put(&k->stock, piece);
	}
	return err;
}

void cache_unreserve(struct cache *c, uint64_t blocks)
{
	uint64_t before = atomic_fetch_sub(&c->copies.reserved, blocks);

	ASSERT(before >= blocks);
	(void)before;
	give_up(c, blocks);
}

void *cache_copy_alloc(struct cache *c)
{
	return stock_get(&c->copies.stock, true);
}

static bool pay_debt(struct copies *k)
{
	uint64_t debt = atomic_load_explicit(&k->debt, memory_order_relaxed);

	while (debt > 0) {
		if (atomic_compare_exchange_weak(&k->debt, &debt, debt - 1))
			return true;
	}
	return false;
}

void cache_copy_free(struct cache *c, void *copy)
{
	if (pay_debt(&c->copies))
		arena_piece_put(&c->arena, copy);
	else
		stock_put(&c->copies.stock, copy);
}
