/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write.c - writing buffers home from private copies.
 *
 * A batch is claimed, copied and written as a whole: sorted, neighbours
 * together in one request.  A claim (WB_WRITING) keeps two writes of one block
 * from being in flight at once, in whichever order they would arrive.  Claims
 * are taken in ascending order, so that two writers cannot wait for each
 * other; no lock is held meanwhile, and only the copy is taken under the
 * buffer's lock (C5).
 *
 * A change after the copy sets WB_CHANGED again, and then the buffer stays
 * dirty although the write succeeds.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "cache/cache_int.h"
#include "sync/futex.h"

enum {
	STAGING_BYTES = 4 << 20, /* private copies of one writer */
	BATCH_BLOCKS = 1024,
};

/* One writer's means; freed as one piece of memory each. */
struct writer {
	struct cache *cache;
	const struct write_pick *pick;
	unsigned char *staging;
	struct blk_io *ios;
	struct iovec *iov;
	uint32_t most; /* blocks in a batch */
	uint32_t io_count;
	uint32_t copied; /* blocks in staging */
};

/* ---- claims ------------------------------------------------------------------ */

static void claim(struct buf *b)
{
	for (;;) {
		uint32_t wb = atomic_fetch_or(&b->wb, WB_WRITING);

		if (!(wb & WB_WRITING))
			return;
		wb = atomic_fetch_or(&b->wb, WB_WAITERS) | WB_WAITERS;
		if (wb & WB_WRITING)
			(void)futex_wait(&b->wb, wb, FUTEX_FOREVER);
	}
}

static void unclaim(struct buf *b)
{
	uint32_t wb =
		atomic_fetch_and(&b->wb, ~(uint32_t)(WB_WRITING | WB_WAITERS));

	if (wb & WB_WAITERS)
		futex_wake_all(&b->wb);
	cache_hold_ended(b->cache);
}

/* ---- one batch ----------------------------------------------------------------- */

/* Append the copy of @b to the last request, or begin one. */
static void add_copy(struct writer *w, const struct buf *b)
{
	struct cache *c = w->cache;
	uint64_t offset = b->block << c->block_shift;
	void *to = w->staging + ((size_t)w->copied++ << c->block_shift);
	struct blk_io *io = &w->ios[w->io_count];

	memcpy(to, b->data, c->block_bytes);
	if (w->io_count > 0 && io[-1].offset + io[-1].bytes == offset) {
		io[-1].bytes += c->block_bytes;
		w->iov[w->io_count - 1].iov_len += c->block_bytes;
		return;
	}
	w->iov[w->io_count] =
		(struct iovec){.iov_base = to, .iov_len = c->block_bytes};
	*io = (struct blk_io){
		.op = BLK_WRITE,
		.offset = offset,
		.bytes = c->block_bytes,
		.iov = &w->iov[w->io_count],
		.iov_count = 1,
	};
	w->io_count++;
}

/* Claim and copy @b, or leave it: whether it is in the batch now. */
static bool take(struct writer *w, struct buf *b)
{
	const struct write_pick *pick = w->pick;
	bool wanted;

	claim(b);
	mtx_lock(&b->lock);
	wanted = pick->want == NULL || pick->want(b, pick->arg);
	if (wanted) {
		atomic_fetch_and(&b->wb, ~(uint32_t)WB_CHANGED);
		add_copy(w, b);
	}
	mtx_unlock(&b->lock);
	if (!wanted)
		unclaim(b);
	return wanted;
}

/* The write of the copy of @b is over. */
static void finish(struct buf *b, int err)
{
	uint32_t wb;

	mtx_lock(&b->lock);
	wb = atomic_load(&b->wb);
	if (err != 0) {
		atomic_fetch_or(&b->wb, WB_FAILED);
	} else if ((wb & WB_DIRTY) && !(wb & WB_CHANGED)) {
		atomic_fetch_and(&b->wb, ~(uint32_t)(WB_DIRTY | WB_FAILED));
		wb_unlist(b);
	} else {
		atomic_fetch_and(&b->wb, ~(uint32_t)WB_FAILED);
	}
	mtx_unlock(&b->lock);
	unclaim(b);
}

