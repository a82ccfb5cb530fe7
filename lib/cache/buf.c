/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * buf.c - finding, reading and dropping buffers.
 *
 * A lookup that finds its block pins it inside a read section and writes to
 * the buffer's own line only.  A lookup that does not prepares a buffer and
 * then decides under the bucket's lock whether it was first: whoever is first
 * reads, the others wait for the outcome on the buffer's flags.  A read that
 * fails leaves the hash before anybody is told, so that the next lookup
 * tries again.
 */
#include <errno.h>

#include "base/assert.h"
#include "base/cpu.h"
#include "cache/index.h"
#include "sync/futex.h"
#include "sync/rcu.h"

_Thread_local uint32_t cache_ops_open;

/* ---- pins --------------------------------------------------------------- */

/* Acquire pairs with the release of whoever published the buffer, or made it
 * alive again after all (evict.c). */
bool buf_pin_try(struct buf *b, int32_t unit)
{
	int32_t pins = atomic_load_explicit(&b->pins, memory_order_relaxed);

	do {
		if (pins < 0)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&b->pins, &pins,
		pins + unit, memory_order_acquire, memory_order_relaxed));
	return true;
}

void buf_pin(struct buf *b)
{
	int32_t old = atomic_fetch_add_explicit(
		&b->pins, BUF_USER, memory_order_relaxed);

	ASSERT((old & BUF_USERS) > 0 && old > 0);
	(void)old;
}

/* Release pairs with the acquire of whoever takes the pins from 0 to dying. */
void buf_put(struct buf *b)
{
	int32_t old = atomic_fetch_sub_explicit(
		&b->pins, BUF_USER, memory_order_release);

	ASSERT((old & BUF_USERS) > 0 && old > 0);
	(void)old;
}

/* Sequentially consistent like cache_forget()'s side: either it sees that the
 * hold is gone, or this sees that it waits. */
void cache_hold_ended(struct cache *c)
{
	if (atomic_load(&c->hold_waiters) == 0)
		return;
	atomic_fetch_add(&c->hold_seq, 1);
	futex_wake_all(&c->hold_seq);
}

void buf_unhold(struct buf *b)
{
	struct cache *c = b->cache;
	int32_t old = atomic_fetch_sub(&b->pins, BUF_HOLD);

	ASSERT(old >= BUF_HOLD);
	(void)old;
	cache_hold_ended(c);
}

static void mark_seen(struct buf *b, uint32_t flags)
{
	if (!(flags & BUF_SEEN))
		atomic_fetch_or_explicit(
			&b->flags, BUF_SEEN, memory_order_relaxed);
}

/* ---- the table ---------------------------------------------------------- */

int buf_enter(struct buf *b)
{
	int err = b->owner != NULL ? index_add(b) : 0;

	if (err == 0)
		hash_insert(&b->cache->hash, b);
	return err;
}

void buf_leave(struct buf *b)
{
	hash_remove(&b->cache->hash, b);
	if (b->owner != NULL)
		index_remove(b);
}

/* ---- reading ------------------------------------------------------------ */

int buf_check_run(const struct buf *b, const struct buf_check *check)
{
	if (check == NULL || check->run == NULL)
		return 0;
	return check->run(check->arg, b->block, b->data);
}

void buf_read_end(struct buf *b, int err)
{
	uint32_t old;

	if (err != 0) {
		struct mtx *m = hash_mtx(&b->cache->hash, buf_key_of(b));

		b->error = err;
		mtx_lock(m);
		buf_leave(b);
		mtx_unlock(m);
	} else if (b->owner != NULL) {
		index_ready(b);
	}
	/* Publishes contents, or error; pairs with the acquire of each
	 * reader of flags. */
	old = atomic_exchange_explicit(&b->flags,
		err == 0 ? BUF_READY : BUF_FAILED, memory_order_acq_rel);
	if (old & BUF_WAITERS)
		futex_wake_all(&b->flags);
}

int buf_read_wait(struct buf *b)
{
	uint32_t flags = atomic_load_explicit(&b->flags, memory_order_acquire);

	while (flags & BUF_READING) {
		if (!(flags & BUF_WAITERS))
			flags = atomic_fetch_or_explicit(
				&b->flags, BUF_WAITERS, memory_order_acquire);
		if (flags & BUF_READING)
			(void)futex_wait(
				&b->flags, flags | BUF_WAITERS, FUTEX_FOREVER);
		flags = atomic_load_explicit(&b->flags, memory_order_acquire);
	}
	if (flags & BUF_FAILED)
		return b->error;
	mark_seen(b, flags);
	return 0;
}

static int read_now(struct buf *b, const struct buf_check *check)
{
	struct cache *c = b->cache;
	int err = blk_read(
		c->dev, b->block << c->block_shift, c->block_bytes, b->data);

	if (err == 0)
		err = buf_check_run(b, check);
	buf_read_end(b, err);
	return err;
}

/* ---- finding ------------------------------------------------------------ */

struct buf *cache_peek_rcu(struct cache *c, blk_no block)
{
	return buf_peek_rcu(c, buf_key_dev(block));
}

struct buf *buf_peek_rcu(struct cache *c, struct buf_key key)
{
	struct buf *b = hash_find(&c->hash, key);
	uint32_t flags;

	if (b == NULL)
		return NULL;
	flags = atomic_load_explicit(&b->flags, memory_order_acquire);
	if (!(flags & BUF_READY))
		return NULL;
	mark_seen(b, flags);
	return b;
}

