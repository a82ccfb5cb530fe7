/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.c - cache_assert(): the guarantees of cache.h, as far as a snapshot
 * shows them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "cache/index.h"

/* Counted by looking at each buffer. */
struct census {
	uint64_t hashed;
	uint64_t failed; /* unhashed, and not yet noticed by eviction */
	uint64_t dirty;
};

static void must(bool holds, const char *what)
{
	if (!holds)
		assert_failed("cache_assert", 0, what);
}

static bool is_dirty(const struct buf *b)
{
	return atomic_load(&b->wb) & WB_DIRTY;
}

static void check_buf(
	const struct cache *c, struct buf *b, struct census *census)
{
	int32_t pins = atomic_load(&b->pins);
	uint32_t flags = atomic_load(&b->flags);

	if (pins < 0)
		return;
	if (flags & BUF_FAILED) {
		census->failed++;
		must(!is_dirty(b), "a failed buffer is clean");
		return;
	}
	/* C1, C2: also when another buffer of this block is in front. */
	must(hash_find(&c->hash, buf_key_of(b)) == b,
		"C1: one buffer per block");
	must(b->owner != NULL || b->block < c->block_count,
		"C2: a block of the device");
	must(b->owner == NULL || index_knows(b) == !!(flags & BUF_READY),
		"a block of a file is in its index");
	must(flags & (BUF_READY | BUF_READING), "C6: ready, or being read");
	must(!(flags & BUF_READING) || pins > 0, "a reader holds its buffer");
	must(is_dirty(b) == !list_empty(&b->dirty_link),
		"listed exactly if dirty");
	census->hashed++;
	census->dirty += is_dirty(b);
}

static uint64_t count_hashed(const struct cache *c)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i <= c->hash.mask; i++) {
		const struct buf *b = atomic_load(&c->hash.heads[i]);

		for (; b != NULL; b = atomic_load(&b->hash_next)) {
			must(atomic_load(&b->pins) >= 0,
				"C3: who is found is not dying");
			count++;
		}
	}
	return count;
}

static uint64_t count_list(const struct list *head)
{
	const struct list *pos;
	uint64_t count = 0;

	list_for_each (pos, head)
		count++;
	return count;
}

/* C4: what is free, found, in limbo and set aside is all there is. */
static void check_memory(struct cache *c, const struct census *census)
{
	struct copies *k = &c->copies;
	uint64_t set_aside = atomic_load(&k->reserved) + atomic_load(&k->debt);
	uint64_t limbo = 0;
	uint64_t sum;

	for (uint32_t i = 0; i < c->shard_count; i++)
		limbo += count_list(&c->shards[i].limbo);
	sum = arena_free_pieces(&c->arena) + stock_idle(&c->arena.pieces) +
	      census->hashed + census->failed + limbo + set_aside;
	must(sum == c->capacity, "C4: all memory is accounted for");
}

static void check_all(struct cache *c)
{
	uint64_t used = atomic_load(&c->buf_used);
	struct census census = {0};
	uint64_t dirty = 0;

	for (uint64_t i = 0; i < used; i++)
		check_buf(c, cache_buf_at(c, i), &census);
	must(count_hashed(c) == census.hashed,
		"C1: as many in the hash as in the array");
	for (uint32_t i = 0; i < c->shard_count; i++)
		dirty += count_list(&c->shards[i].dirty);
	must(dirty == census.dirty, "C2: all dirty buffers are on a list");
	check_memory(c, &census);
}

/* The cache's own threads rest meanwhile. */
void cache_assert(struct cache *c)
{
	cache_wait_for_prefetches(c);
	wb_stop(c);
	evict_stop(c);
	check_all(c);
	must(evict_start(c) == 0, "a thread for eviction");
	must(wb_start(c) == 0, "a thread for write-back");
}
