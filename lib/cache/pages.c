/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pages.c - reading file data: copy what is cached, load what is not.
 *
 * A load puts buffers for a run of blocks into the table first, in state
 * READING, so that others wait for it; then it asks the owner where the bytes
 * lie and reads them in one request.  A drop that came in between makes it
 * throw the run away: it looks at the count of drops after the blocks could
 * be found, and a drop raises that count before it looks for blocks.
 */
#include "cache/pages.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "cache/index.h"
#include "sync/rcu.h"

enum {
	SECTION_BYTES = 16384,  /* copied in one read section */
	AHEAD_FIRST = 64 << 10, /* bytes read ahead at first */
	AHEAD_MOST = 1 << 20,   /* and after doubling */
	RUN_MOST = 256,         /* blocks of one request */
	ARENA_SHARE = 8,        /* a run takes at most this part of it */
};

static struct buf_key key_of(struct pages *p, uint64_t index)
{
	return (struct buf_key){p, index};
}

void pages_init(
	struct pages *p, struct cache *cache, const struct pages_ops *ops)
{
	p->cache = cache;
	p->ops = ops;
	atomic_init(&p->drops, 0);
	atomic_init(&p->root, 0);
}

/* ---- copying -------------------------------------------------------------------- */

struct reader {
	struct pages *p;
	const _Atomic uint64_t *size;
	uint64_t offset;
	size_t left;
	unsigned char *to;
	bool end; /* at or past the end of the file */

	/* In a read section: where the last block was found. */
	struct index_node *leaf; /* or NULL */
	uint64_t leaf_at;        /* its place among leaves */
};

/* The memory of block @index; NULL: not cached. */
static const unsigned char *block_rcu(struct reader *r, uint64_t index)
{
	_Atomic uintptr_t *at;

	if (r->leaf == NULL || index >> INDEX_BITS != r->leaf_at)
		at = index_find_rcu(r->p, index, &r->leaf);
	else
		at = &r->leaf->slot[index & (INDEX_SLOTS - 1)];
	r->leaf_at = index >> INDEX_BITS;
	return at != NULL ? index_data_rcu(at) : NULL;
}

/* How many bytes from the reader's offset on lie together at *@from, up to
 * @most; 0: they are not cached. */
static size_t piece_rcu(
	struct reader *r, size_t most, const unsigned char **from)
{
	struct cache *c = r->p->cache;
	uint64_t index = r->offset >> c->block_shift;
	uint64_t in = r->offset & (c->block_bytes - 1);
	const unsigned char *data = block_rcu(r, index);
	size_t n;

	if (data == NULL)
		return 0;
	*from = data + in;
	for (n = c->block_bytes - in; n < most; n += c->block_bytes) {
		data += c->block_bytes;
		if (block_rcu(r, ++index) != data)
			break;
	}
	return n < most ? n : most;
}

/* Copy a piece of at most @most bytes; false: it is not cached. */
static bool copy_piece_rcu(struct reader *r, size_t most)
{
	const unsigned char *from;
	size_t n = piece_rcu(r, most, &from);
	uint64_t size;

	if (n == 0)
		return false;
	/* After the blocks were found: a file that has shrunk since shows no
	 * more of them (P1). */
	size = atomic_load_explicit(r->size, memory_order_acquire);
	r->end = r->offset >= size;
	if (r->end)
		return false;
	if (n > size - r->offset)
		n = (size_t)(size - r->offset);
	memcpy(r->to, from, n);
	r->to += n;
	r->offset += n;
	r->left -= n;
	return true;
}

/* Copy what is cached, one read section's worth; false: nothing was. */
static bool copy_section(struct reader *r)
{
	size_t section = r->left < SECTION_BYTES ? r->left : SECTION_BYTES;
	size_t left = section;

	rcu_begin();
	r->leaf = NULL;
	while (left > 0) {
		size_t before = r->left;

		if (!copy_piece_rcu(r, left))
			break;
		left -= before - r->left;
	}
	rcu_end();
	return left < section;
}

