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
	SMALL_BLOCKS = 32, /* writes that get memory just for themselves */
	DATA_ALIGN = 4096, /* direct I/O needs no copy of its own then */
};

/* A writer's memory.  Large ones are kept, because giving such memory back
 * to the kernel costs every CPU. */
struct staging {
	uint32_t most; /* blocks in a batch */
	unsigned char *data;
	struct blk_io *ios;
	struct iovec *iov;
};

struct writer {
	struct cache *cache;
	const struct write_pick *pick;
	struct staging *staging;
	uint32_t io_count;
	uint32_t copied; /* blocks in staging */
};

/* ---- claims ------------------------------------------------------------- */

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

/* ---- one batch ---------------------------------------------------------- */

/* Append the copy of @b to the last request, or begin one. */
static void add_copy(struct writer *w, const struct buf *b)
{
	struct cache *c = w->cache;
	uint64_t offset = b->block << c->block_shift;
	void *to = w->staging->data + ((size_t)w->copied++ << c->block_shift);
	struct blk_io *io = &w->staging->ios[w->io_count];
	struct iovec *iov = &w->staging->iov[w->io_count];

	memcpy(to, b->data, c->block_bytes);
	if (w->io_count > 0 && io[-1].offset + io[-1].bytes == offset) {
		io[-1].bytes += c->block_bytes;
		iov[-1].iov_len += c->block_bytes;
		return;
	}
	*iov = (struct iovec){.iov_base = to, .iov_len = c->block_bytes};
	*io = (struct blk_io){
		.op = BLK_WRITE,
		.offset = offset,
		.bytes = c->block_bytes,
		.iov = iov,
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
	const struct blk_io *io = w->staging->ios;

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
		err = blk_run(w->cache->dev, w->staging->ios, w->io_count);
	finish_all(w, bufs, results, count);
	return err;
}

/* ---- all batches -------------------------------------------------------- */

void staging_free(struct staging *s)
{
	if (s == NULL)
		return;
	free(s->data);
	free(s->ios);
	free(s->iov);
	free(s);
}

static struct staging *staging_new(uint32_t block_bytes, uint32_t most)
{
	size_t bytes = (size_t)most * block_bytes;
	struct staging *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->most = most;
	s->data = aligned_alloc(
		DATA_ALIGN, (bytes + DATA_ALIGN - 1) / DATA_ALIGN * DATA_ALIGN);
	s->ios = calloc(most, sizeof(*s->ios));
	s->iov = calloc(most, sizeof(*s->iov));
	if (s->data == NULL || s->ios == NULL || s->iov == NULL) {
		staging_free(s);
		return NULL;
	}
	return s;
}

static uint32_t staging_most(const struct cache *c)
{
	uint32_t most = STAGING_BYTES / c->block_bytes;

	return most < BATCH_BLOCKS ? most : BATCH_BLOCKS;
}

/* Memory for up to @count blocks at a time; less when there is little. */
static struct staging *staging_get(struct cache *c, uint32_t count)
{
	struct staging *s = NULL;
	uint32_t most = count;

	if (count > SMALL_BLOCKS) {
		s = atomic_exchange(&c->spare_staging, NULL);
		most = staging_most(c);
	}
	for (; s == NULL && most > 0; most /= 2)
		s = staging_new(c->block_bytes, most);
	return s;
}

static void staging_put(struct cache *c, struct staging *s)
{
	if (s->most == staging_most(c))
		s = atomic_exchange(&c->spare_staging, s);
	staging_free(s);
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

	while (n < count && n < w->staging->most && bufs[n] != bufs[n - 1])
		n++;
	return n;
}

int write_bufs(struct cache *c, struct buf **bufs, int *results, uint32_t count,
	const struct write_pick *pick)
{
	struct writer w = {.cache = c, .pick = pick};
	int first = 0;

	if (count == 0)
		return 0;
	rank_assert_below(RANK_BUF);
	w.staging = staging_get(c, count);
	if (w.staging == NULL) {
		for (uint32_t i = 0; i < count; i++)
			results[i] = -ENOMEM;
		return -ENOMEM;
	}
	qsort(bufs, count, sizeof(struct buf *), by_block);
	for (uint32_t i = 0, n; i < count; i += n) {
		int err;

		n = batch_length(&w, bufs + i, count - i);
		err = write_batch(&w, bufs + i, results + i, n);
		if (first == 0)
			first = err;
	}
	staging_put(c, w.staging);
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
