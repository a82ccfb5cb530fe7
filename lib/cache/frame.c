/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame.c - struct buf and the memory behind it.
 *
 * The structs lie in one array that is as long as the arena has pieces and
 * stays until the cache closes, so that eviction can walk over it without a
 * lock.  It costs memory only as far as it was ever used.  A buffer that is
 * in use owns a piece and a piece comes first, so who has a piece always
 * finds a struct.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "base/cpu.h"
#include "cache/cache_int.h"

enum { PUT_BATCH = 64 };

static struct lock_class buf_class = {
	.name = "cache.buf", .rank = RANK_BUF, .ties = true};

static struct buf *buf_make(struct cache *c, uint64_t index)
{
	struct buf *b = cache_buf_at(c, index);

	b->cache = c;
	atomic_init(&b->pins, BUF_DYING);
	mtx_init(&b->lock, &buf_class);
	list_init(&b->dirty_link);
	return b;
}

static uint32_t bufs_take(void *arg, void **items, uint32_t count, bool urgent)
{
	struct cache *c = arg;
	uint64_t used =
		atomic_load_explicit(&c->buf_used, memory_order_relaxed);
	uint32_t got = 0;

	(void)urgent;
	for (; got < count && c->free_bufs != NULL; got++) {
		struct buf *b = c->free_bufs;

		c->free_bufs = atomic_load_explicit(
			&b->hash_next, memory_order_relaxed);
		items[got] = b;
	}
	for (; got < count && used < c->capacity; got++)
		items[got] = buf_make(c, used++);
	/* Release: pairs with the acquire of whoever walks the array. */
	atomic_store_explicit(&c->buf_used, used, memory_order_release);
	return got;
}

static void bufs_give(void *arg, void *const *items, uint32_t count)
{
	struct cache *c = arg;

	for (uint32_t i = 0; i < count; i++) {
		struct buf *b = items[i];

		atomic_store_explicit(
			&b->hash_next, c->free_bufs, memory_order_relaxed);
		c->free_bufs = b;
	}
}

static const struct stock_source buf_source = {
	.take = bufs_take, .give = bufs_give};

static uint64_t array_bytes(const struct cache *c)
{
	return c->capacity * c->buf_stride;
}

int frames_init(struct cache *c)
{
	uint64_t depth = c->capacity / 8 / c->shard_count;
	void *array;
	int err;

	c->buf_stride =
		(sizeof(struct buf) + c->client_bytes + LINE_BYTES - 1) /
		LINE_BYTES * LINE_BYTES;
	array = mmap(NULL, array_bytes(c), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (array == MAP_FAILED)
		return -ENOMEM;
	c->bufs = array;
	err = stock_init(&c->buf_stock, &buf_source, c,
		depth < STOCK_DEPTH_MAX ? (uint32_t)depth : STOCK_DEPTH_MAX);
	if (err != 0)
		munmap(c->bufs, array_bytes(c));
	return err;
}

void frames_fini(struct cache *c)
{
	uint64_t used = atomic_load(&c->buf_used);

	for (uint64_t i = 0; i < used; i++) {
		struct buf *b = cache_buf_at(c, i);

		ASSERT(atomic_load(&b->pins) <= 0);
		mtx_fini(&b->lock);
	}
	stock_fini(&c->buf_stock);
	munmap(c->bufs, array_bytes(c));
}

/* A new identity.  Nobody can see @b but eviction, which looks no further
 * than pins; the release pairs with its acquire. */
static struct buf *frame_make(
	struct cache *c, void *data, struct buf_key key, uint32_t flags)
{
	struct buf *b = stock_get(&c->buf_stock, true);

	ASSERT(b != NULL);
	b->block = key.block;
	b->owner = key.owner;
	b->data = data;
	b->error = 0;
	b->dirty_gen = 0;
	b->dirty_shard = 0;
	atomic_store_explicit(&b->wb, 0, memory_order_relaxed);
	atomic_store_explicit(&b->flags, flags, memory_order_relaxed);
	memset(b->client, 0, c->client_bytes);
	if (flags & BUF_READY)
		memset(data, 0, c->block_bytes);
	return b;
}

struct buf *frame_get_try(
	struct cache *c, struct buf_key key, uint32_t flags, int32_t pins)
{
	void *data = arena_piece_get(&c->arena, false);
	struct buf *b = NULL;

	if (data != NULL) {
		b = frame_make(c, data, key, flags);
		atomic_store_explicit(&b->pins, pins, memory_order_release);
	}
	return b;
}

int frame_get(
	struct cache *c, struct buf_key key, uint32_t flags, struct buf **out)
{
	void *data;
	int err = evict_piece_get(c, &data);

	if (err != 0)
		return err;
	*out = frame_make(c, data, key, flags);
	atomic_store_explicit(&(*out)->pins, BUF_USER, memory_order_release);
	return 0;
}

void frame_put(struct cache *c, struct buf *b)
{
	void *data = b->data;

	ASSERT(list_empty(&b->dirty_link));
	atomic_store_explicit(&b->pins, BUF_DYING, memory_order_relaxed);
	stock_put(&c->buf_stock, b);
	arena_piece_put(&c->arena, data);
}

void frame_put_many(struct cache *c, struct buf **bufs, uint32_t count)
{
	void *data[PUT_BATCH];
	void *items[PUT_BATCH];

	while (count > 0) {
		uint32_t n = count < PUT_BATCH ? count : PUT_BATCH;

		for (uint32_t i = 0; i < n; i++) {
			data[i] = bufs[i]->data;
			items[i] = bufs[i];
		}
		stock_put_many(&c->buf_stock, items, n);
		arena_piece_put_many(&c->arena, data, n);
		bufs += n;
		count -= n;
	}
}
