/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prefetch.c - reads that nobody waits for.
 *
 * Runs of neighbouring blocks that are not cached become one request each.
 * The buffers are in the hash, held by the cache, from the start, so that a
 * cache_get() of one waits for this read instead of doing another.  Prefetch
 * takes what memory is free and never waits for more.
 */
#include <stdlib.h>

#include "base/assert.h"
#include "cache/cache_int.h"
#include "sync/futex.h"
#include "sync/rcu.h"

enum { RUN_MAX = 64 };

struct prefetch {
	struct blk_io io;
	struct cache *cache;
	struct buf_check check;
	uint32_t count;
	struct buf *bufs[RUN_MAX];
	struct iovec iov[RUN_MAX];
};

enum added { ADDED, CACHED, NO_MEMORY };

static bool is_cached(struct cache *c, blk_no block)
{
	bool cached;

	rcu_begin();
	cached = hash_find(&c->hash, buf_key_dev(block)) != NULL;
	rcu_end();
	return cached;
}

/* Put a buffer for @block into the hash unless there is one. */
static enum added add(struct cache *c, blk_no block, struct buf **out)
{
	struct mtx *m = hash_mtx(&c->hash, buf_key_dev(block));
	struct buf *b;
	bool cached;

	if (is_cached(c, block))
		return CACHED;
	b = frame_get_try(c, buf_key_dev(block), BUF_READING, BUF_HOLD);
	if (b == NULL)
		return NO_MEMORY;
	mtx_lock(m);
	cached = hash_find(&c->hash, buf_key_dev(block)) != NULL;
	if (!cached)
		hash_insert(&c->hash, b);
	mtx_unlock(m);
	if (cached) {
		frame_put(c, b);
		return CACHED;
	}
	*out = b;
	return ADDED;
}

static void done(struct blk_io *io)
{
	struct prefetch *p = io->owner;
	struct cache *c = p->cache;

	for (uint32_t i = 0; i < p->count; i++) {
		struct buf *b = p->bufs[i];
		int err = io->result;

		if (err == 0)
			err = buf_check_run(b, &p->check);
		buf_read_end(b, err);
		buf_unhold(b);
	}
	free(p);
	if (atomic_fetch_sub(&c->prefetching, 1) == 1)
		futex_wake_all(&c->prefetching);
}

static void submit(struct prefetch *p)
{
	struct cache *c = p->cache;

	p->io = (struct blk_io){
		.op = BLK_READ,
		.offset = p->bufs[0]->block << c->block_shift,
		.bytes = (uint64_t)p->count << c->block_shift,
		.iov = p->iov,
		.iov_count = (int)p->count,
		.done = done,
		.owner = p,
	};
	atomic_fetch_add(&c->prefetching, 1);
	blk_submit(c->dev, &p->io);
}

/* Gather blocks from @start on up to the first that is cached.  Returns how
 * many blocks are done with; less than @count with no memory or at a gap. */
static uint32_t gather(struct prefetch *p, blk_no start, uint32_t count)
{
	enum added how = ADDED;
	uint32_t i = 0;

	while (i < count && how == ADDED && p->count < RUN_MAX) {
		struct buf *b = NULL;

		how = add(p->cache, start + i, &b);
		if (how != ADDED)
			break;
		p->iov[p->count] = (struct iovec){
			.iov_base = b->data,
			.iov_len = p->cache->block_bytes,
		};
		p->bufs[p->count++] = b;
		i++;
	}
	return how == CACHED ? i + 1 : i;
}

void cache_prefetch(struct cache *c, blk_no start, uint32_t count,
	const struct buf_check *check)
{
	uint32_t step = 1;

	if (start >= c->block_count)
		return;
	if (count > c->block_count - start)
		count = (uint32_t)(c->block_count - start);
	if (count > c->capacity / 8)
		count = (uint32_t)(c->capacity / 8);
	for (; count > 0 && step > 0; start += step, count -= step) {
		struct prefetch *p = malloc(sizeof(*p));

		if (p == NULL)
			return;
		p->cache = c;
		p->count = 0;
		p->check = check != NULL ? *check : (struct buf_check){0};
		step = gather(p, start, count);
		if (p->count > 0)
			submit(p);
		else
			free(p);
	}
}
