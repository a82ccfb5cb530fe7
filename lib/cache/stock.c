/* SPDX-License-Identifier: BSD-2-Clause */
/* stock.c - see stock.h. */
#include "cache/stock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cpu.h"

static struct lock_class shard_class = {
	.name = "cache.stock", .rank = RANK_CACHE, .ties = true};
static struct lock_class source_class = {
	.name = "cache.source", .rank = RANK_CACHE, .ties = true};

int stock_init(struct stock *s, const struct stock_source *source, void *arg,
	uint32_t depth)
{
	uint32_t count = cpu_count();
	size_t bytes = count * sizeof(struct stock_shard);

	s->shards = aligned_alloc(LINE_BYTES, bytes);
	if (s->shards == NULL)
		return -ENOMEM;
	memset(s->shards, 0, bytes);
	s->source = source;
	s->arg = arg;
	s->shard_count = count;
	s->depth = depth < STOCK_DEPTH_MAX ? depth : STOCK_DEPTH_MAX;
	mtx_init(&s->source_lock, &source_class);
	atomic_init(&s->moves, 0);
	for (uint32_t i = 0; i < count; i++)
		mtx_init(&s->shards[i].lock, &shard_class);
	return 0;
}

void stock_fini(struct stock *s)
{
	for (uint32_t i = 0; i < s->shard_count; i++)
		mtx_fini(&s->shards[i].lock);
	mtx_fini(&s->source_lock);
	free(s->shards);
}

static uint32_t shard_items(const struct stock_shard *sh)
{
	return atomic_load_explicit(&sh->count, memory_order_relaxed);
}

static void *shard_pop(struct stock_shard *sh) REQUIRES(sh->lock)
{
	uint32_t count = shard_items(sh);

	if (count == 0)
		return NULL;
	atomic_store_explicit(&sh->count, count - 1, memory_order_relaxed);
	return sh->items[count - 1];
}

static void shard_push(struct stock_shard *sh, void *item) REQUIRES(sh->lock)
{
	uint32_t count = shard_items(sh);

	sh->items[count] = item;
	atomic_store_explicit(&sh->count, count + 1, memory_order_relaxed);
	atomic_fetch_add(&sh->puts, 1);
}

/* Refill the empty @sh and keep one for the caller. */
static void *shard_refill(struct stock *s, struct stock_shard *sh, bool urgent)
	REQUIRES(sh->lock)
{
	void *batch[STOCK_DEPTH_MAX];
	uint32_t want = s->depth / 2 + 1;
	uint32_t got;

	mtx_lock_tie(&s->source_lock, &sh->lock);
	got = s->source->take(s->arg, batch, want, urgent);
	atomic_fetch_add(&s->moves, got);
	mtx_unlock(&s->source_lock);
	/* They come out in the order in which they came. */
	for (uint32_t i = got; i-- > 1;)
		shard_push(sh, batch[i]);
	return got > 0 ? batch[0] : NULL;
}

static void *source_take(struct stock *s, bool urgent)
{
	void *item = NULL;

	mtx_lock(&s->source_lock);
	if (s->source->take(s->arg, &item, 1, urgent) == 0)
		item = NULL;
	mtx_unlock(&s->source_lock);
	return item;
}

/*
 * Items that came to a stock or left the source so far.  If the sum is the
 * same before and after a look at all places that found nothing, no item can
 * have moved behind the looker's back from a place not yet seen to one seen.
 */
static uint64_t arrivals(const struct stock *s)
{
	uint64_t sum = atomic_load(&s->moves);

	for (uint32_t i = 0; i < s->shard_count; i++)
		sum += atomic_load(&s->shards[i].puts);
	return sum;
}

static void *search(struct stock *s, bool urgent)
{
	uint64_t before;
	void *item;

	do {
		before = arrivals(s);
		for (uint32_t i = 0; i < s->shard_count; i++) {
			struct stock_shard *sh = &s->shards[i];

			mtx_lock(&sh->lock);
			item = shard_pop(sh);
			mtx_unlock(&sh->lock);
			if (item != NULL)
				return item;
		}
		item = source_take(s, urgent);
	} while (item == NULL && arrivals(s) != before);
	return item;
}

void *stock_get(struct stock *s, bool urgent)
{
	struct stock_shard *sh = &s->shards[cpu_shard(s->shard_count)];
	void *item;

	if (s->depth == 0)
		return source_take(s, urgent);
	mtx_lock(&sh->lock);
	item = shard_pop(sh);
	if (item == NULL)
		item = shard_refill(s, sh, urgent);
	mtx_unlock(&sh->lock);
	return item != NULL ? item : search(s, urgent);
}

/* Make room in the full @sh: the older half goes to the source. */
static void shard_spill(struct stock *s, struct stock_shard *sh)
	REQUIRES(sh->lock)
{
	uint32_t count = shard_items(sh);
	uint32_t give = (count + 1) / 2;

	mtx_lock_tie(&s->source_lock, &sh->lock);
	s->source->give(s->arg, sh->items, give);
	atomic_fetch_add(&s->moves, give);
	mtx_unlock(&s->source_lock);
	memmove(sh->items, sh->items + give,
		(count - give) * sizeof(*sh->items));
	atomic_store_explicit(&sh->count, count - give, memory_order_relaxed);
}

void stock_put(struct stock *s, void *item)
{
	struct stock_shard *sh = &s->shards[cpu_shard(s->shard_count)];

	if (s->depth == 0) {
		stock_put_many(s, &item, 1);
		return;
	}
	mtx_lock(&sh->lock);
	if (shard_items(sh) == s->depth)
		shard_spill(s, sh);
	shard_push(sh, item);
	mtx_unlock(&sh->lock);
}

void stock_put_many(struct stock *s, void *const *items, uint32_t count)
{
	mtx_lock(&s->source_lock);
	s->source->give(s->arg, items, count);
	atomic_fetch_add(&s->moves, count);
	mtx_unlock(&s->source_lock);
}

uint64_t stock_idle(const struct stock *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->shard_count; i++)
		sum += shard_items(&s->shards[i]);
	return sum;
}

void stock_drain(struct stock *s)
{
	for (uint32_t i = 0; i < s->shard_count; i++) {
		struct stock_shard *sh = &s->shards[i];

		mtx_lock(&sh->lock);
		while (shard_items(sh) > 0)
			shard_spill(s, sh);
		mtx_unlock(&sh->lock);
	}
}