/* ---- loading -------------------------------------------------------------------- */

struct load {
	struct pages *p;
	uint64_t first; /* block index */
	uint32_t count;
	struct buf *bufs[RUN_MOST];
	struct iovec iov[RUN_MOST];
};

/* More blocks behind the first, while none of them is cached and memory is
 * free. */
static void load_gather(struct load *l, uint32_t most)
{
	struct cache *c = l->p->cache;

	while (l->count < most) {
		struct buf_key key = key_of(l->p, l->first + l->count);
		struct mtx *m = hash_mtx(&c->hash, key);
		struct buf *b = frame_get_try(c, key, BUF_READING, BUF_USER);
		bool entered;

		if (b == NULL)
			return;
		mtx_lock(m);
		entered = hash_find(&c->hash, key) == NULL && buf_enter(b) == 0;
		mtx_unlock(m);
		if (!entered) {
			frame_put(c, b);
			return;
		}
		l->bufs[l->count++] = b;
	}
}

static int load_device(struct load *l, uint64_t device)
{
	struct cache *c = l->p->cache;
	struct blk_io io = {.op = BLK_READ,
		.offset = device,
		.bytes = (uint64_t)l->count << c->block_shift,
		.iov = l->iov,
		.iov_count = (int)l->count};

	for (uint32_t i = 0; i < l->count; i++)
		l->iov[i] = (struct iovec){l->bufs[i]->data, c->block_bytes};
	return blk_run(c->dev, &io, 1);
}

static void load_memory(struct load *l, const void *memory, uint64_t bytes)
{
	uint64_t block = l->p->cache->block_bytes;
	const unsigned char *from = memory;

	for (uint32_t i = 0; i < l->count; i++) {
		uint64_t n = bytes < block ? bytes : block;

		if (n != 0) {
			memcpy(l->bufs[i]->data, from, n);
			from += n;
		}
		memset((unsigned char *)l->bufs[i]->data + n, 0, block - n);
		bytes -= n;
	}
}

static int load_fill(struct load *l, const struct pages_run *run)
{
	switch (run->kind) {
	case PAGES_DEVICE:
		return load_device(l, run->device);
	case PAGES_MEMORY:
		load_memory(l, run->memory, run->bytes);
		return 0;
	default:
		load_memory(l, NULL, 0);
		return 0;
	}
}

/* Blocks that @run covers, of which there is at least one. */
static uint32_t run_blocks(const struct pages *p, const struct pages_run *run)
{
	uint64_t blocks = (run->bytes + p->cache->block_bytes - 1) >>
			  p->cache->block_shift;

	return blocks < RUN_MOST ? (uint32_t)blocks : RUN_MOST;
}

static uint32_t load_most(const struct pages *p, uint64_t bytes)
{
	const struct cache *c = p->cache;
	uint64_t most = (bytes + c->block_bytes - 1) >> c->block_shift;

	if (most > c->capacity / ARENA_SHARE)
		most = c->capacity / ARENA_SHARE;
	if (most > RUN_MOST)
		most = RUN_MOST;
	return most > 1 ? (uint32_t)most : 1;
}

/* The first block of @l is ours to read: read it, and what follows. */
static int load_run(struct load *l, uint64_t bytes)
{
	struct pages *p = l->p;
	uint32_t drops = atomic_load(&p->drops);
	uint32_t most = load_most(p, bytes);
	struct pages_run run;
	int err;

	err = p->ops->map(p, l->first << p->cache->block_shift, &run);
	if (err == 0 && most > run_blocks(p, &run))
		most = run_blocks(p, &run);
	if (err == 0) {
		load_gather(l, most);
		err = load_fill(l, &run);
	}
	/* Pairs with pages_drop(), which raises the count and then waits for
	 * whoever still has a block of the range pinned. */
	if (err == 0 && atomic_load(&p->drops) != drops)
		err = -EAGAIN;
	for (uint32_t i = 0; i < l->count; i++) {
		buf_read_end(l->bufs[i], err);
		buf_put(l->bufs[i]);
	}
	return err == -EAGAIN ? 0 : err;
}

