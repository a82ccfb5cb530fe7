/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kit.h - a cache over memory, and blocks whose contents say which they are.
 *
 * Every 16 bytes of a block hold its number and a version, so that a block
 * that is torn, old or another's is recognised wherever one looks.
 */
#ifndef TESTS_CACHE_KIT_H
#define TESTS_CACHE_KIT_H

#include <stdbool.h>
#include <string.h>

#include "../cmocka_all.h"
#include "blk/blk.h"
#include "blk/layers.h"
#include "cache/cache.h"

struct kit {
	struct blk_dev *dev; /* fault layer over memory */
	struct cache *cache;
	uint32_t block_bytes;
	blk_no blocks;
};

struct kit_stamp {
	uint64_t block;
	uint64_t version;
};

static inline void kit_fill(
	void *data, uint32_t bytes, blk_no block, uint64_t version)
{
	struct kit_stamp stamp = {block, version};

	for (uint32_t at = 0; at < bytes; at += sizeof(stamp))
		memcpy((char *)data + at, &stamp, sizeof(stamp));
}

static inline bool kit_is_uniform(const void *data, uint32_t bytes)
{
	return memcmp(data, (const char *)data + sizeof(struct kit_stamp),
		       bytes - sizeof(struct kit_stamp)) == 0;
}

/* The version of @block that @data holds; all of it must be one version. */
static inline uint64_t kit_version(
	const void *data, uint32_t bytes, blk_no block)
{
	struct kit_stamp stamp;

	memcpy(&stamp, data, sizeof(stamp));
	assert_int_equal(stamp.block, block);
	assert_true(kit_is_uniform(data, bytes));
	return stamp.version;
}

/* Version 1 of @count blocks from @start, straight to the device. */
static inline void kit_write_raw(
	struct kit *k, blk_no start, uint32_t count, uint64_t version)
{
	char *data = test_malloc(k->block_bytes);

	for (uint32_t i = 0; i < count; i++) {
		kit_fill(data, k->block_bytes, start + i, version);
		assert_int_equal(blk_write(k->dev, (start + i) * k->block_bytes,
					 k->block_bytes, data),
			0);
	}
	test_free(data);
}

/* What the device holds of @block. */
static inline uint64_t kit_read_raw(struct kit *k, blk_no block)
{
	char *data = test_malloc(k->block_bytes);
	uint64_t version;

	assert_int_equal(
		blk_read(k->dev, block * k->block_bytes, k->block_bytes, data),
		0);
	version = kit_version(data, k->block_bytes, block);
	test_free(data);
	return version;
}

static inline void kit_open_with(
	struct kit *k, const struct cache_opts *opts, blk_no blocks)
{
	struct blk_dev *mem;

	k->block_bytes = opts->block_bytes;
	k->blocks = blocks;
	assert_int_equal(blk_open_mem(blocks * opts->block_bytes, &mem), 0);
	assert_int_equal(blk_wrap_fault(mem, &k->dev), 0);
	assert_int_equal(cache_open(k->dev, opts, &k->cache), 0);
}

/* An arena of @arena blocks (1 MiB at least) over a device of @blocks. */
static inline void kit_open(
	struct kit *k, uint32_t block_bytes, uint64_t arena, blk_no blocks)
{
	struct cache_opts opts = {
		.bytes = arena * block_bytes,
		.block_bytes = block_bytes,
		.client_bytes = 64,
	};

	if (opts.bytes < 1 << 20)
		opts.bytes = 1 << 20;
	kit_open_with(k, &opts, blocks);
}

static inline void kit_close(struct kit *k)
{
	cache_assert(k->cache);
	cache_close(k->cache);
	blk_close(k->dev);
}

static inline struct buf *kit_get(struct kit *k, blk_no block)
{
	struct buf *b;

	assert_int_equal(cache_get(k->cache, block, NULL, &b), 0);
	assert_int_equal(b->block, block);
	return b;
}

/* Fail the @nth request of kind @op from now, and @count in all. */
static inline void kit_fail(
	struct kit *k, enum blk_op op, uint64_t nth, uint64_t count, int error)
{
	struct blk_fault fault = {
		.op = op, .nth = nth, .count = count, .error = error};

	assert_int_equal(blk_fault_arm(k->dev, &fault), 0);
}

/* Change all of @b to @version, and say so. */
static inline void kit_change(struct kit *k, struct buf *b, uint64_t version)
{
	mtx_lock(&b->lock);
	kit_fill(b->data, k->block_bytes, b->block, version);
	buf_dirty(b);
	mtx_unlock(&b->lock);
}

static inline struct cache_stats kit_stats(struct kit *k)
{
	struct cache_stats stats;

	cache_stats_read(k->cache, &stats);
	return stats;
}

#endif /* TESTS_CACHE_KIT_H */
