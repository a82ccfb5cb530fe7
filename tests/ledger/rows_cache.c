/* SPDX-License-Identifier: BSD-2-Clause */
/* rows_cache.c - finding and changing blocks that are cached. */
#include <errno.h>

#include "blk/blk.h"
#include "cache/cache.h"
#include "heap.h"
#include "ledger.h"
#include "sync/rcu.h"

/* Block 0 is everybody's; each CPU has some of its own, next to each other as
 * in a file system, so that neighbours would show false sharing. */
enum { BLOCK_BYTES = 4096, SHARED = 0, OWN = 4, COPIES = 1024 };

static struct blk_dev *dev;
static struct cache *cache;

static blk_no own_block(unsigned cpu, unsigned i)
{
	return 1 + (blk_no)i * RECORD_CPUS + cpu;
}

static int warm_up(void)
{
	int err = 0;

	for (blk_no i = 0; i <= (blk_no)OWN * RECORD_CPUS && err == 0; i++) {
		struct buf *b;

		err = cache_get(cache, i, NULL, &b);
		if (err != 0)
			break;
		heap_name(b, sizeof(*b), "cache.buf[%u]", (unsigned)i);
		heap_name(b->data, BLOCK_BYTES, "cache.data[%u]", (unsigned)i);
		buf_put(b);
	}
	return err;
}

static int open_cache(void)
{
	struct cache_opts opts = {
		.bytes = 16 << 20,
		.block_bytes = BLOCK_BYTES,
	};
	int err = blk_open_mem(UINT64_C(2048) * BLOCK_BYTES, &dev);

	if (err == 0)
		err = cache_open(dev, &opts, &cache);
	if (err == 0)
		err = cache_reserve(cache, COPIES);
	return err == 0 ? warm_up() : err;
}

static void close_cache(void)
{
	cache_unreserve(cache, COPIES);
	cache_close(cache);
	blk_close(dev);
}

static int peek(blk_no block)
{
	const volatile unsigned char *data;
	struct buf *b;

	rcu_begin();
	b = cache_peek_rcu(cache, block);
	data = b != NULL ? b->data : NULL;
	if (data != NULL)
		(void)data[8];
	rcu_end();
	return data != NULL ? 0 : -ENOENT;
}

static int run_peek_shared(unsigned cpu)
{
	(void)cpu;
	return peek(SHARED);
}

static int run_peek_own(unsigned cpu)
{
	int err = 0;

	for (unsigned i = 0; i < OWN && err == 0; i++)
		err = peek(own_block(cpu, i));
	return err;
}

static int get_and_put(blk_no block)
{
	struct buf *b;
	int err = cache_get(cache, block, NULL, &b);

	if (err == 0)
		buf_put(b);
	return err;
}

static int run_get_shared(unsigned cpu)
{
	(void)cpu;
	return get_and_put(SHARED);
}

static int run_get_own(unsigned cpu)
{
	int err = 0;

	for (unsigned i = 0; i < OWN && err == 0; i++)
		err = get_and_put(own_block(cpu, i));
	return err;
}

static int run_dirty_own(unsigned cpu)
{
	struct buf *b;
	int err = cache_get(cache, own_block(cpu, 0), NULL, &b);

	if (err != 0)
		return err;
	mtx_lock(&b->lock);
	((unsigned char *)b->data)[cpu]++;
	buf_dirty(b);
	mtx_unlock(&b->lock);
	buf_put(b);
	return 0;
}

static int run_copies(unsigned cpu)
{
	void *copies[OWN];

	(void)cpu;
	for (unsigned i = 0; i < OWN; i++) {
		copies[i] = cache_copy_alloc(cache);
		if (copies[i] == NULL)
			return -ENOMEM;
	}
	for (unsigned i = 0; i < OWN; i++)
		cache_copy_free(cache, copies[i]);
	return 0;
}

static const struct ledger_op ops[] = {
	{"cache_peek_rcu, same block", false, run_peek_shared},
	{"cache_peek_rcu, own blocks", false, run_peek_own},
	{"cache_get, same block", true, run_get_shared},
	{"cache_get, own blocks", false, run_get_own},
	{"buf_dirty, own block", false, run_dirty_own},
	{"cache_copy_alloc and free", false, run_copies},
};

const struct ledger_group ledger_cache = {
	.ops = ops,
	.count = ARRAY_COUNT(ops),
	.open = open_cache,
	.close = close_cache,
};