struct buf *buf_find_pinned(struct cache *c, struct buf_key key)
{
	struct buf *b;

	rcu_begin();
	b = hash_find(&c->hash, key);
	if (b != NULL && !buf_pin_try(b, BUF_USER))
		b = NULL;
	rcu_end();
	return b;
}

int buf_find_or_add(struct cache *c, struct buf_key key, uint32_t flags,
	struct buf **out, bool *mine)
{
	struct mtx *m = hash_mtx(&c->hash, key);
	struct buf *fresh;
	struct buf *b;
	int err = frame_get(c, key, flags, &fresh);

	if (err != 0)
		return err;
	mtx_lock(m);
	b = hash_find(&c->hash, key);
	if (b == NULL) {
		err = buf_enter(fresh);
	} else {
		bool pinned = buf_pin_try(b, BUF_USER);

		ASSERT(pinned);
		(void)pinned;
	}
	mtx_unlock(m);
	if (b != NULL || err != 0)
		frame_put(c, fresh);
	if (err != 0)
		return err;
	*mine = b == NULL;
	*out = b == NULL ? fresh : b;
	return 0;
}

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Count a look for a block that was there, and wait for it to be read. */
static int found(struct buf *b)
{
	struct cache *c = b->cache;
	int err = buf_read_wait(b);

	if (err != 0)
		buf_put(b);
	else
		count(&cache_shard_here(c)->hits);
	return err;
}

static int get_missing(struct cache *c, blk_no block,
	const struct buf_check *check, struct buf **out)
{
	struct cache_shard *sh = cache_shard_here(c);
	bool mine;
	int err;

	rank_assert_below(RANK_BUF);
	err = buf_find_or_add(c, buf_key_dev(block), BUF_READING, out, &mine);
	if (err != 0)
		return err;
	if (!mine)
		return found(*out);
	count(&sh->misses);
	if (cache_ops_open > 0)
		count(&sh->reads_in_op);
	err = read_now(*out, check);
	if (err != 0)
		buf_put(*out);
	return err;
}

int cache_get(struct cache *c, blk_no block, const struct buf_check *check,
	struct buf **out)
{
	struct buf *b;
	int err;

	if (block >= c->block_count)
		return -EINVAL;
	b = buf_find_pinned(c, buf_key_dev(block));
	err = b != NULL ? found(b) : get_missing(c, block, check, &b);
	if (err == 0)
		*out = b;
	return err;
}

/* One attempt; -EAGAIN: it met a read that failed. */
static int get_new_try(struct cache *c, blk_no block, struct buf **out)
{
	bool mine = false;
	int err = 0;

	*out = buf_find_pinned(c, buf_key_dev(block));
	if (*out == NULL) {
		rank_assert_below(RANK_BUF);
		err = buf_find_or_add(
			c, buf_key_dev(block), BUF_READY, out, &mine);
	}
	if (err != 0 || mine)
		return err;
	if (buf_read_wait(*out) != 0) {
		buf_put(*out);
		err = -EAGAIN;
	}
	return err;
}

int cache_get_new(struct cache *c, blk_no block, struct buf **out)
{
	struct buf *b;
	int err;

	if (block >= c->block_count)
		return -EINVAL;
	do {
		err = get_new_try(c, block, &b);
	} while (err == -EAGAIN);
	if (err == 0)
		*out = b;
	return err;
}

/* ---- forgetting --------------------------------------------------------- */

/* Make @b, hashed and under its bucket's lock, die: 0, -EBUSY, or -EAGAIN if
 * only the cache itself is busy with it. */
static int forget_locked(struct buf *b)
{
	int32_t pins = 0;

	if (atomic_compare_exchange_strong(&b->pins, &pins, BUF_DYING)) {
		buf_leave(b);
		return 0;
	}
	if ((pins & BUF_USERS) == 0)
		return -EAGAIN;
	return atomic_load(&b->wb) & WB_WRITING ? -EAGAIN : -EBUSY;
}

static int forget_try(struct cache *c, struct buf_key key, struct buf **dead)
{
	struct mtx *m = hash_mtx(&c->hash, key);
	int err = 0;

	mtx_lock(m);
	*dead = hash_find(&c->hash, key);
	if (*dead != NULL)
		err = forget_locked(*dead);
	mtx_unlock(m);
	return err;
}

static int forget_wait(struct cache *c, struct buf_key key, struct buf **dead)
{
	int err;

	atomic_fetch_add(&c->hold_waiters, 1);
	for (;;) {
		uint32_t seen = atomic_load(&c->hold_seq);

		err = forget_try(c, key, dead);
		if (err != -EAGAIN)
			break;
		(void)futex_wait(&c->hold_seq, seen, FUTEX_FOREVER);
	}
	atomic_fetch_sub(&c->hold_waiters, 1);
	return err;
}

int buf_forget(struct cache *c, struct buf_key key)
{
	struct buf *dead;
	int err;

	err = forget_try(c, key, &dead);
	if (err == -EAGAIN)
		err = forget_wait(c, key, &dead);
	if (err != 0 || dead == NULL)
		return err;
	/* Nobody else has it: dying, and not found any more. */
	if (atomic_load(&dead->wb) & WB_DIRTY)
		wb_unlist(dead);
	evict_later(c, dead);
	return 0;
}

int cache_forget(struct cache *c, blk_no block)
{
	if (block >= c->block_count)
		return -EINVAL;
	return buf_forget(c, buf_key_dev(block));
}