/* @b is the first block of a load of @bytes, pinned. */
static int load_first(struct pages *p, struct pages_ahead *ahead, struct buf *b,
	uint64_t bytes)
{
	struct load *l = malloc(sizeof(*l));
	int err;

	if (l == NULL) {
		buf_read_end(b, -ENOMEM);
		buf_put(b);
		return -ENOMEM;
	}
	*l = (struct load){.p = p, .first = b->block, .count = 1};
	l->bufs[0] = b;
	err = load_run(l, bytes);
	if (ahead != NULL)
		atomic_store_explicit(&ahead->next,
			(l->first + l->count) << p->cache->block_shift,
			memory_order_relaxed);
	free(l);
	return err;
}

/*
 * How much to load when a read of @bytes misses at @offset.  Who reads on
 * where the last load ended is reading in sequence.  Only misses look at
 * @ahead: readers of what is cached store nothing, whoever shares the file.
 */
static uint64_t ahead_bytes(
	struct pages_ahead *ahead, uint64_t offset, uint64_t bytes)
{
	uint32_t window;

	if (ahead == NULL)
		return bytes;
	window = atomic_load_explicit(&ahead->window, memory_order_relaxed);
	if (offset != atomic_load_explicit(&ahead->next, memory_order_relaxed))
		window = 0;
	else if (window < AHEAD_FIRST)
		window = AHEAD_FIRST;
	else if (window < AHEAD_MOST)
		window *= 2;
	atomic_store_explicit(&ahead->window, window, memory_order_relaxed);
	return bytes > window ? bytes : window;
}

/* See to it that the block at @offset can be found, or say why not. */
static int load_at(struct pages *p, struct pages_ahead *ahead, uint64_t offset,
	uint64_t bytes)
{
	struct cache *c = p->cache;
	uint64_t index = offset >> c->block_shift;
	uint64_t start = index << c->block_shift;
	struct buf *b;
	bool mine;
	int err;

	err = buf_find_or_add(c, key_of(p, index), BUF_READING, &b, &mine);
	if (err != 0)
		return err;
	if (!mine) {
		err = buf_read_wait(b);
		buf_put(b);
		return err == -EAGAIN ? 0 : err;
	}
	bytes = ahead_bytes(ahead, start, bytes + (offset - start));
	return load_first(p, ahead, b, bytes);
}

int pages_read(struct pages *p, const _Atomic uint64_t *size,
	struct pages_ahead *ahead, uint64_t offset, size_t bytes, void *to,
	size_t *done)
{
	struct reader r = {.p = p,
		.size = size,
		.offset = offset,
		.left = bytes,
		.to = to};
	int err = 0;

	while (r.left > 0 && err == 0) {
		if (copy_section(&r))
			continue;
		if (r.end || r.offset >= atomic_load(size))
			break;
		err = load_at(p, ahead, r.offset, r.left);
	}
	if (err != 0 && r.left == bytes)
		return err;
	*done = bytes - r.left;
	return 0;
}

/* ---- dropping ------------------------------------------------------------------- */

void pages_drop(struct pages *p, uint64_t offset, uint64_t bytes)
{
	struct cache *c = p->cache;
	uint64_t end =
		bytes > UINT64_MAX - offset ? UINT64_MAX : offset + bytes;
	uint64_t block = offset >> c->block_shift;

	if (bytes == 0)
		return;
	atomic_fetch_add(&p->drops, 1);
	for (block = index_next(p, block);
		block != UINT64_MAX && block << c->block_shift < end;
		block = index_next(p, block + 1)) {
		/* Only loads pin, and this one will not outlive its read. */
		while (buf_forget(c, key_of(p, block)) == -EBUSY)
			(void)sched_yield();
	}
}

void pages_fini(struct pages *p)
{
	pages_drop(p, 0, UINT64_MAX);
	ASSERT(atomic_load(&p->root) == 0);
}