/* Results of requests to results of buffers; both are in order of offset. */
static void finish_all(
	struct writer *w, struct buf **bufs, int *results, uint32_t count)
{
	const struct blk_io *io = w->ios;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t offset = bufs[i]->block << w->cache->block_shift;

		if (results[i] != 0)
			continue;
		while (offset >= io->offset + io->bytes)
			io++;
		results[i] = io->result;
		finish(bufs[i], io->result);
	}
}

static int write_batch(
	struct writer *w, struct buf **bufs, int *results, uint32_t count)
{
	int err = 0;

	w->io_count = 0;
	w->copied = 0;
	for (uint32_t i = 0; i < count; i++)
		results[i] = take(w, bufs[i]) ? 0 : 1;
	if (w->io_count > 0)
		err = blk_run(w->cache->dev, w->ios, w->io_count);
	finish_all(w, bufs, results, count);
	return err;
}

/* ---- all batches --------------------------------------------------------------- */

/* Memory for up to @count blocks at a time; less when there is little. */
static int writer_init(struct writer *w, uint32_t count)
{
	uint32_t block = w->cache->block_bytes;
	uint32_t most = STAGING_BYTES / block;

	most = most < BATCH_BLOCKS ? most : BATCH_BLOCKS;
	most = most < count ? most : count;
	for (; most > 0; most /= 2) {
		w->staging = malloc((size_t)most * block);
		w->ios = calloc(most, sizeof(*w->ios));
		w->iov = calloc(most, sizeof(*w->iov));
		w->most = most;
		if (w->staging != NULL && w->ios != NULL && w->iov != NULL)
			return 0;
		free(w->staging);
		free(w->ios);
		free(w->iov);
	}
	return -ENOMEM;
}

static void writer_fini(struct writer *w)
{
	free(w->staging);
	free(w->ios);
	free(w->iov);
}

static int by_block(const void *a, const void *b)
{
	const struct buf *x = *(struct buf *const *)a;
	const struct buf *y = *(struct buf *const *)b;

	return (x->block > y->block) - (x->block < y->block);
}

/* How many of @bufs the next batch takes: never the same buffer twice. */
static uint32_t batch_length(
	const struct writer *w, struct buf **bufs, uint32_t count)
{
	uint32_t n = 1;

	while (n < count && n < w->most && bufs[n] != bufs[n - 1])
		n++;
	return n;
}

int write_bufs(struct cache *c, struct buf **bufs, int *results, uint32_t count,
	const struct write_pick *pick)
{
	struct writer w = {.cache = c, .pick = pick};
	int first = 0;
	int err;

	if (count == 0)
		return 0;
	rank_assert_below(RANK_BUF);
	err = writer_init(&w, count);
	if (err != 0) {
		for (uint32_t i = 0; i < count; i++)
			results[i] = err;
		return err;
	}
	qsort(bufs, count, sizeof(struct buf *), by_block);
	for (uint32_t i = 0, n; i < count; i += n) {
		n = batch_length(&w, bufs + i, count - i);
		err = write_batch(&w, bufs + i, results + i, n);
		if (first == 0)
			first = err;
	}
	writer_fini(&w);
	return first;
}

int cache_write(struct cache *c, struct buf **bufs, int *results,
	uint32_t count, bool (*want)(struct buf *b, void *arg), void *arg)
{
	struct write_pick pick = {.want = want, .arg = arg};
	int *own = NULL;
	int err;

	if (results == NULL && count > 0) {
		own = calloc(count, sizeof(*own));
		if (own == NULL)
			return -ENOMEM;
		results = own;
	}
	err = write_bufs(c, bufs, results, count, &pick);
	free(own);
	return err;
}
