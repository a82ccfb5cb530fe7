/* SPDX-License-Identifier: BSD-2-Clause */
/* cache.c - opening, closing and looking at a cache; see cache.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "cache/index.h"
#include "sync/futex.h"

enum { LOW_MAX = 2048, KEEP_MAX = 256, CLIENT_MAX = 4096 };

#define ARENA_MAX (UINT64_C(1) << 43) /* page numbers are 32 bits long */

static struct lock_class shard_class = {
	.name = "cache.dirty", .rank = RANK_CACHE};

void *cache_lines_alloc(size_t bytes)
{
	void *p = aligned_alloc(
		LINE_BYTES, (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES);

	if (p != NULL)
		memset(p, 0, bytes);
	return p;
}

static int check_opts(struct blk_geom geom, const struct cache_opts *opts)
{
	uint32_t block = opts->block_bytes;

	if (block < 1024 || block > 65536 || (block & (block - 1)) != 0)
		return -EINVAL;
	if (block < geom.sector_bytes)
		return -EINVAL;
	if (opts->bytes < (uint64_t)block * 64 || opts->bytes < (1 << 20))
		return -EINVAL;
	if (opts->bytes > ARENA_MAX || opts->client_bytes > CLIENT_MAX)
		return -EINVAL;
	return 0;
}

static uint64_t clamp(uint64_t x, uint64_t least, uint64_t most)
{
	if (x < least)
		return least;
	return x < most ? x : most;
}

/* Memory is short, or there is more of it to be made huge. */
static void on_need(void *arg)
{
	evict_kick(arg);
}

static int open_arena(struct cache *c, uint64_t bytes)
{
	uint64_t pieces = bytes / c->block_bytes;
	struct arena_opts opts = {
		.bytes = bytes,
		.piece_bytes = c->block_bytes,
		.keep_pieces = clamp(pieces / 64, 1, KEEP_MAX),
		.low_pieces = clamp(pieces / 16, 1, LOW_MAX),
		.on_low = on_need,
		.on_grow = on_need,
		.on_arg = c,
	};
	int err = arena_open(&c->arena, &opts);

	if (err != 0)
		return err;
	c->capacity = arena_piece_count(&c->arena);
	c->evict.low = opts.low_pieces;
	c->evict.high = 2 * opts.low_pieces;
	return 0;
}

static int open_shards(struct cache *c)
{
	c->shard_count = cpu_count();
	c->shards = cache_lines_alloc(c->shard_count * sizeof(*c->shards));
	if (c->shards == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->shard_count; i++) {
		struct cache_shard *sh = &c->shards[i];

		mtx_init(&sh->lock, &shard_class);
		list_init(&sh->dirty);
		list_init(&sh->limbo);
	}
	return 0;
}

static void close_shards(struct cache *c)
{
	for (uint32_t i = 0; i < c->shard_count; i++)
		mtx_fini(&c->shards[i].lock);
	free(c->shards);
}

/* All memory; the threads are not running yet. */
static int open_memory(struct cache *c, uint64_t bytes)
{
	int err = open_arena(c, bytes);

	if (err != 0)
		return err;
	err = open_shards(c);
	if (err != 0)
		goto out_arena;
	err = hash_init(&c->hash, c->capacity);
	if (err != 0)
		goto out_shards;
	err = index_init(c);
	if (err != 0)
		goto out_hash;
	err = frames_init(c);
	if (err != 0)
		goto out_index;
	err = copies_init(c);
	if (err != 0)
		goto out_frames;
	return 0;
out_frames:
	frames_fini(c);
out_index:
	index_fini(c);
out_hash:
	hash_fini(&c->hash);
out_shards:
	close_shards(c);
out_arena:
	arena_close(&c->arena);
	return err;
}

static void close_memory(struct cache *c)
{
	copies_fini(c);
	frames_fini(c);
	index_fini(c);
	hash_fini(&c->hash);
	close_shards(c);
	arena_close(&c->arena);
}

int cache_open(
	struct blk_dev *dev, const struct cache_opts *opts, struct cache **out)
{
	struct blk_geom geom = blk_geom(dev);
	struct cache *c;
	int err = check_opts(geom, opts);

	if (err != 0)
		return err;
	c = cache_lines_alloc(sizeof(*c));
	if (c == NULL)
		return -ENOMEM;
	c->dev = dev;
	c->block_bytes = opts->block_bytes;
	c->block_shift = (uint32_t)__builtin_ctz(opts->block_bytes);
	c->block_count = geom.bytes >> c->block_shift;
	c->client_bytes = opts->client_bytes;
	err = open_memory(c, opts->bytes);
	if (err != 0)
		goto out_free;
	wb_init(c, opts->dirty_ms);
	evict_init(c, opts->patience_ms);
	err = evict_start(c);
	if (err != 0)
		goto out_memory;
	err = wb_start(c);
	if (err != 0)
		goto out_evict;
	*out = c;
	return 0;
out_evict:
	evict_stop(c);
out_memory:
	close_memory(c);
out_free:
	free(c);
	return err;
}

void cache_wait_for_prefetches(struct cache *c)
{
	uint32_t left = atomic_load(&c->prefetching);

	while (left > 0) {
		(void)futex_wait(&c->prefetching, left, FUTEX_FOREVER);
		left = atomic_load(&c->prefetching);
	}
}

void cache_close(struct cache *c)
{
	if (c == NULL)
		return;
	cache_wait_for_prefetches(c);
	wb_stop(c);
	evict_stop(c);
	staging_free(atomic_load(&c->spare_staging));
	close_memory(c);
	free(c);
}

uint32_t cache_block_bytes(const struct cache *c)
{
	return c->block_bytes;
}

blk_no cache_block_count(const struct cache *c)
{
	return c->block_count;
}

struct blk_dev *cache_dev(struct cache *c)
{
	return c->dev;
}

uint64_t cache_capacity_blocks(const struct cache *c)
{
	return c->capacity;
}

static uint64_t read_counter(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void cache_stats_read(struct cache *c, struct cache_stats *out)
{
	struct cache_stats sum = {0};

	for (uint32_t i = 0; i < c->shard_count; i++) {
		const struct cache_shard *sh = &c->shards[i];

		sum.hits += read_counter(&sh->hits);
		sum.misses += read_counter(&sh->misses);
		sum.reads_in_op += read_counter(&sh->reads_in_op);
		sum.evicted += read_counter(&sh->evicted);
		sum.memory_waits += read_counter(&sh->memory_waits);
	}
	arena_usage(&c->arena, &sum.used_bytes, &sum.peak_bytes);
	*out = sum;
}
